"""Engines that take over snapshots which somebody has tampered with: refused, or an engine that goes on.

``python tests/engine/snapshot_fuzz.py --count 1000`` tries as many for each engine, in a process of its own, so that
one that is killed is noticed, too.
"""

from __future__ import annotations

import argparse
import multiprocessing
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from random import Random

import cepheus
from cepheus.core.batch import EventBatch
from cepheus.core.distribution import Normal, Uniform, parse_distribution
from cepheus.core.errors import CepheusError, SnapshotError
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.core.time import SECOND
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.interface import Engine
from cepheus.language import etalis, tesla
from cepheus.rules.check import Checked, check

sys.path.insert(0, str(__import__("pathlib").Path(__file__).parent))
from snapshot_mutations import mutated

RULES = """
rule R1 define Hot(area: string, value: double, low: string)
from Smoke(area=$a) and last Temp(area=$a and value>30) within 20 s from Smoke
where area=$a and value=Temp.value and low=lower(Temp.area)
consuming Temp
rule R2 define Quiet(n: int, s: double) from Smoke(area=$a) and each Temp(area=$a and 10 < value < 40) within 9 s
from Smoke and not Rain(x>0) within 5 s from Smoke and $n = Count(Temp(value>20) within 30 s from Smoke)
and $s = Avg(Temp(area=$a).value within 30 s from Smoke) where n=$n and s=$s
rule R3 define Again(area: string) from Hot(value=$v) and last Hot(value<$v) as Before within 50 s from Hot
where area=Before.area
rule R4 define Word(area: string) from Smoke() and first Rain(contains(word, 'a') and word < 'm') within 40 s
from Smoke where area=Rain.word
"""
INTERVALS = """
event a(x: int). event b(x: int, w: string). event c(x: int).
known(1). known(2). near(X) :- known(X), X > 1.
p(X, Y) <- (a(X) SEQ b(Y, _)).6 s. q(X) <- NOT(c(_)).[a(X), b(_, _)].
r(X, W) <- (p(X, _) AND b(_, W)).9 s WHERE near(X).
s(N) <- c(N) SEQ 55 s.
"""


def instants(count: int, seed: int, *, uncertain: bool = False) -> list[Event]:
    draw = Random(seed)
    events = []
    for k in range(count):
        kind = draw.choice(["Smoke", "Temp", "Temp", "Rain"])
        area, number = draw.choice(["A", "B", "longer text"]), float(draw.randrange(60))
        errors = {}
        if uncertain and kind == "Temp" and draw.random() < 0.5:
            errors = {"value": draw.choice([Normal(0.0, 2.0), Uniform(-1.0, 1.0), parse_distribution("N(1, 2)")])}
        all_attributes: dict[str, dict[str, float | str]] = {
            "Smoke": {"area": area},
            "Temp": {"area": area, "value": number},
            "Rain": {"x": -number, "word": draw.choice(["ab", "za", ""])},
        }
        attributes = all_attributes[kind]
        probability = 0.5 if uncertain and draw.random() < 0.2 else 1.0
        given = draw.choice([k, f"e{k}", None])
        events.append(Event(kind, k * SECOND, attributes, id=given, errors=errors, probability=probability))
    return events


