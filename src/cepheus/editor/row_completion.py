"""What may be written at a place of a query over rows: columns, variables, clauses, functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cepheus.editor.analysis import Analysis
from cepheus.editor.proposals import Completion, Proposal
from cepheus.editor.row_text import AFTER, BEFORE, Placed, Role, placed
from cepheus.editor.row_words import CLAUSES, SKIPS, sql_words, types
from cepheus.editor.words import Word, WordKind
from cepheus.rules.rows.model import ALL_EVENTS
from cepheus.runtime.embedded.rule_sources import is_sql

_QUERY = Completion(
    "MATCH_RECOGNIZE",
    Proposal.STATEMENT,
    "a query",
    "Rows that follow one another as a pattern says.",
    "SELECT * FROM ${1:Event} MATCH_RECOGNIZE (\n  ORDER BY time\n  MEASURES LAST(${2:A}.${3:value}) AS ${3:value}\n"
    "  PATTERN ($2 ${4:B}+)\n  DEFINE $4 AS ${5:value > PREV(value)}\n) AS ${6:Match};",
)
_EXPRESSIONS = ("MEASURES", "DEFINE", BEFORE, AFTER)
_LOGIC = ("AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS", "NULL", "CASE", "RUNNING", "FINAL")


def complete_query(analysis: Analysis, offset: int) -> Iterator[Completion]:
    """Everything that may stand at an offset of a query."""
    if not is_sql(analysis.source.text):  # SQL of others has its own editors
        yield _QUERY
        return
    words = placed(analysis.source.text)
    before = [word for word in words if word.word.start < offset]
    if before and before[-1].word.end >= offset and before[-1].word.is_name:
        before.pop()  # the word that is being typed
    number = before[-1].statement + (before[-1].word.text == ";") if before else 0
    statement = [word for word in before if word.statement == number]
    around = [word for word in words if word.statement == number]
    last = statement[-1].word.upper if statement else ""
    clause = _clause(statement)
    if not statement:
        yield _QUERY
        yield from _words("SELECT", "MATCH_RECOGNIZE")
    elif last == ".":
        yield from _columns(analysis, around)
    elif last == "FROM" and clause == BEFORE:
        yield Completion(ALL_EVENTS, Proposal.EVENT_TYPE, "events of all types")
        yield from (Completion(name, Proposal.EVENT_TYPE, str(kind)) for name, kind in analysis.types().items())
    elif last == "AS" and clause not in ("DEFINE", AFTER):
        yield from (Completion(each, Proposal.TYPE, "type") for each in types())
    elif clause in ("PARTITION BY", "ORDER BY"):
        yield from _columns(analysis, around)
        yield from _clauses_behind(clause)
    elif clause in ("PATTERN", "SUBSET"):
        yield from _variables(around)
        yield from _words("PERMUTE")
        yield from _clauses_behind(clause)
    elif clause == "AFTER MATCH SKIP":
        yield from (_word(sql_words()[name]) for name in SKIPS)
        yield from _variables(around)
        yield from _clauses_behind(clause)
    elif clause in _EXPRESSIONS:
        yield from _in_expression(analysis, around, clause)
    else:
        yield from _clauses_behind(clause)


def _clause(statement: Sequence[Placed]) -> str:
    """The clause that the statement has come to; behind an opening parenthesis of MATCH_RECOGNIZE none yet."""
    if not statement:
        return BEFORE
    if len(statement) > 1 and statement[-1].word.text == "(" and statement[-2].word.upper == "MATCH_RECOGNIZE":
        return ""
    return statement[-1].clause


def _in_expression(analysis: Analysis, around: Sequence[Placed], clause: str) -> Iterator[Completion]:
    yield from _columns(analysis, around)
    if clause in ("MEASURES", "DEFINE"):
        yield from _variables(around)
        yield from _clauses_behind(clause)
    yield from (_word(word) for word in sql_words().values() if word.kind is not WordKind.KEYWORD)
    yield from _words(*_LOGIC)
    if clause == BEFORE:
        yield from _words("FROM", "MATCH_RECOGNIZE")
    if clause == AFTER:
        yield from _words("AS", "WHERE")


def _columns(analysis: Analysis, around: Sequence[Placed]) -> Iterator[Completion]:
    rows = next((word.word.name for word in around if word.role is Role.SOURCE), ALL_EVENTS)
    known = analysis.attributes(rows)
    for word in around:
        if word.role is Role.COLUMN:
            known.setdefault(word.word.name, word.word.name)
    yield from (Completion(name, Proposal.ATTRIBUTE, f"{rows}.{said}") for name, said in known.items())
    yield Completion("time", Proposal.ATTRIBUTE, f"{rows}.time: timestamp")


def _variables(around: Sequence[Placed]) -> Iterator[Completion]:
    for word in around:
        if word.role is Role.VARIABLE:
            yield Completion(word.word.text, Proposal.EVENT, "variable of the pattern")


def _clauses_behind(clause: str) -> Iterator[Completion]:
    names = list(CLAUSES)
    later = names[names.index(clause) + 1 :] if clause in names else names
    return (_word(sql_words()[name]) for name in later)


def _words(*names: str) -> Iterator[Completion]:
    return (_word(sql_words()[name]) for name in names)


def _word(word: Word) -> Completion:
    called = word.kind is not WordKind.KEYWORD
    kind = Proposal.FUNCTION if called else Proposal.KEYWORD
    return Completion(word.text, kind, word.form, word.meaning, f"{word.text}($1)$0" if called else None)
