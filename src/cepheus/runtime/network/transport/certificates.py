"""Certificates before they are used: whether the files can be read, fit one another and are in force.

Two ends of TLS in this process talk to one another, as a node and one that connects to it would.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from enum import Enum, auto
from pathlib import Path

from cepheus.core.errors import OptionError, Place
from cepheus.runtime.network.transport.config import NodeConfig, TlsConfig


class Flaw(Enum):
    """Why a certificate is not accepted."""

    EXPIRED = auto()
    NOT_YET = auto()
    OTHER_NAME = auto()
    OTHER_ISSUER = auto()


FLAWS: Mapping[int, Flaw] = {
    2: Flaw.OTHER_ISSUER,
    9: Flaw.NOT_YET,
    10: Flaw.EXPIRED,
    18: Flaw.OTHER_ISSUER,
    19: Flaw.OTHER_ISSUER,
    20: Flaw.OTHER_ISSUER,
    21: Flaw.OTHER_ISSUER,
    62: Flaw.OTHER_NAME,
    64: Flaw.OTHER_NAME,
}
"""What OpenSSL's codes mean (``X509_V_ERR_...``); others are rare, and told in OpenSSL's words."""


def check_certificates(config: NodeConfig, place: Path) -> None:
    """Refuse a node whose certificate nobody will accept; OptionError says what is wrong with which file."""
    tls = config.tls
    for path in (tls.certificate, tls.key, tls.authority, tls.trusts):
        if path is not None:
            read_pem(path)
    for path in (tls.authority, tls.trusts):
        if path is not None:
            _authority_context(path, place)
    if tls.certificate is None or tls.key is None:
        return
    server = _server_context(tls, place)
    problem = _refusal(tls.certificate, server, tls.roots, None)
    if problem is None and config.neighbour and tls.roots is not None:  # neighbours look at the name, too
        problem = _refusal(tls.certificate, server, tls.roots, config.name)
    if problem is None:
        return
    code, text = problem
    hint: str | None
    match FLAWS.get(code):
        case Flaw.EXPIRED:
            message, hint = "has expired", "have it signed again"
        case Flaw.NOT_YET:
            message, hint = "is not in force yet", "is the clock of this machine right?"
        case Flaw.OTHER_NAME:
            message = f"is not that of '{config.name}', so no neighbour will accept it"
            hint = "the node's name must be its common name or a DNS name of it"
        case Flaw.OTHER_ISSUER:
            message, hint = f"was not signed by '{tls.roots}'", "name the authority that has signed it"
        case None:
            message, hint = f"is not accepted: {text}", None
    raise _wrong(f"the certificate '{tls.certificate}' {message}", place, hint)


def read_pem(path: Path) -> bytes:
    """Read a PEM file; OptionError if it is none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise OptionError.of("file", f"cannot read '{path}': {(error.strerror or 'it failed').lower()}") from None
    if b"-----BEGIN" not in data:
        raise OptionError.of("node-config", f"'{path}' is no PEM file", hint="it begins with -----BEGIN")
    return data


def load_pair(context: ssl.SSLContext, certificate: Path, key: Path | None) -> tuple[str, str] | None:
    """Let connections show a certificate; gives what is wrong with the files, and what may help, if they do not fit.

    OpenSSL would ask whoever sits at the terminal for the password of a key, and wait.
    """
    try:
        context.load_cert_chain(certificate, key, password=lambda: "")
    except ssl.SSLError as error:
        if "KEY_VALUES_MISMATCH" in (error.reason or ""):
            return f"'{key}' is not the key of the certificate '{certificate}'", "name its own key"
        if b"ENCRYPTED" in read_pem(key or certificate):
            return f"the key '{key or certificate}' needs a password", "nobody is asked for it: write it without one"
        return (
            f"'{certificate}' and '{key}' are not a certificate and a key",
            "certificate names a file with BEGIN CERTIFICATE, key one with BEGIN PRIVATE KEY",
        )
    return None


def _authority_context(authority: Path, place: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(authority)
    except ssl.SSLError:
        raise _wrong(
            f"there is no certificate in '{authority}'", place, "is it the authority's, not its key?"
        ) from None
    return context


def _server_context(tls: TlsConfig, place: Path) -> ssl.SSLContext:
    assert tls.certificate is not None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    problem = load_pair(context, tls.certificate, tls.key)
    if problem is not None:
        message, hint = problem
        raise _wrong(message, place, hint)
    return context


def _refusal(
    certificate: Path, server: ssl.SSLContext, authority: Path | None, name: str | None
) -> tuple[int, str] | None:
    """Let a client connect to a server with this certificate; give why it refuses, as OpenSSL's code and words.

    Without an authority the certificate itself is trusted: what clients trust is not known here.
    """
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = name is not None
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    client.load_verify_locations(authority or certificate)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for end in [*ends, *ends]:
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
        except ssl.SSLCertVerificationError as error:
            return error.verify_code, error.verify_message
    return None


def _wrong(message: str, place: Path, hint: str | None) -> OptionError:
    return OptionError.of("node-certificate", message, place=Place(str(place)), hint=hint)
