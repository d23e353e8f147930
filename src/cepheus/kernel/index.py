"""The content index, compiled: from an attribute's value to the listeners it can concern.

Constants of equalities are looked up in a sorted list. Ranges are kept in a segment tree: the sorted endpoints cut the
line into cells (each endpoint, and each gap between two), a listener hangs at the few nodes that cover its cells, and
a value meets the listeners on the path from its cell to the root. Either way an event pays for the listeners it
concerns, not for those there are.
"""

from __future__ import annotations

from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import type_at
from cepheus.kernel.machine import all_hold
from cepheus.kernel.memory import At, fixed, number, peek, poke, prefetch, put, table, word
from cepheus.kernel.program import IndexField, ListenerField, TypeField

_INDEX_BYTES = IndexField.row_bytes()
_LISTENER_BYTES = ListenerField.row_bytes()


@compiled
def _place(context: int, index: int) -> tuple[int, bool]:
    """How many endpoints lie below the current event's value, and whether the next one equals it."""
    begin, end = fixed(index, IndexField.POINTS), fixed(index, IndexField.POINTS_END)
    low, high = begin, end
    if fixed(index, IndexField.IS_FLOAT):
        floating = number(context, At.STORE, word(context, At.BOUND, 0) + fixed(index, IndexField.SLOT))
        while low < high:
            middle = (low + high) >> 1
            if number(context, At.POINTS, middle) < floating:
                low = middle + 1
            else:
                high = middle
        return low - begin, low < end and number(context, At.POINTS, low) == floating
    integer = word(context, At.STORE, word(context, At.BOUND, 0) + fixed(index, IndexField.SLOT))
    while low < high:
        middle = (low + high) >> 1
        if table(context, At.POINTS, middle) < integer:
            low = middle + 1
        else:
            high = middle
    return low - begin, low < end and table(context, At.POINTS, low) == integer


@inlined
def take(context: int, begin: int, end: int, rules: int, columns: int) -> tuple[int, int]:
    """Note the listeners of a range of members whose constraints hold for the current event.

    Gives how many rules and columns are noted then, of which so many were before.
    """
    for at in range(begin, end):
        member = table(context, At.MEMBERS, at)
        if member < 0:  # nothing is left to check
            is_rule, target = ~member & 1, ~member >> 1
        else:
            listener = fixed(context, At.LISTENERS) + _LISTENER_BYTES * member
            first, last = fixed(listener, ListenerField.CONSTRAINTS), fixed(listener, ListenerField.CONSTRAINTS_END)
            if not peek(context, At.IS_SETTLED) and not all_hold(context, first, last):
                continue
            is_rule, target = fixed(listener, ListenerField.IS_RULE), fixed(listener, ListenerField.TARGET)
        if is_rule:
            put(context, At.ACCEPTED_RULES, rules, target)
            rules += 1
        else:
            put(context, At.ACCEPTED_COLUMNS, columns, target)
            columns += 1
    return rules, columns


@compiled
def _take_node(context: int, node: int, rules: int, columns: int) -> tuple[int, int]:
    """Note the listeners of a node of an index."""
    begin, end = table(context, At.NODES, 2 * node), table(context, At.NODES, 2 * node + 1)
    for at in range(begin, end):
        member = table(context, At.MEMBERS, at)
        if member >= 0:
            prefetch(fixed(context, At.LISTENERS) + _LISTENER_BYTES * member)
    return take(context, begin, end, rules, columns)


@compiled
def accept_indexed(context: int, kind: int, rules: int, columns: int) -> tuple[int, int]:
    """Add the rules and columns found through the indexes of the current event's type; rules stay in order."""
    row = type_at(context, kind)
    for at in range(fixed(row, TypeField.INDEXES), fixed(row, TypeField.INDEXES_END)):
        index = fixed(context, At.INDEXES) + _INDEX_BYTES * at
        place, exact = _place(context, index)
        nodes = fixed(index, IndexField.NODES)
        if fixed(index, IndexField.BY_RANGE) == 0:
            if exact:
                rules, columns = _take_node(context, nodes + place, rules, columns)
            continue
        cells = 2 * (fixed(index, IndexField.POINTS_END) - fixed(index, IndexField.POINTS)) + 1
        leaves = 1
        while leaves < cells:
            leaves *= 2
        node = leaves + 2 * place + (1 if exact else 0)
        while node > 0:
            rules, columns = _take_node(context, nodes + node, rules, columns)
            node >>= 1
    sort_words(fixed(context, At.ACCEPTED_RULES), rules)
    return rules, columns


@compiled
def sort_words(numbers: int, count: int) -> None:
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
