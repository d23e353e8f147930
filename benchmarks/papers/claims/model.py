"""A claim: a sentence of a paper, the quantity it is about, where that must lie, and the command that measures it.

Figures are *samples*: values by run under a name. All runs of one number had the same network, events or order of
measuring, so that quantities of two samples are taken run by run. What a claim needs is data, a name or a few: the
page, the verdicts and their tests read the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

Runs = Mapping[int, float]
"""The value that each run gave, by the number of the run."""

Samples = Mapping[str, Runs]
"""All figures, by name."""

CHANGE = 0.10
"""The one threshold of "changes" and "does not": a tenth, up or down (so 1/1.1 to 1.1 is no change)."""


class Paper(Enum):
    """The papers, by what their pages are called here."""

    OVERVIEW = "The complex event processing paradigm"
    DEPLOYMENT = "Deployment strategies for distributed complex event processing"
    RULE_DEPLOYMENT = "Distributed complex event processing using rule deployment"
    UNCERTAINTY = "Introducing uncertainty in complex event processing"
    ETALIS = "ETALIS: a rule-based system for complex event processing"


class Verdict(Enum):
    """What the figures say of a claim."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNDECIDED = "undecided"
    NOT_MEASURED = "not measured"

    @property
    def is_settled(self) -> bool:
        """Whether more runs have nothing to add."""
        return self in (Verdict.CONFIRMED, Verdict.REFUTED)


@dataclass(frozen=True, slots=True)
class Region:
    """Where a quantity must lie for a claim to hold, bounds included; ``words`` say it."""

    words: str
    low: float = -math.inf
    high: float = math.inf


GREATER = Region("above 1", low=1.0)
LESS = Region("below 1", high=1.0)
GROWS = Region(f"above {1 + CHANGE:g}", low=1 + CHANGE)
FALLS = Region(f"below 1/{1 + CHANGE:g}", high=1 / (1 + CHANGE))
STEADY = Region(f"1/{1 + CHANGE:g} to {1 + CHANGE:g}", 1 / (1 + CHANGE), 1 + CHANGE)
SLIGHTLY_MORE = Region(f"1 to {1 + CHANGE:g}", 1.0, 1 + CHANGE)
SLIGHTLY_LESS = Region(f"1/{1 + CHANGE:g} to 1", 1 / (1 + CHANGE), 1.0)


@dataclass(frozen=True, slots=True)
class Level:
    """A sample itself. If it is ``counted``, not timed or drawn, one run is as good as many."""

    sample: str
    counted: bool = False


@dataclass(frozen=True, slots=True)
class Ratio:
    """One sample in relation to another, run by run; the mean is the geometric one."""

    over: str
    under: str
    counted: bool = False


@dataclass(frozen=True, slots=True)
class RatioChange:
    """How the ratio of two samples changes: ``last`` in relation to ``first``, run by run."""

    last: Ratio
    first: Ratio


@dataclass(frozen=True, slots=True)
class Change:
    """One sample less another, run by run."""

    sample: str
    less: str


@dataclass(frozen=True, slots=True)
class Swing:
    """How far samples lie apart, run by run: the greatest in relation to the least; ``against`` that of others."""

    samples: tuple[str, ...]
    against: tuple[str, ...] = ()


Quantity = Level | Ratio | RatioChange | Change | Swing


@dataclass(frozen=True, slots=True)
class Part:
    """One quantity of a claim and what it is of, such as a strategy; a claim holds if it does for all parts."""

    of: str
    quantity: Quantity


@dataclass(frozen=True, slots=True)
class Claim:
    """A measured sentence of a paper in our words. One without parts is not measured, for the ``reason`` given."""

    paper: Paper
    section: str
    sentence: str
    quantity: str
    region: Region
    parts: Sequence[Part]
    command: str
    reason: str = ""

    @property
    def key(self) -> str:
        """What tells the claim from all others."""
        return f"{self.paper.name.lower()} {self.section}: {self.sentence}"


def names_of(quantity: Quantity) -> tuple[str, ...]:
    """The samples that a quantity is made of."""
    match quantity:
        case Level(sample=sample):
            return (sample,)
        case Ratio(over=over, under=under):
            return over, under
        case RatioChange(last=last, first=first):
            return last.over, last.under, first.over, first.under
        case Change(sample=sample, less=less):
            return sample, less
        case Swing(samples=samples, against=against):
            return samples + against
