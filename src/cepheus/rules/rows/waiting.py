"""What a match may wait for without end: nothing but WITHIN says when a row that is still missing comes too late."""

from __future__ import annotations

from cepheus.rules.rows.model import RowQuery
from cepheus.rules.rows.pattern import Concatenation, PartitionEnd, Quantified, RowPattern, walk


def endless_part(query: RowQuery) -> RowPattern | None:
    """The part of a pattern at which a match may wait for ever on a stream; None where WITHIN bounds it.

    That is what needs the end of a partition, whatever WITHIN says, else the first part that takes any number of rows,
    else what comes after the first row. A pattern of one row waits for nothing.

    >>> from cepheus.language.sql import parse_query
    >>> from cepheus.rules.rows.pattern import written
    >>> written(endless_part(parse_query("MATCH_RECOGNIZE (PATTERN (A B{2} C+ D))")))
    'C+'
    """
    parts = list(walk(query.pattern))
    for part in parts:
        if isinstance(part, PartitionEnd):
            return part
    if query.within is not None:
        return None
    for part in parts:
        if isinstance(part, Quantified) and part.most is None:
            return part
    whole = query.pattern
    if isinstance(whole, Concatenation) and len(whole.parts) > 1:
        return whole.parts[1]
    return whole if isinstance(whole, Quantified) or len(parts) > 1 else None
