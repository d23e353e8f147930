"""The words of SQL text, with their places: enough to tell the clauses of MATCH_RECOGNIZE apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cepheus.core.errors import RuleError
from cepheus.core.source import Source, Span

_WORD = re.compile(
    r"""(?P<space>\s+)
      |(?P<comment>--[^\n]*|/\*.*?\*/)
      |(?P<string>'(?:[^']|'')*')
      |(?P<quoted>"(?:[^"]|"")*"|`[^`"]*`)
      |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+)
      |(?P<name>[^\W\d]\w*)
      |(?P<sign>\{-|-\}|<=|>=|<>|!=|\|\||::|.)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Word:
    """A piece of the text: a name, a quoted name, a string, a number or a sign."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """A name in capitals, as keywords are compared; of anything else its text."""
        return self.text.upper() if self.kind == "name" else self.text

    @property
    def is_name(self) -> bool:
        """Whether it can name something."""
        return self.kind in ("name", "quoted")

    @property
    def name(self) -> str:
        """What it names, without quotes."""
        return self.text[1:-1].replace('""', '"') if self.kind == "quoted" else self.text

    @property
    def variable(self) -> str:
        """What it names as a variable: in capitals unless it is quoted."""
        return self.name if self.kind == "quoted" else self.text.upper()


def pieces(text: str) -> Iterator[Word]:
    """The words and comments of a text, finished or not: a quote that is never closed is a sign.

    >>> [(piece.kind, piece.text) for piece in pieces("a -- b")]
    [('name', 'a'), ('comment', '-- b')]
    """
    for match in _WORD.finditer(text):
        kind = str(match.lastgroup)
        if kind != "space":
            yield Word(kind, match[0], match.start(), match.end())


def scan(source: Source) -> list[Word]:
    """The words of a text; RuleError where a quote is never closed."""
    words = []
    for word in pieces(source.text):
        if word.kind == "comment":
            continue
        if word.kind == "sign" and word.text in ("'", '"', "`"):
            span = Span(source, word.start, word.end)
            raise RuleError.of(
                "syntax", f"this {word.text} is never closed", span=span, hint="close it on the same line"
            )
        words.append(word)
    return words


_OPENS, _CLOSES = {"(", "[", "{", "{-"}, {")", "]", "}", "-}"}


def depths(words: Sequence[Word]) -> Iterator[tuple[int, Word]]:
    """Each word with how many brackets it is inside of; a bracket itself is outside of its own."""
    depth = 0
    for word in words:
        if word.kind == "sign" and word.text in _CLOSES:
            depth -= 1
        yield depth, word
        if word.kind == "sign" and word.text in _OPENS:
            depth += 1


def closing(words: Sequence[Word], opening: int) -> int | None:
    """The place of the bracket that closes the one at a place, None if nothing does."""
    depth = 0
    for place in range(opening, len(words)):
        word = words[place]
        if word.kind == "sign":
            depth += (word.text in _OPENS) - (word.text in _CLOSES)
            if depth == 0:
                return place
    return None


def items(words: Sequence[Word]) -> list[list[Word]]:
    """The parts of a list, split at its commas."""
    found: list[list[Word]] = [[]]
    for depth, word in depths(words):
        if depth == 0 and word.text == "," and word.kind == "sign":
            found.append([])
        else:
            found[-1].append(word)
    return found
