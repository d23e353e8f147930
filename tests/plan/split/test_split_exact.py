"""Whatever way rules are split, the shards together find what one engine finds."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable

import pytest
from dealing import dealt_answer, dealt_ties, whole_answer, whole_ties

from cepheus.core.errors import LimitError, RuleError
from cepheus.engine.base.ties import TieCounts
from cepheus.plan.split import WayName
from strategies.mixed_cases import mixed_case
from strategies.split_cases import SplitCase, split_case

CASES = 100
ALLOWED = [
    set(WayName),
    {WayName.KEYS, WayName.BANDS, WayName.WHOLE},
    {WayName.BANDS, WayName.WHOLE},
    {WayName.SLICES, WayName.WHOLE},
]


def agree(seed: int, make: Callable[[int], SplitCase] = split_case) -> list[str] | None:
    """Compare all ways on the case of a seed; give the ways that were used, None if the rules make no sense."""
    try:
        case = make(seed)
        expected = whole_answer(case)
    except (RuleError, LimitError):
        return None
    used = []
    for ways in ALLOWED:
        for shards in (2, 8):
            found, made = dealt_answer(case, shards, ways)
            assert found == expected, f"seed {seed}, {shards} shards, {made}\n{case.text}"
            used += [type(group.way).__name__ for group in made.groups if expected]
    return used


@pytest.mark.parametrize("block", range(5))
def test_shards_find_what_one_engine_finds(block: int) -> None:
    used: Counter[str] = Counter()
    for seed in range(block * CASES // 5, (block + 1) * CASES // 5):
        used.update(agree(seed) or [])
    assert {"ByKey", "ByBand", "BySlice", "Whole"} <= used.keys()


def test_shards_count_what_one_engine_counts_of_simultaneous_events() -> None:
    total = TieCounts()
    for seed in range(1000, 1060):
        try:
            case = split_case(seed)
            expected = whole_ties(case)
        except (RuleError, LimitError):
            continue
        total += expected
        for ways in ALLOWED:
            for shards in (2, 8):
                assert dealt_ties(case, shards, ways) == expected, f"seed {seed}, {shards} shards\n{case.text}"
    assert total.decided
    assert total.passed_over


def test_shards_find_what_one_engine_finds_by_rules_of_both_families() -> None:
    used: Counter[str] = Counter()
    for seed in range(60):
        used.update(agree(seed, mixed_case) or [])
    assert {"ByKey", "BySlice", "Whole"} <= used.keys()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--mixed", action="store_true")
    given = parser.parse_args()
    maker = mixed_case if given.mixed else split_case
    total: Counter[str] = Counter()
    for number in range(given.first, given.first + given.cases):
        total.update(agree(number, maker) or ["(no sense)"])
    print(total)
