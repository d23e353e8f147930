"""Where on a line of numbers the shards lie: between edges taken from the data, or in cells of equal width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import Column

_SLACK = 1e-9
"""Rounding moves a sum of doubles by far less than this part of it."""


class Placement(Protocol):
    """Finds the shards of values, from 0 on, as expressions that Spark computes."""

    def home(self, value: Column) -> Column:
        """The shard that owns a value."""

    def between(self, low: Column, high: Column) -> Column:
        """The array of shards that own a value between two, both included."""


@dataclass(frozen=True, slots=True)
class Edges:
    """Shard n owns the values from the n-th edge on; below the first edge is shard 0."""

    edges: Sequence[float]

    def home(self, value: Column) -> Column:
        """Count the edges that are not above the value."""
        from pyspark.sql import functions as f

        shard = f.lit(0)
        for edge in self.edges:
            shard += (value >= edge).cast("int")
        return shard

    def between(self, low: Column, high: Column) -> Column:
        """The shards from that of one value to that of the other."""
        from pyspark.sql import functions as f

        return f.sequence(self.home(low), self.home(high))


_FAR = float(2**40)
"""Beyond so many cells from zero, all numbers are in one cell: their number would leave the range of integers."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The line is cut into cells of one width, dealt out to the shards in turn; no look at the data is needed."""

    width: float
    shards: int

    def home(self, value: Column) -> Column:
        """The shard of the value's cell."""
        from pyspark.sql import functions as f

        return f.pmod(self._cell(value), f.lit(self.shards)).cast("int")

    def between(self, low: Column, high: Column) -> Column:
        """Each shard once, however many of its cells lie between."""
        from pyspark.sql import functions as f

        shards = f.transform(
            f.sequence(self._cell(low), self._cell(high)), lambda cell: f.pmod(cell, f.lit(self.shards)).cast("int")
        )
        return f.array_distinct(shards)

    def _cell(self, value: Column) -> Column:
        from pyspark.sql import functions as f

        place = value / f.lit(float(self.width))
        inside = f.when(place > _FAR, f.lit(_FAR)).when(place < -_FAR, f.lit(-_FAR)).otherwise(place)
        return f.floor(inside)


def with_slack(value: Column, margin: float) -> tuple[Column, Column]:
    """The ends of a margin around a value, a little too wide, as sums of doubles are rounded."""
    from pyspark.sql import functions as f

    wide = f.lit(margin * (1 + _SLACK)) + f.abs(value) * _SLACK
    return value - wide, value + wide
