"""What a node's file says, and whether it makes sense: every finding has the file, the line and the key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from cepheus.core.errors import CepheusError, Diagnostic, OptionError, Place, did_you_mean
from cepheus.core.time import DAY, SECOND, parse_duration
from cepheus.core.toml_file import read_toml
from cepheus.core.toml_lines import Path as KeyPath
from cepheus.runtime.network.protocol.strategy import Filter, Masters, Options, Strategy
from cepheus.runtime.network.transport.address import LOOPBACK, Address, AddressError, parse_address

T = TypeVar("T")
_NAME = re.compile(r"[\w.-]+")
_RETAIN = 2
"""Events are remembered for this many times as long as a neighbour may be away, beyond the windows of rules,"""

_NOTICED = 30 * SECOND
"""and for this long more: a neighbour that hangs is noticed by its silence."""

_DURATIONS = ("session_timeout", "gone_after", "adapt_every", "ahead")
_KINDS: Mapping[type, str] = {str: "a text", int: "an integer", float: "a number", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class NeighbourConfig:
    """A processor that this one has a link to. Without an address, the neighbour is the one who connects."""

    name: str = ""
    address: Address | None = None


@dataclass(frozen=True, slots=True)
class TlsConfig:
    """Certificates, as PEM files. With ``authority``, whoever connects must show a certificate signed by it.

    Those that are connected to must show one that ``trusts`` has signed: ``authority`` unless it is given, and without
    either, one that the machine knows.
    """

    certificate: Path | None = None
    key: Path | None = None
    authority: Path | None = None
    trusts: Path | None = None

    @property
    def roots(self) -> Path | None:
        """Who must have signed the certificates of those that are connected to; None for all that the machine knows."""
        return self.authority if self.trusts is None else self.trusts


@dataclass(frozen=True, slots=True)
class Limits:
    """What a node bears.

    ``message_bytes`` is the longest message of a client; ``window_bytes`` how much may wait for a neighbour before
    sources have to wait; ``backlog_bytes`` how much may wait for a slow client before it is cut off;
    ``events_per_second`` how many events one client may publish, 0 for any number; ``clients`` how many may connect;
    ``ahead`` how far the times of events may be ahead of the node's clock, in microseconds, 0 for any distance.
    """

    message_bytes: int = 4 << 20
    window_bytes: int = 32 << 20
    backlog_bytes: int = 256 << 20
    events_per_second: float = 0.0
    clients: int = 1000
    ahead: int = DAY


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """A client's rights: types it may publish and subscribe to (``*`` for all), and whether it may deploy rules.

    The name is that of its certificate, or that of whoever shows the token.
    """

    name: str = ""
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    publish: tuple[str, ...] = ()
    subscribe: tuple[str, ...] = ()
    deploy: bool = False


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """A node: its name, where it listens, where it keeps its state, its neighbours. Durations are microseconds.

    ``session_timeout`` is how long a client that is gone may take to come back, ``gone_after`` how long a neighbour
    may; then the trees are built anew without it (0: never). ``sync`` makes the journal survive a loss of power.
    """

    name: str = ""
    listen: Address = LOOPBACK
    state: Path = Path("state")
    rank: int = 0
    strategy: Strategy = Strategy.ST
    filter: Filter = Filter.EXACT
    masters: Masters = Masters.ADAPTIVE
    adapt_every: int = 30 * SECOND
    metrics: Address | None = None
    session_timeout: int = 60 * SECOND
    gone_after: int = 20 * SECOND
    checkpoint_bytes: int = 32 << 20
    sync: bool = False
    insecure: bool = False
    token_file: Path | None = None
    tls: TlsConfig = field(default_factory=TlsConfig)
    limits: Limits = field(default_factory=Limits)
    neighbour: tuple[NeighbourConfig, ...] = ()
    client: tuple[ClientConfig, ...] = ()

    @property
    def options(self) -> Options:
        """What all processors of the network agree on."""
        return Options(
            self.strategy,
            self.filter,
            masters=self.masters,
            adapt_every=self.adapt_every,
            retain=_RETAIN * self.gone_after + _NOTICED if self.gone_after else 0,
        )


def read_config(path: Path) -> NodeConfig:
    """Read a node's file; OptionError with all findings if it does not make sense. Paths are relative to the file."""
    data, lines = read_toml(path, "node-config")
    reader = _Reader(path, lines)
    config = reader.table(NodeConfig, data, ())
    reader.check(config)
    if reader.findings:
        raise OptionError(sorted(reader.findings, key=lambda f: (f.place.line or 0) if f.place else 0))
    return config


