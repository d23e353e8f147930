"""Short texts are coded as Arrow codes them; what is long, or many, is left to Arrow."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheus.formats.arrays import encoded
from cepheus.formats.short_texts import encode_short

_TEXTS = st.lists(st.text(alphabet="ab\0é", max_size=8), min_size=1, max_size=40)


@given(_TEXTS, st.integers(0, 3), st.integers(0, 3))
@settings(deadline=None)
def test_codes_are_those_of_arrow(texts: list[str], before: int, after: int) -> None:
    array = pa.array(["x"] * before + texts + ["yy"] * after).slice(before, len(texts))
    coded = encode_short(array)
    assert coded is not None
    coded.validate(full=True)
    assert coded.equals(array.dictionary_encode())


@pytest.mark.parametrize("length", [15, 16])
def test_the_longest_texts(length: int) -> None:
    array = pa.array(["a" * length, "a" * (length - 1) + "b", "a" * length])
    coded = encode_short(array)
    assert coded is not None
    assert coded.to_pylist() == array.to_pylist()


def test_a_long_text_is_left_to_arrow() -> None:
    assert encode_short(pa.array(["a", "b" * 17])) is None


def test_many_texts_are_left_to_arrow() -> None:
    assert encode_short(pa.array([str(n) for n in range(2000)])) is None


@pytest.mark.parametrize("distinct", [700, 20_000])
def test_large_columns(distinct: int) -> None:
    array = pa.array([f"S{n % distinct}" for n in range(20_000)])
    assert encoded(array).equals(array.dictionary_encode())


def test_nulls_stay_nulls() -> None:
    array = pa.array(["a", None] * 10_000)
    assert encoded(array).to_pylist() == array.to_pylist()
