"""Whom an uncertain event concerns, compiled: rules it may terminate, columns it may enter, how probably."""

from __future__ import annotations

from cepheus.engine.columns.kernel import accept
from cepheus.engine.uncertain.state import Of
from cepheus.engine.uncertain.tables import ColumnWorthField, WorthField
from cepheus.engine.uncertain.vicinity import near_listeners
from cepheus.engine.uncertain.worth import bands_worth
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.index import sort_words
from cepheus.kernel.lanes import append_entry, column_at, lane_at
from cepheus.kernel.memory import (
    At,
    fixed,
    fixed_float,
    number,
    peek,
    peek_float,
    poke_float,
    put,
    put_number,
    table,
    word,
)
from cepheus.kernel.program import ColumnField
from cepheus.kernel.state import LaneState

_RULE_WORTH_BYTES = WorthField.row_bytes()
_COLUMN_WORTH_BYTES = ColumnWorthField.row_bytes()


@compiled
def concerned(context: int, memory: int, kind: int) -> tuple[int, int]:
    """Find the rules that the current event may terminate, in order of deployment, and the columns it may enter.

    Gives how many there are of each; their numbers and probabilities are in the working space.
    """
    base = word(context, At.BOUND, 0)
    occurrence = 1.0 - number(context, At.STORE, base + table(memory, Of.DOUBTS, kind))
    rules, columns = accept(context, kind)
    rules = _worthy_rules(context, memory, rules, occurrence)
    columns = _worthy_columns(context, memory, columns, occurrence)
    found, columns = near_listeners(context, memory, kind, occurrence, rules, columns)
    if found > rules:
        sort_words(fixed(context, At.ACCEPTED_RULES), found)
    return found, columns


@inlined
def _worthy_rules(context: int, memory: int, rules: int, occurrence: float) -> int:
    """Keep the accepted rules whose remaining bands the event may reach with a probability that is still enough."""
    kept = 0
    for k in range(rules):
        rule = word(context, At.ACCEPTED_RULES, k)
        worth = fixed(memory, Of.RULES) + _RULE_WORTH_BYTES * rule
        begin, end = fixed(worth, WorthField.BANDS), fixed(worth, WorthField.BANDS_END)
        probability = occurrence
        if begin < end:
            probability *= bands_worth(context, memory, begin, end)
        if probability > 0.0 and probability >= fixed_float(worth, WorthField.FLOOR):
            put(context, At.ACCEPTED_RULES, kept, rule)
            poke_float(fixed(memory, Of.OPENINGS), rule, probability)
            kept += 1
    return kept


@inlined
def _worthy_columns(context: int, memory: int, columns: int, occurrence: float) -> int:
    """Keep the accepted columns that the event belongs to with a probability that may be enough."""
    kept = 0
    for k in range(columns):
        column = word(context, At.ACCEPTED_COLUMNS, k)
        worth = fixed(memory, Of.COLUMNS) + _COLUMN_WORTH_BYTES * column
        begin, end = fixed(worth, ColumnWorthField.BANDS), fixed(worth, ColumnWorthField.BANDS_END)
        probability = occurrence
        if begin < end:
            probability *= bands_worth(context, memory, begin, end)
        if probability > 0.0 and probability >= fixed_float(worth, ColumnWorthField.FLOOR):
            put(context, At.ACCEPTED_COLUMNS, kept, column)
            poke_float(fixed(memory, Of.ENTRANCES), column, probability)
            kept += 1
    return kept


@inlined
def append_worth(context: int, memory: int, k: int, base: int, now: int, row_number: int) -> None:
    """Append an entry that has, where the column sums nothing, the event's own probability as its value."""
    lane = word(context, At.ACCEPTED_LANES, k)
    append_entry(context, lane, base, now, row_number)
    row = lane_at(context, lane)
    column = peek(row, LaneState.COLUMN)
    if fixed(column_at(context, column), ColumnField.SUM_KIND) == 0:
        place = peek(row, LaneState.OFFSET) + ((peek(row, LaneState.NEXT) - 1) & peek(row, LaneState.MASK))
        put_number(context, At.VALUES, place, peek_float(fixed(memory, Of.ENTRANCES), column))
