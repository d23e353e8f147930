"""Plain tables from files, row by row: of what are no events."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from cepheus.core.errors import OptionError

_READERS = {
    ".csv": lambda path: pa.csv.read_csv(path, convert_options=pa.csv.ConvertOptions(strings_can_be_null=True)),
    ".jsonl": pa.json.read_json,
    ".parquet": pa.parquet.read_table,
}


def plain_rows(path: Path) -> list[dict[str, object]]:
    """The rows of a .csv, .jsonl or .parquet file; an empty cell is None."""
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise OptionError.of("format", f"'{path}' is no table that can be read", hint=f"use {', '.join(_READERS)}")
    try:
        rows: list[dict[str, object]] = read(str(path)).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise OptionError.of("file", f"'{path}' cannot be read: {str(error).splitlines()[0]}") from None
    return rows
