"""The rows of event types: which slot holds which attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cepheus.core.values import ValueType
from cepheus.kernel.program import (
    HEADER,
    SLOT_ORDER,
)

ERROR_MARKS = ("#kind", "#first", "#second")
"""What the names of the slots of an attribute's error end in."""

DOUBT = "#doubt"
"""The name of the slot of an event's probability of not having occurred."""


ORDER = "#order"
"""The name of the slot of an event's place in the stream, the first one (``SLOT_ORDER``)."""


@dataclass(slots=True)
class TypeLayout:
    """The row of an event type: which slot holds which attribute. Slots are only ever added."""

    name: str
    index: int
    slots: dict[str, int] = field(default_factory=dict)
    types: dict[str, ValueType | None] = field(default_factory=dict)
    optional: set[str] = field(default_factory=set)
    told_by_data: set[str] = field(default_factory=set)
    readers: dict[str, set[str]] = field(default_factory=dict)
    width: int = HEADER
    consumption_bits: int = 0
    consumption_slot: int = -1

    def error_slot(self, attribute: str) -> int:
        """The first of three slots for the error of an attribute: its kind and two parameters."""
        first = self.slot(f"{attribute}{ERROR_MARKS[0]}", ValueType.INT, False)
        for mark in ERROR_MARKS[1:]:
            self.slot(f"{attribute}{mark}", ValueType.FLOAT, False)
        return first

    def order_slot(self) -> int:
        """The slot for the place of the event in the stream, of a type that has no other slots yet."""
        slot = self.slot(ORDER, ValueType.INT, False)
        assert slot == SLOT_ORDER
        return slot

    def doubt_slot(self) -> int:
        """The slot for the probability that the event did not occur."""
        return self.slot(DOUBT, ValueType.FLOAT, False)

    def slot(self, attribute: str, value_type: ValueType | None, optional: bool) -> int:
        """The slot of an attribute, a new one if it has none; an optional one is followed by its flag."""
        if attribute not in self.slots:
            self.slots[attribute] = self.width
            self.types[attribute] = value_type
            self.width += 1
            if optional:
                self.optional.add(attribute)
                self.width += 1
        return self.slots[attribute]

    def drop(self, attribute: str) -> None:
        """Forget an attribute that no rule reads; its slot stays unused."""
        del self.slots[attribute], self.types[attribute]
        self.optional.discard(attribute)
        self.told_by_data.discard(attribute)
        self.readers.pop(attribute, None)

    def expect(self, types: Mapping[str, ValueType | None], optional: Sequence[str], told: Sequence[str]) -> None:
        """Take over what is known of a type's attributes, before any rule asks for them."""
        for name, value_type in types.items():
            self.slot(name, value_type, name in optional)
        self.told_by_data.update(told)

    def read(self) -> list[str]:
        """The attributes that some rule reads."""
        return [attribute for attribute, rules in self.readers.items() if rules]

    def consumption(self) -> tuple[int, int]:
        """The slot and bit by which one more rule marks the events it consumed."""
        if self.consumption_bits % 63 == 0:
            self.consumption_slot = self.width
            self.width += 1
        bit = self.consumption_bits % 63
        self.consumption_bits += 1
        return self.consumption_slot, bit
