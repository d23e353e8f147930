"""Tables are declared once: places, sizes and writers follow from the declaration."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import cepheus
from cepheus.engine.automata.state import In
from cepheus.engine.uncertain.state import Of
from cepheus.kernel.addresses import Addresses
from cepheus.kernel.memory import At
from cepheus.kernel.program import BriefField, ColumnField, RuleField, StepField
from cepheus.kernel.state import LaneState, TypeState
from cepheus.kernel.tables import (
    Fields,
    HalfFields,
    cell,
    halves,
    padding,
    real,
    rows_inside,
    rows_of,
    run,
    size_of,
    whole_word,
    words_at,
)
from cepheus.plan.interval.layout import At as GoalsAt


class Inner(HalfFields):
    """A row of two words."""

    KIND = cell()
    LEFT = cell(0)
    WINDOW = whole_word()


class Outer(HalfFields):
    """A row that has others inside."""

    NAME = cell()
    FLAG = cell(0)
    INNER = rows_inside(Inner, 2)
    PADDING = padding(16)


class Plain(Fields):
    """A row with all kinds of fields."""

    A = cell()
    PRICE = real(0.5)
    PARTS = run(3)
    REST = padding()


class Places(Fields):
    """A table of addresses."""

    PLAIN = rows_of(Plain)
    PLAIN_COUNT = size_of(PLAIN)
    WORDS = words_at()
    WORDS_SIZE = size_of(WORDS)
    NUMBER = cell(7)


def test_places_follow_from_widths() -> None:
    assert [int(each) for each in Plain] == [0, 1, 2, 5]
    assert Plain.row_words() == 8
    assert [int(each) for each in Outer] == [0, 1, 2, 10]
    assert (Inner.row_units(), Inner.row_bytes(), Outer.row_bytes()) == (4, 16, 64)


def test_a_row_is_written_by_name() -> None:
    price = int(np.float64(2.5).view(np.int64))
    assert Plain.row(parts=(1, 2), a=9, price=2.5) == (9, price, 1, 2, 0, 0, 0, 0)
    inner = Inner.row(kind=3, window=-5)
    assert inner == (3, 0, *halves(-5))
    assert Outer.row(name=1, inner=[*inner, *inner])[2:10] == (*inner, *inner)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"a": 1}, "a row of Plain lacks parts"),
        ({"a": 1, "parts": (), "b": 2}, "a row of Plain has no field b"),
        ({"b": 2}, "a row of Plain lacks a, parts and has no field b"),
        ({"a": 1, "parts": (1, 2, 3, 4)}, "Plain has room for 3 words of parts, not for 4"),
    ],
)
def test_what_is_lacking_or_unknown_is_said_at_once(fields: dict[str, int], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Plain.row(**fields)


def test_arrays_begin_with_a_line_and_hold_what_was_written() -> None:
    array = Plain.array([Plain.row(a=1, parts=[2]), Plain.row(a=3, parts=[4])], least=3)
    assert array.ctypes.data % 64 == 0
    assert array.shape == (3, 8)
    assert array[:, Plain.A].tolist() == [1, 3, 0]
    table = Outer.array([Outer.row(name=5, inner=Inner.row(kind=6, window=7 << 40))])
    assert table.view(np.int32)[0, [Outer.NAME, Outer.INNER + Inner.KIND]].tolist() == [5, 6]
    assert table[0, (Outer.INNER + Inner.WINDOW) // 2] == 7 << 40
    assert Plain.array([]).shape == (0, 8)


def test_addresses_come_with_sizes() -> None:
    places = Addresses(Places)
    assert places[Places.NUMBER] == 7
    plain, words = Plain.zeros(3), np.zeros(5, np.int64)
    places.point_all(plain=plain, words=words)
    assert places[Places.PLAIN] == plain.ctypes.data
    assert (places[Places.PLAIN_COUNT], places[Places.WORDS_SIZE]) == (3, 5)
    with pytest.raises(AssertionError, match="NUMBER is no place for an address"):
        places.point(Places.NUMBER, words)
    with pytest.raises(KeyError):
        places.point_all(nowhere=words)


def test_rows_that_are_lines_of_the_cache_stay_so() -> None:
    lines = {StepField: 3, RuleField: 2, LaneState: 2, TypeState: 1}
    assert {table: table.row_bytes() / 64 for table in lines} == lines
    first_line = RuleField.BRIEF.declared.units + RuleField.BRIEF
    assert first_line * RuleField.unit_bytes() == 64, "steps in brief must end with the first line of a rule"
    assert RuleField.BRIEF % 2 == BriefField.WINDOW % 2 == RuleField.SEED % 2 == 0, "words lie at words"
    assert ColumnField.KEY.declared.units == LaneState.KEY.declared.units


@pytest.mark.parametrize("places", [At, GoalsAt, In, Of])
def test_every_place_of_an_address_tells_what_lies_there(places: type[Fields]) -> None:
    pointers = [each for each in places if each.declared.points_at is not None]
    sized = [each.declared.sizes for each in places if each.declared.sizes is not None]
    assert len(pointers) > 10
    assert all(any(size is pointer.declared for pointer in pointers) for size in sized)


def test_nobody_counts_fields_instead_of_words() -> None:
    folder = Path(inspect.getfile(cepheus)).parent
    counted = re.compile(r"\blen\((\w+)\)")
    tables = _names(Fields)
    found = [
        f"{path.relative_to(folder)}: {name}"
        for path in folder.rglob("*.py")
        for name in counted.findall(path.read_text(encoding="utf-8"))
        if name in tables
    ]
    assert not found, "a table has row_words() and row_bytes()"


def _names(table: type[Fields]) -> set[str]:
    return {table.__name__}.union(*(_names(each) for each in table.__subclasses__()))
