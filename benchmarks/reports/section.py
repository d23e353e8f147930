"""What was measured as text, tables, requirements and pictures: for the terminal and the documentation alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Part(Enum):
    """What to measure."""

    PEERS = "peers"
    FIGURE6 = "figure6"
    FIGURE7 = "figure7"
    SCALING = "scaling"
    CERTAIN = "certain"
    UNCERTAIN = "uncertain"
    ACCURACY = "accuracy"
    BAYES = "bayes"
    SPARK = "spark"
    FILES = "files"
    STREAMING = "streaming"
    ETALIS = "etalis"
    ROWS = "rows"
    REACTIVE = "reactive"


UNCERTAINTY = (Part.CERTAIN, Part.UNCERTAIN, Part.ACCURACY, Part.BAYES)
"""The parts that are about uncertainty, section 6 of its paper."""

BATCHES = (Part.FILES, Part.SPARK)
"""The parts that are about finite inputs on Spark."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts under a title; columns whose name begins with ``<`` hold words, the others numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """One requirement, in words; ``met`` is None if it could not be judged."""

    what: str
    required: str
    measured: str
    met: bool | None

    @property
    def verdict(self) -> str:
        """Whether it is met, in a word."""
        return "not judged" if self.met is None else "met" if self.met else "missed"


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture: the name of its file, what it shows, and how it is drawn, for which Matplotlib is imported."""

    name: str
    words: str
    draw: Callable[[], Figure]


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the report."""

    part: Part
    title: str
    text: tuple[str, ...]
    tables: tuple[Table, ...]
    bars: tuple[Bar, ...] = ()
    pictures: tuple[Picture, ...] = ()
    samples: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """The figures by which the papers' claims are judged, by name and run."""


def judge(bars: Sequence[Bar], *, judged: bool) -> tuple[Bar, ...]:
    """Requirements as they are, or without a verdict where too little was measured for one."""
    return tuple(bar if judged else replace(bar, met=None) for bar in bars)


def bar_table(bars: Sequence[Bar]) -> Table:
    """Requirements as a table."""
    return Table(
        "What must be reached",
        ("<what", "<required", "<measured", "<verdict"),
        tuple((bar.what, bar.required, bar.measured, bar.verdict) for bar in bars),
    )


def amount(number: float) -> str:
    """A large number in thousands or millions.

    >>> amount(18_976_829), amount(627_960), amount(351), amount(0.25)
    ('19.0M', '628k', '351', '0.25')
    """
    if number >= 1e6:
        return f"{number / 1e6:.1f}M"
    if number >= 1e4:
        return f"{number / 1e3:.0f}k"
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def seconds(duration: float) -> str:
    """A duration in seconds or milliseconds.

    >>> seconds(2.345), seconds(0.0423)
    ('2.3 s', '42.3 ms')
    """
    return f"{duration:.1f} s" if duration >= 1 else f"{1000 * duration:.3g} ms"


def microseconds(duration: float) -> str:
    """A duration in microseconds with as many digits as matter.

    >>> microseconds(0.1234), microseconds(12.34), microseconds(1234.5)
    ('0.12', '12', '1,234')
    """
    if duration < 1:
        return f"{duration:.2f}"
    return f"{duration:.1f}" if duration < 10 else f"{duration:,.0f}"
