"""Text of queries over rows, finished or not, in pieces: which clause each word stands in, and what it names there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from cepheus.editor.row_words import keywords, sql_words
from cepheus.editor.words import WordKind
from cepheus.language.sql.scan import Word, pieces

_FIRST_WORDS = {
    "PARTITION": "PARTITION BY",
    "ORDER": "ORDER BY",
    "MEASURES": "MEASURES",
    "ONE": "ONE ROW PER MATCH",
    "ALL": "ALL ROWS PER MATCH",
    "AFTER": "AFTER MATCH SKIP",
    "PATTERN": "PATTERN",
    "WITHIN": "WITHIN",
    "SUBSET": "SUBSET",
    "DEFINE": "DEFINE",
}
_FOLLOWED_BY = {"PARTITION": "BY", "ORDER": "BY", "ONE": "ROW", "ALL": "ROWS", "AFTER": "MATCH", "PATTERN": "("}
BEFORE, AFTER = "before", "after"
"""In place of a clause: what stands before MATCH_RECOGNIZE, and behind its parentheses."""


class Role(Enum):
    """What a word is in a query."""

    KEYWORD = "keyword"
    FUNCTION = "function"
    TYPE = "type"
    SOURCE = "type of events"
    QUERY = "name of the query"
    VARIABLE = "variable"
    COLUMN = "column"
    MEASURE = "measure"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Placed:
    """A word with the clause it stands in and what it is there.

    ``defines`` tells whether it is what it names for the first time: a measure, the alias of a query, the variable of a
    condition. ``statement`` is the number of its query in the text.
    """

    word: Word
    clause: str
    role: Role
    statement: int
    defines: bool = False


def placed(text: str) -> list[Placed]:
    """All words of a text, comments excepted.

    >>> found = placed("SELECT * FROM Stock MATCH_RECOGNIZE (MEASURES LAST(A.p) AS low PATTERN (A) DEFINE A AS p < 3)")
    >>> [each.word.text for each in found if each.role in (Role.VARIABLE, Role.COLUMN, Role.MEASURE)]
    ['A', 'p', 'low', 'A', 'A', 'p']
    """
    found: list[Placed] = []
    for number, words in enumerate(_statements(text)):
        found += _Statement(words, number).placed()
    return found


def _statements(text: str) -> Iterator[list[Word]]:
    current: list[Word] = []
    for word in pieces(text):
        if word.kind == "comment":
            continue
        current.append(word)
        if word.text == ";" and word.kind == "sign":
            yield current
            current = []
    yield current


class _Statement:
    """One query, whose words are looked at one after the other."""

    def __init__(self, words: Sequence[Word], number: int) -> None:
        self._words, self._number = words, number
        self._clauses = list(_clauses_of(words))
        self._variables = {
            word.variable
            for word, clause in zip(words, self._clauses, strict=True)
            if clause == "PATTERN" and word.is_name and word.upper not in ("PATTERN", "PERMUTE")
        }
        self._subsets = {
            word.variable
            for place, word in enumerate(words)
            if self._clauses[place] == "SUBSET" and word.is_name and self._text(place + 1) == "="
        }
        self._measures = {
            word.name
            for place, word in enumerate(words)
            if self._clauses[place] == "MEASURES" and word.is_name and self._text(place - 1).upper() == "AS"
        }

    def placed(self) -> list[Placed]:
        """The words, each with its role."""
        return [self._place(place) for place in range(len(self._words))]

    def _text(self, place: int) -> str:
        return self._words[place].text if 0 <= place < len(self._words) else ""

    def _place(self, place: int) -> Placed:
        word, clause = self._words[place], self._clauses[place]
        role, defines = self._name(place) if word.is_name else (Role.OTHER, False)
        return Placed(word, clause, role, self._number, defines)

    def _name(self, place: int) -> tuple[Role, bool]:
        word, clause = self._words[place], self._clauses[place]
        previous, following = self._text(place - 1).upper(), self._text(place + 1)
        if previous == "FROM" and clause == BEFORE:
            return Role.SOURCE, False
        if previous == "AS" and (clause in (BEFORE, AFTER, "MEASURES")) and not self._in_parentheses(place):
            return (Role.QUERY, True) if clause == AFTER else (Role.MEASURE, True)
        if clause == AFTER and previous == ")" and word.kind == "quoted":
            return Role.QUERY, True
        if previous == "." and place > 1:
            return self._column(word, clause), False
        if word.kind == "name" and (role := self._word(word, previous, following)) is not None:
            return role, False
        if clause == AFTER and previous == ")":
            return Role.QUERY, True
        if self._is_variable(word, clause, following):
            subset = clause == "SUBSET" and following == "="
            return Role.VARIABLE, subset or (clause == "DEFINE" and following.upper() == "AS")
        return self._column(word, clause), False

    def _is_variable(self, word: Word, clause: str, following: str) -> bool:
        if clause in ("PATTERN", "SUBSET", "AFTER MATCH SKIP"):
            return True
        if following == "." or (clause == "DEFINE" and following.upper() == "AS"):
            return True
        return False if word.name in self._measures else word.variable in self._variables and clause == "MEASURES"

    def _column(self, word: Word, clause: str) -> Role:
        return Role.MEASURE if clause in (BEFORE, AFTER) and word.name in self._measures else Role.COLUMN

    def _word(self, word: Word, previous: str, following: str) -> Role | None:
        """What a word of the language is; None for any other."""
        if previous == "AS" and word.upper.lower() in (
            "double",
            "bigint",
            "integer",
            "varchar",
            "boolean",
            "timestamp",
        ):
            return Role.TYPE
        known = sql_words().get(word.upper)
        if following == "(" and known is not None and known.kind in (WordKind.FUNCTION, WordKind.AGGREGATE):
            return Role.FUNCTION
        return Role.KEYWORD if word.upper in keywords() and following != "." else None

    def _in_parentheses(self, place: int) -> bool:
        """Whether a word stands in parentheses of its own clause, as the type of a CAST does."""
        depth = 0
        for at in range(place - 1, -1, -1):
            if self._clauses[at] != self._clauses[place]:
                break
            depth += (self._text(at) == ")") - (self._text(at) == "(")
            if depth < 0:
                return True
        return False


def _clauses_of(words: Sequence[Word]) -> Iterator[str]:
    """The clause that each word stands in."""
    clause, depth, inside = BEFORE, 0, False
    for place, word in enumerate(words):
        sign = word.kind == "sign"
        opens, closes = sign and word.text == "(", sign and word.text == ")"
        if closes:
            depth -= 1
            if inside and depth == 0:
                inside, clause = False, AFTER
        begun = _FIRST_WORDS.get(word.upper) if inside and depth == 1 and word.kind == "name" else None
        if begun is not None and _begins(words, place):
            clause = begun
        yield clause
        if opens:
            if not inside and place and words[place - 1].upper == "MATCH_RECOGNIZE":
                inside, depth = True, 0
                clause = ""
            depth += 1


def _begins(words: Sequence[Word], place: int) -> bool:
    """Whether a clause begins with a word: columns may have such names, too."""
    wanted = _FOLLOWED_BY.get(words[place].upper)
    following = words[place + 1].upper if place + 1 < len(words) else ""
    if wanted is not None:
        return following == wanted or not following
    previous = words[place - 1].text
    return previous not in (",", ".", "(") or (previous == "(" and following not in (",", ")"))
