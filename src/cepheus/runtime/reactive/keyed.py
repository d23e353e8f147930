"""Families of signals: one for each value of an attribute."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from cepheus.core.errors import RuleError
from cepheus.language.python.places import here
from cepheus.runtime.reactive.signals import Change, Signal

if TYPE_CHECKING:
    from cepheus.runtime.reactive.observing import Observer

T = TypeVar("T")
Key = Hashable


class KeyedChange(NamedTuple, Generic[T]):
    """The signal of a key has another value."""

    key: Any
    change: Change[T]


class Keys:
    """The keys that events have had so far, and who wants to hear of new ones.

    ``attached`` is what the reactor keeps alive though nobody holds it: observers and emissions for keys to come.
    """

    def __init__(self, attached: list[object]) -> None:
        self.attached = attached
        self.seen: dict[Key, None] = {}
        self.listeners: list[Callable[[Key], object]] = []

    def add(self, key: Key) -> None:
        """Take a key; a new one is told of."""
        if key not in self.seen:
            self.seen[key] = None
            for listener in list(self.listeners):
                listener(key)

    def drop(self, listener: Callable[[Key], object]) -> None:
        """Tell somebody no longer of new keys."""
        self.listeners = [each for each in self.listeners if each is not listener]


class Attached(list[T]):
    """What was attached to each member of a family, and is to those of keys to come, until it is cancelled."""

    def __init__(self, keys: Keys, attach: Callable[[Key], T]) -> None:
        super().__init__(attach(key) for key in list(keys.seen))
        self._keys = keys
        self._listener: Callable[[Key], object] = lambda key: self.append(attach(key))
        keys.listeners.append(self._listener)
        keys.attached.append(self)

    def cancel(self) -> None:
        """End it for all keys, those to come included; a second call does nothing."""
        self._keys.drop(self._listener)
        self._keys.attached[:] = [each for each in self._keys.attached if each is not self]
        for each in self:
            ending: Any = each
            ending.cancel()
        self.clear()


class Keyed(Generic[T]):
    """A signal for each key: ``family["A1"]``. What is computed with the family is computed for each key.

    ``value`` is a dict of the values that are defined.
    """

    __hash__ = object.__hash__

    def __init__(self, keys: Keys, make: Callable[[Key], Signal[T]], owner: object = None) -> None:
        self.keys, self._make, self._owner = keys, make, owner
        self._members: dict[Key, Signal[T]] = {}
        for key in keys.seen:
            self._members[key] = make(key)
        grow = _Member(self)
        keys.listeners.append(grow)
        weakref.finalize(self, keys.drop, grow)

    def __getitem__(self, key: Any) -> Signal[T]:
        self.grow(key)
        return self._members[key]

    def grow(self, key: Key) -> None:
        """Make the signal of a new key."""
        if key not in self._members:
            self._members[key] = self._make(key)

    @property
    def value(self) -> Mapping[Any, T]:
        """The present values, by key."""
        return {key: value for key, member in self._members.items() if (value := member.value) is not None}

    def observe(self, function: Callable[[KeyedChange[T]], object]) -> Attached[Observer]:
        """Call a function with every change of any member, those of keys to come included, until it is cancelled."""

        def attach(key: Key) -> Observer:
            return self[key].observe(lambda change: function(KeyedChange(key, change)))

        return Attached(self.keys, attach)

    def each(self, make: Callable[[Signal[T]], Signal[Any]]) -> Keyed[Any]:
        """The family that a function makes of each member."""
        return Keyed(self.keys, lambda key: make(self[key]), self)

    def _with(self, other: object, make: Callable[[Any, Any], Any]) -> Keyed[Any]:
        if isinstance(other, Keyed):
            return Keyed(self.keys, lambda key: make(self[key], other[key]), (self, other))
        return self.each(lambda member: make(member, other))

    def __bool__(self) -> bool:
        raise RuleError.of("python-truth", "a family of signals is neither true nor false", span=here())

    def __eq__(self, other: object) -> Any:
        return self._with(other, lambda one, two: one == two)

    def __ne__(self, other: object) -> Any:
        return self._with(other, lambda one, two: one != two)

    def __lt__(self, other: object) -> Keyed[bool]:
        return self._with(other, lambda one, two: one < two)

    def __le__(self, other: object) -> Keyed[bool]:
        return self._with(other, lambda one, two: one <= two)

    def __gt__(self, other: object) -> Keyed[bool]:
        return self._with(other, lambda one, two: one > two)

    def __ge__(self, other: object) -> Keyed[bool]:
        return self._with(other, lambda one, two: one >= two)

    def __and__(self, other: object) -> Keyed[bool]:
        return self._with(other, lambda one, two: one & two)

    def __or__(self, other: object) -> Keyed[bool]:
        return self._with(other, lambda one, two: one | two)

    def __invert__(self) -> Keyed[bool]:
        return self.each(lambda member: ~member)

    def __add__(self, other: object) -> Keyed[T]:
        return self._with(other, lambda one, two: one + two)

    def __sub__(self, other: object) -> Keyed[T]:
        return self._with(other, lambda one, two: one - two)

    def __mul__(self, other: object) -> Keyed[T]:
        return self._with(other, lambda one, two: one * two)

    def __truediv__(self, other: object) -> Keyed[float]:
        return self._with(other, lambda one, two: one / two)


class _Member:
    """Makes the member of a new key, as long as the family is there."""

    def __init__(self, family: Keyed[Any]) -> None:
        self._family = weakref.ref(family)

    def __call__(self, key: Key) -> None:
        """Take a new key."""
        family = self._family()
        if family is not None:
            family.grow(key)
