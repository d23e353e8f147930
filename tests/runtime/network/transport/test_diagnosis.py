"""Why there is no connection: mistyped names, locked keys, certificates of another time; never an error of its own."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from node_servers import config, run, serving
from processes import Certificates, free_port

from cepheus.network import Access, AsyncClient, NetworkError, TlsConfig
from cepheus.runtime.network.transport.access import Finding, diagnose, status

MISTYPED = ("node..lan", ".lan", "x" * 64 + ".lan", "no\0de.lan", "nowhere.invalid")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates: one in force, with a key and with a locked one; one of the past and one of the future."""
    folder = tmp_path_factory.mktemp("files")
    own = Certificates.make(folder, "p1")
    own.sign("old", expired=True)
    own.sign_for_later("later")
    own.lock("p1")
    return folder


def found(address: str, tls: TlsConfig | None = None, server_name: str | None = None) -> Finding | None:
    return run(diagnose(address, tls or TlsConfig(), server_name))


@pytest.mark.parametrize("host", MISTYPED)
def test_a_mistyped_name_is_the_name_of_no_machine(made: Path, host: str) -> None:
    for tls in (TlsConfig(), TlsConfig(authority=made / "ca.pem")):
        finding = found(f"{host}:7600", tls)
        assert finding is not None
        assert finding.reason == f"no machine is known as '{host}'"


@pytest.mark.parametrize("address", ["node", "node:", "node:port", "node:99999", ""])
def test_what_is_no_address_is_told_so(address: str) -> None:
    finding = found(address)
    assert finding is not None
    assert finding.reason == f"'{address}' is no address"


def test_whatever_else_goes_wrong_is_no_error_of_its_own(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise LookupError

    monkeypatch.setattr("socket.create_connection", fail)
    assert found("127.0.0.1:7600", TlsConfig(authority=made / "ca.pem")) is None


def test_clients_give_up_on_a_mistyped_name() -> None:
    given = Access("node..lan:7600", patience=0.1)

    async def check() -> None:
        for attempt in (AsyncClient.connect(given), status(given)):
            with pytest.raises(NetworkError, match=r"no machine is known as 'node\.\.lan'"):
                await attempt

    run(check(), seconds=20)


def test_a_node_goes_on_dialling_a_mistyped_neighbour(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def check() -> None:
        settings = config(tmp_path, '[[neighbour]]\nname = "p2"\naddress = "p2..lan:7600"\n')
        async with serving(settings) as server:
            while "no machine is known as 'p2..lan'" not in caplog.text:
                await asyncio.sleep(0.05)
            await asyncio.sleep(0)
            assert not any(task.done() for task in server._tasks)

    run(check(), seconds=20)


def test_a_locked_key_is_told_and_nobody_is_asked(made: Path) -> None:
    finding = found(f"127.0.0.1:{free_port()}", TlsConfig(made / "p1.pem", made / "locked.key", made / "ca.pem"))
    assert finding is not None
    assert finding.reason == f"the key '{made / 'locked.key'}' needs a password"
    assert "without one" in finding.hint


@pytest.mark.parametrize(("name", "words"), [("old", "has expired"), ("later", "is not in force yet")])
def test_certificates_of_another_time(made: Path, name: str, words: str) -> None:
    async def check() -> Finding | None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(made / f"{name}.pem", made / f"{name}.key")
        async with _listening(context) as port:
            return await diagnose(f"127.0.0.1:{port}", TlsConfig(authority=made / "ca.pem"), name)

    finding = run(check())
    assert finding is not None
    assert finding.reason == f"the node's certificate {words}"


@asynccontextmanager
async def _listening(context: ssl.SSLContext) -> AsyncIterator[int]:
    """Have a server that nobody talks to for long; gives its port."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
