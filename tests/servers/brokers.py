"""Redis, NATS and Mosquitto, from their packages, each on a free port; skipped where they are not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from servers.process import ServerProcess, answers, free_port, own_folder, program, running


@contextmanager
def redis_server() -> Iterator[ServerProcess]:
    """A Redis that keeps what it was told over a restart."""
    binary = program("redis-server", "redis-server")
    with own_folder() as folder:
        port = free_port()
        command = [binary, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
        command += ["--appendonly", "yes", "--appendfsync", "always"]
        with running(ServerProcess(command, port, folder, partial(answers, port))) as server:
            yield server


@contextmanager
def nats_server() -> Iterator[ServerProcess]:
    """A NATS with JetStream on the disk."""
    binary = program("nats-server", "nats-server")
    with own_folder() as folder:
        port = free_port()
        (folder / "nats.conf").write_text(
            f'port: {port}\nhost: "127.0.0.1"\njetstream {{ store_dir: "{folder}/store" }}\n'
        )
        command = [binary, "-c", str(folder / "nats.conf")]
        with running(ServerProcess(command, port, folder, partial(answers, port))) as server:
            yield server


@contextmanager
def mosquitto_server() -> Iterator[ServerProcess]:
    """A Mosquitto that keeps sessions over a restart, as it ends."""
    binary = program("mosquitto", "mosquitto")
    with own_folder() as folder:
        port = free_port()
        (folder / "mosquitto.conf").write_text(
            f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence true\npersistence_location {folder}/\n"
            "max_inflight_messages 0\nmax_queued_messages 0\nautosave_interval 1\nautosave_on_changes true\nuser root\n"
        )
        command = [binary, "-c", str(folder / "mosquitto.conf")]
        with running(ServerProcess(command, port, folder, partial(answers, port))) as server:
            yield server
