"""Room for large arrays that is used again."""

from __future__ import annotations

import gc
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from cepheus.kernel import blocks as room

Words = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
MANY = 1 << 18  # words: two megabytes


def address(array: Words) -> int:
    return int(array.ctypes.data)


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()  # what earlier tests left behind
    monkeypatch.setattr(room, "_kept", {})


def test_a_block_is_used_again_when_nobody_holds_it() -> None:
    first = room.words(MANY)
    place = address(first)
    del first
    assert address(room.words(MANY)) == place


VIEWS: dict[str, Callable[[Words], object]] = {
    "slice": lambda words: words[5:10],
    "reshaped": lambda words: words.reshape(2, -1)[1, :4],
    "as floats": lambda words: words.view(np.float64)[1:],
    "Arrow": lambda words: pa.array(words)[3:6],
}


@pytest.mark.parametrize("view", VIEWS)
def test_a_block_is_not_used_again_while_a_view_is_left(view: str) -> None:
    first = room.words(MANY)
    first[:] = 7
    held = VIEWS[view](first)
    del first
    gc.collect()
    room.words(MANY)[:] = 9
    assert (np.asarray(held).view(np.int64) == 7).all()


def test_a_block_that_is_much_too_large_is_left_for_others() -> None:
    large = room.words(8 * MANY)
    place = address(large)
    del large
    assert address(room.words(MANY)) != place
    assert address(room.words(7 * MANY)) == place


def test_what_is_kept_is_bounded() -> None:
    blocks = [room.words(room._MOST // 32) for _ in range(12)]
    del blocks
    assert sum(block.size for block in room._kept.values()) <= room._MOST
    assert len(room._kept) == 4


def test_a_block_that_cannot_be_kept_leaves_the_others_alone() -> None:
    room.words(MANY)
    room.words(room._MOST // 8 + 1)
    assert [block.size for block in room._kept.values()] == [8 * MANY]


def test_small_arrays_are_not_kept() -> None:
    room.words(10)
    assert not room._kept
