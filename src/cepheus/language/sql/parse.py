"""SQL text to queries over rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepheus.core.errors import Diagnostic, Place, RuleError
from cepheus.core.source import Source, Span
from cepheus.language.sql.clauses import Clauses, split_clauses
from cepheus.language.sql.expressions import Scope, build_expression
from cepheus.language.sql.scan import Word, closing, items, scan
from cepheus.rules.check.findings import Findings
from cepheus.rules.model import RuleSet
from cepheus.rules.rows.expressions import Column
from cepheus.rules.rows.model import ALL_EVENTS, DEFAULT_NAME, Named, RowQuery, RowRule


def parse(text: str, name: str = "<rules>") -> RuleSet:
    """The queries of a text as rules: a match of one is an event.

    >>> parse("MATCH_RECOGNIZE (MEASURES LAST(A.x) AS x PATTERN (A+) DEFINE A AS x > 1) AS Run").row_rules[0].composite
    EventType(name='Run', attributes=(Attribute(name='x', type=None, ...),))
    """
    return RuleSet(row_rules=tuple(map(RowRule.of, parse_queries(text, name))))


def parse_query(text: str, name: str = "<query>") -> RowQuery:
    """The one query that a text holds; a RuleError tells all that is wrong with it.

    >>> query = parse_query("MATCH_RECOGNIZE (ORDER BY time PATTERN (A B+) DEFINE B AS price > PREV(price)) AS Rise")
    >>> query.name, query.variables
    ('Rise', ('A', 'B'))
    """
    source = Source(name, text)
    queries = parse_queries(text, name)
    if len(queries) != 1:
        raise RuleError.of(
            "query", f"{len(queries)} queries stand here, one is wanted", span=Span(source, 0, len(text))
        )
    return queries[0]


def parse_queries(text: str, name: str = "<query>") -> tuple[RowQuery, ...]:
    """All queries of a text, which end with a semicolon each; the last one may do without."""
    queries, mistakes = _read_queries(text, name)
    if mistakes:
        raise RuleError(mistakes)
    if not queries:
        place = None if name.startswith("<") else Place(name)
        raise RuleError.of("query", "there is no query here", place=place, hint="write MATCH_RECOGNIZE ( .. )")
    return queries


def read(text: str, name: str = "<rules>") -> tuple[RuleSet, list[Diagnostic]]:
    """The queries of a text that can be read, as rules, and what is wrong with the others: for unfinished text.

    >>> rules, mistakes = read("MATCH_RECOGNIZE (PATTERN (A) DEFINE B AS x > 1)")
    >>> [mistake.message for mistake in mistakes]
    ["there is no variable 'B' in the pattern"]
    """
    try:
        queries, mistakes = _read_queries(text, name)
    except RuleError as error:
        return RuleSet(), list(error.diagnostics)
    return RuleSet(row_rules=tuple(map(RowRule.of, queries))), mistakes


def _read_queries(text: str, name: str) -> tuple[tuple[RowQuery, ...], list[Diagnostic]]:
    source = Source(name, text)
    findings = Findings()
    queries = [_query(words, source, findings) for words in _statements(scan(source))]
    return tuple(query for query in queries if query is not None), list(findings.errors())


def _statements(words: Sequence[Word]) -> list[list[Word]]:
    found: list[list[Word]] = [[]]
    for word in words:
        if word.text == ";":
            found.append([])
        else:
            found[-1].append(word)
    return [statement for statement in found if statement]


@dataclass(frozen=True, slots=True)
class _Around:
    """What stands around the clause."""

    source: str
    selected: list[Word]
    alias: str | None
    condition: list[Word]


def _query(words: list[Word], source: Source, findings: Findings) -> RowQuery | None:
    whole = Span(source, words[0].start, words[-1].end)
    at = next((place for place, word in enumerate(words) if word.upper == "MATCH_RECOGNIZE"), None)
    if at is None or at + 1 >= len(words) or words[at + 1].text != "(":
        findings.error("syntax", "a query needs MATCH_RECOGNIZE ( .. )", whole)
        return None
    end = closing(words, at + 1)
    if end is None:
        findings.error("syntax", "this ( is never closed", Span(source, words[at + 1].start, words[at + 1].end))
        return None
    around = _around(words[:at], words[end + 1 :], source, findings)
    clauses = split_clauses(words[at + 2 : end], source, findings, words[end])
    if around is None or clauses is None:
        return None
    return _with_select(clauses, around, source, findings, whole)


def _around(before: list[Word], after: list[Word], source: Source, findings: Findings) -> _Around | None:
    selected: list[Word] = []
    origin = ALL_EVENTS
    if before:
        froms = [place for place, word in enumerate(before) if word.upper == "FROM"]
        if before[0].upper != "SELECT" or not froms or len(before) != froms[-1] + 2 or not before[-1].is_name:
            span = Span(source, before[0].start, before[-1].end)
            hint = "write SELECT .. FROM events MATCH_RECOGNIZE ( .. ), with a type of events, or events for all types"
            findings.error("syntax", "before MATCH_RECOGNIZE stands SELECT columns FROM one source", span, hint)
            return None
        selected, origin = before[1 : froms[-1]], before[-1].name
    alias = None
    rest = after
    if rest and rest[0].upper == "AS":
        rest = rest[1:]
    if rest and rest[0].is_name and rest[0].upper != "WHERE":
        alias, rest = rest[0].name, rest[1:]
    condition: list[Word] = []
    if rest and rest[0].upper == "WHERE":
        condition, rest = rest[1:], []
    if rest:
        hint = "after the clause may come AS name and WHERE condition"
        findings.error("syntax", f"'{rest[0].text}' cannot stand here", Span(source, rest[0].start, rest[0].end), hint)
        return None
    return _Around(origin, selected, alias, condition)


def _with_select(clauses: Clauses, around: _Around, source: Source, findings: Findings, whole: Span) -> RowQuery | None:
    scope = Scope(None, alias=around.alias)
    select: list[Named] | None = None
    if around.selected and [word.text for word in around.selected] != ["*"]:
        select = []
        for item in items(around.selected):
            named = _selected(item, source, scope, findings)
            if named is not None:
                select.append(named)
    where = build_expression(around.condition, source, scope, findings, "condition")
    if clauses.pattern is None:
        return None
    return RowQuery(
        clauses.pattern,
        around.source,
        around.alias or DEFAULT_NAME,
        clauses.partition,
        clauses.order,
        clauses.measures,
        clauses.rows,
        clauses.after,
        clauses.within,
        clauses.subsets,
        clauses.definitions,
        None if select is None else tuple(select),
        where,
        source,
        whole,
    )


def _selected(item: list[Word], source: Source, scope: Scope, findings: Findings) -> Named | None:
    if not item:
        return None
    span = Span(source, item[0].start, item[-1].end)
    name = None
    if len(item) > 2 and item[-2].upper == "AS" and item[-1].is_name:
        name, item = item[-1].name, item[:-2]
    if [word.text for word in item] == ["*"]:
        findings.error("select", "* stands alone in SELECT", span)
        return None
    expression = build_expression(item, source, scope, findings, "column of SELECT")
    if expression is None:
        return None
    if name is None:
        if not isinstance(expression, Column):
            findings.error("select", "what is computed needs a name", span, "add AS and a name")
            return None
        name = expression.name
    return Named(name, expression, span)
