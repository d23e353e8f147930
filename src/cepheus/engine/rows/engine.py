"""A query over rows as an engine: what is asked, frozen, and how to make what finds its matches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cepheus.core.errors import EventError, OptionError, did_you_mean
from cepheus.core.values import ValueType
from cepheus.rules.rows.model import RowQuery, RowsPerMatch
from cepheus.rules.rows.types import output_types

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from cepheus.engine.rows.matching import RowMatching


@dataclass(frozen=True, slots=True)
class Parts:
    """The rows that matches were made of: some columns, one match after the other.

    Those of the match at a place are between ``begins[place]`` and ``begins[place + 1]``. An empty match has the row at
    which it was found, a row of no match itself. ``own`` are the same columns of the row itself, in ``ALL ROWS PER
    MATCH``; else of the last row.
    """

    columns: Mapping[str, Any]
    begins: NDArray[np.int64]
    own: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Given:
    """Rows that a query gives; the number of the partition of each, and its time (``NO_TIME``: none).

    The time is that of the last row of the match, in ``ALL ROWS PER MATCH`` of the row itself. ``parts`` are the rows
    of the match of each, if they were asked for.
    """

    table: pa.Table
    partitions: NDArray[np.int64]
    times: NDArray[np.int64]
    parts: Parts | None = None


NO_TIME = -(2**63)
"""Among times: there is none."""


@dataclass(frozen=True, slots=True)
class RowEngine:
    """A query over rows with columns of these types; what does not fit is told when it is made.

    ``time`` is the column that the times of what is given are read from; without it, it is the first column of ORDER BY
    if that is a time. ``parts`` are columns that are also given of all rows of each match.
    """

    query: RowQuery
    types: Mapping[str, ValueType]
    time: str | None = None
    parts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        output_types(self.query, self.types)
        if self.time is not None and self.types.get(self.time) is not ValueType.TIMESTAMP:
            raise OptionError.of(
                "time", f"the rows have no column '{self.time}' of times", hint=did_you_mean(self.time, self.types)
            )

    @property
    def given(self) -> dict[str, ValueType]:
        """The columns that the query gives, and their types."""
        return output_types(self.query, self.types)

    @property
    def time_column(self) -> str | None:
        """The column that times are read from."""
        first = self.query.order[0].column if self.query.order else None
        if self.time is None and first is not None and self.types[first] is ValueType.TIMESTAMP:
            return first
        return self.time

    @property
    def read(self) -> tuple[str, ...]:
        """The columns of rows that are looked at; rows may have others, which are not."""
        if self.query.rows is not RowsPerMatch.ONE_ROW:
            return tuple(self.types)
        times = [self.time_column] if self.time_column else []
        return tuple(dict.fromkeys((*self.query.read(), *times, *self.parts)))

    def columns(self, rows: pa.Table | pa.RecordBatch) -> dict[str, Any]:
        """The columns that are looked at; EventError if rows lack one."""
        names = set(rows.schema.names)
        for name in self.read:
            if name not in names:
                raise EventError.of("column", f"the rows have no column '{name}'", hint=did_you_mean(name, names))
        return {name: rows.column(name) for name in self.read}

    def build(self) -> RowMatching:
        """Make what finds the matches, with nothing seen yet."""
        from cepheus.engine.rows.matching import RowMatching  # compilers are imported where something is compiled

        return RowMatching(self)
