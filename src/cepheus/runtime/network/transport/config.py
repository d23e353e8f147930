"""What a node's file says and whether it makes sense, addresses included: every finding has its line."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from pathlib import Path

from cepheus.core.time import DAY, SECOND
from cepheus.core.toml_file import (
    Table,
    Tables,
    TomlFile,
    WrongValueError,
    boolean,
    duration,
    integer,
    member_of,
    number,
    path_from,
    text,
    texts,
)
from cepheus.runtime.network.protocol.strategy import Delivery, Filter, Masters, Options, Strategy


class AddressError(ValueError):
    """A text that is no address."""


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port; port 0 lets the system choose one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


LOOPBACK = Address("127.0.0.1", 0)


def parse_address(text: str) -> Address:
    """Read ``host:port``.

    >>> parse_address("[::1]:7600"), parse_address("node.example:7600").is_loopback
    (Address(host='::1', port=7600), False)
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or not 0 <= int(port) < 65536:
        raise AddressError(f"'{text}' is no address")
    return Address(host, int(port))


_NAME = re.compile(r"[\w.-]+")
_RETAIN = 2
"""Events are remembered for this many times as long as a neighbour may be away, beyond the windows of rules,"""

_NOTICED = 30 * SECOND
"""and for this long more: a neighbour that hangs is noticed by its silence."""


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
    delivery: Delivery = Delivery.ON_THE_WAY
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
            delivery=self.delivery,
            adapt_every=self.adapt_every,
            retain=_RETAIN * self.gone_after + _NOTICED if self.gone_after else 0,
        )


def read_config(path: Path) -> NodeConfig:
    """Read a node's file; OptionError with all findings if it does not make sense. Paths are relative to the file."""
    file = TomlFile(path, "node-config")
    config = file.read(_node_table(path.parent))
    _check(config, file)
    file.raise_findings()
    return config


def _node_table(folder: Path) -> Table[NodeConfig]:
    path = path_from(folder)
    tls = Table("[tls]", TlsConfig, dict.fromkeys(("certificate", "key", "authority", "trusts"), path))
    client = {"name": text, "token": text, "token_file": path, "publish": texts, "subscribe": texts, "deploy": boolean}
    return Table(
        "a node",
        NodeConfig,
        {
            "name": text,
            "listen": _address,
            "state": path,
            "rank": integer(0),
            "strategy": member_of(Strategy),
            "filter": member_of(Filter),
            "masters": member_of(Masters),
            "delivery": member_of(Delivery),
            "adapt_every": duration(),
            "metrics": _address,
            "session_timeout": duration(),
            "gone_after": duration(),
            "checkpoint_bytes": integer(0),
            "sync": boolean,
            "insecure": boolean,
            "token_file": path,
            "tls": tls,
            "limits": _LIMITS,
            "neighbour": Tables(_NEIGHBOUR),
            "client": Tables(Table("this client", ClientConfig, client, {"name": 'such as name = "sensors"'})),
        },
        {"name": 'write name = "p1" at the top of the file'},
    )


def _address(value: object, key: str) -> Address:
    try:
        return parse_address(text(value, key))
    except AddressError as error:
        raise WrongValueError(str(error), "write host:port, such as 127.0.0.1:7600") from None


_NEIGHBOUR = Table(
    "this neighbour", NeighbourConfig, {"name": text, "address": _address}, {"name": 'such as name = "p2"'}
)
_LIMITS = Table(
    "[limits]",
    Limits,
    {
        "message_bytes": integer(1),
        "window_bytes": integer(1),
        "backlog_bytes": integer(1),
        "events_per_second": number(),
        "clients": integer(1),
        "ahead": duration(),
    },
)


def _check(config: NodeConfig, file: TomlFile) -> None:
    """Look at what keys mean together."""
    if config.name and not _NAME.fullmatch(config.name):
        file.note(("name",), f"'{config.name}' is no name of a node", "use letters, digits, '_', '-' and '.'")
    if config.metrics is not None and config.metrics == config.listen and config.listen.port:
        file.note(("metrics",), f"the node listens on {config.listen} itself", "give the metrics a port of their own")
    names = [neighbour.name for neighbour in config.neighbour]
    for place, (name, neighbour) in enumerate(zip(names, config.neighbour, strict=True)):
        if name and name == config.name:
            file.note(("neighbour", place, "name"), "a node is not its own neighbour")
        elif name and name in names[:place]:
            file.note(("neighbour", place, "name"), f"there are two neighbours named '{name}'")
        if neighbour.address is not None and not neighbour.address.port:
            hint = "write the port that the neighbour listens on"
            file.note(("neighbour", place, "address"), "nobody can be reached at port 0", hint)
    for place, client in enumerate(config.client):
        if client.name and not client.token and client.token_file is None and config.tls.authority is None:
            hint = 'give it a token_file, or let clients show certificates: [tls] authority = "ca.pem"'
            file.note(("client", place), f"nothing tells who is '{client.name}'", hint)
    if (config.tls.certificate is None) != (config.tls.key is None):
        file.note(("tls",), "a certificate and its key go together", "name both certificate and key")
