"""Events on their way in: the columns of a batch as words and tags that the kernel can read in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cepheus.core.batch import EventBatch
from cepheus.core.event import Event
from cepheus.core.values import ValueType
from cepheus.engine.goals.memory import Memory
from cepheus.engine.lowered.intake import id_word, id_words, words_of
from cepheus.kernel.memory import address
from cepheus.kernel.program import Words
from cepheus.plan.interval.flatten import TypeEntry
from cepheus.plan.interval.layout import At, Tag
from cepheus.plan.interval.values import Texts

TAG_OF_TYPE = {
    ValueType.BOOL: Tag.BOOL,
    ValueType.INT: Tag.INT,
    ValueType.TIMESTAMP: Tag.INT,
    ValueType.FLOAT: Tag.FLOAT,
    ValueType.STRING: Tag.STRING,
    ValueType.LIST: Tag.LIST,
}
"""Times are whole numbers of microseconds to a rule."""

_TAG_COLUMN = 16  # from here on, a slot's tag is the number of a column of tags


@dataclass(slots=True)
class Layout:
    """A type of event: its entry in the kernel and the attributes that are its arguments; None if the data tells."""

    entry: TypeEntry
    attributes: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class _Argument:
    """The values of an argument in a batch, and their tags: one for all, or one a row."""

    words: Words | None
    tag: int = Tag.NONE
    tags: Words | None = None


class Intake:
    """Turns batches and single events into kernel input."""

    def __init__(self, memory: Memory, texts: Texts) -> None:
        self._memory = memory
        self._texts = texts
        self._keep: list[Words | NDArray[np.int32]] = []

    def load(self, batch: EventBatch, layouts: Mapping[str, Layout], fed: int) -> None:
        """Point the kernel at the events of a batch; the arrays live until the next call."""
        kinds = np.full(max(1, len(batch.types)), -1, np.int64)
        codes = np.ascontiguousarray(batch.codes, np.int32)
        total = sum(layout.entry.arity for layout in layouts.values())
        slots, tags = np.zeros(total + 1, np.int64), np.zeros(total + 1, np.int64)
        columns: list[Words] = []
        arguments: dict[str, _Argument] = {}
        begin = 0
        for name, layout in sorted(layouts.items(), key=lambda item: item[1].entry.number):
            arity = layout.entry.arity
            if name in batch.types:
                code = batch.types.index(name)
                if layout.attributes is None:
                    found, whole = _told_by_data(batch, code, arity, self._texts)
                    if not whole.all():  # these have another number of attributes than any rule asks for
                        codes = np.where(whole, codes, np.int32(len(batch.types))).astype(np.int32)
                else:
                    for attribute in layout.attributes:
                        if attribute not in arguments:
                            arguments[attribute] = _argument(batch, attribute, self._texts)
                    found = [arguments[attribute] for attribute in layout.attributes]
                kinds[code] = layout.entry.number
                for place, argument in enumerate(found, begin):
                    tags[place] = argument.tag
                    if argument.words is not None:
                        slots[place] = len(columns)
                        columns.append(argument.words)
                    if argument.tags is not None:
                        tags[place] = _TAG_COLUMN + len(columns)
                        columns.append(argument.tags)
            begin += arity
        kinds = np.append(kinds, -1)
        times = np.ascontiguousarray(batch.times, np.int64)
        starts = times if batch.starts is None else np.ascontiguousarray(batch.starts, np.int64)
        named = id_words(batch.ids, fed, len(batch), self._texts.table)
        ids = np.arange(named.start, named.stop) if isinstance(named, range) else named
        self._point(codes, kinds, times, starts, ids, columns, slots, tags)

    def _point(
        self,
        codes: NDArray[np.int32],
        kinds: Words,
        times: Words,
        starts: Words,
        ids: Words,
        columns: list[Words],
        slots: Words,
        tags: Words,
    ) -> None:
        addresses = np.array([address(column) for column in columns] or [0], np.int64)
        self._keep = [codes, kinds, times, starts, ids, addresses, slots, tags, *columns]
        memory = self._memory
        memory[At.CODES] = address(codes)
        memory.point_all(
            kinds=kinds, times=times, starts=starts, ids=ids, columns=addresses, slots=slots, slot_tags=tags
        )
        memory[At.INPUT_NEXT] = 0
        memory[At.INPUT_SIZE] = len(times)


class SingleIntake:
    """Kernel input for one event at a time, with everything that can be done beforehand done."""

    def __init__(self, memory: Memory, texts: Texts, layouts: Mapping[str, Layout]) -> None:
        self._memory = memory
        self._texts = texts
        self._layouts = layouts
        widest = max((layout.entry.arity for layout in layouts.values()), default=0)
        total = sum(layout.entry.arity for layout in layouts.values())
        self._first: dict[str, int] = {}
        begin = 0
        for name, layout in sorted(layouts.items(), key=lambda item: item[1].entry.number):
            self._first[name] = begin
            begin += layout.entry.arity
        self._values, self._tags = np.zeros(widest + 1, np.int64), np.zeros(total + 1, np.int64)
        self._slots = np.zeros(total + 1, np.int64)
        for name, first in self._first.items():
            arity = layouts[name].entry.arity
            self._slots[first : first + arity] = np.arange(arity)
        self._columns = address(self._values) + 8 * np.arange(widest + 1, dtype=np.int64)
        self._numbers = np.zeros(4, np.int64)  # kind, time, start, id
        self._code = np.zeros(1, np.int32)
        numbers = address(self._numbers)
        self._addresses = {
            At.CODES: address(self._code),
            At.KINDS: numbers,
            At.TIMES: numbers + 8,
            At.STARTS: numbers + 16,
            At.IDS: numbers + 24,
            At.COLUMNS: address(self._columns),
            At.SLOTS: address(self._slots),
            At.SLOT_TAGS: address(self._tags),
        }

    def load(self, event: Event, position: int) -> None:
        """Point the kernel at an event."""
        memory, numbers = self._memory, self._numbers
        layout = self._layouts.get(event.type)
        numbers[0] = -1
        if layout is not None:
            given = event.attributes
            names = (
                tuple(n for n, v in given.items() if v is not None) if layout.attributes is None else layout.attributes
            )
            if len(names) == layout.entry.arity:
                numbers[0] = layout.entry.number
                first = self._first[event.type]
                for place, name in enumerate(names):
                    self._tags[first + place], self._values[place] = self._texts.encode(given.get(name))
        numbers[1] = event.time
        numbers[2] = event.time if event.start is None else event.start
        numbers[3] = position if event.id is None else id_word(event.id, self._texts.table)
        for at, place in self._addresses.items():
            memory[at] = place
        memory[At.INPUT_NEXT] = 0
        memory[At.INPUT_SIZE] = 1


def _columns_of(batch: EventBatch, attribute: str) -> list[tuple[ValueType, pa.Array]]:
    return [(value_type, column) for (name, value_type), column in batch.columns.items() if name == attribute]


def _words(column: pa.Array, value_type: ValueType, texts: Texts) -> Words:
    if value_type is ValueType.LIST:
        value_type = ValueType.STRING  # a list is held by its text
    if value_type is ValueType.STRING and not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    return np.ascontiguousarray(words_of(column, value_type, texts.table))


def _argument(batch: EventBatch, attribute: str, texts: Texts) -> _Argument:
    """The values of an attribute; where a row has none, the tag says so."""
    columns = _columns_of(batch, attribute)
    if not columns:
        return _Argument(None)
    if len(columns) == 1 and columns[0][1].null_count == 0:
        value_type, column = columns[0]
        return _Argument(_words(column, value_type, texts), TAG_OF_TYPE[value_type])
    words, tags = np.zeros(len(batch), np.int64), np.zeros(len(batch), np.int64)
    for value_type, column in columns:
        valid = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), np.bool_)
        words[valid] = _words(column, value_type, texts)[valid]
        tags[valid] = TAG_OF_TYPE[value_type]
    return _Argument(words, tags=tags)


def _told_by_data(batch: EventBatch, code: int, arity: int, texts: Texts) -> tuple[list[_Argument], NDArray[np.bool_]]:
    """The arguments of a type that nothing describes: the attributes that its events have, in their order.

    The second result tells, for every row, whether it is of another type or has exactly so many.
    """
    rows = np.flatnonzero(batch.codes == code)
    words, tags = np.zeros((arity, len(batch)), np.int64), np.zeros((arity, len(batch)), np.int64)
    filled = np.zeros(len(batch), np.int64)
    for name in dict.fromkeys(name for name, _ in batch.columns):
        argument = _argument(batch, name, texts)
        given = np.full(len(rows), argument.tag, np.int64) if argument.tags is None else argument.tags[rows]
        present = rows[given != 0]
        fits = filled[present] < arity
        places = filled[present[fits]]
        if argument.words is not None:
            words[places, present[fits]] = argument.words[present[fits]]
        tags[places, present[fits]] = given[given != 0][fits]
        filled[present] += 1
    whole = np.ones(len(batch), np.bool_)
    whole[rows] = filled[rows] == arity
    return [_Argument(words[k].copy(), tags=tags[k].copy()) for k in range(arity)], whole
