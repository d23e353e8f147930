"""A standalone Spark cluster on this machine: a master and workers in processes of their own, from the pyspark package.

Jobs are submitted to it as people submit theirs. What runs on it can be killed: executors, workers, drivers.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.request import urlopen

import pyspark
import pytest

import cepheus
from cepheus.runtime.spark.session import provide_java
from servers.process import JAVA_PATIENCE, ServerProcess, free_port, own_folder, running

HOST = "127.0.0.1"
_HOME = Path(pyspark.__file__).parent
_BIN = _HOME / "bin"


@dataclass(slots=True)
class SparkCluster:
    """A master and its workers; ``zipped`` is Cepheus as ``--py-files`` takes it."""

    folder: Path
    master: ServerProcess
    page: int
    zipped: Path
    environment: Mapping[str, str]
    workers: list[ServerProcess] = field(default_factory=list)

    @property
    def url(self) -> str:
        """What ``--master`` takes."""
        return f"spark://{HOST}:{self.master.port}"

    def executors(self) -> list[int]:
        """The process ids of the executors that run now."""
        return [pid for worker in self.workers for pid in _executors_of(worker)]

    def submit(self, script: Path, arguments: Sequence[str], log: Path, conf: Mapping[str, str]) -> Driver:
        """Start a job with its driver here, as the deployment guide says."""
        command = [str(_BIN / "spark-submit"), "--master", self.url, "--py-files", str(self.zipped)]
        for name, value in conf.items():
            command += ["--conf", f"{name}={value}"]
        command += [str(script), *arguments]
        with log.open("ab") as out:
            process = subprocess.Popen(
                command, stdout=out, stderr=out, env=self.environment, cwd=self.folder, start_new_session=True
            )
        return Driver(process)


@dataclass(slots=True)
class Driver:
    """A submitted job: Java and Python in a process group of their own."""

    process: subprocess.Popen[bytes]

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self.process.poll() is not None

    def kill(self) -> None:
        """Kill it as hard as can be."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def _executors_of(worker: ServerProcess) -> Iterator[int]:
    if worker.process is None:
        return
    for children in Path(f"/proc/{worker.process.pid}/task").glob("*/children"):
        with suppress(OSError):
            for pid in children.read_text().split():
                with suppress(OSError):
                    if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes():
                        yield int(pid)


def _told(page: int) -> dict[str, object]:
    with urlopen(f"http://{HOST}:{page}/json/", timeout=5) as answer:  # our own page
        found: dict[str, object] = json.load(answer)
        return found


def _is_up(page: int, port: int | None = None) -> bool:
    """Whether the master, or a worker of it, is at work."""
    with suppress(OSError, ValueError):
        told = _told(page)
        workers = told["workers"]
        assert isinstance(workers, list)
        return port is None or any(each["port"] == port and each["state"] == "ALIVE" for each in workers)
    return False


@contextmanager
def spark_cluster(workers: int = 2) -> Iterator[SparkCluster]:
    """A cluster whose workers have one core each."""
    if not Path("/proc/self/task").exists():
        pytest.skip("executors are looked for in /proc")
    java = provide_java()
    environment = {
        **os.environ,
        "JAVA_HOME": str(java.home),
        "SPARK_HOME": str(_HOME),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_IP": HOST,
        "PYSPARK_PYTHON": sys.executable,
    }
    launcher = [str(_BIN / "spark-class")]
    with own_folder() as folder, ExitStack() as stack:
        port, page = free_port(), free_port()
        command = [*launcher, "org.apache.spark.deploy.master.Master", "--host", HOST]
        command += ["--port", str(port), "--webui-port", str(page)]
        master = ServerProcess(
            command, port, _made(folder / "master"), partial(_is_up, page), None, environment, patience=JAVA_PATIENCE
        )
        stack.enter_context(running(master))
        cluster = SparkCluster(folder, master, page, _zipped(folder), environment)
        for number in range(workers):
            own = free_port()
            place = _made(folder / f"worker-{number}")
            command = [*launcher, "org.apache.spark.deploy.worker.Worker", "--host", HOST, "--port", str(own)]
            command += ["--webui-port", str(free_port()), "--cores", "1", "--memory", "1g"]
            command += ["--work-dir", str(place), cluster.url]
            worker = ServerProcess(
                command, own, place, partial(_is_up, page, own), None, environment, patience=JAVA_PATIENCE
            )
            stack.enter_context(running(worker))
            cluster.workers.append(worker)
        yield cluster


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _zipped(folder: Path) -> Path:
    """Cepheus as a zip, made as the deployment guide says."""
    root = Path(cepheus.__file__).parent
    target = folder / "cepheus.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(root.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, path.relative_to(root.parent))
    return target
