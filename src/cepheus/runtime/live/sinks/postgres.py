"""A table of PostgreSQL as a sink, each composite event a row, exactly once: its key is the primary key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cepheus.core.extras import require
from cepheus.runtime.live.contract import Output, Position, Surroundings
from cepheus.runtime.live.postgres_link import connected, lost_as_disconnected


@dataclass(frozen=True, slots=True)
class ToPostgres:
    """A table with the columns ``key``, ``type`` and ``event`` (jsonb); it is created if it is not there.

    >>> ToPostgres("fires").create
    True
    """

    table: str
    url: str = "postgresql://127.0.0.1/postgres"
    create: bool = True

    def build(self, around: Surroundings) -> PostgresWriter:
        """Make the writer."""
        require("psycopg", "a sink in PostgreSQL")
        return PostgresWriter(self, around)


class PostgresWriter:
    """Inserts rows, each call in a transaction of its own."""

    sure = True

    def __init__(self, described: ToPostgres, around: Surroundings) -> None:
        self._described = described
        self._around = around
        self._connection: Any = None

    async def open(self, position: Position) -> None:
        """Connect, and create the table."""
        del position  # keys tell what is there
        from psycopg import sql

        self._connection = await connected(self._described.url, self._around)
        if self._described.create:
            statement = sql.SQL(
                "CREATE TABLE IF NOT EXISTS {} (key text PRIMARY KEY, type text NOT NULL, event jsonb NOT NULL, "
                "written timestamptz NOT NULL DEFAULT now())"
            )
            with lost_as_disconnected(self._around):
                await self._connection.execute(statement.format(self._table()))

    async def write(self, output: Output) -> None:
        """Insert what is not there yet."""
        from psycopg import sql

        statement = sql.SQL("INSERT INTO {} (key, type, event) VALUES (%s, %s, %s) ON CONFLICT (key) DO NOTHING")
        rows = list(zip(output.keys, output.types, output.lines, strict=True))
        with lost_as_disconnected(self._around):
            async with self._connection.transaction(), self._connection.cursor() as cursor:
                await cursor.executemany(statement.format(self._table()), rows)

    async def flush(self) -> Position:
        """Each call was a transaction."""
        return True

    async def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()

    def _table(self) -> Any:
        from psycopg import sql

        return sql.Identifier(*self._described.table.split("."))
