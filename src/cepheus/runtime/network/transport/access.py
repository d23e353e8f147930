"""How a client reaches a node: an address and what to show there; what is said when that does not work.

What gRPC says of a failed connection is made for those who know it from within. So where there is no connection, the
way is looked at once more, step by step, and what is wrong is said in words that help.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from dataclasses import dataclass, field
from typing import Any

from cepheus.core.extras import require
from cepheus.runtime.network.transport.config import Address, AddressError, TlsConfig, parse_address
from cepheus.runtime.network.transport.connection import NetworkError
from cepheus.runtime.network.transport.security import FLAWS, Flaw, channel_credentials, load_pair
from cepheus.runtime.network.transport.streams import Dialler

FATAL = ("PERMISSION_DENIED", "UNAUTHENTICATED", "INVALID_ARGUMENT", "UNIMPLEMENTED", "RESOURCE_EXHAUSTED")
"""Answers of a node after which there is no use in asking again."""


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach a node: its address, certificates, a token, the name that its certificate must have.

    ``patience`` is how many seconds a node may be away before a client gives up.
    """

    address: str
    tls: TlsConfig = field(default_factory=TlsConfig)
    token: str = field(default="", repr=False)
    server_name: str | None = None
    patience: float = 60.0

    def dialler(self) -> Dialler:
        """What opens connections."""
        require("grpc", "a network")
        return Dialler(self.address, channel_credentials(self.tls), self.token, self.server_name)


async def status(access: Access, dialler: Dialler | None = None, timeout: float = 10.0) -> dict[str, Any]:
    """Ask a node how it is."""
    require("grpc", "a network")
    import grpc

    used = dialler or access.dialler()
    try:
        found: dict[str, Any] = json.loads(await used.status(timeout))
    except grpc.aio.AioRpcError as error:
        reason = error.details() or error.code().name.lower()
        if error.code().name in FATAL:
            raise refused(access.address, reason) from None
        raise await unreachable(access, reason) from None
    finally:
        if dialler is None:
            await used.close()
    return found


def refused(address: str, reason: str) -> NetworkError:
    """Say that a node does not want this client, and why."""
    return NetworkError.of("network-refused", f"the node at {address} refuses: {reason}")


async def unreachable(access: Access, reason: str) -> NetworkError:
    """Say that there is no connection; ``reason`` is why as far as gRPC knows, if nothing better is found."""
    finding = await diagnose(access.address, access.tls, access.server_name)
    return NetworkError.of(
        "network-unreachable",
        f"there is no connection to a node at {access.address}: {reason if finding is None else finding.reason}",
        hint="is the node running, and do address, certificates and token fit?" if finding is None else finding.hint,
    )


_PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a connection, and what may help."""

    reason: str
    hint: str


async def diagnose(address: str, tls: TlsConfig, server_name: str | None) -> Finding | None:
    """Find out why a node cannot be reached; None if nothing is wrong with address and certificates.

    It never raises: whoever asks goes on, or tells somebody, without a connection.
    """
    try:
        where = parse_address(address)
    except AddressError as error:
        return Finding(str(error), "write host:port")
    return await asyncio.to_thread(_look, where, tls, server_name)


def _look(where: Address, tls: TlsConfig, server_name: str | None) -> Finding | None:
    try:
        if tls.roots is None and tls.certificate is None:
            return _without_tls(where)
        return _with_tls(where, tls, server_name or where.host)
    except socket.gaierror:
        return Finding(f"no machine is known as '{where.host}'", "is the name of the host right?")
    except ConnectionRefusedError:
        return Finding("nobody listens there", "is the node running, and is this its port?")
    except TimeoutError:
        return Finding("nobody answers", "is the address right, and does nothing on the way block it?")
    except OSError as error:
        return Finding((error.strerror or "it failed").lower(), "is the node running, and is the address right?")
    except Exception:  # what else there may be: what is known without a diagnosis must do
        return None


def _connect(where: Address) -> socket.socket:
    try:
        return socket.create_connection((where.host, where.port), _PATIENCE)
    except ValueError as error:  # a name that no machine can have: a part of it is empty, or too long
        raise socket.gaierror from error


def _without_tls(where: Address) -> Finding | None:
    """See whether it is a node with TLS that closes connections without."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # nothing is sent: only whether the other side has TLS is asked
    with _connect(where) as plain:
        try:
            with context.wrap_socket(plain):
                pass
        except (ssl.SSLError, ConnectionError):
            return None
    return Finding(
        "the node wants TLS", "name the authority of its certificate: --ca ca.pem, or [tls] in a node's file"
    )


def _with_tls(where: Address, tls: TlsConfig, name: str) -> Finding | None:
    context = ssl.create_default_context(cafile=tls.roots)
    if tls.certificate is not None:
        problem = load_pair(context, tls.certificate, tls.key)
        if problem is not None:
            return Finding(*problem)
    context.set_alpn_protocols(["h2"])
    with _connect(where) as plain:
        try:
            with context.wrap_socket(plain, server_hostname=name) as secure:
                if not secure.recv(1):  # a server that refuses the client's certificate says so only now
                    return _unwanted(tls)
        except ssl.SSLCertVerificationError as error:
            return _distrusted(error, tls, name)
        except ssl.SSLError as error:
            return _refused(error, tls)
        except ConnectionError:
            return _unwanted(tls)
    return None


def _distrusted(error: ssl.SSLCertVerificationError, tls: TlsConfig, name: str) -> Finding:
    match FLAWS.get(error.verify_code):
        case Flaw.EXPIRED:
            return Finding("the node's certificate has expired", "the node needs a new one")
        case Flaw.NOT_YET:
            return Finding("the node's certificate is not in force yet", "are the clocks of both machines right?")
        case Flaw.OTHER_NAME:
            return Finding(
                f"the node's certificate is not that of '{name}'",
                "give the name that is on it: --server-name NAME, or the neighbour's name in a node's file",
            )
        case Flaw.OTHER_ISSUER:
            authority = "known to this machine" if tls.roots is None else f"in '{tls.roots}'"
            return Finding(
                f"the node's certificate was not signed by an authority {authority}",
                "name the authority that has signed it: --ca ca.pem, or authority or trusts under [tls]",
            )
        case None:
            return Finding(
                f"the node's certificate is not accepted: {error.verify_message}", "the node needs another one"
            )


def _refused(error: ssl.SSLError, tls: TlsConfig) -> Finding:
    if error.reason in ("WRONG_VERSION_NUMBER", "UNEXPECTED_EOF_WHILE_READING", "RECORD_LAYER_FAILURE"):
        if error.reason == "UNEXPECTED_EOF_WHILE_READING" and tls.certificate is not None:
            return _unwanted(tls)
        return Finding("whoever listens there has no TLS", "leave out the certificates, or is it another port?")
    return _unwanted(tls)


def _unwanted(tls: TlsConfig) -> Finding:
    if tls.certificate is None:
        return Finding("the node wants to see a certificate", "show one: --cert own.pem --key own.key, or [tls]")
    return Finding(
        f"the node does not accept the certificate '{tls.certificate}'",
        "it must be in force and signed by the authority that the node's file names",
    )
