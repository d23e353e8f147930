"""Where a piece of rule text stands: the text itself and a range of it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Source:
    """A named text, such as a rule file.

    >>> Source("fire.tesla", "define A()\\nfrom B()").position(11)
    (2, 1)
    """

    name: str
    text: str = field(repr=False)

    @cached_property
    def _line_starts(self) -> tuple[int, ...]:
        return (0, *(offset + 1 for offset, char in enumerate(self.text) if char == "\n"))

    def position(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset, both counted from 1."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line (counted from 1) without its end."""
        start = self._line_starts[number - 1]
        end = self._line_starts[number] - 1 if number < len(self._line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r")


@dataclass(frozen=True, slots=True)
class Span:
    """A range of a source: offsets into its text, the end not included."""

    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        """The text that the span covers."""
        return self.source.text[self.start : self.end]

    @property
    def line(self) -> int:
        """Line of the first character, counted from 1."""
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        """Column of the first character, counted from 1."""
        return self.source.position(self.start)[1]

    def to(self, other: Span) -> Span:
        """The span that reaches from the start of this one to the end of the other."""
        return Span(self.source, self.start, other.end)
