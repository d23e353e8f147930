"""CSV: a header with the names of the columns, then one event a line, its cells separated by commas.

Every line is one event: a quoted cell may hold commas and doubled quotes but no line break. Blocks of plain lines go
through Arrow's reader; a block with a doubled quote, a blank line or a bad line is read line by line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from cepheus.core.errors import Diagnostic, EventError, Place, did_you_mean
from cepheus.formats.intake import Chunk, Intake
from cepheus.formats.problems import placed
from cepheus.formats.records import LineBlock, line_blocks, not_utf8, too_long
from cepheus.formats.rows import ArrayRows

_BEFORE_CELL = np.frombuffer(b",\n", np.uint8)
_AFTER_CELL = np.frombuffer(b",\r\n", np.uint8)
_CELL = re.compile(r'(?:"([^"]*(?:""[^"]*)*)"|([^",]*))(,|\Z)')


def read_csv(
    file: BinaryIO, intake: Intake, *, name: str, chunk_rows: int, max_line: int, needed: Sequence[str]
) -> Iterator[Chunk]:
    """The events of a CSV file chunk by chunk; ``needed`` are the columns that it must have."""
    blocks = line_blocks(file, max_line)
    header, rest = _read_header(blocks, name, max_line, needed)
    position = 0
    for block in chain(rest, blocks):
        if block.too_long:
            finding = placed(too_long(max_line), Place(name, block.first_line))
            yield intake.chunk(_rows(header, []), range(0), range(0), [finding])
            position += 1
            continue
        rows = _fast(block, header)
        if rows is None:
            chunk, position = _slow(block, header, intake, name, position)
            yield chunk
            continue
        for start in range(0, len(rows), chunk_rows):
            part = _slice(rows, start, chunk_rows)
            first_line, first = block.first_line + start, position + start
            yield intake.chunk(part, range(first_line, first_line + len(part)), range(first, first + len(part)))
        position += len(rows)


def split_line(text: str) -> list[str | None]:
    """The cells of a line; an empty cell is None, a quoted empty cell is an empty text.

    >>> split_line('Temp,10,"a ""b"", c",,""')
    ['Temp', '10', 'a "b", c', None, '']
    """
    if '"' not in text:
        return [cell or None for cell in text.split(",")]
    cells: list[str | None] = []
    at = 0
    while True:
        match = _CELL.match(text, at)
        if match is None:
            raise EventError.of(
                "csv",
                "a quoted cell does not end where it should",
                hint="a quote inside a quoted cell is doubled, and no cell may hold a line break",
            )
        cells.append(match[1].replace('""', '"') if match[1] is not None else match[2] or None)
        if not match[3]:
            return cells
        at = match.end()


def _read_header(
    blocks: Iterator[LineBlock], name: str, max_line: int, needed: Sequence[str]
) -> tuple[list[str], list[LineBlock]]:
    """The names of the columns and what follows them in the block that holds them."""
    for block in blocks:
        if block.too_long:
            raise EventError([placed(too_long(max_line), Place(name, block.first_line))])
        for line, text in block.texts():
            if text is None:
                raise EventError([placed(not_utf8(), Place(name, line))])
            if text.strip():
                return _header(text, Place(name, line), needed), _after(block, line)
    raise EventError.of(
        "csv", "the file has no header", place=Place(name), hint="the first line names the columns: type,time,.."
    )


def _header(text: str, place: Place, needed: Sequence[str]) -> list[str]:
    try:
        names = [(cell or "").strip() for cell in split_line(text.rstrip("\r"))]
    except EventError as error:
        raise EventError([placed(error, place)]) from None
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise EventError.of("csv", f"the header names the column '{twice}' twice", place=place)
    for wanted in needed:
        if wanted not in names:
            raise EventError.of(
                "csv",
                f"the header has no column '{wanted}'",
                place=place,
                hint=did_you_mean(wanted, names) or "the first line names the columns, as in type,time,area,value",
            )
    return names


def _after(block: LineBlock, line: int) -> list[LineBlock]:
    """The part of a block after a line of it, if there is more."""
    done = line - block.first_line + 1
    if done == block.lines:
        return []
    return [replace(block, first_line=line + 1, data=block.data.split(b"\n", done)[done], lines=block.lines - done)]


def _fast(block: LineBlock, header: Sequence[str]) -> ArrayRows | None:
    """The rows of a block without doubled quotes, blank lines or bad lines; None for any other."""
    data = block.data
    quoted = b'"' in data
    if _has_blank_line(data) or (quoted and not _well_quoted(data)):
        return None
    try:
        data.decode()
        if quoted:
            data += b"\n"  # at the very end, Arrow takes an empty cell behind a quoted one for a quoted one
        table = pa_csv.read_csv(
            pa.py_buffer(data),
            pa_csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=_numbered(header)),
            pa_csv.ParseOptions(quote_char='"' if quoted else False, ignore_empty_lines=False),
            pa_csv.ConvertOptions(
                column_types=dict.fromkeys(_numbered(header), pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                check_utf8=False,
            ),
        )
    except (pa.lib.ArrowException, UnicodeDecodeError):
        return None
    if table.num_rows != block.lines:
        return None
    columns = [column.combine_chunks() for column in table.columns]
    return ArrayRows(dict(zip(header, columns, strict=True)), table.num_rows, text=True)


def _well_quoted(data: bytes) -> bool:
    """Whether quotes come in pairs around whole cells, and none is inside: then there is one way to read them."""
    marks = np.frombuffer(b"\n" + data + b"\n", np.uint8)
    quotes = np.flatnonzero(marks == ord('"'))
    if len(quotes) % 2:
        return False
    opening, closing = quotes[::2], quotes[1::2]
    breaks = np.flatnonzero(marks == ord("\n"))
    return bool(
        np.isin(marks[opening - 1], _BEFORE_CELL).all()
        and np.isin(marks[closing + 1], _AFTER_CELL).all()
        and np.array_equal(np.searchsorted(breaks, opening), np.searchsorted(breaks, closing))
    )


def _has_blank_line(data: bytes) -> bool:
    return not data or b"\n\n" in data or b"\n\r" in data or data[0] in b"\r\n" or data[-1] == 10


def _numbered(header: Sequence[str]) -> list[str]:
    """Any text may be a column's name, but a reader may think of some as special."""
    return [f"c{index}" for index in range(len(header))]


