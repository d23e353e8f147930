"""Output whose columns are known only at its end: chunks wait on the disk until then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

from cepheus.core.batch import EventBatch
from cepheus.core.time import TimeUnit
from cepheus.core.values import ValueType
from cepheus.formats.flatten import is_whole
from cepheus.formats.table import cast_table, merge_schemas, to_table

# Written out, because making a table here would import pandas wherever it is installed.
_NOTHING = pa.schema({"type": pa.string(), "time": ValueType.TIMESTAMP.arrow})


class Spool:
    """Tables of events on the disk, in as many files as the schema grew, all beginning with one path."""

    def __init__(self, path: Path, unit: TimeUnit) -> None:
        self._path = path
        self._unit = unit
        self._files: list[Path] = []
        self._writer: pa.ipc.RecordBatchStreamWriter | None = None
        self.schema: pa.Schema = _NOTHING
        self.whole = True

    def write(self, batch: EventBatch) -> None:
        """Put the events of a batch at the end."""
        table = to_table(batch)
        schema = merge_schemas(self.schema, table.schema)
        if self._writer is None or schema != self.schema:
            self._end_file()
            self.schema = schema
            self._files.append(self._path.with_name(f"{self._path.name}.{len(self._files)}"))
            self._writer = pa.ipc.new_stream(str(self._files[-1]), schema)
        self.whole = self.whole and is_whole(batch.times, self._unit)
        self._writer.write_table(cast_table(table, self.schema))

    def tables(self) -> Iterator[pa.Table]:
        """All tables, in the schema that holds them all."""
        self._end_file()
        for path in self._files:
            with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as stream:
                for batch in stream:
                    yield cast_table(pa.Table.from_batches([batch]), self.schema)

    def remove(self) -> None:
        """Delete the files."""
        self._end_file()
        for path in self._files:
            path.unlink(missing_ok=True)
        self._files.clear()

    def _end_file(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
