"""Who may connect and do what: certificates, tokens, rights, and nodes that would be open to the world."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from node_servers import access, config, run, serving
from processes import Certificates

from cepheus import Event
from cepheus.core.errors import CepheusError, OptionError
from cepheus.network import Access, AsyncClient, NetworkError, TlsConfig
from cepheus.runtime.network.transport.config import Address, NodeConfig
from cepheus.runtime.network.transport.security import check_safety
from cepheus.runtime.network.transport.server import NodeServer

Asking = Callable[[AsyncClient], Awaitable[object]]

RIGHTS = """
[tls]
certificate = "certs/p1.pem"
key = "certs/p1.key"
authority = "certs/ca.pem"
[[client]]
name = "sensors"
publish = ["Temp", "Smoke*"]
[[client]]
name = "office"
subscribe = ["Fire"]
deploy = true
"""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates of a node and its clients, and those of somebody else with the same names."""
    folder = tmp_path_factory.mktemp("certificates")
    Certificates.make(folder / "certs", "p1", "p2", "sensors", "office", "stranger")
    Certificates.make(folder / "others", "p1", "p2", "sensors")
    return folder


def test_certificates_say_who_may_do_what(certificates: Path) -> None:
    async def check() -> None:
        certs = certificates / "certs"
        async with (
            serving(config(certificates, RIGHTS)) as server,
            await AsyncClient.connect(access(server, certs, "office")) as office,
            await AsyncClient.connect(access(server, certs, "sensors")) as sensors,
        ):
            await office.deploy("define Fire() from Smoke1()")
            fires = await office.subscribe("Fire")
            source = await sensors.source("s", ["Smoke1"])
            await source.publish([Event("Smoke1", 5)], 5)
            assert [event.type for event in await fires.take(10)] == ["Fire"]
            await source.close()

    run(check())


@pytest.mark.parametrize(
    ("who", "request_", "reason"),
    [
        ("sensors", lambda c: c.source("s", ["Temp", "Secret"]), "may not publish events of type 'Secret'"),
        ("sensors", lambda c: c.subscribe("Fire"), "may not subscribe to events of type 'Fire'"),
        ("sensors", lambda c: c.deploy("define Fire() from Smoke()"), "may not deploy"),
        ("sensors", lambda c: c.withdraw(["Fire"]), "may not deploy or withdraw"),
        ("office", lambda c: c.subscribe("Temp"), "may not subscribe to events of type 'Temp'"),
        ("stranger", None, "no client with rights here has this certificate"),
    ],
)
def test_what_is_not_allowed_is_refused(
    certificates: Path, who: str, request_: Callable[[AsyncClient], Awaitable[object]] | None, reason: str
) -> None:
    async def check() -> None:
        async with serving(config(certificates, RIGHTS)) as server:
            with pytest.raises(NetworkError, match=reason):
                await _ask(access(server, certificates / "certs", who), request_)
            assert server.host.counts.refused == 1

    run(check())


async def _ask(given: Access, ask: Asking | None) -> None:
    async with await AsyncClient.connect(given) as client:
        assert ask is not None
        await ask(client)


def test_certificates_of_another_authority_do_not_connect(certificates: Path) -> None:
    async def check() -> None:
        async with serving(config(certificates, RIGHTS)) as server:
            others = certificates / "others"
            address = f"127.0.0.1:{server.port}"
            ca = certificates / "certs" / "ca.pem"
            for tls in (TlsConfig(others / "sensors.pem", others / "sensors.key", ca), TlsConfig(authority=ca)):
                with pytest.raises(NetworkError, match="no connection"):
                    await AsyncClient.connect(Access(address, tls, server_name="p1", patience=0.5))
            with pytest.raises(NetworkError, match="no connection"):  # the client does not trust the node either
                await AsyncClient.connect(access(server, others, "sensors", patience=0.5))
            with pytest.raises(NetworkError, match="no connection"):
                await AsyncClient.connect(Access(address, patience=0.5))

    run(check())


