"""Rows that are added to a table of PostgreSQL as a source, in the order of a column that counts them.

A transaction takes its number before it commits, so rows with smaller numbers may appear after larger ones. Hence rows
up to the largest number are read only when every transaction that was writing to the table when that number was seen
has ended: after that, nothing below it can appear.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from cepheus.core.extras import require
from cepheus.runtime.live.contract import Messages, Position, Surroundings
from cepheus.runtime.live.postgres_link import connected, lost_as_disconnected

_LOOK_EVERY = 0.01


@dataclass(frozen=True, slots=True)
class FromPostgres:
    """The rows of a table, as JSON objects with its columns as keys.

    ``column`` is an integer that grows with every row, from a sequence without a cache. Every ``poll`` seconds it is
    looked for new rows.
    """

    table: str
    url: str = "postgresql://127.0.0.1/postgres"
    column: str = "id"
    poll: float = 0.1
    most: int = 20_000

    def build(self, around: Surroundings) -> PostgresReader:
        """Make the reader."""
        require("psycopg", "a source in PostgreSQL")
        return PostgresReader(self, around)


class PostgresReader:
    """Reads rows behind the last."""

    def __init__(self, described: FromPostgres, around: Surroundings) -> None:
        self._described = described
        self._around = around
        self._connection: Any = None
        self._last: int | None = None
        self._through: int | None = None

    async def open(self, position: Position) -> None:
        """Connect."""
        self._last = position
        self._through = position
        self._connection = await connected(self._described.url, self._around)
        with lost_as_disconnected(self._around):
            await self._refuse_cache()

    async def read(self) -> Messages | None:
        """The rows that were added."""
        from psycopg import sql

        described = self._described
        query = sql.SQL(
            "SELECT t.{column}, row_to_json(t)::text FROM {table} t WHERE t.{column} <= {through}"
            " AND ({last}::bigint IS NULL OR t.{column} > {last}) ORDER BY t.{column} LIMIT {most}"
        )
        names = {"column": sql.Identifier(described.column), "table": _table(described.table)}
        with lost_as_disconnected(self._around):
            while True:
                if self._through == self._last:
                    await self._look_ahead()
                if self._through == self._last:
                    await asyncio.sleep(described.poll)
                    continue
                values = {"last": self._last, "through": self._through, "most": described.most}
                literals = {name: sql.Literal(value) for name, value in values.items()}
                rows = await (await self._connection.execute(query.format(**names, **literals))).fetchall()
                if rows:
                    break
                self._last = self._through
        received = time.perf_counter()
        if len(rows) < described.most:
            self._last = self._through
        else:
            self._last = rows[-1][0]
        numbers = np.array([row[0] for row in rows], np.int64)
        return Messages(int(numbers[-1]), numbers, [row[1].encode() for row in rows], received=received)

    async def acknowledge(self, position: Position) -> None:
        """A table keeps its rows."""

    async def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()

    async def _look_ahead(self) -> None:
        """Find how far rows can be read: the largest number, once those have ended who may still add smaller ones."""
        from psycopg import sql

        described = self._described
        largest = sql.SQL("SELECT max({column}) FROM {table}").format(
            column=sql.Identifier(described.column), table=_table(described.table)
        )
        found = await (await self._connection.execute(largest)).fetchone()
        if found[0] is None or (self._last is not None and found[0] <= self._last):
            return
        writers = await self._writers()
        while writers:
            await asyncio.sleep(_LOOK_EVERY)
            writers &= await self._writers()
        self._through = int(found[0])

    async def _writers(self) -> set[str]:
        """The transactions that are writing to the table."""
        rows = await self._connection.execute(
            "SELECT virtualtransaction FROM pg_locks WHERE locktype = 'relation' AND relation = %s::regclass "
            "AND mode = 'RowExclusiveLock' AND granted AND pid IS DISTINCT FROM pg_backend_pid()",
            [self._quoted()],  # a prepared transaction has no pid
        )
        return {row[0] for row in await rows.fetchall()}

    def _quoted(self) -> str:
        """The table as SQL names it: regclass would fold the letters of a bare name."""
        name: str = _table(self._described.table).as_string(self._connection)
        return name

    async def _refuse_cache(self) -> None:
        """Refuse a sequence that hands numbers out in advance: then order says nothing."""
        rows = await self._connection.execute(
            "SELECT s.seqcache FROM pg_sequence s WHERE s.seqrelid = pg_get_serial_sequence(%s, %s)::regclass",
            [self._quoted(), self._described.column],
        )
        found = await rows.fetchone()
        if found is not None and found[0] > 1:
            hint = "alter it: ALTER SEQUENCE .. CACHE 1"
            raise self._around.refused(f"the sequence of '{self._described.column}' has a cache", hint)


def _table(name: str) -> Any:
    from psycopg import sql

    return sql.Identifier(*name.split("."))