class _Reader:
    """Makes configurations of tables and notes what is wrong with them."""

    def __init__(self, path: Path, lines: Mapping[KeyPath, int]) -> None:
        self._path = path
        self._lines = lines
        self.findings: list[Diagnostic] = []

    def table(self, kind: type[T], data: object, at: KeyPath) -> T:
        """Read one table."""
        if not isinstance(data, dict):
            self._note(at, f"'{at[0]}' is a table", f"write [{at[0]}] and its keys below")
            return kind()
        hints = get_type_hints(kind)
        names = [one.name for one in fields(kind)]  # type: ignore[arg-type]  # all of them are dataclasses
        given: dict[str, Any] = {}
        for key, value in data.items():
            where = (*at, key)
            if key not in names:
                known = did_you_mean(key, names) or f"it has {', '.join(names)}"
                self._note(where, f"{_owner(at)} has no key '{key}'", known)
                continue
            try:
                given[key] = self._value(key, value, hints[key], where)
            except _WrongError as wrong:
                self._note(where, *wrong.args)
        return kind(**given)

    def check(self, config: NodeConfig) -> None:
        """Look at what keys mean together."""
        if not config.name and not self.findings:
            self._note((), "the node has no name", 'write name = "p1" at the top of the file')
        elif config.name and not _NAME.fullmatch(config.name):
            self._note(("name",), f"'{config.name}' is no name of a node", "use letters, digits, '_', '-' and '.'")
        names = [neighbour.name for neighbour in config.neighbour]
        for place, name in enumerate(names):
            if not name:
                self._note(("neighbour", place), "this neighbour has no name", 'such as name = "p2"')
            elif name == config.name:
                self._note(("neighbour", place, "name"), "a node is not its own neighbour")
            elif name in names[:place]:
                self._note(("neighbour", place, "name"), f"there are two neighbours named '{name}'")
        for place, client in enumerate(config.client):
            if not client.name:
                self._note(("client", place), "this client has no name", 'such as name = "sensors"')
            elif not client.token and client.token_file is None and config.tls.authority is None:
                hint = 'give it a token_file, or let clients show certificates: [tls] authority = "ca.pem"'
                self._note(("client", place), f"nothing tells who is '{client.name}'", hint)
        if (config.tls.certificate is None) != (config.tls.key is None):
            self._note(("tls",), "a certificate and its key go together", "name both certificate and key")

    def _value(self, key: str, value: object, hint: Any, where: KeyPath) -> Any:
        kinds = get_args(hint) or (hint,)
        kind = kinds[0]
        if get_origin(hint) is tuple:
            return self._list(kind, key, value, where)
        if key in _DURATIONS:
            return self._parse(parse_duration, value)
        if kind is Address:
            return self._parse(parse_address, value)
        if kind is Path:
            return self._path.parent / self._plain(str, key, value)
        if isinstance(kind, type) and issubclass(kind, Enum):
            known = {str(member.value): member for member in kind}
            if value not in known:
                choices = did_you_mean(str(value), known) or f"choose one of {', '.join(known)}"
                raise _WrongError(f"'{value}' is not a choice for {key}", choices)
            return known[str(value)]
        if kind in (TlsConfig, Limits):
            return self.table(kind, value, where)
        return self._plain(kind, key, value)

    def _list(self, kind: type, key: str, value: object, where: KeyPath) -> tuple[Any, ...]:
        if kind is str:
            texts = [value] if isinstance(value, str) else value
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise _WrongError(f"'{key}' must be a list of texts", f'such as {key} = ["Temp", "Smoke"]')
            return tuple(texts)
        if not isinstance(value, list):
            raise _WrongError(f"'{key}' is a list of tables", f"write [[{key}]] and its keys below")
        return tuple(self.table(kind, table, (*where, place)) for place, table in enumerate(value))

    def _plain(self, kind: type, key: str, value: object) -> Any:
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise _WrongError(f"'{key}' must be {_KINDS[kind]}, not {value!r}")
        if kind in (int, float) and isinstance(value, int | float) and value < 0:
            raise _WrongError(f"'{key}' must not be negative")
        return value

    def _parse(self, parse: Any, value: object) -> Any:
        try:
            return parse(str(value))
        except AddressError as error:
            raise _WrongError(str(error), "write host:port, such as 127.0.0.1:7600") from None
        except CepheusError as error:
            found = error.diagnostics[0]
            raise _WrongError(found.message, found.hint) from None

    def _note(self, at: KeyPath, message: str, hint: str | None = None) -> None:
        line = next((self._lines[at[:end]] for end in range(len(at), 0, -1) if at[:end] in self._lines), None)
        self.findings.append(Diagnostic("node-config", message, hint=hint, place=Place(str(self._path), line)))


class _WrongError(Exception):
    """A value that is not what it should be: a message and perhaps a hint."""


def _owner(at: KeyPath) -> str:
    return f"[{at[0]}]" if at else "a node"
