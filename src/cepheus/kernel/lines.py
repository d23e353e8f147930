"""Tables that begin where a line of the cache begins, so that a row of one or two lines touches no more than those."""

from __future__ import annotations

import numpy as np

from cepheus.kernel.program import Words

LINE_WORDS = 8


def zeros_in_lines(rows: int, width: int) -> Words:
    """Give a table of zeros whose first row begins with a line.

    >>> zeros_in_lines(3, 8).ctypes.data % 64
    0
    """
    words = np.zeros(rows * width + LINE_WORDS, np.int64)
    begin = -(words.ctypes.data // 8) % LINE_WORDS
    table: Words = words[begin : begin + rows * width].reshape(rows, width)
    return table


def in_lines(table: Words) -> Words:
    """Give a copy of a table whose first row begins with a line."""
    copy = zeros_in_lines(*table.shape)
    copy[:] = table
    return copy
