"""Times written in a way of their own: ``31.01.2026 10:00`` by ``%d.%m.%Y %H:%M``."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

import numpy as np

from cepheus.core.errors import EventError
from cepheus.core.time import from_datetime
from cepheus.formats.cells import Moment
from cepheus.formats.columns import Column, ObjectColumn
from cepheus.formats.problems import shown


@lru_cache(maxsize=65_536)
def moment_of_text(text: str, written: str) -> Moment:
    """A time that is written in a way of its own; without a zone it is UTC.

    >>> moment_of_text("01.01.1970 00:01", "%d.%m.%Y %H:%M")
    Moment(nanoseconds=60000000000)
    """
    try:
        return Moment(from_datetime(datetime.strptime(text.strip(), written)) * 1000)
    except ValueError:
        raise EventError.of("time", f"{shown(text)} is not a time written as '{written}'") from None


def read_by_format(column: Column, written: str, faults: dict[int, EventError]) -> ObjectColumn:
    """A column with its texts read as times; one that is written otherwise is a fault."""
    present = column.present()
    values: list[object] = [column.raw(row) if present[row] else None for row in range(len(present))]
    for row in np.flatnonzero(present).tolist():
        raw = values[row]
        if isinstance(raw, str):
            try:
                values[row] = moment_of_text(raw, written)
            except EventError as error:
                faults[row] = error
                values[row] = None
    return ObjectColumn(values)
