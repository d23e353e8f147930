"""What processors say to one another and to their clients: frozen, versioned, without behaviour.

Names of processors, sources and sinks are texts. Times are microseconds. A tree is named after the processor at its
root. Every message is handled completely before the next one, and links deliver in the order of sending.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar, dataclass_transform

from cepheus.core.event import Event
from cepheus.core.schema import EventType
from cepheus.core.values import Value
from cepheus.plan.partial import PartialRule
from cepheus.rules.expressions import EventPattern
from cepheus.rules.model import Rule

VERSION = 1
"""Version of the protocol; a processor refuses messages of any other."""

_Kind = TypeVar("_Kind")


@dataclass_transform(frozen_default=True)
def _frequent(kind: type[_Kind]) -> type[_Kind]:
    """Make the class of a message of which there are thousands a second.

    Type checkers hold it for frozen. To have Python check that, too, makes an object take three times as long.
    """
    return dataclass(slots=True, unsafe_hash=True)(kind)


# ---- From clients and from the host that drives a processor ------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Start:
    """The host: all links are up; begin. ``rank`` orders candidates for the leader, the lowest wins."""

    rank: int = 0


@dataclass(frozen=True, slots=True)
class Tick:
    """The host: time has passed. ``promised`` sources have published all events up to ``through``."""

    through: int | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """The host: a neighbour is gone and not waited for any longer; trees are built anew without it."""

    neighbour: str


@dataclass(frozen=True, slots=True)
class Found:
    """The host: a neighbour that was lost is there again; trees are built anew with it."""

    neighbour: str


@dataclass(frozen=True, slots=True)
class AttachSource:
    """A source connects and advertises the types it will publish; it may publish once it is ``Admitted``."""

    source: str
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DetachSource:
    """A source leaves; what it published still counts."""

    source: str


@_frequent
class Publish:
    """A source publishes events in order of time, and promises that no more come up to ``through``."""

    source: str
    events: Sequence[Event]
    through: int | None = None


@dataclass(frozen=True, slots=True)
class AttachSink:
    """A sink subscribes to events of a type and content; each (client, subscription) pair is told separately.

    With ``promises`` it is also told up to which time everything has been delivered.
    """

    sink: str
    pattern: EventPattern
    promises: bool = False


@dataclass(frozen=True, slots=True)
class DetachSink:
    """A sink leaves, or ends one subscription if a pattern is given."""

    sink: str
    pattern: EventPattern | None = None


@dataclass(frozen=True, slots=True)
class DeployRules:
    """A client deploys checked, named rules and the types they declare; ``Deployed`` or ``Refused`` answers."""

    request: str
    rules: tuple[Rule, ...]
    declarations: tuple[EventType, ...] = ()


@dataclass(frozen=True, slots=True)
class WithdrawRules:
    """A client withdraws rules by name."""

    request: str
    names: tuple[str, ...]


# ---- To clients --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Admitted:
    """To a source: events from ``since`` on count; earlier ones are refused."""

    source: str
    since: int


@dataclass(frozen=True, slots=True)
class LateEvents:
    """To a source: so many of its events lay before what it had promised, or before it was admitted."""

    source: str
    count: int


@dataclass(frozen=True, slots=True)
class Deployed:
    """To whoever deployed or withdrew rules: the change holds for events from ``since`` on.

    With many trees each changes at a moment of its own, and none can be named: ``since`` is None.
    """

    request: str
    since: int | None


@dataclass(frozen=True, slots=True)
class Refused:
    """To whoever deployed or withdrew rules: nothing changed, and why."""

    request: str
    reason: str


@_frequent
class Delivered:
    """To a sink: events that it subscribed to; ``through`` promises that no more come up to that time."""

    sink: str
    events: tuple[Event, ...]
    through: int | None = None


# ---- Between processors: trees -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Elect:
    """A wave of the election: the sender knows of no better leader than this one."""

    rank: int
    candidate: str


@dataclass(frozen=True, slots=True)
class Elected:
    """The echo of a wave: everybody behind the sender agrees to this candidate."""

    rank: int
    candidate: str


@dataclass(frozen=True, slots=True)
class CreateTree:
    """Join the tree rooted at a processor; whoever hears of it first from the sender becomes the sender's child.

    A ``renewed`` tree takes the place of one of an earlier epoch.
    """

    tree: str
    renewed: bool = False


@dataclass(frozen=True, slots=True)
class TreeAnswer:
    """ACK: the sender is now a child in the tree; NACK: it already has a father."""

    tree: str
    accepted: bool


@dataclass(frozen=True, slots=True)
class Advertise:
    """To the father: all types produced at or below the sender. ``serial`` counts the sender's advertisements."""

    tree: str
    serial: int
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Interests:
    """To the father: all that sinks at or below the sender have subscribed to, without what others cover.

    With ``promises``, one of them asks to be told how far everything has been delivered.
    """

    tree: str
    patterns: tuple[EventPattern, ...]
    promises: bool = False


