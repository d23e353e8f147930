"""Columns, and what all rules of an engine have in common: the layouts of event types and the columns themselves.

A column is what CDP calls so: the events of one type that satisfy the constraints a position puts on them alone, here
kept apart by the attributes that must equal something already bound (the key). Positions of any rules that ask for
the same column share it.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from cepheus.core.errors import EventError
from cepheus.core.lists import list_refused
from cepheus.core.values import ValueType
from cepheus.kernel.program import (
    TotalKind,
    ValueKind,
)
from cepheus.kernel.strings import StringTable
from cepheus.plan.pattern.bands import (
    LoweredBand,
)
from cepheus.plan.pattern.code import LoweredConstraint
from cepheus.plan.pattern.layouts import TypeLayout
from cepheus.rules.expressions import (
    Constraint,
)


@dataclass(frozen=True, slots=True)
class ColumnKey:
    """What makes two positions share a column."""

    type: int
    constraints: frozenset[Constraint]
    key_slots: tuple[int, ...]
    float_keys: int = 0
    sum_kind: ValueKind = ValueKind.NONE
    sum_slot: int = 0
    sum_window: int = -1
    since: int = 0
    total: TotalKind = TotalKind.NONE
    in_order: bool = False
    blurred: frozenset[Constraint] = frozenset()
    floor: float = 0.0


@dataclass(slots=True)
class Column:
    """A column and the rules that use it."""

    index: int
    key: ColumnKey
    filters: tuple[LoweredConstraint, ...]
    born: int
    bands: tuple[LoweredBand, ...] = ()
    reaches: dict[str, int] = field(default_factory=dict)

    @property
    def reach(self) -> int:
        """How long, in microseconds, an entry may still be looked at."""
        return max(self.reaches.values(), default=0)


class SharedColumns:
    """The layouts of event types and the columns of all rules.

    ``uncertain`` are, by event type, the attributes that may have errors; None where nothing is uncertain. ``doubted``
    are the event types of which some may not have occurred. Where the rules are ``ordered``, which must be said before
    there is any type, rows have the places of events in the stream.
    """

    def __init__(
        self,
        strings: StringTable,
        uncertain: Mapping[str, Set[str]] | None = None,
        doubted: Set[str] = frozenset(),
    ) -> None:
        self.strings = strings
        self.doubted = doubted
        self.uncertain = {} if uncertain is None else uncertain
        self.doubtful = uncertain is not None
        self.types: dict[str, TypeLayout] = {}
        self.columns: dict[ColumnKey, Column] = {}
        self.compared: dict[tuple[str, str], set[tuple[str, str]]] = {}
        self.widened: set[tuple[str, str]] = set()
        self.parted = False
        self.ordered = False
        self._free_columns: list[int] = []
        self._column_count = 0
        self._widths: list[int] = []

    @property
    def column_count(self) -> int:
        """How many column numbers are in use or free."""
        return self._column_count

    def fix_type(self, layout: TypeLayout, attribute: str, value_type: ValueType) -> None:
        """Take the type of an attribute from the data; it must go with those of all attributes compared with it.

        Only numbers may differ: an integer meets a double as a double, and another integer as it is. So the rules are
        ``parted`` from what data tells once attributes that they compare as they come have both. An attribute that
        has both itself has doubles; where events were stored with integers by then, it is noted as ``widened``.
        """
        if value_type is ValueType.LIST:
            raise list_refused(layout.name, attribute)
        alike = self._alike((layout.name, attribute))
        known = [self.types[type_name].types.get(name) for type_name, name in alike]
        for (type_name, name), before in zip(alike, known, strict=True):
            open_ = before is ValueType.FLOAT or name in self.types[type_name].told_by_data
            if before not in (None, value_type) and not (open_ and before.is_numeric and value_type.is_numeric):
                raise _mismatch((layout.name, attribute), value_type, (type_name, name), before)
        own = layout.types[attribute]
        if own is value_type or own is ValueType.FLOAT:
            return
        for type_name, name in [(layout.name, attribute)] if value_type.is_numeric else alike:
            self.types[type_name].types[name] = value_type
            self.types[type_name].told_by_data.add(name)
        if own is not None:
            self.widened.add((layout.name, attribute))
        self.parted = self.parted or any(kind not in (None, value_type) for kind in known)

    @property
    def is_outdated(self) -> bool:
        """Whether rules were lowered, or events stored, for other types than data has told by now."""
        return self.parted or bool(self.widened)

    def _alike(self, start: tuple[str, str]) -> list[tuple[str, str]]:
        """An attribute and all that are compared with it, directly or through others."""
        found, waiting = {start: None}, [start]
        while waiting:
            fresh = [other for other in self.compared.get(waiting.pop(), ()) if other not in found]
            found |= dict.fromkeys(fresh)
            waiting += fresh
        return [(type_name, name) for type_name, name in found if name in self.types[type_name].slots]

    def stored_width(self, kind: int) -> int:
        """The width that rows of a type had when they were last laid out."""
        return self._widths[kind]

    def note_widths(self) -> None:
        """Remember that rows are laid out as the types say now."""
        self._widths = [layout.width for layout in self.types.values()]

    def compare(self, one: tuple[str, str], other: tuple[str, str]) -> None:
        """Note that two attributes, given by event type and name, are compared as they come."""
        self.compared.setdefault(one, set()).add(other)
        self.compared.setdefault(other, set()).add(one)

    def layout(self, name: str) -> TypeLayout:
        """The layout of a type, a new one if it has none."""
        if name not in self.types:
            self.types[name] = TypeLayout(name, len(self.types))
            if self.ordered:
                self.types[name].order_slot()
            if self.doubtful:
                self.types[name].doubt_slot()
        return self.types[name]

    def column(
        self, key: ColumnKey, filters: tuple[LoweredConstraint, ...], stored: int, bands: tuple[LoweredBand, ...] = ()
    ) -> Column:
        """The column of a key, a new one if there is none; ``stored`` rows of its type came before it."""
        if key in self.columns:
            return self.columns[key]
        if self._free_columns:
            index = self._free_columns.pop()
        else:
            index = self._column_count
            self._column_count += 1
        self.columns[key] = Column(index, key, filters, stored, bands)
        return self.columns[key]

    def release(self, name: str) -> list[int]:
        """Let a rule go: give the columns that nothing uses any more; their numbers may be used again."""
        for layout in self.types.values():
            for rules in layout.readers.values():
                rules.discard(name)
        dropped = []
        for key, column in list(self.columns.items()):
            column.reaches.pop(name, None)
            if not column.reaches:
                dropped.append(column.index)
                del self.columns[key]
        self._free_columns += dropped
        return dropped


def _mismatch(found: tuple[str, str], in_data: ValueType, other: tuple[str, str], known: ValueType) -> EventError:
    """The error for an attribute whose type in the data does not go with what is known of it or another one."""
    one, two = ".".join(found), ".".join(other)
    if found == other:
        says, hint = f"rules take it for {known.value}", f"event {found[0]}({found[1]}: {in_data.value})"
    else:
        says = f"rules compare it with {two}, which is {known.value}"
        hint = f"event {found[0]}({found[1]}: ..), event {other[0]}({other[1]}: ..)"
    return EventError.of("type-mismatch", f"{one} is {in_data.value} in the data, but {says}", hint=f"declare {hint}")
