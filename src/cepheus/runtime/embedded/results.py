"""Composite events as users take them along: frames, tables and dicts with real times."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from cepheus.core.batch import EventBatch
from cepheus.core.options import TimeUnitName, chosen
from cepheus.core.time import TimeUnit
from cepheus.core.values import ValueType
from cepheus.formats.arrays import validity
from cepheus.formats.convert import pandas_frame
from cepheus.formats.table import to_table, written_time

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


@dataclass(frozen=True, slots=True, eq=False)
class Composites(EventBatch):
    """Composite events that a run has found; ``unit`` is the one in which the run was given times."""

    unit: TimeUnit = TimeUnit.US

    @classmethod
    def around(cls, composites: EventBatch, unit: TimeUnit, **counted: Any) -> Self:
        """Some composite events as results of a run that takes times in a unit, with what else it counted."""
        if composites.chunks:
            made = object.__new__(cls)
            for name, value in {"chunks": composites.chunks, "unit": unit, **counted}.items():
                object.__setattr__(made, name, value)
            return made
        own = {each.name: getattr(composites, each.name) for each in fields(EventBatch)}
        return cls(**own, unit=unit, **counted)

    def to_arrow(self) -> pa.Table:
        """The events as an Arrow table: type, time, attributes, id, probability and ``from``; times are timestamps."""
        return to_table(self)

    def to_pandas(self) -> pd.DataFrame:
        """The events as a pandas frame; times are timestamps in UTC."""
        return pandas_frame(self.to_arrow())

    def to_polars(self) -> pl.DataFrame:
        """The events as a Polars frame; times are datetimes in UTC."""
        import polars as pl

        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)
        return frame

    def to_dicts(self, time_unit: TimeUnitName | None = None) -> list[dict[str, Any]]:
        """The events as flat dicts; times are integers in the unit of the run, or in another.

        A time that is not a whole number of that unit is a text.
        """
        events = self.to_events()
        dicts = [event.to_dict() for event in events]
        unit = self.unit if time_unit is None else chosen("time unit", time_unit, TimeUnit, "time-unit")
        if unit is TimeUnit.US:
            return dicts
        moments = {
            name: validity(column) for (name, kind), column in self.columns.items() if kind is ValueType.TIMESTAMP
        }
        for row, (event, each) in enumerate(zip(events, dicts, strict=True)):
            times = {name for name, valid in moments.items() if valid[row]}  # another type may have numbers there
            for name in times | ({"time", "start"} - event.attributes.keys()):
                if isinstance(each.get(name), int):
                    each[name] = written_time(each[name], unit)
        return dicts
