"""Run generated rules that a device can evaluate on the device engine, and compare with the reference engine.

``python tests/engine/device_agreement.py --cases 20000`` runs many and reports; a failure prints its seed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from math import inf

from agreement import MODES, always_on_device, normal, run
from device_cases import make_device_case

from cepheus.core.errors import LimitError, RuleError
from cepheus.engine.device.evaluation import Evaluator

counted: Counter[str] = Counter()
"""What devices have done, so that a test can tell that they did something."""


def count_evaluations() -> None:
    """Count from now on what devices evaluate."""
    evaluate = Evaluator.evaluate

    def counting(self: Evaluator, *given: object) -> object:
        made, ties = evaluate(self, *given)  # type: ignore[arg-type]
        counted["terminators"] += len(given[1])  # type: ignore[arg-type]
        counted["composite events"] += sum(each.fields.shape[1] for each in made)
        counted["ties"] += ties.decided + ties.passed_over
        return made, ties

    vars(sys.modules[Evaluator.__module__])["Evaluator"].evaluate = counting


def compare_on_device(seed: int, mode: str, *, while_running: bool = False, engine: str = "device") -> int:
    """Compare one case; give the number of composite events, -1 for rules that are refused."""
    try:
        case = make_device_case(seed, while_running=while_running)
    except RuleError:
        return -1
    try:
        wanted, expected_ties = run(case, "reference", "single")
    except LimitError:
        return -1
    found, ties = run(case, engine, mode)
    expected, actual = [*normal(wanted), (expected_ties,)], [*normal(found), (ties,)]
    if expected != actual:
        pairs = zip(expected, actual, strict=False)
        first = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(expected), len(actual)) - 1)
        lines = "\n".join(f"{n}: {e.type}@{e.time} {dict(e.attributes)}" for n, e in enumerate(case.events))
        raise AssertionError(
            f"device seed {seed}, {mode}, while_running={while_running}: {len(expected) - 1} expected, "
            f"{len(actual) - 1} found; first difference at {first}:\n  expected {expected[first]}\n  found    "
            f"{actual[first]}\n{case.text}\n{lines}\ndeployed at {case.deployed_at}, withdrawn at {case.withdrawn_at}"
        )
    return len(wanted)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--engine", default="device")
    parser.add_argument("--keep-going", action="store_true")
    parser.add_argument("--minutes", type=float, default=inf, help="how long to go on at the most")
    options = parser.parse_args()
    always_on_device()
    count_evaluations()
    begin = time.perf_counter()
    ran = composites = failures = 0
    last = options.seed

    def told() -> str:
        return (
            f"{ran} cases agree, {failures} differ, {composites} composite events, seeds {options.seed} to {last}, "
            f"{time.perf_counter() - begin:.0f} s; on the device: {dict(counted)}"
        )

    for seed in range(options.seed, options.seed + options.cases):
        if time.perf_counter() - begin > 60 * options.minutes:
            break
        last = seed
        try:
            outcome = compare_on_device(
                seed, MODES[seed % len(MODES)], while_running=seed % 3 == 0, engine=options.engine
            )
        except AssertionError as failure:
            print(failure)
            failures += 1
            if not options.keep_going:
                return 1
            continue
        ran += outcome >= 0
        composites += max(0, outcome)
        if (seed - options.seed) % _TELL_EVERY == _TELL_EVERY - 1:
            print("so far:", told(), flush=True)
    print(told())
    return 1 if failures else 0


_TELL_EVERY = 500


if __name__ == "__main__":
    sys.exit(main())
