"""Signals: values that change as events come, computed for all moments of a batch at once."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from cepheus.core.batch import EventBatch
from cepheus.core.errors import RuleError
from cepheus.core.values import Value, ValueType
from cepheus.engine.rows.vectors import storage
from cepheus.formats.arrays import validity
from cepheus.language.python.places import here, site
from cepheus.language.python.values import constant_of, moment_of
from cepheus.rules.aggregates import AggregateFunction
from cepheus.rules.expressions import Arithmetic, Call, Comparison, Expression, Negative, Parameter, joined_by
from cepheus.rules.functions import AND, NOT, OR
from cepheus.rules.rows.expressions import RowExpression
from cepheus.rules.rows.types import checked_type
from cepheus.runtime.reactive.frame import Columns, Frame, IntArray, changed_moments, columns_of, rows_of
from cepheus.runtime.reactive.row_form import row_form
from cepheus.runtime.reactive.sliding import windowed

if TYPE_CHECKING:
    from cepheus.runtime.reactive.observing import Changes, Observer
    from cepheus.runtime.reactive.reactor import Reactor

T = TypeVar("T")

ReadSignals = dict[int, "weakref.ref[Signal[Any]]"]
"""Signals by their numbers, which nobody is to keep alive."""

_NO_MOMENTS: IntArray = np.empty(0, np.int64)


class Change(NamedTuple, Generic[T]):
    """A signal has another value: since when, and which."""

    time: datetime
    value: T | None


class Signal(Generic[T]):
    """A value that changes as events come; undefined, None, until there is something to tell.

    Signals are computed with as with values: ``temp > 45``, ``(a + b) / 2``, ``hot & ~raining``. A signal lives as long
    as somebody holds it, or something that is computed from it, or observes it.
    """

    __hash__ = object.__hash__

    def __init__(self, reactor: Reactor, kind: ValueType | None) -> None:
        self.reactor = reactor
        self.kind = kind
        self.current: Value | None = None
        self.column: pa.Array = pa.nulls(0)
        self.changed: IntArray = _NO_MOMENTS
        self.number = reactor.take_in(self)

    # ---- For users -----------------------------------------------------------------------------------------------

    @property
    def value(self) -> T | None:
        """The present value; inside a function of ``compute`` that of the moment it is asked for."""
        found: T | None = self.shown(self.reactor.read(self))
        return found

    def shown(self, value: Value | None) -> Any:
        """A value as users see it: a time is a datetime."""
        return moment_of(value) if self.kind is ValueType.TIMESTAMP and isinstance(value, int) else value

    def observe(self, function: Callable[[Change[T]], object]) -> Observer:
        """Call a function with every change from now on, until it is cancelled."""
        return self.reactor.observe(self, function)

    def changes(self) -> Changes[T]:
        """The changes from now on, for ``async for``."""
        return self.reactor.changes_of(self)

    # ---- For the reactor -----------------------------------------------------------------------------------------

    def update(self, frame: Frame) -> None:
        """Compute the value at every moment, and find out where it changes."""
        self.column = self.values(frame)
        self.changed = changed_moments(self.column, self.current)

    def values(self, frame: Frame) -> pa.Array:
        """The value at every moment."""
        raise NotImplementedError

    def settle(self) -> None:
        """Make the value of the last moment the present one."""
        if len(self.column):
            self.current = self.column[-1].as_py()
            self.column, self.changed = self.column[:0], _NO_MOMENTS

    def constant(self, length: int) -> pa.Array:
        """The present value at so many moments."""
        return pa.repeat(pa.scalar(self.current, storage(self.kind)), length)

    @property
    def node(self) -> Expression:
        """The signal as a part of expressions."""
        return Parameter(f"s{self.number}")

    @property
    def leaves(self) -> dict[str, Signal[Any]]:
        """The signals that its expression reads, by their names there."""
        return {f"s{self.number}": self}

    # ---- Operators -----------------------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        hint = "write & for and, | for or, ~ for not; its present value is signal.value"
        raise RuleError.of(
            "python-truth", "a signal is neither true nor false once and for all", span=here(), hint=hint
        )

    def __eq__(self, other: object) -> Any:
        return _compared(self, "=", other)

    def __ne__(self, other: object) -> Any:
        return _compared(self, "!=", other)

    def __lt__(self, other: object) -> Signal[bool]:
        return _compared(self, "<", other)

    def __le__(self, other: object) -> Signal[bool]:
        return _compared(self, "<=", other)

    def __gt__(self, other: object) -> Signal[bool]:
        return _compared(self, ">", other)

    def __ge__(self, other: object) -> Signal[bool]:
        return _compared(self, ">=", other)

    def __and__(self, other: object) -> Signal[bool]:
        return derived(
            self.reactor, lambda one, two: Call(AND, (*joined_by(AND, one), *joined_by(AND, two))), self, other
        )

    def __or__(self, other: object) -> Signal[bool]:
        return derived(self.reactor, lambda one, two: Call(OR, (*joined_by(OR, one), *joined_by(OR, two))), self, other)

    def __invert__(self) -> Signal[bool]:
        return derived(self.reactor, lambda one: Call(NOT, (one,)), self)

    def __neg__(self) -> Signal[T]:
        return derived(self.reactor, Negative, self)

    def __add__(self, other: object) -> Signal[T]:
        return _computed("+", self, other)

    def __radd__(self, other: object) -> Signal[T]:
        return _computed("+", other, self)

    def __sub__(self, other: object) -> Signal[T]:
        return _computed("-", self, other)

    def __rsub__(self, other: object) -> Signal[T]:
        return _computed("-", other, self)

    def __mul__(self, other: object) -> Signal[T]:
        return _computed("*", self, other)

    def __rmul__(self, other: object) -> Signal[T]:
        return _computed("*", other, self)

    def __truediv__(self, other: object) -> Signal[float]:
        return _computed("/", self, other)

    def __rtruediv__(self, other: object) -> Signal[float]:
        return _computed("/", other, self)


def derived(reactor: Reactor, make: Callable[..., Expression], *operands: object) -> Derived[Any]:
    """A signal that is computed from others and from constants."""
    leaves: dict[str, Signal[Any]] = {}
    nodes = []
    for operand in operands:
        if isinstance(operand, Signal):
            if operand.reactor is not reactor:
                raise RuleError.of("signal", "these signals belong to different reactors", span=here())
            leaves |= operand.leaves
            nodes.append(operand.node)
            continue
        constant = constant_of(operand)
        if constant is None:
            raise RuleError.of("signal", f"{operand!r} is no value that signals are computed with", span=here())
        nodes.append(constant)
    return Derived(reactor, make(*nodes), leaves)


def _compared(left: object, sign: str, right: object) -> Signal[bool]:
    reactor = _reactor(left, right)
    return derived(reactor, lambda one, two: Comparison((one, two), (sign,), site().span), left, right)


def _computed(sign: str, left: object, right: object) -> Derived[Any]:
    return derived(_reactor(left, right), lambda one, two: Arithmetic(sign, one, two, site().span), left, right)


def _reactor(*operands: object) -> Reactor:
    return next(operand.reactor for operand in operands if isinstance(operand, Signal))


class Derived(Signal[T]):
    """A signal that is an expression of others."""

    def __init__(self, reactor: Reactor, expression: Expression, leaves: dict[str, Signal[Any]]) -> None:
        self._node, self._leaves = expression, leaves
        self._expression = row_form(expression)
        self._types = {name: leaf.kind for name, leaf in leaves.items() if leaf.kind is not None}
        super().__init__(reactor, checked_type(self._expression, self._types))
        present = {name: pa.array([leaf.current], storage(leaf.kind)) for name, leaf in leaves.items()}
        self.current = Columns(1, self._types, present).compute(self._expression)[0].as_py()

    @property
    def node(self) -> Expression:
        """Its expression, so that what is computed from it does not keep it."""
        return self._node

    @property
    def leaves(self) -> dict[str, Signal[Any]]:
        """The signals that its expression reads."""
        return self._leaves

    def values(self, frame: Frame) -> pa.Array:
        """The value at every moment; where nothing that it reads changes, neither does it."""
        if all(not len(leaf.changed) for leaf in self._leaves.values()):
            return self.constant(len(frame))
        arrays = {name: leaf.column for name, leaf in self._leaves.items()}
        found = Columns(len(frame), self._types, arrays).compute(self._expression)
        return found if found.type == storage(self.kind) else found.cast(storage(self.kind))


class FromEvents(Signal[T]):
    """A signal of the events of a type: the values of those that satisfy a condition, in the order of the stream.

    ``gather`` is called with every batch before moments are known, ``values`` when they are.
    """

    def __init__(
        self,
        reactor: Reactor,
        event: str,
        types: dict[str, ValueType],
        value: RowExpression | None,
        condition: RowExpression | None,
        kind: ValueType | None,
    ) -> None:
        self.event, self._types, self._value, self._condition = event, types, value, condition
        self._rows: IntArray = _NO_MOMENTS
        self._new: pa.Array | None = None
        super().__init__(reactor, kind)

    def gather(self, batch: EventBatch) -> None:
        """Find the events that count, and their values."""
        rows = rows_of(batch, self.event)
        columns = columns_of(batch, rows, self._types)
        new = None if self._value is None else columns.compute(self._value)
        if self._condition is not None or (new is not None and new.null_count):
            kept = np.ones(len(rows), np.bool_) if self._condition is None else columns.holds(self._condition)
            kept = kept if new is None else kept & validity(new)
            rows = rows[kept]
            new = None if new is None else new.filter(pa.array(kept))
        self._rows, self._new = rows, new

    def arrived(self, frame: Frame) -> IntArray:
        """How many of the new events have come at each moment."""
        marks = np.zeros(len(frame), np.int64)
        marks[frame.moment_of[self._rows]] = 1
        return np.cumsum(marks)


class Latest(FromEvents[T]):
    """The value of the latest event."""

    def values(self, frame: Frame) -> pa.Array:
        """The value at every moment."""
        if not len(self._rows) or self._new is None:
            return self.constant(len(frame))
        known = pa.concat_arrays([pa.array([self.current], self._new.type), self._new])
        return known.take(pa.array(self.arrived(frame)))


class Windowed(FromEvents[T]):
    """An aggregate of the events of a time that ends now: an event leaves when it is as old as the window is long."""

    def __init__(
        self,
        reactor: Reactor,
        event: str,
        types: dict[str, ValueType],
        value: RowExpression | None,
        condition: RowExpression | None,
        kind: ValueType | None,
        record: AggregateFunction,
        length: int,
    ) -> None:
        self._record, self._length = record, length
        self._times: IntArray = _NO_MOMENTS
        self._members: pa.Array | None = None
        super().__init__(reactor, event, types, value, condition, kind)
        nothing = record.of_nothing
        self.current = float(nothing) if kind is ValueType.FLOAT and isinstance(nothing, int) else nothing

    def gather(self, batch: EventBatch) -> None:
        """Add the events that count to those that are inside."""
        super().gather(batch)
        self._inside = len(self._times)
        self._times = np.concatenate([self._times, batch.times[self._rows]])
        if self._new is not None:
            self._members = self._new if self._members is None else pa.concat_arrays([self._members, self._new])

    def leavings(self, after: int, until: int) -> IntArray:
        """The times, after one and up to another, at which members leave."""
        times = self._times + self._length
        return times[(times > after) & (times <= until)]

    def values(self, frame: Frame) -> pa.Array:
        """The aggregate at every moment."""
        assert self.kind is not None
        adds = self._inside + self.arrived(frame)
        drops = np.minimum(np.searchsorted(self._times, frame.times - self._length, side="right"), adds)
        found = windowed(self._record, self._members, self._times, drops, adds, self.kind)
        return found if found.type == storage(self.kind) else found.cast(storage(self.kind))

    def forget(self, now: int) -> None:
        """Leave out the members that have left."""
        left = int(np.searchsorted(self._times, now - self._length, side="right"))
        if left:
            self._times = self._times[left:]
            self._members = None if self._members is None else self._members[left:]


class Counted(FromEvents[int]):
    """How many events have come since the signal was made."""

    def __init__(
        self, reactor: Reactor, event: str, types: dict[str, ValueType], condition: RowExpression | None
    ) -> None:
        super().__init__(reactor, event, types, None, condition, ValueType.INT)
        self.current = 0

    def values(self, frame: Frame) -> pa.Array:
        """The number at every moment."""
        assert isinstance(self.current, int)
        return pa.array(self.arrived(frame) + self.current)


class Computed(Signal[T]):
    """What a function of the program gives, asked again when a signal that it read has changed.

    It may read other signals each time. All of them were made before it, so there are no circles.
    """

    def __init__(self, reactor: Reactor, function: Callable[[], T | None], kind: ValueType) -> None:
        self._function = function
        self._read: ReadSignals = {}
        super().__init__(reactor, kind)
        self.current = self._ask(None)

    def values(self, frame: Frame) -> pa.Array:
        """The value at every moment: the function is asked at those at which something that it read has changed."""
        found: list[tuple[int, Value | None]] = []
        moment = -1
        while (following := self._next(moment)) is not None:
            moment = following
            found.append((moment, self._ask(moment)))
        places = np.array([at for at, _ in found], np.int64)
        known = pa.array([self.current, *(value for _, value in found)], storage(self.kind))
        return known.take(pa.array(np.searchsorted(places, np.arange(len(frame)), side="right")))

    @property
    def read_signals(self) -> list[Signal[Any]]:
        """The signals that the function read when it was asked last."""
        return [found for each in self._read.values() if (found := each()) is not None]

    def _next(self, moment: int) -> int | None:
        """The next moment at which something that the function read has changed."""
        ahead = []
        for signal in self.read_signals:
            place = int(np.searchsorted(signal.changed, moment, side="right"))
            if place < len(signal.changed):
                ahead.append(int(signal.changed[place]))
        return min(ahead, default=None)

    def _ask(self, moment: int | None) -> Value | None:
        self._read = {}
        with self.reactor.reading(moment, self._read, self.number):
            given: Any = self._function()
        constant = None if given is None else constant_of(given)
        if given is not None and constant is None:
            raise RuleError.of("signal", f"the function of a signal gave {given!r}, which is no value of a signal")
        value = None if constant is None else constant.value
        return float(value) if self.kind is ValueType.FLOAT and type(value) is int else value
