"""What an engine remembers of the stream, in words that any other engine understands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cepheus.core.distribution import Distribution
from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.rules.model import Rule


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
