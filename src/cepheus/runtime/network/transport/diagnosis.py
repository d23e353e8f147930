"""Why there is no connection: looks once more, step by step, and says what is wrong in words that help.

What gRPC says of a failed connection is made for those who know it from within; a mistake with certificates is often
no more to it than a socket that was closed.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import dataclass

from cepheus.runtime.network.transport.certificates import FLAWS, Flaw, load_pair
from cepheus.runtime.network.transport.config import Address, AddressError, TlsConfig, parse_address

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
