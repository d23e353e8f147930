"""Background knowledge in CSV files: a line that names the columns, then one fact a line."""

from __future__ import annotations

from math import isinf
from pathlib import Path

from cepheus.core.errors import EventError, OptionError
from cepheus.core.lists import list_of_text
from cepheus.core.time import parse_time
from cepheus.core.values import INT_MAX, INT_MIN, Value
from cepheus.formats.csv_text import split_line
from cepheus.formats.problems import shown
from cepheus.rules.interval.model import Relation

Cell = str | None


def read_facts(name: str, path: Path) -> Relation:
    """Read a relation from a CSV file; a line with an empty cell is left out, because nothing is known of it.

    A column has numbers if every cell of it is a number that is written as numbers are: 007 is a text, and with it the
    whole column is. A column of lists in brackets has lists, one of ``true`` and ``false`` truths, and one of dates or
    times in ISO 8601 has integers of microseconds.
    """
    header, lines = _lines(name, path)
    for column in header:
        if header.count(column) > 1:
            raise _unreadable(name, path, 1, f"the column '{column}' is there twice")
    columns = [_typed(name, path, header[at], [(n, cells[at]) for n, cells in lines]) for at in range(len(header))]
    rows = (tuple(value for value in row if value is not None) for row in zip(*columns, strict=True))
    return Relation(name, len(header), tuple(row for row in rows if len(row) == len(header)))


def _lines(name: str, path: Path) -> tuple[list[str], list[tuple[int, list[Cell]]]]:
    """Give the names of the columns, and the cells of every line with its number."""
    if not path.is_file():
        raise OptionError.of("file", f"there is no file '{path}' with the facts of '{name}'")
    header: list[str] = []
    found: list[tuple[int, list[Cell]]] = []
    for number, raw in enumerate(path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            text = raw.decode("utf-8").removesuffix("\r")
            cells = split_line(text)
        except UnicodeDecodeError:
            raise _unreadable(name, path, number, "the text is not UTF-8") from None
        except EventError as error:
            raise _unreadable(name, path, number, error.diagnostics[0].message) from None
        if not text.strip():
            continue
        if not header:
            header = [(cell or "").strip() for cell in cells]
        elif len(cells) != len(header):
            raise _unreadable(name, path, number, f"there are {len(cells)} cells, and the header names {len(header)}")
        else:
            found.append((number, cells))
    if not header:
        raise _unreadable(name, path, 1, "the file is empty: its first line names the columns")
    return header, found


def _typed(name: str, path: Path, column: str, cells: list[tuple[int, Cell]]) -> list[Value | None]:
    """Give the values of a column: those of the first kind that all its cells have."""
    texts = [(number, cell) for number, cell in cells if cell is not None]
    if not texts:
        return [None] * len(cells)
    if all(text.lower() in _TRUTHS for _, text in texts):
        return [None if cell is None else _TRUTHS[cell.lower()] for _, cell in cells]
    if all(_is_integer(text) for _, text in texts):
        for number, text in texts:
            if len(text) > 20 or not INT_MIN <= int(text) <= INT_MAX:
                raise _unreadable(name, path, number, f"{column}: {shown(text, 30)} does not fit in 64 bits")
        return [None if cell is None else int(cell) for _, cell in cells]
    if all(_is_number(text) for _, text in texts):
        for number, text in texts:
            if isinf(float(text)):
                raise _unreadable(name, path, number, f"{column}: {shown(text, 30)} is beyond the numbers of 64 bits")
        return [None if cell is None else float(cell) for _, cell in cells]
    if all(text[4:5] == "-" for _, text in texts):
        try:
            return [None if cell is None else parse_time(cell.strip()) for _, cell in cells]
        except (ValueError, OverflowError):
            pass  # texts that look like dates
    if all(text.startswith("[") for _, text in texts):
        try:
            return [None if cell is None else list_of_text(cell) for _, cell in cells]
        except EventError:
            pass  # texts that begin with a bracket
    return [cell for _, cell in cells]


_TRUTHS = {"true": True, "false": False}


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and (digits[0] != "0" or text == "0")


def _is_number(text: str) -> bool:
    """Tell whether a text is a number; one with a zero before other digits is a text, such as 007."""
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits[:1].isdigit() or (digits[0] == "0" and digits[1:2].isdigit()) or "_" in text:
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True


def _unreadable(name: str, path: Path, line: int, reason: str) -> OptionError:
    return OptionError.of("facts", f"the facts of '{name}' in '{path}' cannot be read: line {line}: {reason}")
