"""Who may connect and do what: certificates, tokens, rights; a node that would be open to the world does not start.

Certificates are looked at before they are used: whether the files can be read, fit one another and are in force. For
that, two ends of TLS in this process talk to one another, as a node and one that connects to it would.
"""

from __future__ import annotations

import hmac
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from cepheus.core.errors import OptionError, Place
from cepheus.core.toml_file import KeyPath, TomlFile
from cepheus.runtime.network.protocol.messages import (
    AttachSink,
    AttachSource,
    DeployRules,
    DetachSink,
    DetachSource,
    Message,
    Publish,
    WithdrawRules,
)
from cepheus.runtime.network.transport.config import NodeConfig, TlsConfig
from cepheus.runtime.network.transport.connection import PROCESSOR, Hello

if TYPE_CHECKING:
    import grpc


NOBODY = "anybody"
"""The name of clients that need not say who they are."""


class RefusedError(Exception):
    """Somebody is not who they say, or may not do what they ask for."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody who has shown who they are, and their rights."""

    name: str
    publish: tuple[str, ...] = ()
    subscribe: tuple[str, ...] = ()
    deploy: bool = False

    def check(self, message: Message) -> None:
        """Refuse a message that a client may not send."""
        match message:
            case AttachSource(types=types):
                self._check_types("publish", types, self.publish)
            case AttachSink(pattern=pattern):
                self._check_types("subscribe to", (pattern.type,), self.subscribe)
            case DeployRules() | WithdrawRules():
                if not self.deploy:
                    raise RefusedError(f"'{self.name}' may not deploy or withdraw rules")
            case Publish() | DetachSource() | DetachSink():
                pass  # concerns what was attached before
            case _:
                raise RefusedError("clients do not send such messages")

    def _check_types(self, what: str, types: Iterable[str], allowed: Iterable[str]) -> None:
        for kind in types:
            if not any(fnmatchcase(kind, pattern) for pattern in allowed):
                raise RefusedError(f"'{self.name}' may not {what} events of type '{kind}'")


class Gate:
    """Tells who connects."""

    def __init__(self, config: NodeConfig) -> None:
        self._config = config
        self._neighbours = frozenset(neighbour.name for neighbour in config.neighbour)
        self._certificates = config.tls.authority is not None
        self._token = read_token(config.token_file) if config.token_file is not None else ""
        self._clients = {
            client.name: (
                Principal(client.name, client.publish, client.subscribe, client.deploy),
                client.token or (read_token(client.token_file) if client.token_file is not None else ""),
            )
            for client in config.client
        }

    def admit(self, hello: Hello, shown: Iterable[str], token: str) -> Principal:
        """Say who somebody is, by the names on their certificate or by their token; RefusedError if they are not."""
        if hello.role == PROCESSOR:
            return self._processor(hello.name, frozenset(shown), token)
        return self.client(shown, token)

    def client(self, shown: Iterable[str], token: str) -> Principal:
        """Say which client somebody is."""
        names = frozenset(shown)
        for principal, expected in self._clients.values():
            if principal.name in names or (expected and hmac.compare_digest(expected.encode(), token.encode())):
                return principal
        if self._clients:
            raise RefusedError("no client with rights here has this certificate or token")
        if self._certificates and not names:
            raise RefusedError("a certificate is needed")
        return Principal(NOBODY, ("*",), ("*",), deploy=True)

    def _processor(self, name: str, names: frozenset[str], token: str) -> Principal:
        if name not in self._neighbours:
            raise RefusedError(f"'{name}' is not a neighbour of '{self._config.name}'")
        if self._certificates and name not in names:
            raise RefusedError(f"the certificate is not that of '{name}'")
        if self._token and not self._certificates and not hmac.compare_digest(self._token.encode(), token.encode()):
            raise RefusedError(f"'{name}' has not shown the token of this network")
        return Principal(name)


def check_safety(config: NodeConfig, place: Path) -> None:
    """Refuse a node that anybody in the network could reach without showing who they are."""
    if config.listen.is_loopback or config.insecure:
        return
    tls = config.tls
    tokens = bool(config.client) and (config.token_file is not None or not config.neighbour)
    if tls.certificate is None or not (tls.authority or tokens):
        raise OptionError.of(
            "node-open",
            f"the node would listen on {config.listen} for anybody: it has no TLS, or nobody must show who they are",
            place=Place(str(place)),
            hint="give it [tls] certificate, key and authority; or TLS and tokens for clients; "
            "or let it listen on 127.0.0.1",
        )


def check_tokens(config: NodeConfig, place: Path) -> None:
    """Refuse a node whose files of tokens cannot be read; ``place`` is the file of the node."""
    given: list[tuple[KeyPath, Path | None]] = [(("token_file",), config.token_file)]
    given += [(("client", number, "token_file"), client.token_file) for number, client in enumerate(config.client)]
    for at, path in given:
        if path is None:
            continue
        try:
            read_token(path)
        except OptionError as error:
            line = TomlFile(place, "node-config").place(at)
            raise OptionError([replace(found, place=line) for found in error.diagnostics]) from None


def read_token(path: Path) -> str:
    """Read a token from a file of its own."""
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise OptionError.of("file", f"cannot read the token in '{path}'") from None
    if not token:
        raise OptionError.of("node-config", f"there is no token in '{path}'")
    return token


def server_credentials(tls: TlsConfig) -> grpc.ServerCredentials | None:
    """Return the credentials of a server, or None without TLS."""
    import grpc

    if tls.certificate is None or tls.key is None:
        return None
    authority = None if tls.authority is None else read_pem(tls.authority)
    pair = (read_pem(tls.key), read_pem(tls.certificate))
    return grpc.ssl_server_credentials([pair], authority, require_client_auth=authority is not None)


def channel_credentials(tls: TlsConfig) -> grpc.ChannelCredentials | None:
    """The credentials of whoever connects, or None without TLS."""
    import grpc

    if tls.roots is None and tls.certificate is None:
        return None
    certificate = None if tls.certificate is None else read_pem(tls.certificate)
    key = None if tls.key is None else read_pem(tls.key)
    roots = None if tls.roots is None else read_pem(tls.roots)
    return grpc.ssl_channel_credentials(roots, key, certificate)


def shown_names(context: Mapping[str, Iterable[bytes]]) -> frozenset[str]:
    """The names on the certificate that the other side has shown; none without one."""
    keys = ("x509_common_name", "x509_subject_alternative_name")
    return frozenset(name.decode("utf-8", "replace") for key in keys for name in context.get(key, ()))


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
