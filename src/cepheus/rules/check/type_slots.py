"""Unification of types: slots that start unknown, are made equal to one another, and learn what they hold."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from cepheus.core.source import Span
from cepheus.core.values import ValueType

Key = tuple[str, str]
"""An event type and an attribute of it."""


class Family(Enum):
    """Types that compare with one another; int and double are both numbers."""

    NUMBER = "a number"
    STRING = "a string"
    BOOL = "a bool"
    TIMESTAMP = "a timestamp"
    LIST = "a list"


FAMILY: dict[ValueType, Family] = {
    ValueType.INT: Family.NUMBER,
    ValueType.FLOAT: Family.NUMBER,
    ValueType.STRING: Family.STRING,
    ValueType.BOOL: Family.BOOL,
    ValueType.TIMESTAMP: Family.TIMESTAMP,
    ValueType.LIST: Family.LIST,
}
"""The family of each value type."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Why a type is known: a phrase such as ``declared`` or ``compared with 45``, and where."""

    phrase: str
    span: Span | None


class Slot:
    """The type of an expression or of all attributes that are known to be alike, as far as it is known.

    A fixed slot is known from the start and only compared with others. An open one is merged with the open slots it
    must equal. ``with_int`` and ``with_double`` remember that it met an attribute declared so, ``must_be_int`` that it
    is copied to where only an int can be.
    """

    __slots__ = (
        "exact",
        "family",
        "fixed",
        "keys",
        "must_be_int",
        "origin",
        "parent",
        "waiting",
        "with_double",
        "with_int",
    )

    def __init__(self, family: Family | None = None, exact: ValueType | None = None, origin: Origin | None = None):
        self.family = family
        self.exact = exact
        self.origin = origin
        self.fixed = family is not None
        self.parent: Slot | None = None
        self.keys: list[Key] = []
        self.waiting: list[Callable[[], None]] = []
        self.with_int = self.with_double = self.must_be_int = False

    def root(self) -> Slot:
        """The slot that stands for all that this one was merged with."""
        slot = self
        while slot.parent is not None:
            if slot.parent.parent is not None:
                slot.parent = slot.parent.parent  # halve the path for the next time
            slot = slot.parent
        return slot

    @property
    def value_type(self) -> ValueType | None:
        """The type to use: a number is a double unless something wants an int; None if only the data can tell."""
        slot = self.root()
        if slot.exact is not None or slot.family is None:
            return slot.exact
        match slot.family:
            case Family.NUMBER:
                whole = slot.must_be_int or (slot.with_int and not slot.with_double)
                return ValueType.INT if whole else ValueType.FLOAT
            case Family.STRING:
                return ValueType.STRING
            case Family.BOOL:
                return ValueType.BOOL
            case Family.TIMESTAMP:
                return ValueType.TIMESTAMP
            case Family.LIST:
                return ValueType.LIST


class Unifier:
    """Makes slots equal and tells those who wait when a slot becomes known."""

    def __init__(self) -> None:
        self._ready: deque[Callable[[], None]] = deque()

    def same(self, one: Slot, other: Slot, origin: Callable[[Slot], Origin]) -> bool:
        """Make two slots of one family; False if they are known to differ.

        ``origin`` says, for the slot that teaches, why the other one is now known.
        """
        one, other = one.root(), other.root()
        if one is other:
            return True
        if one.family is not None and other.family is not None and one.family is not other.family:
            return False
        if one.fixed and other.fixed:
            return True
        if one.fixed or other.fixed:
            teacher, learner = (one, other) if one.fixed else (other, one)
            if learner.family is None and teacher.family is not None:
                self.learn(learner, teacher.family, origin(teacher))
            # only attributes tell int from double: 45 in a rule says nothing of the data
            if teacher.keys:
                learner.with_int |= teacher.exact is ValueType.INT
                learner.with_double |= teacher.exact is ValueType.FLOAT
            return True
        self._merge(one, other)
        return True

    def learn(self, slot: Slot, family: Family, origin: Origin) -> bool:
        """Set the family of a slot; False if it is known to be another."""
        slot = slot.root()
        if slot.family is None:
            slot.family, slot.origin = family, origin
            self._ready.extend(slot.waiting)
            slot.waiting = []
        return slot.family is family

    def wait(self, slot: Slot, action: Callable[[], None]) -> None:
        """Call ``action``, when things settle, once the slot is known."""
        slot.root().waiting.append(action)

    def settle(self) -> None:
        """Do all that waited for slots that are known by now."""
        while self._ready:
            self._ready.popleft()()

    def _merge(self, one: Slot, other: Slot) -> None:
        if len(one.keys) + len(one.waiting) < len(other.keys) + len(other.waiting):
            one, other = other, one
        if other.family is not None and one.family is None:
            one.family, one.origin = other.family, other.origin
            self._ready.extend(one.waiting)
            one.waiting = []
        elif one.family is not None and other.family is None:
            self._ready.extend(other.waiting)
            other.waiting = []
        other.parent = one
        one.keys += other.keys
        one.waiting += other.waiting
        one.with_int |= other.with_int
        one.with_double |= other.with_double
        one.must_be_int |= other.must_be_int
