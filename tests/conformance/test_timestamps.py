"""Attributes of type timestamp: one meaning for every unit, engine and format, read and written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import cepheus
from cepheus import CepheusError
from cepheus.core.batch import EventBatch
from cepheus.core.time import SECOND, TimeUnit, format_time
from cepheus.core.values import ValueType
from cepheus.engine.assembly.registry import interval_names, names
from cepheus.formats.convert import to_arrow
from cepheus.formats.write import EventWriter

UNITS = list(TimeUnit)
FILES = ["jsonl", "csv", "parquet", "arrow", "events"]
IN_MEMORY = ["dicts", "one by one", "table", "pandas", "polars"]

ORDER = "event Order(due: timestamp, n: int)"
LATE = "Late(due: timestamp, at: timestamp, soon: timestamp, left: int)"
RULES = f"""
{ORDER}
define {LATE} from Order(due > time and due > timestamp '2026-01-01T00:00:00Z')
where due = Order.due and at = Order.time and soon = Order.due + 500000 and left = Order.due - Order.time
"""
AGAIN = f"event {LATE}\ndefine Again(due: timestamp, at: timestamp, soon: timestamp, left: int) from Late() where " + (
    "due = Late.due and at = Late.at and soon = Late.soon and left = Late.left"
)
IN_INTERVALS = "event Order(due: timestamp, n: int).\nevent Seen(due: timestamp, n: int).\nSeen(D, N) <- Order(D, N).\n"

NOON = 1_772_445_600  # 2026-03-02T10:00:00Z
TIMES = ((NOON, NOON + 300, 1), (NOON + 1, NOON + 60, 2), (NOON + 2, NOON - 5, 3))
"""When orders came and when they were due, in seconds; the last was late already."""

LATE_ONES = [
    {"due": due * SECOND, "at": time * SECOND, "soon": due * SECOND + SECOND // 2, "left": (due - time) * SECOND}
    for time, due, _ in TIMES[:2]
]


def orders(unit: TimeUnit, *, as_text: bool = False) -> list[dict[str, Any]]:
    """Give the orders with their times as numbers in a unit, or the time alone so and the attribute as ISO 8601."""
    scale = SECOND // unit.microseconds
    return [
        {
            "type": "Order",
            "time": time * scale,
            "due": format_time(due * SECOND) if as_text else due * scale,
            "n": n,
        }
        for time, due, n in TIMES
    ]


def written(folder: Path, kind: str, records: list[dict[str, Any]]) -> Path:
    """Write records to a file of a format, with numbers as they stand: nothing of ours is asked what they mean."""
    path = folder / f"orders.{kind}"
    table = pa.Table.from_pylist(records)
    match kind:
        case "jsonl":
            path.write_text("".join(json.dumps(record) + "\n" for record in records))
        case "csv":
            lines = [",".join(map(str, record.values())) for record in records]
            path.write_text("\n".join([",".join(records[0]), *lines, ""]))
        case "events":
            path.write_text("".join(f"Order@{r['time']} (due={r['due']!r}, n={r['n']})\n" for r in records))
        case "parquet":
            pa.parquet.write_table(table, path)
        case _:
            with pa.ipc.new_file(path, table.schema) as file:
                file.write_table(table)
    return path


def attributes(batch: EventBatch) -> list[dict[str, Any]]:
    own = {"type", "time", "id", "from", "start"}
    return [{name: value for name, value in record.items() if name not in own} for record in EventBatch.to_dicts(batch)]


@pytest.mark.parametrize("as_text", [False, True], ids=["numbers", "texts"])
@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("engine", names())
def test_files(engine: str, unit: TimeUnit, kind: str, as_text: bool, tmp_path: Path) -> None:
    path = written(tmp_path, kind, orders(unit, as_text=as_text))
    program = cepheus.compile(RULES)
    found = program.detect(path, engine=engine, time_unit=unit.value)
    assert attributes(found) == LATE_ONES
    assert {kind for (name, kind) in found.columns if name != "left"} == {ValueType.TIMESTAMP}


@pytest.mark.parametrize("kind", IN_MEMORY)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("engine", names())
def test_in_memory(engine: str, unit: TimeUnit, kind: str) -> None:
    records = orders(unit)
    table = pa.Table.from_pylist(records)
    program = cepheus.compile(RULES)
    if kind == "one by one":
        session = program.start(engine=engine, time_unit=unit.value)
        events = [event for record in records for event in session.feed(record)]
        assert [dict(event.attributes) for event in events] == LATE_ONES
        return
    given: Any = records
    if kind == "pandas":
        given = table.to_pandas()
    elif kind == "polars":
        given = pytest.importorskip("polars").from_arrow(table)
    elif kind == "table":
        given = table
    found = program.detect(given, engine=engine, time_unit=unit.value)
    assert attributes(found) == LATE_ONES


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("engine", names())
def test_what_one_run_writes_another_reads(engine: str, unit: TimeUnit, kind: str, tmp_path: Path) -> None:
    found = cepheus.compile(RULES).detect(orders(unit), engine=engine, time_unit=unit.value)
    path = tmp_path / f"late.{kind}"
    with EventWriter(path, unit) as writer:
        writer.write(found)
    again = cepheus.compile(AGAIN).detect(path, engine=engine, time_unit=unit.value)
    assert attributes(again) == LATE_ONES
    assert again.times.tolist() == found.times.tolist()


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("engine", names())
def test_the_same_is_written(engine: str, unit: TimeUnit, tmp_path: Path) -> None:
    found = cepheus.compile(RULES).detect(orders(unit), engine=engine, time_unit=unit.value)
    path = tmp_path / "late.jsonl"
    with EventWriter(path, unit) as writer:
        writer.write(found)
    scale = SECOND // unit.microseconds
    half = {"us": (NOON + 300) * SECOND + SECOND // 2, "ms": (NOON + 300) * 1000 + 500}
    first = json.loads(path.read_text().splitlines()[0])
    assert {name: first[name] for name in ("time", "due", "at", "soon", "left")} == {
        "time": NOON * scale,
        "due": (NOON + 300) * scale,
        "at": NOON * scale,
        "soon": half.get(unit.value, format_time((NOON + 300) * SECOND + SECOND // 2)),
        "left": 300 * SECOND,
    }
    assert to_arrow(found, unit).column("due").type == ValueType.TIMESTAMP.arrow


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("engine", names())
def test_restored_engines_remember_what_is_a_time(engine: str, unit: TimeUnit) -> None:
    program = cepheus.compile(RULES)
    session = program.start(snapshot=program.start(engine=engine, time_unit=unit.value).snapshot())
    found = session.feed(orders(unit))
    assert {kind for (name, kind) in found.columns if name != "left"} == {ValueType.TIMESTAMP}
    assert attributes(found) == LATE_ONES


@pytest.mark.parametrize("reading", [None, "Order", "Seen"], ids=["alone", "beside TESLA", "feeding TESLA"])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("engine", interval_names())
def test_rules_over_intervals(engine: str, unit: TimeUnit, reading: str | None, tmp_path: Path) -> None:
    sources = [tmp_path / "seen.etalis"]
    sources[0].write_text(IN_INTERVALS)
    if reading is not None:
        sources.append(tmp_path / "late.tesla")
        sources[1].write_text(RULES.replace(ORDER, "").replace("Order", reading))
    program = cepheus.compile(sources)
    twice = [record for record in orders(unit) for _ in range(2)]  # at equal times events go one by one
    found = program.detect(twice, engine=engine, time_unit=unit.value)
    assert {kind for (name, kind) in found.columns if name not in ("left", "n")} == {ValueType.TIMESTAMP}
    seen = [event for event in attributes(found) if "n" in event]
    assert {(event["due"], event["n"]) for event in seen} == {(due * SECOND, n) for _, due, n in TIMES}
    late = [event for event in attributes(found) if "at" in event]
    assert [event for number, event in enumerate(late) if event not in late[:number]] == (LATE_ONES if reading else [])


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("engine", names())
def test_beside_uncertain_numbers(engine: str, unit: TimeUnit) -> None:
    given = [{**record, "n": {"value": record["n"], "error": "N(0, 1)"}} for record in orders(unit)]
    program = cepheus.compile(RULES.replace("due > time", "n > 0 and due > time"))
    if engine == "matching":  # which says that it takes certain events alone
        with pytest.raises(CepheusError, match="matching"):
            program.detect(given, engine=engine, time_unit=unit.value)
        return
    found = program.detect(given, engine=engine, time_unit=unit.value)
    assert [{n: v for n, v in event.items() if n != "probability"} for event in attributes(found)] == LATE_ONES
    assert found.probabilities is not None
    assert {kind for (name, kind) in found.columns if name != "left"} == {ValueType.TIMESTAMP}
