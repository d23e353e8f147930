"""Where in a Python program a part of a rule was written: Python itself tells, instruction by instruction."""

from __future__ import annotations

import ast
import linecache
import sys
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any

from cepheus.core.source import Source, Span

_PACKAGE = str(Path(__file__).parents[2])


@dataclass(frozen=True, slots=True)
class Reading:
    """Where the reading of a text has come to, and the names that it knows there."""

    span: Span
    names: dict[str, object]


READING: ContextVar[Reading | None] = ContextVar("reading", default=None)
"""Set while rules are read from a text that is not run: then no frame of a program tells the place."""
BUILDING: ContextVar[Any] = ContextVar("the rule that is being read", default=None)
"""The draft of the rule that is being read: what classes are called with then are parts of it."""
_SOURCES: dict[str, tuple[list[str], Source]] = {}


@dataclass(frozen=True)
class Site:
    """An expression of a program that made a part of a rule; ``span`` is None where the program's text is not known."""

    span: Span | None

    @cached_property
    def _tree(self) -> ast.expr | None:
        if self.span is None:
            return None
        try:
            return ast.parse(f"({self.span.text}\n)", mode="eval").body
        except (SyntaxError, ValueError, RecursionError):
            return None

    def literal(self, value: object) -> Span | None:
        """Where among the operands, or the arguments, a value is written out."""
        tree = self._tree
        operands: list[ast.expr] = []
        match tree:
            case ast.Compare(left=left, comparators=rest):
                operands = [left, *rest]
            case ast.BinOp(left=left, right=right):
                operands = [left, right]
            case ast.Call(args=args, keywords=keywords):
                operands = [*args, *(keyword.value for keyword in keywords)]
        for operand in operands:
            try:
                found = ast.literal_eval(operand)
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                continue
            if type(found) is type(value) and found == value:
                return self._part(operand)
        return None

    def argument(self, place: int) -> Span | None:
        """An argument of a call, counted from 0; of a call of a method of a call, that of the inner one."""
        tree = self._tree
        while (
            isinstance(tree, ast.Call)
            and isinstance(tree.func, ast.Attribute)
            and isinstance(tree.func.value, ast.Call)
        ):
            tree = tree.func.value
        if isinstance(tree, ast.Call) and place < len(tree.args):
            return self._part(tree.args[place])
        return self.span

    def keyword(self, name: str) -> Span | None:
        """The value of a keyword of a call."""
        tree = self._tree
        if isinstance(tree, ast.Call):
            for keyword in tree.keywords:
                if keyword.arg == name:
                    return self._part(keyword.value)
        return self.span

    def method(self) -> Span | None:
        """The last method of a chain of calls, with its arguments: ``within("5 min", of=smoke)``."""
        tree, span = self._tree, self.span
        if span is not None and isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute):
            inner = self._part(tree.func.value)
            if inner is not None:
                start = inner.end
                while span.source.text[start] in " \t\r\n.)":
                    start += 1
                return Span(span.source, start, span.end)
        return span

    def _part(self, node: ast.expr) -> Span | None:
        span = self.span
        if span is None or node.end_lineno is None or node.end_col_offset is None:
            return span
        lines = f"({span.text}\n)".split("\n")
        start = _offset(lines, node.lineno, node.col_offset) - 1
        end = _offset(lines, node.end_lineno, node.end_col_offset) - 1
        return Span(span.source, span.start + start, span.start + end)


def here() -> Span | None:
    """The expression that is being evaluated in the nearest program outside this package."""
    reading = READING.get()
    if reading is not None:
        return reading.span
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return None if frame is None else _span(frame)


def site() -> Site:
    """The same, as something whose parts can be asked for."""
    return Site(here())


def caller_names() -> dict[str, object]:
    """The names that the nearest program outside this package knows."""
    reading = READING.get()
    if reading is not None:
        return reading.names
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return {} if frame is None else {**frame.f_globals, **frame.f_locals}


def source_of(filename: str) -> Source | None:
    """The text of a program, None where it was not kept: typed at a prompt, say."""
    lines = linecache.getlines(filename)
    if not lines:
        return None
    known = _SOURCES.get(filename)
    if known is not None and known[0] is lines:
        return known[1]
    source = Source(_shown(filename), "".join(lines))
    _SOURCES[filename] = (lines, source)
    return source


def _shown(filename: str) -> str:
    try:
        return str(Path(filename).relative_to(Path.cwd()))
    except ValueError:
        return filename


def _span(frame: FrameType) -> Span | None:
    positions = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    return None if positions is None else span_in(frame.f_code.co_filename, positions)


def span_in(filename: str, positions: tuple[int | None, ...]) -> Span | None:
    """What Python calls the positions of an instruction, lines before columns, in the text of a program."""
    source = source_of(filename)
    if source is None:
        return None
    line, end_line, column, end_column = positions
    lines = source.text.split("\n")
    if line is None or not 0 < line <= len(lines):
        return None
    if end_line is None or column is None or end_column is None or end_line > len(lines):
        start = _offset(lines, line, 0)
        return Span(source, start, start + len(lines[line - 1]))
    return Span(source, _offset(lines, line, column), _offset(lines, end_line, end_column))


def _offset(lines: list[str], line: int, column: int) -> int:
    """The characters before a column, which Python counts in bytes of UTF-8."""
    before = sum(len(text) + 1 for text in lines[: line - 1])
    text = lines[line - 1]
    return before + (column if text.isascii() else len(text.encode()[:column].decode("utf-8", "ignore")))
