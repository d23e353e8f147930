"""Whole columns convert as their cells do: the fast way gives the same values, or leaves the work to the slow way."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cepheus.core.batch import python_values
from cepheus.core.errors import EventError
from cepheus.core.time import TimeUnit
from cepheus.core.values import ValueType
from cepheus.formats.columns import Column, ObjectColumn, TextColumn, TypedColumn, masked

NUMBER_TEXTS = st.from_regex(r"[-+ ]?[0-9]{0,21}(\.[0-9]{0,3})?([eE][-+]?[0-9]{1,3})?", fullmatch=True)
TIME_TEXTS = st.datetimes().map(lambda moment: moment.isoformat()) | st.datetimes().map(str)
ODD_NUMBERS = ["nan", "-inf", "0x1F", "1_0", "٣", "true", "FALSE", "True", " true", ""]
ODD_DATES = ["1970-01-01", "0000-01-01", "19700101", "1970-01-01T24:00:00", "1970-01-01 00:00:01+02:00"]
ODD_TIMES = ["1970-01-01T00:00:00.1234567", "1970-01-01T00:00:01Z", "1970-01-01T00"]
ODD_TEXTS = st.sampled_from([*ODD_NUMBERS, *ODD_DATES, *ODD_TIMES])
TEXTS = NUMBER_TEXTS | TIME_TEXTS | ODD_TEXTS | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
OBJECTS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-10, 10)
    | st.floats()
    | TEXTS
    | st.just({"value": 1, "error": "N(0,1)"})
    | st.just([1])
)


def agree(column: Column, length: int, kind: ValueType, unit: TimeUnit) -> None:
    array = column.convert(kind, unit, None)
    if array is None:
        return
    present = column.present().tolist()
    for row, value in enumerate(python_values(array, kind)):
        if not present[row]:
            assert value is None
            continue
        try:
            expected = column.cell(row, kind, unit)
        except EventError as error:
            raise AssertionError(f"taken as {value!r}, but: {error}") from error
        assert (value, type(value)) == (expected, type(expected))
    assert len(array) == length


@settings(deadline=None, max_examples=300)
@given(st.lists(st.none() | TEXTS, max_size=3), st.sampled_from(ValueType), st.sampled_from(TimeUnit))
@example(["0x1F"], ValueType.INT, TimeUnit.US)
@example(["9223372036854775807"], ValueType.TIMESTAMP, TimeUnit.S)
@example(["18446744073709551616"], ValueType.FLOAT, TimeUnit.US)
@example(["0000-01-01"], ValueType.TIMESTAMP, TimeUnit.US)
def test_text(texts: list[str | None], kind: ValueType, unit: TimeUnit) -> None:
    agree(TextColumn(pa.array(texts, pa.string())), len(texts), kind, unit)


@settings(deadline=None, max_examples=300)
@given(st.lists(OBJECTS, max_size=3), st.sampled_from(ValueType), st.sampled_from(TimeUnit))
@example([3.5], ValueType.INT, TimeUnit.US)
@example([True], ValueType.FLOAT, TimeUnit.US)
@example([2**63 - 1], ValueType.FLOAT, TimeUnit.US)
def test_objects(values: list[object], kind: ValueType, unit: TimeUnit) -> None:
    agree(ObjectColumn(values), len(values), kind, unit)


INT64 = st.integers(-(2**63), 2**63 - 1) | st.integers(-10, 10)
TYPED: dict[str, tuple[pa.DataType, st.SearchStrategy[object]]] = {
    "bool": (pa.bool_(), st.booleans()),
    "int8": (pa.int8(), st.integers(-128, 127)),
    "int64": (pa.int64(), INT64),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "float32": (pa.float32(), st.floats(width=32)),
    "double": (pa.float64(), st.floats() | st.integers(-10, 10).map(float)),
    "string": (pa.string(), TEXTS),
    "large": (pa.large_string(), TEXTS),
    "seconds": (pa.timestamp("s"), INT64),
    "nanoseconds": (pa.timestamp("ns", "UTC"), INT64),
    "date": (pa.date32(), st.integers(-(2**31), 2**31 - 1)),
}


def typed_array(values: list[object], arrow_type: pa.DataType) -> pa.Array:
    """Times are made from any number, which Python's own times could not hold."""
    if pa.types.is_timestamp(arrow_type):
        return pa.array(values, pa.int64()).view(pa.timestamp(arrow_type.unit)).cast(arrow_type)
    if pa.types.is_date(arrow_type):
        return pa.array(values, pa.int32()).view(arrow_type)
    return pa.array(values, arrow_type)


@pytest.mark.parametrize("name", TYPED)
@settings(deadline=None, max_examples=60)
@given(data=st.data(), kind=st.sampled_from(ValueType), unit=st.sampled_from(TimeUnit))
def test_typed(name: str, data: st.DataObject, kind: ValueType, unit: TimeUnit) -> None:
    arrow_type, strategy = TYPED[name]
    values = data.draw(st.lists(st.none() | strategy, max_size=3))
    agree(TypedColumn(typed_array(values, arrow_type)), len(values), kind, unit)


@pytest.mark.parametrize("rows", [[True, False, True], [False, False, False]])
def test_rows_that_are_not_marked_are_null(rows: list[bool]) -> None:
    mask = np.array(rows)
    columns: list[Column] = [
        ObjectColumn([1, "s", 3]),
        TextColumn(pa.array(["1", "s", "3"])),
        TypedColumn(pa.array([1, 2, 3])),
        TypedColumn(pa.array([1, 2, 3]).dictionary_encode()),
    ]
    for column in columns:
        array = column.convert(ValueType.INT, TimeUnit.US, mask)
        assert array is not None
        assert array.to_pylist() == [value if wanted else None for value, wanted in zip([1, 2, 3], rows, strict=True)]


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.string(), pa.bool_()])
def test_rows_of_others_are_hidden(kind: pa.DataType) -> None:
    """Also of a part of an array, and where it has nulls itself; the array that is hidden from stays as it is."""
    given = pa.array([None, 1, 0, None, 1, 0, 1, 1, 0, 1, 1], pa.int64()).cast(kind)
    for array in (given, given[1:], given[4:], given[3:7], given.drop_null()):
        rows = np.arange(len(array)) % 3 != 0
        before = array.to_pylist()
        hidden = masked(array, rows)
        assert hidden.to_pylist() == [value if row else None for value, row in zip(before, rows, strict=True)]
        assert (hidden.type, array.to_pylist()) == (kind, before)
        hidden.validate(full=True)
        assert hidden[2:].to_pylist() == hidden.to_pylist()[2:]
