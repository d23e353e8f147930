"""A split: groups of rules, each with the way in which its events are dealt out to shards.

Every way keeps the answer exact. A shard gets all the events that its composite events can depend on; where an event
goes to several shards, a composite event is kept only by the shard that owns its terminator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from cepheus.core.schema import EventType
from cepheus.rules.model import AnyRule


class WayName(Enum):
    """The ways, from the best to the last resort."""

    KEYS = "keys"
    BANDS = "bands"
    SLICES = "slices"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class ByKey:
    """Each event goes to the shard of its key: of all events that rules bring together, the keys are equal.

    ``attributes`` has the key of every event type that comes from outside. ``as_doubles`` says that numbers are to be
    compared as doubles, since integers and doubles may meet.
    """

    attributes: Mapping[str, str]
    as_doubles: bool = False


@dataclass(frozen=True, slots=True)
class ByBand:
    """Each event goes to the band of a number, and to all bands that its margin reaches into.

    ``margins`` has, for every event type from outside, how far from a band an event of it may lie and still matter to
    what happens in the band.
    """

    attributes: Mapping[str, str]
    margins: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class BySlice:
    """Each event goes to the slice of its time, and to all slices that begin before it is out of reach.

    ``reaches`` has, for every event type from outside, how many microseconds later an event of it can still matter.
    """

    reaches: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Whole:
    """All events go to one shard."""


Way = ByKey | ByBand | BySlice | Whole


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a group is not split in a better way, in words, and the rule that stands in the way."""

    way: WayName
    rule: str
    words: str

    def __str__(self) -> str:
        return f"not by {self.way.value}: in rule '{self.rule}', {self.words}"


@dataclass(frozen=True, slots=True)
class RuleGroup:
    """Rules that run together in one engine per shard; ``inputs`` names the event types from outside that they need."""

    rules: tuple[AnyRule, ...]
    inputs: tuple[str, ...]
    way: Way
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class Split:
    """All the rules, each in one group.

    ``inputs`` are the event types from outside that rules look at, each with the attributes that they read.
    """

    groups: tuple[RuleGroup, ...]
    inputs: tuple[EventType, ...]
