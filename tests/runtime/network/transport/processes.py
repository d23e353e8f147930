"""Nodes as real processes, certificates, and a proxy that can be cut, for tests."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

MAIN = [sys.executable, "-m", "cepheus"]


def free_port() -> int:
    """Find a port that nobody uses, below those that the system gives to outgoing connections."""
    random = Random(time.time_ns())
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


@dataclass
class NodeProcess:
    """A node in a process of its own."""

    folder: Path
    name: str
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def write(
        self,
        neighbours: Iterable[tuple[str, int | None]],
        rank: int = 0,
        extra: str = "",
        gone_after: str = "10min",
    ) -> None:
        """Write the node's file; a neighbour without a port connects by itself. On a busy machine all takes long."""
        text = f'name = "{self.name}"\nlisten = "{self.address}"\nstate = "{self.name}.state"\nrank = {rank}\n'
        text += f'session_timeout = "10min"\ngone_after = "{gone_after}"\n{extra}\n'
        for name, port in neighbours:
            address = "" if port is None else f'address = "127.0.0.1:{port}"\n'
            text += f'[[neighbour]]\nname = "{name}"\n{address}'
        (self.folder / f"{self.name}.toml").write_text(text)

    def start(self, longest_file: int | None = None) -> None:
        """Start the process, with a limit on its files as if the disk was full, in units of 512 bytes."""
        with (self.folder / f"{self.name}.log").open("ab") as log:
            command = [*MAIN, "node", "--config", str(self.folder / f"{self.name}.toml")]
            if longest_file is not None:
                command = ["sh", "-c", f'ulimit -f {longest_file} && exec "$@"', "sh", *command]
            self.process = subprocess.Popen(command, stderr=log)

    def kill(self) -> None:
        """As kill -9 does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def log(self) -> str:
        return (self.folder / f"{self.name}.log").read_text()


def line_of_three(
    folder: Path, extra: str = "", middle: NodeProcess | None = None, middle_port: int | None = None
) -> dict[str, NodeProcess]:
    """Start west, middle and east, the root; west reaches the middle by another port if one is given."""
    nodes = {
        "east": NodeProcess(folder, "east"),
        "middle": middle or NodeProcess(folder, "middle"),
        "west": NodeProcess(folder, "west"),
    }
    nodes["east"].write([("middle", None)], 0, extra)
    nodes["middle"].write([("east", nodes["east"].port), ("west", None)], 1, extra)
    nodes["west"].write([("middle", middle_port or nodes["middle"].port)], 2, extra)
    for node in nodes.values():
        node.start()
    return nodes


class Proxy:
    """Passes bytes on from a port to another, unless it is cut."""

    def __init__(self, target: int) -> None:
        self.port = free_port()
        self._target = target
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def cut(self) -> None:
        """Break all connections and take no new ones."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._writers):
            writer.transport.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0.01)  # for the sockets to be closed

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, there_writer}
        for one, other in ((reader, there_writer), (there_reader, writer)):
            task = asyncio.ensure_future(self._pass_on(one, other))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            self._writers.discard(writer)
            writer.transport.abort()


@dataclass(frozen=True)
class Certificates:
    """An authority and certificates that it signed, made with the openssl command."""

    folder: Path

    @classmethod
    def make(cls, folder: Path, *names: str) -> Certificates:
        folder.mkdir(parents=True, exist_ok=True)
        made = cls(folder)
        made._openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem",
        )  # fmt: skip
        for name in names:
            made.sign(name)
        return made

    def sign(self, name: str, *, expired: bool = False) -> None:
        """Make a certificate for a name."""
        self._openssl(
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr",
        )  # fmt: skip
        (self.folder / f"{name}.ext").write_text(f"subjectAltName=DNS:{name}\n")
        self._openssl(
            "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-days", "-1" if expired else "2", "-extfile", f"{name}.ext", "-out", f"{name}.pem",
        )  # fmt: skip

    def sign_for_later(self, name: str) -> None:
        """Make a certificate that is not in force yet."""
        self.sign(name)  # its key and request
        (self.folder / "later.txt").touch()
        (self.folder / "later.cnf").write_text(
            "[ca]\ndefault_ca = own\n[own]\ndatabase = later.txt\nnew_certs_dir = .\nrand_serial = yes\n"
            "default_md = sha256\npolicy = any\n[any]\ncommonName = supplied\n"
        )
        self._openssl(
            "ca", "-batch", "-notext", "-config", "later.cnf", "-cert", "ca.pem", "-keyfile", "ca.key",
            "-in", f"{name}.csr", "-extfile", f"{name}.ext", "-out", f"{name}.pem",
            "-startdate", "20900101000000Z", "-enddate", "20910101000000Z",
        )  # fmt: skip

    def lock(self, name: str) -> None:
        """Put a password on a key, under the name ``locked.key``."""
        self._openssl("pkcs8", "-topk8", "-in", f"{name}.key", "-passout", "pass:secret", "-out", "locked.key")

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)
