"""Room for large arrays that is used again, because fresh pages cost more than what is written to them.

What is freed goes back to the operating system sooner or later, and whoever comes next waits while pages are cleared
and mapped anew: longer, as a rule, than it takes to fill them. So a few blocks are kept for the next who asks.
"""

from __future__ import annotations

import weakref

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_LEAST = 1 << 20
"""Bytes of the smallest block that is kept; smaller ones are left to Arrow's own memory."""

_MOST = 1 << 28
"""Bytes of all blocks that are kept."""

_kept: dict[int, pa.Buffer] = {}
"""Blocks that are free, by their addresses, the one that was kept longest first."""


def words(count: int) -> NDArray[np.int64]:
    """Allocate so many words; what stands there means nothing.

    The room is used again once neither this array nor a view of it is left.

    >>> len(words(3))
    3
    """
    size = 8 * count
    if size < _LEAST:
        return np.frombuffer(pa.allocate_buffer(size), np.int64)
    block = _take(size)
    array = np.frombuffer(block, np.int64)
    weakref.finalize(array, _give_back, block).atexit = False
    return array[:count]


def _take(size: int) -> pa.Buffer:
    """Take the smallest block that is kept and large enough, but not much larger; else a new one."""
    fitting = [block for block in list(_kept.values()) if size <= block.size <= 2 * size]
    for block in sorted(fitting, key=lambda block: block.size):
        if _kept.pop(block.address, None) is not None:  # else another thread was faster
            return block
    return pa.allocate_buffer(size)


def _give_back(block: pa.Buffer) -> None:
    """Keep a block for the next who asks; those that were kept longest go if there are too many."""
    if block.size > _MOST:
        return
    _kept[block.address] = block
    for oldest in list(_kept):
        if sum(each.size for each in list(_kept.values())) <= _MOST:
            return
        _kept.pop(oldest, None)
