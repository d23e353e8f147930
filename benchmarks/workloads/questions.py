"""The questions that peers were measured on: rules, streams, the counts all agree on, and what must be reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import pyarrow as pa

from benchmarks.workloads.sequences import chapter_rules, rule_text
from benchmarks.workloads.streams import Coding, chapter, fire

_FIRE = "define Fire(area: int, temp: double) from"
_OF_SMOKE = "where area = Smoke.area and temp = Temp.value"


class Stream(Enum):
    """Which stream a question is asked of."""

    FIRE = "fire"
    RAIN = "rain"
    CHAPTER = "chapter"


class Unit(Enum):
    """What a requirement counts."""

    RATIO = "x the best baseline"
    EVENTS = "events/s"
    COMPOSITES = "composite events/s"


@dataclass(frozen=True, slots=True)
class Requirement:
    """What must be reached at least, by CPU time on one core."""

    least: float
    unit: Unit

    def __str__(self) -> str:
        return f"{self.least:g}x" if self.unit is Unit.RATIO else f"{self.least / 1e6:g}M {self.unit.value}"


@dataclass(frozen=True, slots=True)
class Workload:
    """A question. ``counts`` are the composite events of the streams of known sizes; ``quick`` is a small size.

    ``coded`` is what must be reached where types are dictionary-coded, if it is more; ``share`` how fast we must be
    there at least, for each that the loop is which an expert would write by hand.
    """

    name: str
    stream: Stream
    size: int
    quick: int
    counts: Mapping[int, int]
    requirement: Requirement
    rule: str = ""
    selection: str = ""
    codings: tuple[Coding, ...] = field(default=tuple(Coding))
    coded: Requirement | None = None
    share: float | None = None

    def required(self, coding: Coding) -> Requirement:
        """What must be reached on a stream of that coding."""
        return self.coded if self.coded is not None and coding is Coding.DICTIONARY else self.requirement

    def rules(self, rule_count: int = 1000) -> str:
        """The question in TESLA; ``rule_count`` applies where it is asked by many rules."""
        return rule_text(chapter_rules(rule_count), self.selection) if self.selection else self.rule

    def expected(self, size: int, rule_count: int = 1000) -> int | None:
        """The number of composite events that all agree on, where it is on record."""
        return self.counts.get(size) if not self.selection or rule_count == 1000 else None

    def events(self, size: int, coding: Coding = Coding.DICTIONARY) -> pa.Table:
        """The stream; each size on record has its own seed."""
        match self.stream:
            case Stream.FIRE:
                return fire(size, 7 if size == 1_000_000 else 8, coding)
            case Stream.RAIN:
                return fire(size, 9 if size == 1_000_000 else 10, coding, rain=True)
            case Stream.CHAPTER:
                return chapter(size, coding=coding)


WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for workload in (
        Workload(
            "F-last",
            Stream.FIRE,
            size=1_000_000,
            quick=4_000,
            counts={1_000_000: 99_937, 100_000: 9_733},
            requirement=Requirement(0.7, Unit.RATIO),
            rule=f"{_FIRE} Smoke(area=$a) and last Temp(area=$a and value>45) within 5 min from Smoke {_OF_SMOKE}",
            coded=Requirement(1.2, Unit.RATIO),
            share=0.45,
        ),
        Workload(
            "F-each",
            Stream.FIRE,
            size=1_000_000,
            quick=4_000,
            counts={1_000_000: 990_519, 100_000: 96_055},
            requirement=Requirement(1.5, Unit.RATIO),
            rule=f"{_FIRE} Smoke(area=$a) and each Temp(area=$a and value>45) within 10 s from Smoke {_OF_SMOKE}",
            share=0.55,
        ),
        Workload(
            "F-not",
            Stream.RAIN,
            size=1_000_000,
            quick=4_000,
            counts={1_000_000: 161_448, 100_000: 15_901},
            requirement=Requirement(0.7, Unit.RATIO),
            rule=(
                f"{_FIRE} Temp(area=$a and value>45) and not Rain(area=$a) within 5 s from Temp "
                "where area = Temp.area and temp = Temp.value"
            ),
            coded=Requirement(1.2, Unit.RATIO),
            share=0.35,
        ),
        Workload(
            "F-avg",
            Stream.FIRE,
            size=1_000_000,
            quick=4_000,
            counts={1_000_000: 50_809, 100_000: 4_409},
            requirement=Requirement(1.5, Unit.RATIO),
            rule=(
                f"{_FIRE} Smoke(area=$a) and 50 < $t = Avg(Temp(area=$a).value within 5 min from Smoke) "
                "where area = Smoke.area and temp = $t"
            ),
            share=0.5,
        ),
        Workload(
            "S3-last",
            Stream.CHAPTER,
            size=200_000,
            quick=4_000,
            counts={200_000: 627_960},
            requirement=Requirement(1e6, Unit.EVENTS),
            selection="last",
            codings=(Coding.DICTIONARY,),
        ),
        Workload(
            "S3-each",
            Stream.CHAPTER,
            size=200_000,
            quick=4_000,
            counts={200_000: 18_976_829},
            requirement=Requirement(1e7, Unit.COMPOSITES),
            selection="each",
            codings=(Coding.DICTIONARY,),
        ),
    )
}
"""Every question by its name."""
