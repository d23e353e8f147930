"""Whatever comes as an event is taken or refused by name, alike on every engine, and the session goes on."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheus
from cepheus import CepheusError, Event, Session

ENGINES = [("reference", 1), ("columns", 1), ("columns", 2), ("automata", 1)]
PAIR = "define R(n: int) from B(x=$x) and last A(x=$x) within 20 us from B where n=1"
DECLARED = (
    "",
    *(f"event A(x: {kind}) event B(x: {kind}) " for kind in ("int?", "double", "string", "bool", "timestamp")),
)
VALUES: tuple[Any, ...] = (
    *(0, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**400, 0.5, 1e308, float("inf"), float("nan"), -0.0, 5e-324),
    *("", "a\0", "\ud800", "\u00e9", "1", "1e400", "nan", "9999999-01-01", True, None, b"x", [1], (), {}, 1 + 2j),
    *({"value": 1}, {"value": 10**400, "error": "N(0, 1)"}, {"value": 1, "error": "N(0, 1)"}, {"value": 1, "error": 7}),
    *(decimal.Decimal("1e500"), decimal.Decimal("1.5"), datetime.datetime.max, datetime.date(2020, 1, 1)),
    *(np.int64(3), np.uint64(2**64 - 1), np.float64("nan"), np.bool_(True), np.datetime64("NaT"), np.array([1, 2])),
)
COLUMNS = (
    *(pa.array([2**63 - 1, 2**53 + 1]), pa.array([2**64 - 1, 1], pa.uint64()), pa.array([1.5, float("nan")])),
    *(pa.array([1.5, 2.5], pa.float32()), pa.array([decimal.Decimal("1e30"), None], pa.decimal256(60, 2))),
    *(pa.array(["a", "b\0"]), pa.array(["a", "b"], pa.string_view()), pa.array(["a", "b"]).dictionary_encode()),
    *(pa.array([b"\xff", b"a"]), pa.array([b"\xff", b"a"]).view(pa.string()), pa.nulls(2), pa.array([[1], [2]])),
    *(pa.array([0, 2**62], pa.timestamp("s")), pa.array([0, 2**63 - 1], pa.timestamp("ns")), pa.array([1, 2])),
    *(pa.array([{"value": 1.0, "error": "N(0, 1)"}, {"value": 2.0, "error": None}]), pa.array([True, None])),
)


def outcome(session: Session, given: Any) -> str:
    """Give what came of feeding something: nothing but a refusal by name may be raised."""
    try:
        session.feed(given)
    except CepheusError as error:
        return error.diagnostics[0].code
    return "taken"


def on_all_engines(rules: str, given: Any, **options: Any) -> None:
    """Feed something to sessions on all engines, which must go on, and think alike of it."""
    outcomes = set()
    for engine, threads in ENGINES:
        session = cepheus.compile(rules).start(engine=engine, threads=threads, **options)
        outcomes.add(outcome(session, given))
        session.flush()
    assert len(outcomes) == 1, outcomes


@pytest.mark.parametrize("declared", DECLARED)
def test_values(declared: str) -> None:
    for value in VALUES:
        on_all_engines(declared + PAIR, {"type": "A", "time": 1, "x": value})
        on_all_engines(declared + PAIR, [{"type": "A", "time": 1, "x": value}])
        on_all_engines(declared + PAIR, Event("A", 1, {"x": value}))


@pytest.mark.parametrize("declared", DECLARED)
def test_columns(declared: str) -> None:
    for column in COLUMNS:
        table = pa.table({"type": ["A", "B"], "time": [1, 2], "x": column})
        on_all_engines(declared + PAIR, table)


@pytest.mark.parametrize(
    "field", ["type", "time", "id", "sequence", "probability", "start", "rule", "made_of", "errors"]
)
def test_own_fields_of_events(field: str) -> None:
    for value in VALUES:
        given: dict[str, Any] = {"type": "A", "time": 1, "attributes": {"x": 1}, "sequence": 1, field: value}
        event = Event(**given)
        on_all_engines(PAIR, event)
        on_all_engines(PAIR, [event], sequence="sequence")


@pytest.mark.parametrize("field", ["type", "time", "id", "probability", "from", "seq"])
def test_own_fields_of_dicts_and_tables(field: str) -> None:
    for value in VALUES:
        given = {"type": "A", "time": 1, "x": 1, "seq": 1, field: value}
        on_all_engines(PAIR, given, sequence="seq")
    for column in COLUMNS:
        columns = {"type": ["A", "B"], "time": [1, 2], "x": [1, 1], "seq": [1, 2], field: column}
        on_all_engines(PAIR, pa.table(columns), sequence="seq")


def test_attributes_that_are_no_mapping() -> None:
    for value in (7, "a", [1], None):
        on_all_engines(PAIR, Event("A", 1, value))  # type: ignore[arg-type]


@pytest.mark.parametrize(("engine", "threads"), ENGINES)
def test_a_list_for_a_rule_of_tesla_is_refused_and_the_session_goes_on(engine: str, threads: int) -> None:
    session = cepheus.compile(PAIR).start(engine=engine, threads=threads)
    for bad in (Event("A", 1, {"x": (1,)}), [Event("A", 1, {"x": (1,)}), Event("A", 1, {"x": 7})]):
        with pytest.raises(CepheusError, match="a list, which rules of TESLA cannot read"):
            session.feed(bad)
    session.feed(Event("A", 1, {"x": 7}))
    assert len(session.feed(Event("B", 2, {"x": 7}))) == 1
