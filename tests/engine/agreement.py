"""Run random cases on an engine and compare every composite event with the reference engine's, and the counts of ties.

``python tests/engine/agreement.py --cases 100000`` runs many and reports; a failure prints its seed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import inf
from random import Random
from typing import Any

import pyarrow as pa
from random_cases import Case, make_case
from random_rules import LIVELY, USUAL, Habits

from cepheus.core.batch import EventBatch
from cepheus.core.errors import EventError, LimitError, OptionError, RuleError, UnsupportedError
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.core.values import Value, ValueType, type_of
from cepheus.engine.assembly import registry
from cepheus.engine.assembly.ending import end_input
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.interface import Engine
from cepheus.engine.base.ties import TieCounts
from cepheus.engine.device import calibration
from cepheus.engine.device.crossover import ALWAYS
from cepheus.engine.parallel import slices
from strategies.corners import SHARE

LIMIT = 2000
"""Composite events per event; a case that goes beyond must do so on both engines."""

MODES = ("whole", "cut", "single", "snapshot", "mixed")


def cut_anywhere() -> None:
    """Have even the smallest batches cut into slices of time, however many of their events are taken in twice."""
    slices.LEAST_SLICE, slices._MOST_TWICE = 1, inf


COPIED: dict[str, Any] = {
    "LEAST_LOOK": 2,
    "_LEAST_GAIN": -inf,
    "_LEAST_SHARE": inf,
    "_TAKING_IN": 0.0,
    "_STARTING": -1e-3,  # events always cost something, however fast the machine
    "cut": lambda times, *_, **__: [slices.Slice(0, 0, len(times))],
}
"""What of ``slices`` to replace so that slices begin with copies of what is stored, where that may be."""


def copy_anywhere() -> None:
    """Have even the smallest batches cut so that threads begin with copies of what is stored, if they may."""
    cut_anywhere()
    vars(slices).update(COPIED)


def always_on_device() -> None:
    """Have the device evaluate all that it can, however little it is."""
    vars(calibration)["crossover_of"] = lambda _: ALWAYS


def deal_out() -> None:
    """Have events dealt out by key, and rules one by one, even where slices of time would do."""
    vars(registry)["memory"] = lambda _: None


def find(case: Case, name: str, mode: str, threads: int = 1) -> list[Event]:
    """Run a case on the engine of that name, fed in one of the modes."""
    return run(case, name, mode, threads)[0]


def run(case: Case, name: str, mode: str, threads: int = 1) -> tuple[list[Event], TieCounts]:
    """Run a case, and give also what was counted of simultaneous events, by all engines that took their turn."""
    random = Random(case.seed)
    schema = Schema([*case.checked.inputs.values(), *case.checked.composites.values()])
    rules = case.checked.rules.rules
    options = RunOptions(engine=name, limit=LIMIT, threads=threads)
    engine = create(options, [rule for rule, place in zip(rules, case.deployed_at, strict=True) if place == 0], schema)
    withdrawn = -1 if case.withdrawn_at is None else case.withdrawn_at
    found: list[Event] = []
    ties = TieCounts.none()
    events = [Event(e.type, e.time, e.attributes, id=n if e.id is None else e.id) for n, e in enumerate(case.events)]
    stops = sorted({0, *case.deployed_at, withdrawn, len(events)} - {-1})
    gone: set[str] = set()
    for begin, end in zip(stops, [*stops[1:], len(events)], strict=True):
        fresh = [rule for rule, place in zip(rules, case.deployed_at, strict=True) if place == begin]
        if fresh and begin:
            engine.deploy(fresh, schema)
        if begin == withdrawn and str(rules[0].name) not in gone:
            engine.withdraw(str(rules[0].name))
            gone.add(str(rules[0].name))
        engine, counted = _feed(engine, events[begin:end], mode, random, found, threads)
        ties += counted
    found += end_input(engine, case.checked.rules, case.until).to_events()
    return found, ties + engine.ties


def _feed(
    engine: Engine, events: Sequence[Event], mode: str, random: Random, found: list[Event], threads: int
) -> tuple[Engine, TieCounts]:
    """Feed events; give the engine at the end, and what those before it have counted.

    Between two batches time may go on to the next event; behind the last, rules may go before time does.
    """
    ties = TieCounts.none()
    if mode == "single":
        for event in events:
            found += engine.feed_event(event)
        return engine, ties
    size = len(events) if mode == "whole" else random.randint(1, 7)
    for begin in range(0, len(events), max(1, size)):
        piece = events[begin : begin + max(1, size)]
        if mode == "mixed" and random.random() < 0.5:
            for event in piece:
                found += engine.feed_event(event)
        else:
            found += engine.feed(to_batch(piece)).to_events()
        if mode == "snapshot":
            saved = engine.snapshot()
            ties += engine.ties
            engine = create(RunOptions(engine=engine.name, limit=LIMIT, threads=random.choice((1, threads))))
            engine.restore(saved)
        elif random.random() < 0.3:
            following = events[begin + len(piece) :][:1] or piece[-1:]
            found += engine.advance(following[0].time).to_events()
    return engine, ties


def to_batch(events: Sequence[Event]) -> EventBatch:
    """Put events into a batch as readers do: a column for each type that an attribute has, timestamps as such."""
    batch = EventBatch.from_events(events)
    cells: dict[tuple[str, ValueType], list[Value | None]] = {}
    for row, event in enumerate(events):
        for name, value in event.attributes.items():
            if value is not None:
                key = (name, ValueType.TIMESTAMP if name == "at" else type_of(value))
                cells.setdefault(key, [None] * len(events))[row] = value
    columns = {key: pa.array(values, key[1].arrow) for key, values in cells.items()}
    return replace(batch, columns=columns)


def normal(events: Sequence[Event]) -> list[tuple[object, ...]]:
    """Give what must be equal of each composite event."""
    return [
        (
            e.type,
            e.time,
            e.start,
            e.rule,
            e.made_of,
            e.id,
            tuple(
                sorted(
                    (name, type(value).__name__, repr(value))
                    for name, value in e.attributes.items()
                    if value is not None
                )
            ),
        )
        for e in events
    ]


@lru_cache(maxsize=1)
def _expected(seed: int, **about: Any) -> tuple[Case, list[Event], TieCounts] | int:
    """The case of a seed and what the reference engine makes of it; less than 0 if there is nothing to compare."""
    try:
        case = make_case(seed, **about)
    except RuleError:
        return -1
    try:
        return case, *run(case, "reference", "single")
    except LimitError:
        return -3


def compare(
    seed: int,
    name: str,
    mode: str,
    *,
    while_running: bool = False,
    undeclared: bool = False,
    threads: int = 1,
    coarse: int = 1,
    share: float = SHARE,
    habits: Habits = USUAL,
) -> int:
    """Compare one case; give the number of composite events, or raise AssertionError with all there is to know."""
    asked = _expected(
        seed,
        while_running=while_running,
        undeclared=undeclared,
        coarse=coarse,
        share=share,
        ordered=name not in ("automata", "matching") and seed % 4 == 1,
        timed=name not in ("automata", "matching") and threads == 1 and seed % 8 not in (3, 5, 7),
        full=name != "automata" and seed % 5 == 2,
        habits=habits,
    )
    if isinstance(asked, int):
        return asked
    case, wanted, expected_ties = asked
    try:
        made, ties = run(case, name, mode, threads)
    except UnsupportedError:
        return -2
    except OptionError:
        if threads == 1:
            raise
        return -2  # a rule that comes late and links what runs in different threads
    except EventError as error:
        if mode != "mixed" or not undeclared or "type-mismatch" not in str(error):
            raise
        return -2  # a time of which nobody has said that it is one is an integer in a single event
    except Exception as error:
        raise AssertionError(f"seed {seed}, {name}, {mode}, {threads} threads: {error!r}\n{case.text}") from error
    expected, actual = normal(wanted), normal(made)
    if expected == actual and not ties.uncounted and ties != expected_ties:
        expected, actual = [*expected, (expected_ties,)], [*actual, (ties,)]
    if expected != actual:
        first = next(
            (n for n, (a, b) in enumerate(zip(expected, actual, strict=False)) if a != b),
            min(len(expected), len(actual)),
        )
        raise AssertionError(
            f"seed {seed}, {name}, {mode}, {threads} threads, while_running={while_running}, "
            f"undeclared={undeclared}, coarse={coarse}: {len(expected)} expected, "
            f"{len(actual)} found; first difference at {first}:\n  expected {expected[first : first + 1]}\n  found    "
            f"{actual[first : first + 1]}\n{case.text}\n"
            + "\n".join(f"{n}: {e.type}@{e.time} {dict(e.attributes)} id={e.id}" for n, e in enumerate(case.events))
            + f"\ndeployed at {case.deployed_at}, withdrawn at {case.withdrawn_at}, until {case.until}"
        )
    return len(expected)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--engine", default="columns")
    parser.add_argument("--threads", default="1", help="how many, or several numbers: 2,3,8")
    parser.add_argument("--minutes", type=float, default=inf, help="how long to go on at the most")
    parser.add_argument("--coarse", type=int, default=1, help="microseconds that times are multiples of")
    parser.add_argument("--corners", type=float, default=SHARE, help="the share of cases with values at corners")
    parser.add_argument("--lively", action="store_true", help="short rules that find something")
    parser.add_argument("--keep-going", action="store_true")
    parser.add_argument("--dealt", action="store_true", help="deal out, and do not cut batches into slices of time")
    parser.add_argument("--copied", action="store_true", help="begin slices with copies of what is stored")
    options = parser.parse_args()
    cut_anywhere()
    if options.copied:
        copy_anywhere()
    always_on_device()
    if options.dealt:
        deal_out()
    begin = time.perf_counter()
    ran = refused = unsupported = exploded = composites = failures = 0
    numbers = [int(number) for number in options.threads.split(",")]
    last = options.seed

    def told() -> str:
        return (
            f"{ran} cases agree, {failures} differ ({refused} refused by the checks, {unsupported} unsupported, "
            f"{exploded} beyond the limit), {composites} composite events, seeds {options.seed} to {last}, "
            f"threads {options.threads}, {time.perf_counter() - begin:.0f} s"
        )

    for seed, threads in product(range(options.seed, options.seed + options.cases), numbers):
        if seed != last and time.perf_counter() - begin > 60 * options.minutes:
            break
        last = seed
        mode = MODES[seed % len(MODES)]
        try:
            outcome = compare(
                seed,
                options.engine,
                mode,
                while_running=seed % 3 == 0,
                undeclared=seed % 7 == 0,
                threads=threads,
                coarse=options.coarse,
                share=options.corners,
                habits=LIVELY if options.lively else USUAL,
            )
        except AssertionError as failure:
            print(failure)
            failures += 1
            if not options.keep_going:
                return 1
            continue
        refused += outcome == -1
        unsupported += outcome == -2
        exploded += outcome == -3
        ran += outcome >= 0
        composites += max(0, outcome)
        if (seed - options.seed) % _TELL_EVERY == _TELL_EVERY - 1 and threads == numbers[-1]:
            print("so far:", told(), flush=True)
    print(told())
    return 1 if failures else 0


_TELL_EVERY = 500


if __name__ == "__main__":
    sys.exit(main())
