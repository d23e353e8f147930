"""A broker of Apache Kafka in KRaft mode, from jars that ``make kafka`` fetches; skipped where they are not there.

The jars are in the folder that ``CEPHEUS_KAFKA_JARS`` names, else in the user's cache.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from servers.process import JAVA_PATIENCE, ServerProcess, answers, free_port, own_folder, running

JARS = "CEPHEUS_KAFKA_JARS"


def jar_folder() -> Path:
    """Where the jars are, or would be."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get(JARS) or cache / "cepheus" / "kafka")


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java") or (home and str(Path(home, "bin", "java")))
    if not found:
        pytest.skip("Kafka needs Java")
    return found


@contextmanager
def kafka_server(partitions: int = 2) -> Iterator[ServerProcess]:
    """A broker whose topics, made by the first message, have some partitions; its address is 127.0.0.1 and its port."""
    jars = jar_folder()
    if not any(jars.glob("kafka_2.13-*.jar")):
        pytest.skip("the jars of Kafka are not there (make kafka)")
    java = _java()
    with own_folder() as folder:
        port, controller = free_port(), free_port()
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(folder / "logs"),
            "num.partitions": str(partitions),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
            "group.initial.rebalance.delay.ms": "0",
        }
        config = folder / "server.properties"
        config.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        base = [java, "-Xmx512m", "-cp", f"{jars}/*"]
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        formatting = [*base, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(config)]
        done = subprocess.run(formatting, capture_output=True, check=False)
        if done.returncode:
            pytest.fail(done.stderr.decode()[-2000:])
        command = [*base, "kafka.Kafka", str(config)]
        with running(ServerProcess(command, port, folder, partial(answers, port), patience=JAVA_PATIENCE)) as server:
            yield server
