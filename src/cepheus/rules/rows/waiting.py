"""What a match may wait for without end: rows that are still missing, which a stream may never have."""

from __future__ import annotations

from dataclasses import dataclass

from cepheus.rules.rows.expressions import Classifier, Column, RowExpression, walk
from cepheus.rules.rows.model import RowQuery
from cepheus.rules.rows.pattern import Concatenation, PartitionEnd, Quantified, RowPattern, Variable
from cepheus.rules.rows.pattern import walk as parts_of

_BOUND_IT = "bound it with WITHIN INTERVAL '10' MINUTE, say, behind the pattern"
_NO_END = "leave out $: the rows of a stream have no end, whatever WITHIN says"
_NO_NEXT = "look back with PREV from a row that comes later: whatever WITHIN says, NEXT waits for that row"


@dataclass(frozen=True, slots=True)
class EndlessWait:
    """The part of a pattern at which a match may wait for ever on a stream, what helps, and whether WITHIN would."""

    part: RowPattern
    hint: str
    within_helps: bool


def endless_wait(query: RowQuery) -> EndlessWait | None:
    """Where a match may wait for ever; None where nothing can.

    What needs the end of a partition comes first, then what looks ahead, whatever WITHIN says; else, where that does
    not bound it, the first part that takes any number of rows, or what comes after the first row.

    >>> from cepheus.language.sql import parse_query
    >>> from cepheus.rules.rows.pattern import written
    >>> written(endless_wait(parse_query("MATCH_RECOGNIZE (PATTERN (A B{2} C+ D))")).part)
    'C+'
    >>> written(endless_wait(parse_query("MATCH_RECOGNIZE (PATTERN (A B) DEFINE B AS NEXT(v) > v)")).part)
    'B'
    """
    parts = list(parts_of(query.pattern))
    for part in parts:
        if isinstance(part, PartitionEnd):
            return EndlessWait(part, _NO_END, False)
    ahead = {each.variable for each in query.definitions if _looks_ahead(each.condition)}
    for part in parts:
        if isinstance(part, Variable) and part.name in ahead:
            return EndlessWait(part, _NO_NEXT, False)
    if any(_looks_ahead(each.expression) for each in query.measures):
        return EndlessWait(query.pattern, _NO_NEXT, False)
    endless = None if query.within is not None else _open_part(query.pattern, parts)
    return None if endless is None else EndlessWait(endless, _BOUND_IT, True)


def _looks_ahead(expression: RowExpression) -> bool:
    read = (part for part in walk(expression) if isinstance(part, Column | Classifier))
    return any(part.at is not None and part.at.physical > 0 for part in read)


def _open_part(pattern: RowPattern, parts: list[RowPattern]) -> RowPattern | None:
    for part in parts:
        if isinstance(part, Quantified) and part.most is None:
            return part
    if isinstance(pattern, Concatenation) and len(pattern.parts) > 1:
        return pattern.parts[1]
    return pattern if isinstance(pattern, Quantified) or len(parts) > 1 else None
