"""Engine and reference on generated row patterns and rows: whole, in batches, across snapshots; the same answer.

``python tests/engine/rows/row_agreement.py --cases 5000 --seed 0`` runs many and says how it went.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from random import Random

import pyarrow as pa
from random_rows import RowCase, row_case

from cepheus import CepheusError, match_recognize
from cepheus.core.values import ValueType
from cepheus.engine.rows import marked
from cepheus.engine.rows import matching as at_work
from cepheus.engine.rows.engine import RowEngine
from cepheus.engine.rows.marked import usable_marks
from cepheus.engine.rows.output import together
from cepheus.language.sql import parse_query
from cepheus.rules.rows.model import RowQuery

_TYPES = {
    "n": ValueType.INT,
    "k": ValueType.STRING,
    "t": ValueType.TIMESTAMP,
    "v": ValueType.INT,
    "w": ValueType.FLOAT,
    "s": ValueType.STRING,
}


def difference(seed: int) -> tuple[str | None, str]:
    """What is wrong with a case, None if nothing; and what it came to, in a word."""
    case = row_case(seed)
    query = parse_query(case.query)
    wanted = _whole(query, case.table, "reference")
    outcome = wanted if isinstance(wanted, str) else "matches" if wanted else "no match"
    for how, found in (
        ("whole", _whole(query, case.table, "rows")),
        ("in batches", _in_batches(query, case, Random(seed))),
    ):
        if found != wanted:
            return _told(seed, how, case, found, wanted), outcome
    return _marked_difference(seed), outcome


def _marked_difference(seed: int) -> str | None:
    """What is wrong with a case that is found by marks, in portions of a few rows and with room for a few matches."""
    case = row_case(seed, far=0.0, marked=True)
    query = parse_query(case.query)
    assert usable_marks(query) is not None, case.query
    wanted = _whole(query, case.table, "reference")
    marked.PORTION, marked.ROOM = Random(seed).choice([(1, 1), (2, 3), (7, 2), (1 << 16, 1 << 14)])
    found = _whole(query, case.table, "rows")
    return None if found == wanted else _told(seed, "by marks", case, found, wanted)


def _told(seed: int, how: str, case: RowCase, found: object, wanted: object) -> str:
    return f"seed {seed}, {how}: {case.query}\n  {found}\n  instead of {wanted}"


def _whole(query: RowQuery, table: pa.Table, engine: str) -> list[dict[str, object]] | str:
    try:
        found: list[dict[str, object]] = match_recognize(query, table, engine=engine).to_pylist()
    except CepheusError as error:
        return error.diagnostics[0].code
    return found


def _in_batches(query: RowQuery, case: RowCase, random: Random) -> list[dict[str, object]] | str:
    """Feed batches of random sizes, tell times in between, go on from snapshots now and then."""
    at_work.FORGET_FROM = 1  # rows are forgotten as soon as there are twice as many as needed
    engine = RowEngine(query, _TYPES)
    matching = engine.build()
    given = []
    place = 0
    try:
        while place < len(case.rows):
            size = random.choice([1, 1, 2, 3, 5])
            given.append(matching.feed(case.table.slice(place, size)))
            place += size
            if random.random() < 0.3 and place < len(case.rows):
                given.append(matching.advance(int(str(case.rows[place]["t"]))))
            if random.random() < 0.4:
                snapshot = matching.snapshot()
                matching = engine.build()
                matching.restore(snapshot)
        given.append(matching.finish())
        found: list[dict[str, object]] = together(given).to_pylist()
    except CepheusError as error:
        return error.diagnostics[0].code
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    outcomes: Counter[str] = Counter()
    for seed in range(asked.seed, asked.seed + asked.cases):
        wrong, outcome = difference(seed)
        outcomes[outcome] += 1
        if wrong is not None:
            sys.exit(wrong)
    told = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    print(f"{asked.cases} cases from seed {asked.seed}: all agree ({told})", flush=True)


if __name__ == "__main__":
    main()