def _slow(block: LineBlock, header: Sequence[str], intake: Intake, name: str, position: int) -> tuple[Chunk, int]:
    """Read a block line by line; give the chunk and the position after it."""
    cells: list[list[str | None]] = []
    lines: list[int] = []
    positions: list[int] = []
    findings: list[Diagnostic] = []
    for line, text in block.texts():
        if text is not None and not text.strip():
            continue
        try:
            cells.append(_cells(text, len(header)))
            lines.append(line)
            positions.append(position)
        except EventError as error:
            findings.append(placed(error, Place(name, line)))
        position += 1
    rows = _rows(header, cells)
    return intake.chunk(rows, np.array(lines, np.int64), np.array(positions, np.int64), findings), position


def _cells(text: str | None, width: int) -> list[str | None]:
    if text is None:
        raise not_utf8()
    text = text.removesuffix("\r")
    if "\r" in text:
        raise EventError.of("csv", "the line holds a carriage return", hint="end lines with a line feed")
    cells = split_line(text)
    if len(cells) != width:
        raise EventError.of("csv", f"the line has {len(cells)} cells where the header has {width}")
    return cells


def _rows(header: Sequence[str], cells: Sequence[Sequence[str | None]]) -> ArrayRows:
    columns = zip(*cells, strict=True) if cells else ([] for _ in header)
    arrays = {name: pa.array(list(column), pa.string()) for name, column in zip(header, columns, strict=True)}
    return ArrayRows(arrays, len(cells), text=True)


def _slice(rows: ArrayRows, start: int, length: int) -> ArrayRows:
    if start == 0 and len(rows) <= length:
        return rows
    arrays = {name: array.slice(start, length) for name, array in rows.arrays.items()}
    return ArrayRows(arrays, min(length, len(rows) - start), text=True)