def test_neighbours_show_certificates_of_their_names(certificates: Path) -> None:
    async def check(own: str, connects: bool) -> None:
        folder = certificates / own
        folder.mkdir(exist_ok=True)
        tls = '[tls]\ncertificate = "../certs/{0}.pem"\nkey = "../certs/{0}.key"\nauthority = "../certs/ca.pem"\n'
        first = config(folder, tls.format("p1") + '[[neighbour]]\nname = "p2"\n')
        async with serving(first) as server:
            link = f'[[neighbour]]\nname = "p1"\naddress = "127.0.0.1:{server.port}"\n'
            second = NodeServer(config(folder, tls.format(own) + link, "p2"))
            await second.start()
            for _ in range(100 if connects else 8):
                if second.host.connections:
                    break
                await asyncio.sleep(0.05)
            assert bool(second.host.connections) is connects
            await second.stop()
            assert (server.host.counts.refused > 0) is not connects

    run(check("p2", connects=True))
    run(check("sensors", connects=False))


def test_tokens_say_who_may_do_what(tmp_path: Path) -> None:
    (tmp_path / "office.token").write_text("a long secret\n")
    settings = config(
        tmp_path, '[[client]]\nname = "office"\ntoken_file = "office.token"\nsubscribe = ["*"]\ndeploy = true\n'
    )

    async def check() -> None:
        async with serving(settings) as server:
            async with await AsyncClient.connect(access(server, token="a long secret")) as client:
                await client.deploy("define Fire() from Smoke()")
                assert (await client.status())["rules"] == ["Fire"]
                with pytest.raises(NetworkError, match="may not publish"):
                    await client.source("s", ["Smoke"])
            for token in ("", "another secret"):
                with pytest.raises(NetworkError, match="no client with rights"):
                    await AsyncClient.connect(access(server, token=token))

    with pytest.raises(NetworkError, match="may not publish"):  # leaving says what went wrong before
        run(check())


TOKENS = """token_file = "nodes.token"
[tls]
certificate = "certs/{name}.pem"
key = "certs/{name}.key"
trusts = "{authority}/ca.pem"
[[neighbour]]
name = "{other}"
{address}
"""


@pytest.mark.parametrize(("authority", "connected"), [("certs", True), ("others", False)])
def test_nodes_with_a_token_trust_an_authority_of_their_own(
    certificates: Path, tmp_path: Path, authority: str, *, connected: bool
) -> None:
    (certificates / "nodes.token").write_text("a long secret\n")

    async def check() -> bool:
        first = config(certificates, TOKENS.format(name="p1", other="p2", authority="certs", address=""), "p1")
        async with serving(replace(first, state=tmp_path / "p1")) as one:
            address = f'address = "127.0.0.1:{one.port}"'
            text = TOKENS.format(name="p2", other="p1", authority=authority, address=address)
            async with serving(replace(config(certificates, text, "p2"), state=tmp_path / "p2")) as two:
                for _ in range(500 if connected else 50):
                    if one.host.connections and two.host.connections:
                        return True
                    await asyncio.sleep(0.02)
        return False

    assert run(check()) is connected


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("", False),
        ('[tls]\ncertificate = "p.pem"\nkey = "p.key"', False),
        ('[tls]\ncertificate = "p.pem"\nkey = "p.key"\nauthority = "ca.pem"', True),
        ('[tls]\ncertificate = "p.pem"\nkey = "p.key"\n[[client]]\nname = "c"\ntoken = "t"', True),
        (
            '[tls]\ncertificate = "p.pem"\nkey = "p.key"\n[[client]]\nname = "c"\ntoken = "t"\n[[neighbour]]\nname="q"',
            False,
        ),
        ('[[client]]\nname = "c"\ntoken = "t"', False),
    ],
)
def test_a_node_that_is_open_to_the_world_does_not_start(tmp_path: Path, text: str, *, safe: bool) -> None:
    settings = _reachable(tmp_path, text)
    if safe:
        check_safety(settings, tmp_path)
    else:
        with pytest.raises(OptionError, match="for anybody"):
            NodeServer(settings)
        check_safety(_reachable(tmp_path, f"insecure = true\n{text}"), tmp_path)


def _reachable(folder: Path, text: str) -> NodeConfig:
    return replace(config(folder, text), listen=Address("0.0.0.0", 0))


def test_nobody_takes_over_what_belongs_to_another_client(certificates: Path) -> None:
    rights = RIGHTS + '[[client]]\nname = "stranger"\npublish = ["*"]\n'

    async def check() -> None:
        certs = certificates / "certs"
        async with (
            serving(config(certificates, rights, "p1")) as server,
            await AsyncClient.connect(access(server, certs, "sensors")) as sensors,
        ):
            await sensors.source("s", ["Temp"])
            with pytest.raises(CepheusError, match="belongs to another client"):
                await _ask(access(server, certs, "stranger"), lambda client: client.source("s", ["Temp"]))

    run(check())
