"""Where the keys of a TOML file stand: the parser tells values, this tells lines."""

from __future__ import annotations

import re
from collections.abc import Mapping

Path = tuple[str | int, ...]
"""The way to a key: names of tables, places in lists of tables, the key."""

_TABLE = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?$")
_LIST = re.compile(r"\s*\[\[\s*([^\[\]]+?)\s*\]\]\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*("[^"]*"|'[^']*'|[\w.-]+)\s*=""")


def key_lines(text: str) -> Mapping[Path, int]:
    """The line, counted from 1, of every table and key.

    >>> key_lines('rules = "a"\\n[[sources]]\\nformat = "csv"')
    {('rules',): 1, ('sources', 0): 2, ('sources', 0, 'format'): 3}
    """
    found: dict[Path, int] = {}
    counts: dict[str, int] = {}
    table: Path = ()
    for number, line in enumerate(text.splitlines(), 1):
        if match := _LIST.match(line):
            name = match[1]
            counts[name] = counts.get(name, -1) + 1
            table = (name, counts[name])
            found[table] = number
        elif match := _TABLE.match(line):
            table = _inside(match[1].split("."), counts)
            found[table] = number
        elif match := _KEY.match(line):
            found.setdefault((*table, match[1].strip("\"'")), number)
    return found


def _inside(names: list[str], counts: Mapping[str, int]) -> Path:
    """The way to a table; one below a list of tables belongs to the last of the list."""
    path: list[str | int] = []
    for name in names:
        path.append(name.strip().strip("\"'"))
        if len(path) == 1 and path[0] in counts:
            path.append(counts[str(path[0])])
    return tuple(path)
