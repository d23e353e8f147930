"""A long record of the calculus against possible worlds, case by case, that goes on where it stopped.

    python tests/uncertainty/record_worlds.py drawn RECORD.jsonl 251000000 10000
    python tests/uncertainty/record_worlds.py all RECORD.jsonl 3000 1000

The rule, which was there before the first case: 2,500 worlds are drawn for a case. What the reference says beyond four
standard errors (those of the worlds and of its own simulation together) is a suspect, and is tried again with ten times
as many worlds and draws from other seeds; it is a difference if it is beyond four again. In every fourth case the
compiled engine has to say what the reference says, to 10⁻⁷ or within five standard errors of what was simulated. In
*all* worlds both have to agree to a millionth (`test_exact_worlds`).
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

from exact_worlds import DiscreteCase
from joint_cases import make_joint_case
from possible_worlds import Case, Made, apart, shares, weighed
from test_exact_worlds import differences

from cepheus.core.batch import EventBatch
from cepheus.core.calculus import Calculus
from cepheus.core.options import RunOptions
from cepheus.engine.assembly.registry import create

WORLDS, DRAWS, MORE = 2_500, 4_000, 10
COMPILED = 4
"""Every such case goes to the compiled engine, too, which takes as long as the rest."""


def drawn_case(seed: int) -> dict[str, Any]:
    """Try the case of a seed against drawn worlds."""
    case, calculus = make_joint_case(seed), Calculus(draws=DRAWS)
    told = weighed(case, calculus)
    suspects = apart(told, shares(case, WORLDS, seed), WORLDS)
    found: dict[str, Any] = {
        "worlds": WORLDS,
        "made": len(told),
        "unsure": sum(0.001 < p < 0.999 for p, _ in told.values()),
    }
    found["simulated"] = sum(error > 1e-9 for _, error in told.values())
    if suspects:
        other = Calculus(draws=MORE * DRAWS, seed=seed)
        again = apart(weighed(case, other), shares(case, MORE * WORLDS, seed + 1), MORE * WORLDS)
        found["suspects"] = list(suspects.values())
        found["differences"] = [text for made, text in again.items() if made in suspects]
    if seed % COMPILED == 0 and (compiled := _compiled_apart(case, calculus, told)):
        found["compiled"] = compiled
    return found


def all_worlds_case(seed: int) -> dict[str, Any]:
    """Try the case of a seed against all its worlds."""
    told = weighed(DiscreteCase.of(seed).case)
    found: dict[str, Any] = {"made": len(told), "unsure": sum(0.001 < p < 0.999 for p, _ in told.values())}
    if apart := differences(seed):
        found["differences"] = apart
    return found


def _compiled_apart(case: Case, calculus: Calculus, told: dict[Made, tuple[float, float]]) -> list[str]:
    engine = create(RunOptions(engine="columns", calculus=calculus), case.checked.rules.rules, case.schema)
    made = engine.feed(EventBatch.from_events(list(case.events))).to_events()
    found = {(event.type, tuple(int(part) for part in event.made_of)): event.probability for event in made}
    differing = []
    for each in told.keys() | found.keys():
        probability, error = told.get(each, (0.0, 0.0))
        slack = 1e-7 + 5.0 * math.sqrt(2.0) * error
        if abs(found.get(each, 0.0) - probability) > slack + (calculus.ignore if each not in told else 0.0):
            differing.append(f"{each}: {found.get(each, 0.0)} compiled, {probability} ± {error}")
    return differing


FAMILIES: dict[str, Callable[[int], dict[str, Any]]] = {"drawn": drawn_case, "all": all_worlds_case}


def main(family: str, record: str, first: str, cases: str) -> None:
    """Try so many cases from a seed on, without those on record; each is noted down at once."""
    path = Path(record)
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    done = {json.loads(line)["seed"] for line in lines}
    with path.open("a", encoding="utf-8") as notes:
        for seed in range(int(first), int(first) + int(cases)):
            if seed in done:
                continue
            began = process_time()
            found = {"seed": seed, **FAMILIES[family](seed), "seconds": round(process_time() - began, 4)}
            notes.write(json.dumps(found) + "\n")
            notes.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
