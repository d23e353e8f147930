"""A demo scenario: a story with its rules, a generator of its events, and how to draw them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from cepheus.core.errors import OptionError
from cepheus.core.event import Event
from cepheus.core.time import SECOND

Floats = NDArray[np.float64]
Generator = np.random.Generator

LEAST_EVENTS = 5_000
"""Fewer events are too short a story: the staged incidents would run into each other."""


@dataclass(frozen=True, slots=True)
class Incident:
    """Something staged in the stream, from ``start`` to ``end`` in microseconds since the epoch.

    ``finds`` are the composite events that the rules should make of it; none for what only looks like trouble.
    """

    title: str
    start: int
    end: int
    finds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stream:
    """Generated events in order of time, and what was staged in them."""

    events: tuple[Event, ...]
    incidents: tuple[Incident, ...]


@dataclass(frozen=True, slots=True)
class Lane:
    """How the timeline shows one event type: a value over time with a threshold, or ticks in a row for each place.

    ``rows`` is the attribute that tells the place; ``height`` is in inches.
    """

    type: str
    label: str
    attribute: str | None = None
    threshold: float | None = None
    rows: str | None = None
    height: float = 1.8


@dataclass(frozen=True, slots=True)
class Scenario:
    """A story: its name, title, the place attribute of its composite events, and its generator."""

    name: str
    title: str
    story: str
    place: str
    lanes: tuple[Lane, ...]
    generate: Callable[[int, int], Stream]

    @property
    def rules(self) -> str:
        """The text of the rules."""
        return (files("cepheus.demo") / "scenarios" / self.name / self.rules_name).read_text(encoding="utf-8")

    @property
    def rules_name(self) -> str:
        """The name of the rule file."""
        return f"{self.name}.tesla"


def check_size(events: int) -> None:
    """Refuse a stream that is too short to hold the story."""
    if events < LEAST_EVENTS:
        raise OptionError.of(
            "demo-size",
            f"{events} events are too few for the demo",
            hint=f"its staged incidents need at least {LEAST_EVENTS} events",
        )


def microseconds(origin: int, seconds: Floats) -> list[int]:
    """Turn seconds after an origin into times, to the millisecond."""
    return [origin + round(1000 * float(second)) * (SECOND // 1000) for second in seconds]
