"""A processor's part in one tree: father, children, what they produce and want, programs under way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cepheus.core.event import Event
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.language.tesla import format_pattern
from cepheus.plan.partial import HERE, Producers
from cepheus.rules.expressions import EventPattern
from cepheus.rules.model import Rule
from cepheus.runtime.network.processor.common import History
from cepheus.runtime.network.processor.evaluation import Evaluation
from cepheus.runtime.network.processor.pulling import Pulling
from cepheus.runtime.network.processor.sharing import Shared
from cepheus.runtime.network.protocol.interests import any_matches
from cepheus.runtime.network.protocol.messages import Program, Settled


@dataclass(slots=True)
class Child:
    """A child in a tree: what it advertised, how far its promises go (None: it has nothing to send), what it runs.

    ``completed`` is up to when it has delivered all that is made at or below it (None: nothing is), where a sink asks
    for that; ``promises`` tells whether one at or below the child does.
    """

    types: frozenset[str] | None = None
    serial: int = 0
    through: int | None = None
    program: Program = field(default_factory=Program)
    interests: tuple[EventPattern, ...] = ()
    rates: dict[str, float] = field(default_factory=dict)
    lingers: bool = False
    lingers_until: int | None = None
    completed: int | None = MIN_TIME
    promises: bool = False
    _by_type: dict[str, list[EventPattern]] | None = field(default=None, repr=False)

    def subscribe(self, patterns: tuple[EventPattern, ...], *, promises: bool) -> None:
        """Take down what sinks at or below the child want."""
        self.interests = patterns
        self.promises = promises
        self._by_type = None

    def wanted(self, events: Sequence[Event]) -> tuple[Event, ...]:
        """The events that a sink at or below the child has subscribed to."""
        if self._by_type is None:
            self._by_type = {}
            for pattern in self.interests:
                self._by_type.setdefault(pattern.type, []).append(pattern)
        by_type = self._by_type
        return tuple([event for event in events if event.type in by_type and any_matches(by_type[event.type], event)])


@dataclass(slots=True)
class Wave:
    """A version being installed below this processor."""

    version: int
    seen: int
    program: Program
    shared: Shared
    waiting: set[str]
    ready: int = MIN_TIME
    switched: bool = False


@dataclass(frozen=True, slots=True)
class Basis:
    """What an advertisement was based on: the children's own and the local sources."""

    children: dict[str, int]
    sources: frozenset[str]


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """A partial rule as people read it: its name, its pattern as text, and whether it waits to be asked."""

    name: str
    pattern: str
    waits: bool


@dataclass(slots=True)
class Tree:
    """One tree as one processor knows it; it is named after its root.

    It is ``renewed`` until it is active for the first time, if it takes the place of one of an earlier epoch. If it
    ``reports``, fathers are told how far everything has been delivered: ``reported`` is what the father was told last,
    ``completed`` what was promised to sinks, ``latest`` the time of the latest composite event.
    """

    name: str
    father: str | None
    evaluation: Evaluation
    unanswered: set[str] = field(default_factory=set)
    children: dict[str, Child] = field(default_factory=dict)
    serial: int = 0
    advertised: frozenset[str] | None = None
    bases: dict[int, Basis] = field(default_factory=dict)
    version: int = 0
    wave: Wave | None = None
    again: bool = False
    shared: Shared = field(default_factory=Shared)
    promised: int | None = MIN_TIME
    announced: tuple[EventPattern, ...] = ()
    announced_promises: bool = False
    reports: bool = False
    reported: int | None = MIN_TIME
    completed: int = MIN_TIME
    latest: int = MIN_TIME
    settling: list[Settled] = field(default_factory=list)
    announcing: list[Settled] = field(default_factory=list)
    pulling: Pulling = field(default_factory=Pulling)
    active: dict[str, tuple[Rule, int]] = field(default_factory=dict)
    released: int = MIN_TIME
    past: History = field(default_factory=list)
    looked_back_to: int = MIN_TIME
    was_active: bool = False
    renewed: bool = False

    @property
    def is_root(self) -> bool:
        """Whether this processor is the tree's root."""
        return self.father is None

    @property
    def complete(self) -> bool:
        """Whether all children are known and have advertised."""
        return not self.unanswered and all(child.types is not None for child in self.children.values())

    def since_of(self, rule: Rule) -> int | None:
        """Return the time from which a rule sees events, if it has been activated."""
        known = self.active.get(str(rule.name))
        return known[1] if known is not None and known[0] == rule else None

    def activated(self, program: Program, since: int) -> None:
        """Note from when on the rules of a program see events."""
        self.active = {
            str(ordered.rule.name): (ordered.rule, since if ordered.since is None else ordered.since)
            for ordered in program.rules
        }

    def producers(self, local: frozenset[str]) -> Producers:
        """The children below which each type is produced; ``local`` types also here."""
        found: dict[str, set[str]] = {kind: {HERE} for kind in sorted(local)}
        for name, child in self.children.items():
            for kind in sorted(child.types or ()):
                found.setdefault(kind, set()).add(name)
        return {kind: frozenset(names) for kind, names in found.items()}

    def written_parts(self) -> list[WrittenPart]:
        """The partial rules that this processor evaluates for its father, as text."""
        return [
            WrittenPart(name, " ".join(format_pattern(each.part.pattern).split()), each.pull)
            for name, each in self.evaluation.filters.items()
        ]

    def types(self, local: frozenset[str]) -> frozenset[str]:
        """All types produced at or below this processor."""
        return local.union(*(child.types or () for child in self.children.values()))

    def rates(self, local: Mapping[str, float]) -> dict[str, float]:
        """Return the observed rates of partial rules, in events per second: the children's and those of local types."""
        found: dict[str, float] = {}
        for child in self.children.values():
            for name, rate in child.rates.items():
                found[name] = found.get(name, 0.0) + rate
        for origin in self.shared.origins:
            for part in origin.parts.values():
                rate = local.get(part.pattern.terminator.type, 0.0)
                if rate:
                    found[part.name] = found.get(part.name, 0.0) + rate
        return found

    def children_through(self) -> int:
        """Return the time up to which all children have sent what they have; MAX_TIME if none has anything to send."""
        bound = MAX_TIME
        for child in self.children.values():
            through = child.through
            if through is not None and through < bound and (child.program.parts or self._lingers(child)):
                bound = through
        return bound

    def waits_for_children(self) -> bool:
        """Whether a child has not sent what it has beyond the time up to which events have been evaluated."""
        done = self.evaluation.done
        for child in self.children.values():
            through = child.through
            if through is not None and through <= done and (child.program.parts or self._lingers(child)):
                return True
        return False

    def _lingers(self, child: Child) -> bool:
        """Whether a child without partial rules still has to send what earlier ones let through."""
        return child.lingers and (child.lingers_until is None or self.evaluation.done + 1 < child.lingers_until)
