"""Which texts are still needed: those of stored events and their ids, of the keys of lanes and of totals.

A stream of events with ids of their own brings new texts for ever. When the texts have doubled since the last time,
the codes that nothing refers to are freed; a code in use keeps its number, so nothing that holds one has to change.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cepheus.core.values import ValueType
from cepheus.engine.lowered.totals import marked_texts
from cepheus.kernel.context import State
from cepheus.kernel.program import MAX_KEYS, SLOT_ID, Words
from cepheus.kernel.state import STRING_ID_FLOOR, LaneState, TypeState
from cepheus.kernel.strings import StringTable
from cepheus.plan.pattern.layouts import TypeLayout
from cepheus.plan.pattern.lower import Lowering

_LEAST = 1 << 16
"""Fewer texts than this are not worth a look."""


class TextCensus:
    """Tells when it is time to free texts."""

    def __init__(self) -> None:
        self._most = _LEAST

    def is_due(self, strings: StringTable) -> bool:
        """Whether there are twice as many texts as were needed last time."""
        return strings.used > self._most

    def taken(self, strings: StringTable) -> None:
        """Note how many texts were needed."""
        self._most = max(_LEAST, 2 * strings.used)


def mark_texts(live: NDArray[np.bool_], lowering: Lowering, state: State, lanes: int) -> None:
    """Mark the codes that the state of an engine refers to; ``lanes`` is the number of lanes in use."""
    live[0] = True  # what a row has for a text that no rule read when it was stored
    for layout in lowering.types.values():
        if layout.index < len(state.type_state):
            _mark_rows(live, layout, state)
    texts = _text_keys(lowering)
    used = state.lanes[:lanes]
    for part in range(MAX_KEYS):
        rows = texts[used[:, LaneState.COLUMN], part]
        _mark(live, used[rows, LaneState.KEY + part])
    for codes in marked_texts(state, lanes, lowering):
        _mark(live, codes)


def _mark_rows(live: NDArray[np.bool_], layout: TypeLayout, state: State) -> None:
    first, end = state.type_state[layout.index, TypeState.FIRST], state.type_state[layout.index, TypeState.NEXT]
    offset, mask = state.type_state[layout.index, TypeState.OFFSET], state.type_state[layout.index, TypeState.MASK]
    bases = offset + (np.arange(first, end, dtype=np.int64) & mask) * layout.width
    ids = state.store[bases + SLOT_ID]
    _mark(live, ~ids[(ids < 0) & (ids >= STRING_ID_FLOOR)])
    for name, slot in layout.slots.items():
        if layout.types[name] is ValueType.STRING:
            _mark(live, state.store[bases + slot])


def _text_keys(lowering: Lowering) -> NDArray[np.bool_]:
    """By column and part of the key, what is a text."""
    found = np.zeros((lowering.column_count + 1, MAX_KEYS), np.bool_)
    layouts = list(lowering.types.values())
    for column in lowering.columns.values():
        layout = layouts[column.key.type]
        texts = {slot for name, slot in layout.slots.items() if layout.types[name] is ValueType.STRING}
        for part, slot in enumerate(column.key.key_slots):
            found[column.index, part] = slot in texts
    return found


def _mark(live: NDArray[np.bool_], codes: Words) -> None:
    live[codes[(codes >= 0) & (codes < len(live))]] = True
