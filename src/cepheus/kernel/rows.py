"""The rows of a batch that are worth a look, compiled: from marks to numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cepheus.kernel import blocks as room
from cepheus.kernel.compiled import compiled
from cepheus.kernel.program import Words


def marked_rows(marks: NDArray[np.bool_], begin: int) -> Words:
    """Give the numbers of the marked rows; the first mark is for the row ``begin``."""
    rows = room.words(len(marks) + 1)
    return rows[: _list_rows(marks.view(np.uint8), begin, rows)]


@compiled
def _list_rows(marks: NDArray[np.uint8], begin: int, rows: Words) -> int:
    count = 0
    for at in range(len(marks)):
        rows[count] = begin + at
        count += marks[at]
    return count
