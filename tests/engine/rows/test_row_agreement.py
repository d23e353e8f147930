"""The engine of rows gives what the reference gives, however the rows are cut into portions."""

from __future__ import annotations

import pyarrow as pa
import pytest
from random_rows import RowCase, row_case

from cepheus import CepheusError, match_recognize
from cepheus.core.values import ValueType
from cepheus.engine.rows.kernel import FoundMatch
from cepheus.engine.rows.matcher import Matches, RowMatcher
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


def _given(query: RowQuery, table: pa.Table, engine: str) -> object:
    try:
        return match_recognize(query, table, engine=engine).to_pylist()
    except CepheusError as error:
        return error.diagnostics[0].code


@pytest.mark.parametrize("seeds", [range(first, first + 50) for first in range(0, 400, 50)], ids=lambda seeds: seeds[0])
def test_engine_and_reference_agree(seeds: range) -> None:
    for seed in seeds:
        case = row_case(seed)
        query = parse_query(case.text)
        wanted, found = (_given(query, case.table, engine) for engine in ("reference", "rows"))
        assert found == wanted, f"seed {seed}: {case.text}"


@pytest.mark.parametrize("portion", [1, 2, 5])
def test_portions_do_not_matter(portion: int) -> None:
    compared = 0
    for seed in range(1000, 1150):
        case = row_case(seed, far=0)
        whole, cut = (_matches(case, size) for size in (len(case.rows) or 1, portion))
        assert cut == whole, f"seed {seed}: {case.text}"
        compared += whole != []
    assert compared > 50


def _matches(case: RowCase, portion: int) -> list[tuple[object, ...]] | str:
    matcher = RowMatcher(parse_query(case.text), _TYPES)
    found: list[tuple[object, ...]] = []
    try:
        for begin in range(0, len(case.rows), portion):
            part = case.table.slice(begin, portion)
            found += _lines(matcher.feed({name: part.column(name) for name in _TYPES}))
        found += _lines(matcher.finish())
    except CepheusError as error:
        return error.diagnostics[0].code
    return found


def _lines(matches: Matches) -> list[tuple[object, ...]]:
    lines = []
    for line in matches.lines.tolist():
        begin = line[FoundMatch.ROWS]
        end = begin + line[FoundMatch.LENGTH]
        lines.append(
            (*line[: FoundMatch.ROWS], matches.rows[begin:end].tolist(), matches.variables[begin:end].tolist())
        )
    return lines