# ---- Between processors: rules -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RuleChange:
    """Rules to deploy or to withdraw, on their way to the leader (one tree) or to everybody (many trees).

    ``moment`` and ``origin`` order the changes; rules of one change are in the order of deployment.
    """

    request: str
    origin: str
    moment: int
    rules: tuple[Rule, ...] = ()
    declarations: tuple[EventType, ...] = ()
    withdrawn: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ordered:
    """A rule with its place in the order of deployment and the time from which it sees events, None if not yet set."""

    rule: Rule
    moment: int
    origin: str
    place: int
    since: int | None = None


@dataclass(frozen=True, slots=True)
class Assigned:
    """A partial rule and the time from which its rule sees events; ``pull``: its events wait to be asked for."""

    part: PartialRule
    since: int | None = None
    pull: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """What a father wants of a child: rules to take over completely, and partial rules."""

    rules: tuple[Ordered, ...] = ()
    parts: tuple[Assigned, ...] = ()


@dataclass(frozen=True, slots=True)
class Install:
    """To a child: its program from now on. ``seen`` is the last of its advertisements that the program is based on."""

    tree: str
    version: int
    seen: int
    program: Program


@dataclass(frozen=True, slots=True)
class Installed:
    """To the father: the program is in place at and below the sender.

    ``ready`` is the latest time up to which the sender, or anyone below it, may have dropped events. ``through`` is how
    far its promises go, None if it has nothing to send.
    """

    tree: str
    version: int
    ready: int
    through: int | None


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of a client's request: the time from which it holds, or why it was refused."""

    request: str
    since: int | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Activate:
    """To a child: everybody has installed this version; what is new in it holds for events from ``since`` on.

    In a renewed tree, rules are evaluated from ``first`` on: everything that they look at then is known again.
    ``rules`` are all that are deployed, with their ``edition``, for those who may be the next leader.
    """

    tree: str
    version: int
    since: int
    settled: tuple[Settled, ...] = ()
    first: int | None = None
    edition: tuple[int, int] = (0, 0)
    rules: tuple[Ordered, ...] = ()
    declarations: tuple[EventType, ...] = ()


@dataclass(frozen=True, slots=True)
class Renew:
    """A new epoch begins: all trees are built anew, and what the sender said before concerns the past.

    It brings the rules that the sender knows. ``edition`` tells which of two processors knows the later ones.
    """

    epoch: int
    edition: tuple[int, int]
    rules: tuple[Ordered, ...] = ()
    declarations: tuple[EventType, ...] = ()


# ---- Between processors: events ----------------------------------------------------------------------------------


class Entry(NamedTuple):  # made by the thousand, and a tuple is made faster than a frozen class
    """An event on its way up: who published it as the how manyeth, and the moment at which the sender let it through.

    ``trees`` are those that it is sent for.
    """

    at: int
    source: str
    counter: int
    event: Event
    trees: tuple[str, ...]


@_frequent
class Events:
    """To the father: events, and for each tree the time up to which all events have been sent (None: no bound)."""

    entries: tuple[Entry, ...] = ()
    through: tuple[tuple[str, int | None], ...] = ()


@_frequent
class Deliver:
    """Composite events on their way to sinks."""

    tree: str
    events: tuple[Event, ...]


@_frequent
class Completed:
    """How far everything has been delivered, in trees where a sink asks for it.

    To the father: all composite events up to a time that are made at or below the sender have been sent (None: nothing
    is made there at present). To a child: all that it and those below it want up to a time has been sent (None: nothing
    is promised yet, but the child is to tell its father from now on).
    """

    tree: str
    through: int | None = None


@dataclass(frozen=True, slots=True)
class Awaken:
    """To a child: send what a pull partial rule has from ``first`` to ``last``, and go on until that time has come.

    ``values`` are attribute values that the events must have.
    """

    tree: str
    number: int
    part: str
    first: int
    last: int
    values: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class Pulled:
    """To the father: all that this awakening asked for and that is known has been sent."""

    tree: str
    number: int


@dataclass(frozen=True, slots=True)
class Rates:
    """To the father: how many events matched each partial rule in the last period of ``seconds``."""

    tree: str
    seconds: float
    counts: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Release:
    """To a child: nothing before this time will be asked for any more."""

    tree: str
    before: int


Message = (
    Start
    | Tick
    | Lost
    | Found
    | AttachSource
    | DetachSource
    | Publish
    | AttachSink
    | DetachSink
    | DeployRules
    | WithdrawRules
    | Admitted
    | LateEvents
    | Deployed
    | Refused
    | Delivered
    | Elect
    | Elected
    | CreateTree
    | TreeAnswer
    | Advertise
    | Interests
    | RuleChange
    | Install
    | Installed
    | Activate
    | Renew
    | Events
    | Deliver
    | Completed
    | Awaken
    | Pulled
    | Rates
    | Release
)
