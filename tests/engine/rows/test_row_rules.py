"""Queries as rules: sessions give what the reference gives for the rows, however events are cut, restored and late."""

from __future__ import annotations

import re
from random import Random

import pyarrow as pa
import pytest
from random_rows import row_case

import cepheus
from cepheus import CepheusError, match_recognize

_MODES = re.compile(r"ALL ROWS PER MATCH( OMIT EMPTY MATCHES| WITH UNMATCHED ROWS)?")


def _query(seed: int) -> tuple[str, list[dict[str, object]]]:
    """A query in the form of a rule, and its events; a measure tells which rows each match has."""
    case = row_case(seed)
    text = _MODES.sub("ONE ROW PER MATCH", case.text).replace("ORDER BY t, n", "ORDER BY time")
    text = re.sub(r"\bt\b", "time", text)
    text = re.sub(r"array_agg\((?:DISTINCT )?(\w+)\)", r"max(\1)", text)  # lists are texts in tables
    text = text.replace("MEASURES ", "MEASURES FIRST(n) AS begins, LAST(n) AS ends, ", 1)
    events = [{"type": "Row", "time": row["t"], **row} for row in case.rows]
    for event in events:
        del event["t"]
    return f"SELECT * FROM Row {text} AS Found", events


def _wanted(text: str, events: list[dict[str, object]]) -> object:
    kinds = {"n": pa.int64(), "k": pa.string(), "time": pa.timestamp("us", tz="UTC"), "v": pa.int64()}
    kinds |= {"t": pa.int64(), "w": pa.float64(), "s": pa.string()}
    table = pa.Table.from_pylist(events, pa.schema(list(kinds.items())))
    try:
        return sorted(
            repr(sorted((name, value) for name, value in row.items() if value is not None))
            for row in match_recognize(text, table, engine="reference").to_pylist()
        )
    except CepheusError as error:
        return error.diagnostics[0].code


def _found(text: str, events: list[dict[str, object]], random: Random) -> object:
    """Feed the events one by one or many at once, tell times in between, go on from snapshots now and then."""
    found = []
    try:
        program = cepheus.compile(text)
        session = program.start(time_unit="us")
        place = 0
        while place < len(events):
            size = random.choice([0, 1, 2, 5])
            found += (
                session.feed(events[place]) if size == 0 else session.feed(events[place : place + size]).to_events()
            )
            place += max(size, 1)
            if random.random() < 0.3 and place < len(events):
                found += session.advance(int(str(events[place]["time"]))).to_events()
            if random.random() < 0.3:
                session = program.start(time_unit="us", snapshot=session.snapshot())
        found += session.close().to_events()
    except CepheusError as error:
        return error.diagnostics[0].code
    times = {event["n"]: event["time"] for event in events}
    for match in found:
        if "begins" in match.attributes:
            assert match.made_of == tuple(sorted(match.made_of))
            assert times[match["ends"]] == match.time
            assert times[match["begins"]] == match.start
            assert (match.made_of[0], match.made_of[-1]) == (match["begins"], match["ends"])
    return sorted(repr(sorted(match.attributes.items())) for match in found)


def _agree(seeds: range) -> int:
    compared = 0
    for seed in seeds:
        text, events = _query(seed)
        found, wanted = _found(text, events, Random(seed)), _wanted(text, events)
        assert found == wanted, f"seed {seed}: {text}"
        compared += isinstance(wanted, list)
    return compared


@pytest.mark.parametrize("seeds", [range(first, first + 40) for first in range(0, 160, 40)], ids=lambda seeds: seeds[0])
def test_sessions_give_what_the_reference_gives(seeds: range) -> None:
    assert _agree(seeds) > 25


@pytest.mark.slow
def test_sessions_give_what_the_reference_gives_in_many_cases() -> None:
    assert _agree(range(1_000, 6_000)) > 3_000
