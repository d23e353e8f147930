"""Kernel input for events that come one at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cepheus.core.errors import EventError
from cepheus.core.event import Event
from cepheus.core.lists import list_refused
from cepheus.core.values import ValueType, type_of
from cepheus.engine.lowered.intake import id_word, no_slots
from cepheus.kernel.context import Input
from cepheus.kernel.memory import address, words_in
from cepheus.plan.pattern.layouts import TypeLayout
from cepheus.plan.pattern.lower import Lowering

_CODE, _TIME, _START, _ID, _HEAD = range(5)
"""Places of what every event has; its attributes come after the head."""


class SingleInput:
    """Kernel input for one event at a time, with everything that can be done beforehand done."""

    def __init__(self, lowering: Lowering, listening: Sequence[bool]) -> None:
        self._strings = lowering.strings
        self._lowering = lowering
        self._layouts: dict[str, TypeLayout] = {
            layout.name: layout for layout in lowering.types.values() if listening[layout.index]
        }
        self._reads = {
            layout.name: tuple((name, layout.slots[name]) for name in layout.read())
            for layout in self._layouts.values()
        }
        widest = max((layout.width for layout in lowering.types.values()), default=0)
        words = np.zeros(_HEAD + widest + 1, np.int64)
        self._head, self._words = words_in(words), words_in(words[_HEAD:])
        self._floats = self._words.cast("B").cast("d")
        slots, begin = no_slots(lowering), 0
        for layout in lowering.types.values():
            slots[[begin + place for place in _places(layout)]] = _places(layout)
            begin += layout.width
        self.given = Input(
            codes=words[_CODE : _CODE + 1].view(np.int32),
            kinds=np.arange(max(1, len(lowering.types)), dtype=np.int64),
            times=words[_TIME : _TIME + 1],
            starts=words[_START : _START + 1],
            ids=words[_ID : _ID + 1],
            addresses=address(words) + 8 * np.arange(_HEAD, _HEAD + widest + 1, dtype=np.int64),
            slots=slots,
            id_digests=self._strings.digests(),
        )

    def load(self, event: Event, position: int) -> bool:
        """Put an event into place; False if no rule listens to its type."""
        layout = self._layouts.get(event.type)
        if layout is None:
            return False
        head, time, start, event_id = self._head, event.time, event.start, event.id
        head[_CODE] = layout.index
        head[_TIME] = time
        head[_START] = time if start is None else start
        if event_id is None:
            head[_ID] = position
        else:
            head[_ID] = id_word(event_id, self._strings)
            self.given.id_digests = self._strings.digests()
        attributes = event.attributes
        for name, slot in self._reads[event.type]:
            value = attributes.get(name)
            if value is None:
                if name not in layout.optional:
                    raise EventError.of(
                        "missing-attribute", f"an event of type '{event.type}' lacks the attribute '{name}'"
                    )
                self._words[slot + 1] = 0
                continue
            if isinstance(value, tuple):
                raise list_refused(event.type, name)
            value_type = layout.types[name]
            if value_type is None:
                value_type = type_of(value)
                self._lowering.fix_type(layout, name, value_type)
            if value_type is ValueType.FLOAT:
                self._floats[slot] = float(value) + 0.0 if name in layout.told_by_data else float(value)
            elif isinstance(value, str):
                self._words[slot] = self._strings.code(value)
            elif isinstance(value, float):
                self._lowering.fix_type(layout, name, ValueType.FLOAT)
                self._floats[slot] = value + 0.0
            else:
                self._words[slot] = int(value)
            if name in layout.optional:
                self._words[slot + 1] = 1
        return True


def _places(layout: TypeLayout) -> list[int]:
    """The slots of a type whose words are from an event; each stands at the place of that number."""
    slots = [(name, layout.slots[name]) for name in layout.read()]
    return [place for name, slot in slots for place in range(slot, slot + (2 if name in layout.optional else 1))]
