"""Reference and engine give what the words of a pattern say.

``python tests/engine/rows/test_word_oracle.py --cases 5000`` runs many cases.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from word_cases import WordCase, word_case

from cepheus import CepheusError, match_recognize
from cepheus.engine.rows.engine import RowEngine
from cepheus.engine.rows.output import together
from cepheus.language.sql import parse_query
from cepheus.runtime.embedded.row_tables import column_types, in_own_types

Shown = list[list[tuple[str, str]]] | str


@pytest.mark.parametrize("first", range(0, 240, 60))
def test_as_the_words_of_patterns_say(first: int) -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(first, first + 60):
        wrong, outcome = difference(seed)
        assert wrong is None, wrong
        outcomes[outcome] += 1
    assert outcomes["matches"] > 10


def difference(seed: int) -> tuple[str | None, str]:
    """What is wrong with a case, None if nothing; and what it came to, in a word."""
    case = word_case(seed)
    if case is None:
        return None, "too many words"
    wanted = case.wanted if isinstance(case.wanted, str) else _shown(case.wanted)
    ways: dict[str, Callable[[], pa.Table]] = {
        "reference": lambda: match_recognize(case.query, case.table, engine="reference"),
        "rows": lambda: match_recognize(case.query, case.table, engine="rows"),
        "in batches": lambda: _in_batches(case, Random(seed)),
    }
    for name, way in ways.items():
        found = _given(way)
        if found != wanted:
            told = f"seed {seed}, {name}: {case.query}\n  {case.table.to_pylist()}\n  {found}\n  instead of {wanted}"
            return told, "wrong"
    return None, wanted if isinstance(wanted, str) else "matches" if wanted else "no match"


def _given(way: Callable[[], pa.Table]) -> Shown:
    try:
        return _shown(way().to_pylist())
    except CepheusError as error:
        return error.diagnostics[0].code


def _in_batches(case: WordCase, random: Random) -> pa.Table:
    """The rows in their order, a few at a time, with snapshots in between."""
    query = parse_query(case.query)
    table = in_own_types(case.in_order)
    engine = RowEngine(query, column_types(table.schema, query))
    matching, given, place = engine.build(), [], 0
    while place < table.num_rows:
        size = random.choice([1, 1, 2, 3])
        given.append(matching.feed(table.slice(place, size)))
        place += size
        if random.random() < 0.4:
            snapshot = matching.snapshot()
            matching = engine.build()
            matching.restore(snapshot)
    given.append(matching.finish())
    return together(given)


def _shown(rows: list[dict[str, Any]]) -> Shown:
    return [sorted((name, repr(_plain(value))) for name, value in row.items()) for row in rows]


def _plain(value: Any) -> Any:
    """A value whose type does not matter; the last digits of a double do not, either."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(f"{value:.12g}")
    return value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    outcomes: Counter[str] = Counter()
    for seed in range(asked.seed, asked.seed + asked.cases):
        wrong, outcome = difference(seed)
        if wrong is not None:
            sys.exit(wrong)
        outcomes[outcome] += 1
    told = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    print(f"{asked.cases} cases from seed {asked.seed}: all agree ({told})", flush=True)


if __name__ == "__main__":
    main()