def spans(count: int, seed: int) -> list[Event]:
    draw = Random(seed)
    return [
        Event(kind, k // 2 * SECOND, {"x": draw.randrange(4)} | ({"w": draw.choice("uv")} if kind == "b" else {}), id=k)
        for k in range(count)
        for kind in [draw.choice("abc")]
    ]


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that makes snapshots: how to make a fresh one, a snapshot, and how to go on."""

    make: Callable[[], Engine]
    snapshot: bytes
    events: list[Event]


def _types(checked: Checked) -> Schema:
    return Schema({**checked.composites, **checked.inputs}.values())


def _tesla(name: str, *, uncertain: bool = False, threads: int = 1) -> Subject:
    program = cepheus.compile(RULES)
    engine = create(RunOptions(engine=name, threads=threads), program.rules.rules, _types(program.checked))
    events = instants(120, 1, uncertain=uncertain)
    _run(engine, events[:60])
    return Subject(lambda: create(RunOptions(engine=name, threads=threads)), engine.snapshot(), events[60:])


def _intervals(name: str) -> Subject:
    program = check(etalis.parse(INTERVALS))
    engine = create(name, program.rules.all_rules, _types(program))
    events = spans(80, 2)
    _run(engine, events[:40])
    return Subject(lambda: create(name), engine.snapshot(), events[40:])


def _mixed() -> Subject:
    program = check(
        etalis.parse("event a(x: int). event b(x: int). event c(x: int). p(X, Y) <- (a(X) SEQ b(Y)).6 s.")
        + tesla.parse("define T(x: int) from p(arg1=$x) and each c(x <= $x) within 5 s from p where x = c.x")
    )
    engine = create("auto", program.rules.all_rules, _types(program))
    events = [Event(event.type, event.time, {"x": event["x"]}, id=event.id) for event in spans(80, 3)]
    _run(engine, events[:40])
    name = engine.name
    return Subject(lambda: create(name), engine.snapshot(), events[40:])


SUBJECTS: dict[str, Callable[[], Subject]] = {
    "reference": lambda: _tesla("reference"),
    "reference, uncertain": lambda: _tesla("reference", uncertain=True),
    "columns": lambda: _tesla("columns"),
    "automata": lambda: _tesla("automata"),
    "matching": lambda: _tesla("matching"),
    "threads": lambda: _tesla("columns", threads=2),
    "uncertain": lambda: _tesla("columns", uncertain=True),
    "interval-reference": lambda: _intervals("interval-reference"),
    "goals": lambda: _intervals("goals"),
    "mixed": _mixed,
}


@cache
def subject(name: str) -> Subject:
    """Give what is tried under a name; it is made once."""
    return SUBJECTS[name]()


def _run(engine: Engine, events: list[Event]) -> None:
    half = len(events) // 2
    engine.feed(EventBatch.from_events(events[:half])).to_events()
    for event in events[half:]:
        engine.feed_event(event)


def attempt(name: str, seed: int) -> str:
    """Restore a changed snapshot and go on; tell what came of it. Any other error than ours gets through."""
    tried = subject(name)
    data = mutated(tried.snapshot, Random(seed))
    engine = tried.make()
    try:
        engine.restore(data)
    except SnapshotError as error:
        return f"refused {error.diagnostics[0].code}"
    try:
        _run(engine, tried.events)
        engine.advance(tried.events[-1].time + 1000 * SECOND).to_events()
        saved = engine.snapshot()
    except CepheusError as error:
        return f"went on to {error.diagnostics[0].code}"
    try:
        tried.make().restore(saved)
    except SnapshotError:
        return "went on in disorder"  # its clock was set ahead, say, and then events came from before
    return "went on"


def _warm_up(name: str) -> None:
    """Compile what is needed before the work is handed to other processes."""
    tried = subject(name)
    engine = tried.make()
    engine.restore(tried.snapshot)
    _run(engine, tried.events)


def _try_many(name: str, seeds: range, progress: object, results: object) -> None:
    outcomes: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for seed in seeds:
        progress.value = seed  # type: ignore[attr-defined]
        signal.alarm(20)  # what does not come to an end is killed, and noticed
        try:
            outcomes[attempt(name, seed)] += 1
        except Exception as error:
            place = traceback.extract_tb((error.__cause__ or error).__traceback__)[-1]
            told = f"RAW {type(error).__name__} {place.filename.rpartition('/')[2]}:{place.lineno}"
            outcomes[told] += 1
            examples.setdefault(told, f"{str(error)[:80]!r} (seed {seed})")
    signal.alarm(0)
    results.put(Counter({f"{told} {examples.get(told, '')}": count for told, count in outcomes.items()}))  # type: ignore[attr-defined]


def main() -> None:
    """Try many changes on all engines, or on those named."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    context = multiprocessing.get_context("fork")
    bad = 0
    for name in options.names or SUBJECTS:
        _warm_up(name)
        first, end = options.seed, options.seed + options.count
        while first < end:
            progress, results = context.Value("q", first), context.SimpleQueue()
            process = context.Process(target=_try_many, args=(name, range(first, end), progress, results))
            process.start()
            process.join()
            if process.exitcode == 0:
                first = end
                outcomes = results.get()
                print(name, dict(sorted((k, v) for k, v in outcomes.items() if not k.startswith("RAW"))))
                for told, count in sorted(outcomes.items()):
                    if told.startswith("RAW"):
                        bad += count
                        print("   ", count, told)
            else:
                bad += 1
                print(f"    KILLED {process.exitcode} {name} (seed {progress.value})")
                first = progress.value + 1
            sys.stdout.flush()
    print("bad:", bad)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
