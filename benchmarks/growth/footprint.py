"""Memory of a process that only runs the engine: flat while events pass, and what a stored event takes.

``python -m benchmarks.growth.footprint flow|store`` measures itself and prints JSON; ``footprint`` starts it.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from benchmarks.measuring.processes import lines_of, resident_bytes
from benchmarks.measuring.timing import Say
from benchmarks.workloads.sequences import chapter_rules, rule_text
from benchmarks.workloads.streams import chapter
from benchmarks.workloads.subject import Subject
from cepheus.core.time import DAY, MILLISECOND

ENGINE = "columns"
_SLICE = 10_000
_NEVER = "Never"
_MODULE = "benchmarks.growth.footprint"


@dataclass(frozen=True, slots=True)
class Footprint:
    """Memory, in bytes.

    ``flow`` has, after every block of events, how many have passed and the resident memory; ``composites`` is how many
    composite events they made. ``per_stored`` is what an event takes that windows keep; ``entries`` is in how many
    positions of rules it stands on average.
    """

    flow: tuple[tuple[int, int], ...]
    composites: int
    stored: int
    per_stored: float
    entries: float

    @property
    def growth(self) -> float:
        """How much larger memory is at the end than after the first block, as a fraction."""
        return self.flow[-1][1] / self.flow[0][1] - 1


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    rules: int = 1_000
    blocks: int = 10
    block: int = 1_000_000
    stored: int = 1_000_000


FULL = Scale()
QUICK = Scale(rules=50, blocks=3, block=2_000, stored=20_000)


def footprint(say: Say, scale: Scale = FULL) -> Footprint:
    """Measure in processes of their own: events flowing through each-within rules, and events that are kept."""
    passed = 0
    flow: list[tuple[int, int]] = []
    composites = 0
    for line in lines_of(_MODULE, "flow", scale.rules, scale.blocks, scale.block):
        passed, resident, composites = line
        flow.append((passed, resident))
        say(f"memory after {passed:,} events")
    say(f"memory of {scale.stored:,} stored events")
    ((before, after, entries),) = lines_of(_MODULE, "store", scale.rules, scale.stored)
    return Footprint(tuple(flow), composites, scale.stored, (after - before) / scale.stored, entries / scale.stored)


def _settled() -> int:
    gc.collect()
    pa.default_memory_pool().release_unused()
    return resident_bytes()


def _flow(rules: int, blocks: int, block: int) -> Iterator[list[int]]:
    subject = Subject.of(rule_text(chapter_rules(rules), "each"))
    engine = subject.engine(ENGINE)
    start = composites = 0
    for number in range(blocks):
        table = chapter(block, seed=11 + number, start=start)
        start = table.column("time")[-1].as_py()
        for begin in range(0, block, _SLICE):
            composites += len(engine.feed(subject.batch(table.slice(begin, _SLICE))))
        del table
        yield [(number + 1) * block, _settled(), composites]


def _store(rules: int, stored: int) -> Iterator[list[int]]:
    """Keep every event: windows are long, and no terminator ever comes."""
    day = DAY // MILLISECOND
    sequences = [replace(rule, events=(*rule.events[:2], _NEVER), windows=(day, day)) for rule in chapter_rules(rules)]
    subject = Subject.of(rule_text(sequences, "each"))
    listened: dict[str, int] = {}
    for rule in sequences:
        for event in rule.events[:2]:
            listened[event] = listened.get(event, 0) + 1
    wanted = _SLICE + stored
    table = chapter(wanted * 360 // len(listened))  # of 300 types, those that a rule listens to, and some to spare
    table = table.filter(pa.array([name in listened for name in table.column("type").to_pylist()])).slice(0, wanted)
    assert len(table) == wanted
    engine = subject.engine(ENGINE)
    engine.feed(subject.batch(table.slice(0, _SLICE)))
    entries = sum(listened[name] for name in table.slice(_SLICE).column("type").to_pylist())
    before = _settled()
    for begin in range(_SLICE, len(table), _SLICE):
        engine.feed(subject.batch(table.slice(begin, _SLICE)))
    yield [before, _settled(), entries]


def main() -> None:
    """Measure this process."""
    what, *numbers = sys.argv[1:]
    measured = _flow(*map(int, numbers)) if what == "flow" else _store(*map(int, numbers))
    for line in measured:
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
