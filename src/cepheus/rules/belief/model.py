"""The Bayesian network of a rule, as an expert writes it next to the rule.

``span`` is where a part stands in the rule text and is ignored by equality.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field

from cepheus.core.distribution import Distribution
from cepheus.core.source import Span
from cepheus.rules.belief.periods import Period

YES, NO = "YES", "NO"
"""The states of a node that stands for an event: it happened, or it did not."""

EVENT_STATES = (YES, NO)

Chances = tuple[tuple[str, float], ...]
"""States and their probabilities, in order."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table: how likely a node's states are, or how its number is distributed.

    ``given`` has a state for each parent, None for any. The row of a node without parents is given nothing.
    """

    value: Chances | Distribution
    given: tuple[str | None, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Season:
    """A table that takes the place of a node's own during a period; of several that apply, the last counts."""

    period: Period
    rows: tuple[Row, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Bands:
    """How the other nodes see a node that is a number: ``COLD < 5 < MILD < 25 < HOT``.

    A number that equals a cut belongs to the band above it.
    """

    states: tuple[str, ...]
    cuts: tuple[float, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    def place_of(self, number: float) -> int:
        """The place of the band that a number belongs to.

        >>> Bands(("COLD", "MILD", "HOT"), (5.0, 25.0)).place_of(5.0)
        1
        """
        return bisect_right(self.cuts, number)


def number_of(text: str) -> float | None:
    """The finite number that a text is; None if it is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


@dataclass(frozen=True, slots=True)
class Node:
    """A random variable: what it depends on, and how."""

    name: str
    rows: tuple[Row, ...]
    parents: tuple[str, ...] = ()
    bands: Bands | None = None
    seasons: tuple[Season, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)
    parent_spans: tuple[Span, ...] = field(default=(), compare=False, repr=False)

    @property
    def states(self) -> tuple[str, ...]:
        """The states of the node, in the order in which its first row or its bands name them."""
        if self.bands is not None:
            return self.bands.states
        first = self.rows[0].value if self.rows else ()
        return tuple(state for state, _ in first) if isinstance(first, tuple) else ()


@dataclass(frozen=True, slots=True)
class Observation:
    """``observe TrafficJam = LOW``: something known for certain; ``observe Outside = 31.5`` of a node that is a number.

    ``state`` is then the number as it is written.
    """

    node: str
    state: str
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def number(self) -> float | None:
        """The number that a node is known to be; None if it is a state."""
        return number_of(self.state)


@dataclass(frozen=True, slots=True)
class Belief:
    """Nodes that refine the network of a rule, and what is known besides its events."""

    rule: str
    nodes: tuple[Node, ...] = ()
    observations: tuple[Observation, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)
