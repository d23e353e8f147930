"""Certificates that nobody will accept: found before a node starts, and named when a connection fails."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from node_servers import access, config, run, serving
from processes import MAIN, Certificates, NodeProcess, free_port

from cepheus.core.errors import CepheusError
from cepheus.network import Access, AsyncClient, TlsConfig
from cepheus.runtime.network.transport.access import status
from cepheus.runtime.network.transport.security import check_certificates

NEIGHBOUR = '[[neighbour]]\nname = "p2"\n'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two authorities, certificates of two nodes, and files that are none."""
    folder = tmp_path_factory.mktemp("files")
    own = Certificates.make(folder, "p1", "p2", "sensors")
    own.sign("old", expired=True)
    own.sign_for_later("later")
    own.lock("p1")
    Certificates.make(folder / "other", "p1", "sensors")
    (folder / "text.pem").write_text("nothing to see")
    (folder / "broken.pem").write_text("-----BEGIN CERTIFICATE-----\nnothing\n-----END CERTIFICATE-----\n")
    return folder


def tls(folder: Path, certificate: str = "p1.pem", key: str = "p1.key", authority: str = "ca.pem") -> str:
    return (
        f'[tls]\ncertificate = "{folder}/{certificate}"\nkey = "{folder}/{key}"\nauthority = "{folder}/{authority}"\n'
    )


@pytest.mark.parametrize(
    ("files", "neighbour", "message"),
    [
        ({"certificate": "missing.pem"}, "", "cannot read .*missing.pem"),
        ({"key": "text.pem"}, "", "no PEM file"),
        ({"certificate": "broken.pem"}, "", "are not a certificate and a key"),
        ({"certificate": "p1.key", "key": "p1.pem"}, "", "are not a certificate and a key"),
        ({"key": "p2.key"}, "", "is not the key of the certificate"),
        ({"authority": "ca.key"}, "", "no certificate in .*ca.key"),
        ({"authority": "other/ca.pem"}, "", "was not signed by .*other/ca.pem"),
        ({"certificate": "old.pem", "key": "old.key"}, "", "has expired"),
        ({"certificate": "later.pem", "key": "later.key"}, "", "is not in force yet"),
        ({"key": "locked.key"}, "", "the key '.*locked.key' needs a password"),
        ({"certificate": "p2.pem", "key": "p2.key"}, NEIGHBOUR, "is not that of 'p1'"),
    ],
)
def test_what_nobody_will_accept_is_found_before_a_node_starts(
    made: Path, tmp_path: Path, files: dict[str, str], neighbour: str, message: str
) -> None:
    with pytest.raises(CepheusError, match=message):
        check_certificates(config(tmp_path, tls(made, **files) + neighbour), tmp_path / "p1.toml")


def test_certificates_that_fit_are_accepted(made: Path, tmp_path: Path) -> None:
    check_certificates(config(tmp_path, tls(made) + NEIGHBOUR), tmp_path)
    check_certificates(config(tmp_path, tls(made, "p2.pem", "p2.key")), tmp_path)  # nobody connects to it as to 'p1'
    plain = tls(made).replace("authority", "# authority")
    check_certificates(config(tmp_path, plain), tmp_path)


def test_the_command_checks_certificates(made: Path, tmp_path: Path) -> None:
    config(tmp_path, tls(made, key="p2.key"))
    done = subprocess.run(
        [*MAIN, "node", "--check", "--config", str(tmp_path / "p1.toml")], capture_output=True, check=False, text=True
    )
    assert done.returncode == 1
    assert "is not the key of the certificate" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_failed_connection_says_what_is_wrong_with_it(made: Path, tmp_path: Path) -> None:
    other = made / "other"

    async def refusal(given: Access) -> str:
        with pytest.raises(CepheusError) as caught:
            await AsyncClient.connect(given)
        assert caught.value.diagnostics[0].hint
        return caught.value.diagnostics[0].message

    async def check() -> None:
        async with serving(config(tmp_path, tls(made))) as server:
            address = f"127.0.0.1:{server.port}"

            def own(certificate: Path | None, authority: Path | None, name: str | None) -> Access:
                pair = (
                    (None, None) if certificate is None else (certificate / "sensors.pem", certificate / "sensors.key")
                )
                return Access(address, TlsConfig(pair[0], pair[1], authority), "", name, 0.1)

            assert "wants TLS" in await refusal(Access(address, patience=0.1))
            assert "wants to see a certificate" in await refusal(own(None, made / "ca.pem", "p1"))
            assert "does not accept the certificate" in await refusal(own(other, made / "ca.pem", "p1"))
            assert "was not signed by an authority in" in await refusal(own(made, other / "ca.pem", "p1"))
            assert "is not that of '127.0.0.1'" in await refusal(own(made, made / "ca.pem", None))
            assert (await status(access(server, made, "sensors")))["name"] == "p1"
        async with serving(config(tmp_path, "", "plain")) as server:
            with_tls = Access(f"127.0.0.1:{server.port}", TlsConfig(authority=made / "ca.pem"), patience=0.1)
            assert "has no TLS" in await refusal(with_tls)
        assert "nobody listens there" in await refusal(Access(f"127.0.0.1:{free_port()}", patience=0.1))
        assert "no machine is known as" in await refusal(Access("nowhere.invalid:7600", patience=0.1))

    run(check())


def test_a_neighbour_that_cannot_be_reached_is_reported_once(made: Path, tmp_path: Path) -> None:
    """A real process whose neighbour shows a certificate of another authority: one line, in words, none of gRPC's."""
    one, two = NodeProcess(tmp_path, "p1"), NodeProcess(tmp_path, "p2")
    two.write([("p1", None)], 0, "")
    one.write([("p2", two.port)], 0, "")
    for node, folder, name in ((one, made / "other", "p1"), (two, made, "p2")):
        path = tmp_path / f"{node.name}.toml"
        path.write_text(path.read_text() + tls(folder, f"{name}.pem", f"{name}.key"))
        node.start()
    try:
        until = time.monotonic() + 30
        while "no connection to 'p2'" not in one.log() and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(7)  # it tries several times meanwhile
        warnings = [line for line in one.log().splitlines() if "INFO" not in line]
    finally:
        one.kill()
        two.kill()
    told = [line for line in warnings if "was not signed by an authority" in line]
    assert len(told) == 1
    assert all(line in told or "nobody listens there" in line for line in warnings)  # the other one may start later
