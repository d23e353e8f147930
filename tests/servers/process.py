"""What servers of tests share: free ports, folders that go away, processes that end with the test."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

_PATIENCE = 60.0
JAVA_PATIENCE = 300.0
"""Seconds that a server may take to start: what runs on Java takes its time where much else is going on."""

_PLACES = ("/usr/sbin", "/usr/local/sbin", "/usr/local/bin")


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def program(name: str, package: str) -> str:
    """Where a server's program is; the test is skipped where it is not installed."""
    found = shutil.which(name) or next((str(Path(p, name)) for p in _PLACES if Path(p, name).exists()), None)
    if found is None:
        pytest.skip(f"{name} is not installed (apt-get install {package})")
    return found


def answers(port: int) -> bool:
    """Whether somebody listens at a port."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
        return True
    return False


@dataclass(slots=True)
class ServerProcess:
    """A server that can be stopped, killed and started again on the same port and folder."""

    command: Sequence[str]
    port: int
    folder: Path
    ready: Callable[[], bool]
    user: str | None = None
    environment: Mapping[str, str] | None = None
    process: subprocess.Popen[bytes] | None = None
    patience: float = _PATIENCE

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.launch()
        self.wait()

    def launch(self) -> None:
        """Start it."""
        log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(
            self.command, stdout=log, stderr=log, cwd=self.folder, user=self.user, env=self.environment
        )
        log.close()

    def wait(self) -> None:
        """Wait until it answers."""
        assert self.process is not None
        end = time.monotonic() + self.patience
        while not self.ready():
            if self.process.poll() is not None or time.monotonic() > end:
                text = (self.folder / "log").read_text(errors="replace")[-2000:]
                self.kill()
                pytest.fail(f"{self.command[0]} does not start: {text}")
            time.sleep(0.05)

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@contextmanager
def running(server: ServerProcess) -> Iterator[ServerProcess]:
    """A server that is started, and ends with the block."""
    server.start()
    try:
        yield server
    finally:
        server.kill()


@contextmanager
def own_folder() -> Iterator[Path]:
    """A folder for a server's files, which any user may enter."""
    with tempfile.TemporaryDirectory(prefix="cepheus-server-") as name:
        Path(name).chmod(0o777)
        yield Path(name)
