"""Run random cases on threads that are interrupted at random, in many small batches, and compare with one thread.

``python tests/engine/thread_stress.py --minutes 60 --seed 0`` goes on for so long and reports; a failure prints its
seed.
Between any two calls of a kernel, and wherever threads share something, a thread may have to wait for a moment, so that
the others come before it in every order there is.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from random import Random
from typing import Any

from agreement import LIMIT, copy_anywhere, cut_anywhere, deal_out, normal, to_batch
from random_cases import make_case
from random_rules import LIVELY

from cepheus.core.errors import CepheusError, LimitError, RuleError
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.engine.assembly.registry import create
from cepheus.engine.lowered.engine import LoweredEngine
from cepheus.engine.parallel import merge, slices
from cepheus.kernel import blocks
from cepheus.kernel.strings import StringTable

_yields = Random()
_MOST = 300e-6
_TELL_EVERY = 500


def interrupt_everywhere() -> None:
    """Have threads wait at random around whatever they share, and the interpreter change threads often."""
    sys.setswitchinterval(2e-5)
    for owner, name in (
        (LoweredEngine, "_run_kernel"),
        (LoweredEngine, "_provide"),
        (LoweredEngine, "_fit_strings"),
        (slices.SlicedEngine, "_find_in"),
        (slices.SlicedEngine, "_succeed"),
        (StringTable, "fill"),
        (StringTable, "fit"),
        (blocks, "_take"),
        (blocks, "_give_back"),
    ):
        setattr(owner, name, _interrupted(getattr(owner, name)))
    vars(merge)["in_turn"] = _interrupted(merge.in_turn)


def _interrupted(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def waiting(*given: Any, **named: Any) -> Any:
        _wait()
        result = function(*given, **named)
        _wait()
        return result

    return waiting


def _wait() -> None:
    chance = _yields.random()
    if chance < 0.3:
        time.sleep(0)
    elif chance < 0.4:
        time.sleep(_yields.random() * _MOST)


def stress(seed: int, threads: int) -> int:
    """Compare one case on so many threads with one thread; give the number of composite events, -1 for no case."""
    random = Random(seed)
    try:
        case = make_case(seed, events=random.choice((30, 200)), habits=LIVELY, coarse=random.choice((1, 1, 4)))
    except RuleError:
        return -1
    schema = Schema([*case.checked.inputs.values(), *case.checked.composites.values()])
    events = [replace(e, id=n if e.id is None else e.id) for n, e in enumerate(case.events)]
    sizes = [random.randint(1, 25) for _ in events]
    found: list[list[tuple[object, ...]]] = []
    for count in (1, threads):
        try:
            options = RunOptions(engine="columns", limit=LIMIT, threads=count)
            engine = create(options, case.checked.rules.rules, schema)
            made: list[Event] = []
            at = 0
            for size in sizes:
                if at < len(events):
                    made += engine.feed(to_batch(events[at : at + size])).to_events()
                at += size
            found.append([*normal(made), (engine.ties,)])
        except LimitError:
            found.append([("beyond the limit",)])
        except CepheusError:
            return -1
    if found[0] != found[1]:
        raise AssertionError(f"seed {seed}, {threads} threads: one thread and several differ\n{case.text}")
    return len(found[0]) - 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--cases", type=int, default=sys.maxsize, help="how many cases at the most")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--how", choices=("slices", "copies", "dealt"), default="slices")
    options = parser.parse_args()
    (copy_anywhere if options.how == "copies" else cut_anywhere)()
    if options.how == "dealt":
        deal_out()
    stress(options.seed, 2)  # compiles what is compiled
    interrupt_everywhere()
    begin = time.perf_counter()
    counted: Counter[str] = Counter()
    seed = options.seed

    def told() -> str:
        return (
            f"{counted['cases']} cases alike on one thread and several ({options.how}), {counted['refused']} refused, "
            f"{counted['composite events']} composite events, seeds {options.seed} to {seed - 1}, "
            f"{time.perf_counter() - begin:.0f} s"
        )

    while time.perf_counter() - begin < 60 * options.minutes and seed < options.seed + options.cases:
        outcome = stress(seed, (2, 3, 4, 8)[seed % 4])
        counted["refused" if outcome < 0 else "cases"] += 1
        counted["composite events"] += max(0, outcome)
        seed += 1
        if (seed - options.seed) % _TELL_EVERY == 0:
            print("so far:", told(), flush=True)
    print(told())
    return 0


if __name__ == "__main__":
    sys.exit(main())
