"""Composite events as users take them along: frames, tables and dicts with real times."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from cepheus.core.batch import EventBatch
from cepheus.core.options import TimeUnitName, chosen
from cepheus.core.time import TimeUnit
from cepheus.core.values import ValueType
from cepheus.formats.table import to_table, written_time

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


@dataclass(frozen=True, slots=True, eq=False)
class Composites(EventBatch):
    """Composite events that a run has found."""

    @classmethod
    def around(cls, composites: EventBatch) -> Self:
        """Some composite events as results of a run."""
        if composites.chunks:
            made = object.__new__(cls)
            object.__setattr__(made, "chunks", composites.chunks)
            return made
        return cls(**{each.name: getattr(composites, each.name) for each in fields(EventBatch)})

    def to_arrow(self) -> pa.Table:
        """The events as an Arrow table: type, time, attributes, id, probability and ``from``; times are timestamps."""
        return to_table(self)

    def to_pandas(self) -> pd.DataFrame:
        """The events as a pandas frame; times are timestamps in UTC."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """The events as a Polars frame; times are datetimes in UTC."""
        import polars as pl

        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)
        return frame

    def to_dicts(self, time_unit: TimeUnitName | None = None) -> list[dict[str, Any]]:
        """The events as flat dicts, times in microseconds or in a unit: integers, or texts where it does not divide."""
        dicts = EventBatch.to_dicts(self)
        unit = chosen("time unit", time_unit or "us", TimeUnit, "time-unit")
        times = {name for name, kind in self.columns if kind is ValueType.TIMESTAMP} | {"time", "start"}
        for each in dicts if unit is not TimeUnit.US else ():
            for name in times & each.keys():
                if isinstance(each[name], int):
                    each[name] = written_time(each[name], unit)
        return dicts
