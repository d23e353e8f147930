"""An event that comes alone and the same one as a row are admitted alike, or refused in the same words."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cepheus
from cepheus.core.errors import CepheusError
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.core.values import ValueType
from cepheus.error_columns import Normal
from cepheus.formats.intake import Intake, IntakeOptions
from cepheus.formats.problems import BadEvents
from cepheus.formats.rows import RecordRows
from cepheus.runtime.embedded.admission import Admission

VALUES: tuple[Any, ...] = (
    *(0, 7, -3, 2**63 - 1, 2**63, 10**400, 0.25, 1.5, 7.0, float("inf"), float("nan"), -0.0),
    *("", "A", "Aa", "\ud800", "\u00e9", "1", "nan", "2020-01-01T00:00:00Z", "9999999-01-01", True, None, b"x"),
    *([1, "a"], (), {}, 1 + 2j, {"value": 1}, {"value": 1, "error": "N(0, 1)"}, {"value": 1, "error": 7}),
    *(datetime.datetime(2020, 1, 1, 0, 0, 0, 5), datetime.datetime.max, datetime.date(2020, 1, 1)),
    *(np.int64(3), np.uint64(2**64 - 1), np.float64("nan"), np.bool_(True), np.array([1, 2]), np.datetime64("NaT")),
    *(np.datetime64("2020-01-01T00:00:00"), np.datetime64(1, "ns"), np.timedelta64(1, "s")),
    *(pd.Timestamp("2020-01-01", tz="Europe/Rome"), pd.Timestamp(1), pd.NaT),
)
NO_VALUE = object()
PLAIN = {ValueType.STRING: "s", ValueType.BOOL: True, ValueType.LIST: [1]}
OPTIONS = [
    RunOptions.of(),
    RunOptions.of(
        time_unit="s", sequence="seq", start="start", id="key", probability="p", uncertain={"x": Normal(sd="sd")}
    ),
]
Outcome = tuple[Any, ...] | None


def alone(schema: Schema, given: dict[str, Any], options: RunOptions, *, intervals: bool) -> Outcome:
    """What becomes of an event that is fed to a session."""
    admission = Admission(options)
    admission.expect(schema, intervals=intervals)
    try:
        event = admission.event(given, 5)
        return None if event is None else facts(admission.batch_of([event]).to_events()[0])
    except CepheusError as error:
        return refusal(error)


def in_a_row(schema: Schema, given: dict[str, Any], options: RunOptions, *, intervals: bool) -> Outcome:
    """What becomes of an event that is a row of a file."""
    how = IntakeOptions(schema, options.unit, columns=options.columns, intervals=intervals, uncertain=options.uncertain)
    try:
        batch = Intake("file", how, BadEvents()).chunk(RecordRows([given]), range(1, 2), range(5, 6)).batch
        return facts(batch.to_events()[0]) if len(batch) else None
    except CepheusError as error:
        return refusal(error)


def facts(event: Event) -> tuple[Any, ...]:
    """All that an event says; one without a start is an instant."""
    start = event.time if event.start is None else event.start
    said = (event.type, event.time, start, event.attributes, event.id, event.sequence, event.probability)
    return tuple(map(repr, (*said, event.made_of, dict(event.errors))))


def refusal(error: CepheusError) -> tuple[Any, ...]:
    """Why an event is refused, but for where it stands."""
    finding = error.diagnostics[0]
    return finding.code, finding.message, finding.hint


@pytest.mark.parametrize("intervals", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=["usual", "named"])
@pytest.mark.parametrize("kind", [None, *ValueType])
@pytest.mark.parametrize("field", ["type", "time", "id", "key", "probability", "p", "from", "seq", "sd", "start", "x"])
def test_alone_and_in_a_row(field: str, kind: ValueType | None, options: RunOptions, intervals: bool) -> None:
    if kind is not None and field != "x":
        return  # what an event's own fields hold has nothing to do with the types of attributes
    for optional in (False, True):
        schema = Schema([EventType("A", (Attribute("x", kind, optional=optional),))], closed=optional)
        for value in (*VALUES, NO_VALUE):
            given = {
                "type": "A",
                "time": 1,
                "x": PLAIN.get(kind or ValueType.INT, 1),
                "seq": 1,
                "sd": 0.5,
                field: value,
            }
            if value is NO_VALUE:
                del given[field]
            if field in ("type", "sd") and (value is None or value is NO_VALUE):
                continue  # the remedies differ: a file may be of one type, and a whole column may be missing
            one, other = (each(schema, given, options, intervals=intervals) for each in (alone, in_a_row))
            assert one == other, given


def test_what_earlier_events_settled_is_said_of_other_types_alone() -> None:
    schema = Schema([EventType("A", (Attribute("x", None),))])
    admission = Admission(RunOptions.of())
    admission.expect(schema)
    admission.event({"type": "A", "time": 1, "x": 1}, 0)
    with pytest.raises(CepheusError, match="earlier values made it int; declare its type before the session starts"):
        admission.event({"type": "A", "time": 1, "x": "a"}, 1)
    with pytest.raises(CepheusError, match="does not fit in 64 bits") as refused:
        admission.event({"type": "A", "time": 1, "x": 2**63}, 1)
    assert refused.value.diagnostics[0].hint is None


def test_ids_of_types_that_have_an_attribute_of_that_name() -> None:
    """A value under ``id`` that is no id is nothing wrong with an event whose type has such an attribute."""
    own = EventType("A", (Attribute("id", ValueType.FLOAT),))
    schema = Schema([own, EventType("B", (Attribute("x", ValueType.INT),))])
    rows = RecordRows([{"type": "A", "time": 1, "id": 0.5}, {"type": "B", "time": 2, "x": 1, "id": "b"}])
    batch = Intake("file", IntakeOptions(schema), BadEvents()).chunk(rows, range(1, 3), range(2)).batch
    assert [event.id for event in batch.to_events()] == [0, "b"]


SWAPPED = """
event L(a: int? from b, c: int? from a)
define C(a: int, c: int) from L() where a = coalesce(L.a, 0) and c = coalesce(L.c, 0)
"""


@pytest.mark.parametrize("given", [{"a": 5, "b": 7}, {"a": 5}, {"b": 7}, {"a": 5, "c": 9}, {}], ids=str)
def test_renamed_attributes_are_read_from_the_named_columns_alone(given: dict[str, int]) -> None:
    """As dicts, as a table, and as a batch that was read before and has the attributes by their own names."""
    event = {"type": "L", "time": 1, **given}
    program = cepheus.compile(SWAPPED)
    rows = RecordRows([event])
    read = Intake("file", IntakeOptions(program.inputs), BadEvents()).chunk(rows, range(1, 2), range(1)).batch
    for events in ([event], pa.Table.from_pylist([event]), read):
        found = [dict(each.attributes) for each in program.detect(events, engine="reference").to_events()]
        assert found == [{"a": given.get("b", 0), "c": given.get("a", 0)}], events


def test_arguments_of_renamed_attributes_stand_for_them() -> None:
    attributes = (Attribute("a", ValueType.INT, column="b"), Attribute("c", ValueType.INT, column="a"))
    made = alone(
        Schema([EventType("L", attributes)]), {"type": "L", "time": 1, "args": [7, 5]}, RunOptions.of(), intervals=True
    )
    assert made is not None
    assert made[3] == "{'a': 7, 'c': 5}"
