"""The content index, compiled: from an attribute's value to the listeners it can concern.

Constants of equalities are looked up in a sorted list. Ranges are kept in a segment tree: the sorted endpoints cut the
line into cells (each endpoint, and each gap between two), a listener hangs at the few nodes that cover its cells, and
a value meets the listeners on the path from its cell to the root. Either way an event pays for the listeners it
concerns, not for those there are.
"""

from __future__ import annotations

from cepheus.engine.columns.compiled import compiled
from cepheus.engine.columns.lanes import type_at
from cepheus.engine.columns.machine import all_hold
from cepheus.engine.columns.memory import At, number, peek, poke, put, word
from cepheus.plan.program import IndexField, ListenerField, TypeField

_INDEX_BYTES = 8 * len(IndexField)
_LISTENER_BYTES = 8 * len(ListenerField)


@compiled
def accept_listener(context: int, at: int) -> None:
    """Note the rule or column of a listener if its constraints hold for the current event."""
    listener = peek(context, At.LISTENERS) + _LISTENER_BYTES * at
    if all_hold(context, peek(listener, ListenerField.CONSTRAINTS), peek(listener, ListenerField.CONSTRAINTS_END)):
        if peek(listener, ListenerField.IS_RULE):
            count = peek(context, At.RULE_COUNT)
            put(context, At.ACCEPTED_RULES, count, peek(listener, ListenerField.TARGET))
            poke(context, At.RULE_COUNT, count + 1)
        else:
            count = peek(context, At.COLUMN_COUNT)
            put(context, At.ACCEPTED_COLUMNS, count, peek(listener, ListenerField.TARGET))
            poke(context, At.COLUMN_COUNT, count + 1)


@compiled
def _place(context: int, index: int) -> tuple[int, bool]:
    """Give how many endpoints lie below the current event's value, and whether the next one equals it."""
    begin, end = peek(index, IndexField.POINTS), peek(index, IndexField.POINTS_END)
    low, high = begin, end
    if peek(index, IndexField.IS_FLOAT):
        floating = number(context, At.STORE, peek(index, IndexField.SLOT))
        while low < high:
            middle = (low + high) >> 1
            if number(context, At.POINTS, middle) < floating:
                low = middle + 1
            else:
                high = middle
        return low - begin, low < end and number(context, At.POINTS, low) == floating
    integer = word(context, At.STORE, peek(index, IndexField.SLOT))
    while low < high:
        middle = (low + high) >> 1
        if word(context, At.POINTS, middle) < integer:
            low = middle + 1
        else:
            high = middle
    return low - begin, low < end and word(context, At.POINTS, low) == integer


@compiled
def _take(context: int, node: int) -> None:
    """Look at the listeners of a node."""
    for at in range(word(context, At.NODES, 2 * node), word(context, At.NODES, 2 * node + 1)):
        accept_listener(context, word(context, At.MEMBERS, at))


@compiled
def accept_indexed(context: int, kind: int) -> None:
    """Note the rules and columns found through the indexes of the current event's type; rules stay in order."""
    row = type_at(context, kind)
    for at in range(peek(row, TypeField.INDEXES), peek(row, TypeField.INDEXES_END)):
        index = peek(context, At.INDEXES) + _INDEX_BYTES * at
        place, exact = _place(context, index)
        nodes = peek(index, IndexField.NODES)
        if peek(index, IndexField.BY_RANGE) == 0:
            if exact:
                _take(context, nodes + place)
            continue
        cells = 2 * (peek(index, IndexField.POINTS_END) - peek(index, IndexField.POINTS)) + 1
        leaves = 1
        while leaves < cells:
            leaves *= 2
        node = leaves + 2 * place + (1 if exact else 0)
        while node > 0:
            _take(context, nodes + node)
            node >>= 1
    _sort(peek(context, At.ACCEPTED_RULES), peek(context, At.RULE_COUNT))


@compiled
def _sort(numbers: int, count: int) -> None:
    """Sort the words at an address, which are few or nearly in order: by shell sort."""
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            value = peek(numbers, i)
            j = i
            while j >= gap and peek(numbers, j - gap) > value:
                poke(numbers, j, peek(numbers, j - gap))
                j -= gap
            poke(numbers, j, value)
        gap //= 3
