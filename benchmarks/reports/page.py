"""The page of the documentation: a section for each part, replaced one by one as they are measured again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measuring.machine import Machine
from benchmarks.reports.section import Part, Section, Table, bar_table
from cepheus.core.errors import OptionError

_NAME = "benchmarks.md"
_HEAD = """# Benchmarks

Measured by `cepheus bench --write-docs` (`make bench`), which wrote this page: do not edit it. The questions, the
streams and the rules are drawn from seeds, so that anyone can repeat every figure. Each is the best of several runs
and stands beside a baseline that was timed in the same run, on the same data, with the same answer.
"""


def write_page(folder: Path, sections: Sequence[Section], command: str, machine: Machine) -> Path:
    """Write sections into the page in a folder, and leave the sections of other parts as they are."""
    path = folder / _NAME
    if not folder.is_dir():
        raise OptionError.of(
            "file",
            f"there is no folder '{folder}'",
            hint="run this in the project's root, or name a folder with --docs",
        )
    kept = _split(path.read_text(encoding="utf-8")) if path.exists() else {}
    kept |= {section.part: _section(section, command, machine) for section in sections}
    body = [f"{_mark(part)}\n{kept[part].strip()}\n" for part in Part if part in kept]
    path.write_text("\n".join([_HEAD, *body]), encoding="utf-8")
    return path


def _mark(part: Part) -> str:
    return f"<!-- part: {part.value} -->"


def _split(text: str) -> dict[Part, str]:
    """The sections that a page has."""
    _, *pieces = re.split(r"<!-- part: (\w+) -->\n", text)
    known = {part.value: part for part in Part}
    return {known[name]: body for name, body in zip(pieces[::2], pieces[1::2], strict=True) if name in known}


def _section(section: Section, command: str, machine: Machine) -> str:
    tables = ([bar_table(section.bars)] if section.bars else []) + list(section.tables)
    parts = [f"## {section.title}", *section.text]
    parts += [f"![{picture.words}](images/{picture.name})" for picture in section.pictures]
    parts += [f"### {table.title}\n\n{markdown(table)}" for table in tables]
    parts.append(f"*Measured with `{command}` on {machine}.*")
    return "\n\n".join(parts)


def markdown(table: Table) -> str:
    """A table in Markdown.

    >>> print(markdown(Table("", ("<who", "events/s"), (("ours", "30M"),))))
    | who | events/s |
    |:--|--:|
    | ours | 30M |
    """
    names = [name.removeprefix("<") for name in table.columns]
    sides = [":--" if name.startswith("<") else "--:" for name in table.columns]
    lines = [f"| {' | '.join(names)} |", f"|{'|'.join(sides)}|"]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in table.rows]
    return "\n".join(lines)
