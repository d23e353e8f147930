"""The clauses inside MATCH_RECOGNIZE ( .. ), told apart by their first words, each read and checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cepheus.core.errors import RuleError, did_you_mean
from cepheus.core.source import Source, Span
from cepheus.core.values import as_int
from cepheus.language.sql.expressions import Scope, build_expression
from cepheus.language.sql.row_pattern import parse_pattern
from cepheus.language.sql.scan import Word, closing, depths, items
from cepheus.rules.check.findings import Findings
from cepheus.rules.rows.expressions import Literal
from cepheus.rules.rows.model import (
    AfterMatch,
    Definition,
    Named,
    OrderKey,
    RowsPerMatch,
    SkipKind,
    Subset,
)
from cepheus.rules.rows.pattern import Exclusion, RowPattern, Variable, variables, walk

_CLAUSES: tuple[tuple[str, ...], ...] = (
    ("PARTITION", "BY"),
    ("ORDER", "BY"),
    ("MEASURES",),
    ("ONE", "ROW", "PER", "MATCH"),
    ("ALL", "ROWS", "PER", "MATCH"),
    ("AFTER", "MATCH", "SKIP"),
    ("PATTERN",),
    ("WITHIN",),
    ("SUBSET",),
    ("DEFINE",),
)
"""The first words of the clauses, in the order in which they stand."""

_ALL_ROWS = {
    (): RowsPerMatch.SHOW_EMPTY,
    ("SHOW", "EMPTY", "MATCHES"): RowsPerMatch.SHOW_EMPTY,
    ("OMIT", "EMPTY", "MATCHES"): RowsPerMatch.OMIT_EMPTY,
    ("WITH", "UNMATCHED", "ROWS"): RowsPerMatch.WITH_UNMATCHED,
}


@dataclass(slots=True)
class Clauses:
    """What the clauses say; ``pattern`` is None only while it has not been read."""

    pattern: RowPattern | None = None
    partition: tuple[str, ...] = ()
    order: tuple[OrderKey, ...] = ()
    measures: tuple[Named, ...] = ()
    rows: RowsPerMatch = RowsPerMatch.ONE_ROW
    after: AfterMatch = field(default_factory=AfterMatch)
    within: int | None = None
    subsets: tuple[Subset, ...] = ()
    definitions: tuple[Definition, ...] = ()


def split_clauses(words: Sequence[Word], source: Source, findings: Findings, end: Word) -> Clauses | None:
    """The clauses between the parentheses of MATCH_RECOGNIZE."""
    reader = _Reader(source, findings)
    parts = reader.parts(words)
    if ("PATTERN",) not in parts:
        hint = "write PATTERN (A B+) with a variable for each row, and DEFINE for their conditions"
        findings.error("syntax", "MATCH_RECOGNIZE needs a PATTERN", Span(source, end.start, end.end), hint)
        return None
    return reader.read(parts)


class _Reader:
    """Reads the parts one by one; the pattern comes first, as the others name its variables."""

    def __init__(self, source: Source, findings: Findings) -> None:
        self._source, self._findings = source, findings
        self._variables: dict[str, tuple[str, ...]] = {}

    def parts(self, words: Sequence[Word]) -> dict[tuple[str, ...], list[Word]]:
        """The words of each clause by its first words, which are left out."""
        found: dict[tuple[str, ...], list[Word]] = {}
        current: list[Word] | None = None
        latest = -1
        place = 0
        outer = {word.start for depth, word in depths(words) if depth == 0}
        while place < len(words):
            begins = self._clause_at(words, place) if words[place].start in outer else None
            if begins is None:
                if current is None:
                    hint = f"the clauses are {', '.join(map(' '.join, _CLAUSES))}"
                    self._error("syntax", f"no clause begins with '{words[place].text}'", [words[place]], hint)
                    current = []
                current.append(words[place])
                place += 1
                continue
            rank = _CLAUSES.index(begins)
            head = list(words[place : place + len(begins)])
            if begins in found:
                self._error("syntax", f"{' '.join(begins)} stands here twice", head)
            elif rank < latest:
                self._error("syntax", f"{' '.join(begins)} comes too late", head, f"put it before {_shown(latest)}")
            latest = max(latest, rank)
            current = found[begins] = []
            place += len(begins)
        return found

    def _clause_at(self, words: Sequence[Word], place: int) -> tuple[str, ...] | None:
        for clause in _CLAUSES:
            if tuple(word.upper for word in words[place : place + len(clause)]) != clause:
                continue
            following = words[place + len(clause)] if place + len(clause) < len(words) else None
            if clause == ("PATTERN",) and (following is None or following.text != "("):
                continue  # a column may have that name
            if len(clause) == 1 and place and words[place - 1].text in (",", "(", ".", "AS", "as"):
                continue
            return clause
        return None

    def read(self, parts: dict[tuple[str, ...], list[Word]]) -> Clauses:
        """All clauses, the pattern first."""
        clauses = Clauses()
        self._pattern(parts.pop(("PATTERN",)), clauses)
        if clauses.pattern is None:  # what the others name would all be unknown
            return clauses
        readers = {
            "SUBSET": self._subsets,
            "PARTITION": self._partition,
            "ORDER": self._order,
            "MEASURES": self._measures,
            "ONE": self._one_row,
            "ALL": self._all_rows,
            "AFTER": self._after,
            "WITHIN": self._within,
            "DEFINE": self._definitions,
        }
        by_word = {clause[0]: words for clause, words in parts.items()}
        for word, reader in readers.items():
            if word in by_word:
                reader(by_word[word], clauses)
        self._check(clauses)
        return clauses

    def _error(self, code: str, message: str, words: Sequence[Word], hint: str | None = None) -> None:
        span = Span(self._source, words[0].start, words[-1].end) if words else None
        self._findings.error(code, message, span, hint)

    def _pattern(self, words: list[Word], clauses: Clauses) -> None:
        end = closing(words, 0) if words else None
        if end is None:
            self._error("syntax", "PATTERN needs parentheses", words, "write PATTERN (A B+)")
            return
        if end + 1 < len(words):
            self._error("syntax", f"'{words[end + 1].text}' cannot stand behind the pattern", words[end + 1 :][:1])
        try:
            clauses.pattern = parse_pattern(self._source, words[0].end, words[end].start)
        except RuleError as error:
            for each in error.diagnostics:
                self._findings.error(each.code, each.message, each.span, each.hint)
            return
        self._variables = {name: (name,) for name in variables(clauses.pattern)}

    def _subsets(self, words: list[Word], clauses: Clauses) -> None:
        found: list[Subset] = []
        for item in items(words):
            shape = [word.text for word in item[1:3]]
            if len(item) < 5 or not item[0].is_name or shape != ["=", "("] or item[-1].text != ")":
                self._error("syntax", "a subset is a name and its variables", item or words, "write U = (A, B)")
                continue
            members = []
            for part in items(item[3:-1]):
                name = part[0].variable if len(part) == 1 and part[0].is_name else ""
                if name not in self._variables:
                    self._no_variable(part or item, name)
                else:
                    members.append(name)
            if item[0].variable in {*self._variables, *(each.name for each in found)}:
                self._error("variable", f"'{item[0].variable}' is the name of a variable already", item[:1])
            found.append(Subset(item[0].variable, tuple(dict.fromkeys(members)), self._span(item)))
        clauses.subsets = tuple(found)
        self._variables |= {subset.name: subset.variables for subset in found}

    def _no_variable(self, words: Sequence[Word], name: str) -> None:
        hint = did_you_mean(name, self._variables) or f"the variables are {', '.join(self._variables)}"
        self._error("variable", f"there is no variable '{name}' in the pattern", words, hint)

    def _partition(self, words: list[Word], clauses: Clauses) -> None:
        names = []
        for item in items(words):
            if len(item) != 1 or not item[0].is_name:
                self._error("syntax", "PARTITION BY takes names of columns", item or words)
            else:
                names.append(item[0].name)
        clauses.partition = tuple(dict.fromkeys(names))

    def _order(self, words: list[Word], clauses: Clauses) -> None:
        keys = []
        for item in items(words):
            rest = tuple(word.upper for word in item[1:])
            direction = rest[:1] if rest[:1] in (("ASC",), ("DESC",)) else ()
            nulls = rest[len(direction) :]
            if not item or not item[0].is_name or nulls not in ((), ("NULLS", "FIRST"), ("NULLS", "LAST")):
                self._error(
                    "syntax", "ORDER BY takes names of columns, each with ASC or DESC if need be", item or words
                )
                continue
            keys.append(OrderKey(item[0].name, direction == ("DESC",), nulls == ("NULLS", "FIRST"), self._span(item)))
        clauses.order = tuple(keys)

    def _measures(self, words: list[Word], clauses: Clauses) -> None:
        scope = Scope(self._variables)
        found: list[Named] = []
        for item in items(words):
            if len(item) < 3 or item[-2].upper != "AS" or not item[-1].is_name:
                self._error(
                    "syntax", "a measure is an expression and a name", item or words, "write LAST(A.price) AS p"
                )
                continue
            if any(each.name == item[-1].name for each in found):
                self._error("measure", f"two measures are called '{item[-1].name}'", item[-1:])
            expression = build_expression(item[:-2], self._source, scope, self._findings, "measure")
            if expression is not None:
                found.append(Named(item[-1].name, expression, self._span(item)))
        clauses.measures = tuple(found)

    def _one_row(self, words: list[Word], clauses: Clauses) -> None:
        clauses.rows = RowsPerMatch.ONE_ROW
        if words:
            self._error("syntax", f"'{words[0].text}' cannot stand here", words[:1])

    def _all_rows(self, words: list[Word], clauses: Clauses) -> None:
        mode = _ALL_ROWS.get(tuple(word.upper for word in words))
        if mode is None:
            hint = "there are SHOW EMPTY MATCHES, OMIT EMPTY MATCHES and WITH UNMATCHED ROWS"
            self._error("syntax", "ALL ROWS PER MATCH does not go on like this", words, hint)
            return
        clauses.rows = mode

    def _after(self, words: list[Word], clauses: Clauses) -> None:
        upper = tuple(word.upper for word in words)
        if upper in (("PAST", "LAST", "ROW"), ("TO", "NEXT", "ROW")):
            kind = SkipKind.PAST_LAST_ROW if upper[0] == "PAST" else SkipKind.TO_NEXT_ROW
            clauses.after = AfterMatch(kind, span=self._span(words))
            return
        if not words or upper[0] != "TO" or not words[-1].is_name or upper[1:-1] not in ((), ("FIRST",), ("LAST",)):
            hint = "there are PAST LAST ROW, TO NEXT ROW, TO FIRST variable and TO LAST variable"
            self._error("syntax", "AFTER MATCH SKIP does not go on like this", words, hint)
            return
        target = words[-1].variable
        if target not in self._variables:
            self._no_variable(words[-1:], target)
        kind = SkipKind.TO_FIRST if upper[1:-1] == ("FIRST",) else SkipKind.TO_LAST
        clauses.after = AfterMatch(kind, target, self._span(words))

    def _within(self, words: list[Word], clauses: Clauses) -> None:
        built = build_expression(words, self._source, Scope({}), self._findings, "interval")
        if isinstance(built, Literal) and words[0].upper == "INTERVAL" and as_int(built.value or 0) > 0:
            clauses.within = as_int(built.value or 0)
        else:
            self._error("interval", "WITHIN takes an interval above zero", words, "write WITHIN INTERVAL '5' MINUTE")

    def _definitions(self, words: list[Word], clauses: Clauses) -> None:
        scope = Scope(self._variables, may_be_final=False)
        found: list[Definition] = []
        for item in items(words):
            if len(item) < 3 or not item[0].is_name or item[1].upper != "AS":
                self._error(
                    "syntax", "a definition is a variable and a condition", item or words, "write A AS price > 5"
                )
                continue
            name = item[0].variable
            if self._variables.get(name) != (name,):
                self._no_variable(item[:1], name)
            if any(each.variable == name for each in found):
                self._error("variable", f"'{name}' is defined twice", item[:1])
            condition = build_expression(item[2:], self._source, scope, self._findings, "condition")
            if condition is not None:
                found.append(Definition(name, condition, self._span(item)))
        clauses.definitions = tuple(found)

    def _check(self, clauses: Clauses) -> None:
        assert clauses.pattern is not None
        parts = list(walk(clauses.pattern))
        excluded = next((part for part in parts if isinstance(part, Exclusion)), None)
        if excluded is not None and clauses.rows is RowsPerMatch.WITH_UNMATCHED:
            self._findings.error(
                "exclusion",
                "{- -} and WITH UNMATCHED ROWS cannot stand together",
                excluded.span,
                "an excluded row would be neither matched nor unmatched",
            )
        if not any(isinstance(part, Variable) for part in parts):
            self._findings.error("pattern", "the pattern has no variable", clauses.pattern.span)
        if clauses.within is not None and not clauses.order:
            self._findings.error("interval", "WITHIN needs ORDER BY a time", clauses.pattern.span)
        elif clauses.within is not None and clauses.order[0].descending:
            self._findings.error("interval", "WITHIN needs times that rise", clauses.order[0].span, "leave out DESC")

    def _span(self, words: Sequence[Word]) -> Span:
        return Span(self._source, words[0].start, words[-1].end)


def _shown(rank: int) -> str:
    return " ".join(_CLAUSES[rank])
