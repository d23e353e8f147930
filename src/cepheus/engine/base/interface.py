"""The contract of every engine: what hosts may call and in what order, and what it can hand over to another engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cepheus.core.batch import EventBatch
from cepheus.core.distribution import Distribution
from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.engine.base.ties import TieCounts
from cepheus.rules.model import AnyRule, Rule


class Engine(Protocol):
    """Finds composite events in a stream.

    A host calls ``deploy`` at any time, then ``feed`` and ``advance`` in any mixture. Events come in total order:
    times never decrease, and events of equal time come in the order that breaks their ties. What an engine gives
    does not depend on how the stream is cut into batches. A rule sees the events fed after its deployment.
    """

    @property
    def name(self) -> str:
        """What the engine is called."""

    @property
    def ties(self) -> TieCounts:
        """What this engine has counted of simultaneous events since it was made.

        Every evaluation counts once, however the stream is cut. Snapshots do not carry the counts, and restoring one
        does not change them: a host that goes on with another engine adds up. What completes only composite events that
        belong elsewhere (``OWNED_ATTRIBUTE``) is counted there.
        """

    def deploy(self, rules: Sequence[AnyRule], schema: Schema) -> None:
        """Add checked, named rules, all or none; UnsupportedError if this engine cannot run one of them.

        ``schema`` gives the attribute types of every event type that the rules mention or define (the checks'
        ``inputs`` and ``composites``); an attribute of type None gets its type from the first data that has it.
        """

    def withdraw(self, name: str) -> None:
        """Remove the rule of that name and all it remembers; OptionError if there is none."""

    def set_factor(self, rule: str, factor: float) -> None:
        """Set how far a deployed rule is to be trusted: every composite event it makes from now on has its probability
        multiplied by ``factor`` (0 to 1, 1 when deployed), and is dropped below the rule's ``min probability``.

        OptionError if no rule of that name is deployed or the factor is not a probability.
        """

    def feed(self, batch: EventBatch) -> EventBatch:
        """Take events in total order and return the composite events they complete, in the order they arise.

        A batch is one reading of the input: attributes conform to the types the rules expect.
        """

    def feed_event(self, event: Event) -> list[Event]:
        """Take one event, as ``feed`` does, with the least delay."""

    def advance(self, time: int) -> EventBatch:
        """Promise that no event before ``time`` (microseconds) will come; frees what no window can reach."""

    def snapshot(self) -> bytes:
        """All that later answers depend on, the rules included, as bytes. Pure: the engine goes on as before."""

    def restore(self, data: bytes) -> None:
        """Take over a snapshot made by an engine of the same name, instead of all present rules and state."""


class OutOfOrderEngine(Engine, Protocol):
    """An engine that also takes events in any order of arrival (``Arrival.ANY_ORDER`` among its capabilities).

    What it gives for a set of inserted events does not depend on the order of insertion, if they have ids and
    simultaneous ones have sequences.
    """

    def insert(self, events: Sequence[Event]) -> None:
        """Take events, none before the time that ``advance`` promised last; EventError if there is one.

        ``advance(time)`` evaluates those before ``time`` in total order and gives what they complete.
        """


@dataclass(frozen=True, slots=True)
class Seen:
    """An event that rules may still look at, its number among the stored ones of its type, and who has consumed it.

    ``place`` is its place in the stream, where rules go by that.
    """

    event: Event
    number: int
    consumed_by: frozenset[str] = frozenset()
    place: int = 0


@dataclass(frozen=True, slots=True)
class Past:
    """Deployed rules, each with its types and the number of the first event of each type that it sees; the events.

    ``events`` are in the order of the stream within each type. ``fed`` is how many events came from outside.
    ``errors`` are those declared for sources that send none, ``factors`` what rules are multiplied by.
    """

    rules: tuple[tuple[Rule, Schema, Mapping[str, int]], ...]
    events: tuple[Seen, ...]
    fed: int
    time: int
    errors: Mapping[str, Mapping[str, Distribution]] = field(default_factory=dict)
    factors: Mapping[str, float] = field(default_factory=dict)
