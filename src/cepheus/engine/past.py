"""What an engine remembers of the stream, in words that any other engine understands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.rules.model import Rule


@dataclass(frozen=True, slots=True)
class Seen:
    """An event that rules may still look at, its number among the stored ones of its type, and who has consumed it."""

    event: Event
    number: int
    consumed_by: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Past:
    """Deployed rules, each with its types and the number of the first event of each type that it sees; the events.

    ``events`` are in the order of the stream within each type. ``fed`` is how many events came from outside.
    """

    rules: tuple[tuple[Rule, Schema, Mapping[str, int]], ...]
    events: tuple[Seen, ...]
    fed: int
    time: int
