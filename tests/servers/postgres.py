"""PostgreSQL from its package, on a free port, in a folder that goes away; skipped where it is not installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from servers.process import ServerProcess, free_port, own_folder, running

_USER = "postgres"


def _binaries() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if found:
        return found[-1].parent
    named = shutil.which("postgres")
    if named is None:
        pytest.skip("PostgreSQL is not installed (apt-get install postgresql)")
    return Path(named).parent


@contextmanager
def postgres_server() -> Iterator[ServerProcess]:
    """A PostgreSQL with one empty database; ``url(server)`` is its address."""
    binaries = _binaries()
    user = _USER if os.geteuid() == 0 else None  # it refuses to run as root
    with own_folder() as folder:
        data = folder / "data"
        initialise = [str(binaries / "initdb"), "-D", str(data), "-U", _USER, "-A", "trust", "--no-sync", "-E", "UTF8"]
        done = subprocess.run(initialise, capture_output=True, user=user, cwd=folder, check=False)
        if done.returncode:
            pytest.fail(done.stderr.decode()[-2000:])
        port = free_port()
        command = [str(binaries / "postgres"), "-D", str(data), "-p", str(port), "-k", str(folder)]
        command += ["-c", "listen_addresses=127.0.0.1", "-c", "shared_buffers=16MB"]
        ready = [str(binaries / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]

        def answers() -> bool:
            return subprocess.run(ready, check=False).returncode == 0

        with running(ServerProcess(command, port, folder, answers, user)) as server:
            yield server


def url(server: ServerProcess) -> str:
    """The address of a server's database."""
    return f"postgresql://{_USER}@127.0.0.1:{server.port}/postgres"
