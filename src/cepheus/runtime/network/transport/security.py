"""Who may connect and do what: certificates, tokens, rights; a node that would be open to the world does not start."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
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
from cepheus.runtime.network.transport.certificates import read_pem
from cepheus.runtime.network.transport.config import NodeConfig, TlsConfig
from cepheus.runtime.network.transport.hello import PROCESSOR, Hello

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
