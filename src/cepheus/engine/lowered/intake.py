"""Events on their way in: the columns of a batch as arrays of 64-bit words that the kernel can read in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cepheus.core.batch import EventBatch
from cepheus.core.errors import EventError
from cepheus.core.event import EventId
from cepheus.core.values import INT_MAX, ValueType, from_arrow
from cepheus.formats.arrays import encoded, validity
from cepheus.kernel import blocks
from cepheus.kernel.compiled import compiled
from cepheus.kernel.context import Input
from cepheus.kernel.memory import address
from cepheus.kernel.program import ROW_ENDS, ConstraintKind, Left, Words
from cepheus.kernel.strings import StringTable
from cepheus.plan.pattern.code import LoweredConstraint
from cepheus.plan.pattern.layouts import TypeLayout
from cepheus.plan.pattern.lower import Lowering


def words_of(column: pa.Array, value_type: ValueType, strings: StringTable) -> Words:
    """The values of a column as words; what stands at nulls means nothing.

    No copy is made of 64-bit numbers. Texts are dictionary-coded.
    """
    found = from_arrow(column.type)
    match value_type:
        case ValueType.STRING:
            return _string_codes(column, strings)
        case ValueType.BOOL:
            return np.asarray(column.fill_null(False).to_numpy(zero_copy_only=False), np.int64)
        case ValueType.FLOAT:
            if found is not ValueType.FLOAT or column.type != pa.float64():
                column = column.cast(pa.float64(), safe=False)  # as elsewhere, an integer is the nearest double
            return _buffer(column)
        case ValueType.TIMESTAMP:
            if column.type != pa.timestamp("us", tz="UTC"):
                column = column.cast(pa.timestamp("us", tz="UTC"))
            return _buffer(column)
        case ValueType.INT:
            if column.type != pa.int64():
                column = column.cast(pa.int64())
            return _buffer(column)
        case ValueType.LIST:
            raise AssertionError("rules of TESLA read no lists")


def _buffer(column: pa.Array) -> Words:
    """The 64-bit values of a column in place."""
    data = column.buffers()[1]
    if data is None:
        return np.zeros(len(column), np.int64)
    return np.frombuffer(data, np.int64, len(column), column.offset * 8)


def _string_codes(column: pa.DictionaryArray, strings: StringTable) -> Words:
    codes = np.array([strings.code(text) for text in column.dictionary.to_pylist()] or [0], np.int64)
    indices = column.indices.fill_null(0) if column.null_count else column.indices
    return np.asarray(codes[indices.to_numpy(zero_copy_only=False)], np.int64)


def id_words(ids: Sequence[EventId] | Words | None, first: int, count: int, strings: StringTable) -> Words | range:
    """The ids of a batch as words, or as the range of consecutive numbers that they are.

    Without ids they are the positions from ``first`` on.
    """
    if ids is None:
        return range(first, first + count)
    if isinstance(ids, range) and ids.step == 1 and ids.start >= 0:
        return ids
    if isinstance(ids, np.ndarray) and (len(ids) == 0 or ids.min() >= 0):
        return np.ascontiguousarray(ids, np.int64)
    return np.fromiter((id_word(event_id, strings) for event_id in ids), np.int64, count)


def id_word(event_id: EventId, strings: StringTable) -> int:
    """One id as a word: a number from 0 up is itself, anything else a code in the string table."""
    if not isinstance(event_id, str) and 0 <= event_id <= INT_MAX:
        return int(event_id)
    return ~strings.code(event_id if isinstance(event_id, str) else int(event_id))


def id_of_word(word: int, strings: StringTable) -> EventId:
    """Look up the id of a primitive event."""
    return word if word >= 0 else strings.id(~word)


_WORTH_A_LOOK = 4096
"""Smaller batches go to the kernel as they are."""

_FEW_TYPES = 8


class _View(Enum):
    """What the kernel reads of a column: its values, its values with -0.0 as 0.0, or which of them are defined."""

    VALUES = 0
    PLAIN_ZERO = 1
    FLAGS = 2


class BatchWords:
    """The ids and columns of a batch as words, each made when it is first asked for.

    Engines that have their strings in common look at a batch through one of these, so that nothing is made twice.
    """

    def __init__(self, batch: EventBatch, first: int, strings: StringTable) -> None:
        self.batch = batch
        self.ids = id_words(batch.ids, first, len(batch), strings)
        self._strings = strings
        self._columns: dict[tuple[str, ValueType, _View], Words] = {}
        self._texts: dict[str, pa.DictionaryArray] = {}

    def column(self, attribute: str, value_type: ValueType, view: _View) -> Words:
        """A view of an attribute's column."""
        key = (attribute, value_type, view)
        if key not in self._columns:
            self._columns[key] = self._words(attribute, value_type, view)
        return self._columns[key]

    def values(self, attribute: str, value_type: ValueType) -> Words:
        """The values of an attribute; what stands at nulls means nothing."""
        return self.column(attribute, value_type, _View.VALUES)

    def texts(self, attribute: str) -> pa.DictionaryArray:
        """The texts of an attribute, dictionary-coded."""
        if attribute not in self._texts:
            self._texts[attribute] = encoded(self.batch.columns[attribute, ValueType.STRING])
        return self._texts[attribute]

    def _words(self, attribute: str, value_type: ValueType, view: _View) -> Words:
        is_text = value_type is ValueType.STRING
        column: Any = self.texts(attribute) if is_text else self.batch.column(attribute, value_type)
        if view is _View.FLAGS:
            return np.asarray(column.is_valid().to_numpy(zero_copy_only=False), np.int64)
        array = np.ascontiguousarray(words_of(column, value_type, self._strings))
        if view is _View.PLAIN_ZERO and value_type is ValueType.FLOAT:
            array = (array.view(np.float64) + 0.0).view(np.int64)
        return array


def type_in(batch: EventBatch, attribute: str, code: int) -> ValueType | None:
    """The type that an attribute of events of a type has in a batch, None if they have no values for it.

    Other types may mean something else by its name. Of integers and doubles it is the latter.
    """
    columns = {kind: column for (name, kind), column in batch.columns.items() if name == attribute}
    if len(columns) > 1 or any(column.null_count for column in columns.values()):
        rows = batch.codes == code
        columns = {kind: column for kind, column in columns.items() if (validity(column) & rows).any()}
    return ValueType.FLOAT if columns.keys() == {ValueType.INT, ValueType.FLOAT} else next(iter(columns), None)


@dataclass(frozen=True, slots=True)
class _Read:
    """An attribute that rules read of events of a type: the type's code in a batch, and the place of its slot."""

    code: int
    layout: TypeLayout
    attribute: str
    place: int


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is read of batches that have the same types.

    ``kinds`` has the number of each type, -1 if it concerns no rule. ``choices`` are, for each type that concerns a
    rule, its code, where its slots begin, and what its listeners compare with constants; None if that is no help.
    ``left`` is what is left to do with events as they come, ``left_of_relevant`` with those that were compared.
    """

    types: tuple[str, ...]
    kinds: Words
    reads: tuple[_Read, ...]
    choices: tuple[tuple[int, int, list[list[LoweredConstraint]] | None], ...] | None
    left: Words
    left_of_relevant: Words


def no_slots(lowering: Lowering) -> Words:
    """One word for each slot of each type, -1: no column goes there; with marks where the slots of a type end."""
    ends = np.cumsum([0, *(layout.width for layout in lowering.types.values())])
    slots = np.full(ends[-1] + 1, -1, np.int64)
    slots[ends] = ROW_ENDS
    return slots


class Intake:
    """Turns batches into kernel input and fixes the types that only the data can tell.

    It is made for the rules of the moment; ``listening`` tells for each type whether one of them concerns it. If it
    ``settles``, it tells what is left to do with events (``Left``).
    """

    def __init__(self, lowering: Lowering, listening: Sequence[bool], *, settles: bool = False) -> None:
        self._lowering = lowering
        self._listening = listening
        self._settles = settles
        self._keep: list[NDArray[Any]] = []
        nothing = np.full(1, -1, np.int64)
        self._known = _Reading((), nothing, (), None, nothing, nothing)

    def learn(self, batch: EventBatch) -> None:
        """Take the types that only the data can tell from a batch."""
        for read in self._reading(batch.types).reads:
            self._learn_type(batch, read)

    def prepare(self, given: BatchWords, more: Sequence[NDArray[Any]] = (), slots: Words | None = None) -> Input:
        """Make the kernel's view of a batch; the arrays live until the next call.

        ``more`` are columns that come before those of the batch, ``slots`` tells where they go.
        """
        batch = given.batch
        reading = self._reading(batch.types)
        words: dict[tuple[str, ValueType, _View], int] = {}
        self._keep = list(more)
        slots = no_slots(self._lowering) if slots is None else slots.copy()
        for read in reading.reads:
            layout, attribute = read.layout, read.attribute
            value_type = layout.types[attribute]
            if value_type is not None and batch.has(attribute, value_type):
                view = _View.PLAIN_ZERO if attribute in layout.told_by_data else _View.VALUES
                slots[read.place] = self._column(given, (attribute, value_type, view), words)
                if attribute in layout.optional:
                    slots[read.place + 1] = self._column(given, (attribute, value_type, _View.FLAGS), words)
        return Input(
            codes=np.ascontiguousarray(batch.codes, np.int32),
            kinds=reading.kinds,
            times=np.ascontiguousarray(batch.times, np.int64),
            starts=np.ascontiguousarray(batch.times if batch.starts is None else batch.starts, np.int64),
            ids=given.ids,
            addresses=np.array([address(array) for array in self._keep] or [0], np.int64),
            slots=slots,
            id_digests=self._lowering.strings.digests(),
            left=reading.left,
        )

    def left_of_relevant(self, types: tuple[str, ...]) -> Words:
        """What is left to do with the relevant rows of batches with these types."""
        return self._reading(types).left_of_relevant

    def _reading(self, types: tuple[str, ...]) -> _Reading:
        """Find out what is read of batches with these types, unless the last one had them, too."""
        if types == self._known.types:
            return self._known
        kinds = np.full(max(1, len(types)), -1, np.int64)
        begins = np.cumsum([0, *(layout.width for layout in self._lowering.types.values())]).tolist()
        concerned: list[tuple[int, TypeLayout]] = []
        for code, name in enumerate(types):
            layout = self._lowering.types.get(name)
            if layout is not None and self._listening[layout.index]:
                kinds[code] = layout.index
                concerned.append((code, layout))
        reads = tuple(
            _Read(code, layout, attribute, begins[layout.index] + layout.slots[attribute])
            for code, layout in concerned
            for attribute in layout.read()
        )
        choices = None
        if len(concerned) <= _FEW_TYPES:
            filters = [
                (code, begins[layout.index], self._lowering.simple_filters(layout)) for code, layout in concerned
            ]
            if any(simple for _, _, simple in filters):
                choices = tuple(filters)
        left, left_of_relevant = np.full_like(kinds, Left.ALL), np.full_like(kinds, Left.ALL)
        for code, layout in concerned if self._settles and len(concerned) <= _FEW_TYPES else ():
            left[code] = self._lowering.left_of(layout, compared=False)
            left_of_relevant[code] = self._lowering.left_of(layout, compared=choices is not None)
        self._known = _Reading(types, kinds, reads, choices, left, left_of_relevant)
        return self._known

    def relevant_rows(self, batch: EventBatch, given: Input, begin: int = 0, end: int | None = None) -> Words | None:
        """Find the rows that can concern some rule, found by comparing whole columns with constants; None for all.

        Whether a reading is above 45 is a coin toss to a processor that looks at one event after the other, but
        nearly free for a column at a time. ``begin`` and ``end`` restrict the answer to a part of the batch.
        """
        part = slice(begin, len(batch) if end is None else end)
        codes = batch.codes[part]
        choices = self._reading(batch.types).choices
        if len(codes) < _WORTH_A_LOOK or choices is None:
            return None
        relevant = np.zeros(len(codes), np.bool_)
        for code, first_slot, filters in choices:
            for constraints in [[]] if filters is None else filters:
                fits = codes == code
                for constraint in constraints:
                    place = given.slots[first_slot + constraint.slot]
                    if place < 0:  # the batch has no events of this type, though it names it
                        break
                    fits &= _compare(self._keep[place][part], constraint)
                relevant |= fits
        return marked_rows(relevant, begin)

    def _column(
        self,
        given: BatchWords,
        key: tuple[str, ValueType, _View],
        words: dict[tuple[str, ValueType, _View], int],
    ) -> int:
        if key not in words:
            words[key] = len(self._keep)
            self._keep.append(given.column(*key))
        return words[key]

    def _learn_type(self, batch: EventBatch, read: _Read) -> None:
        """Find the type of an attribute, from the data if no rule tells."""
        layout, attribute = read.layout, read.attribute
        known = layout.types[attribute]
        doubles = known is ValueType.INT and (attribute, ValueType.FLOAT) in batch.columns
        if known is not None and batch.has(attribute, known) and not (doubles and attribute in layout.told_by_data):
            return
        if not (batch.codes == read.code).any():  # the batch names the type, but has no events of it
            return
        found = type_in(batch, attribute, read.code)
        if found is not None:
            self._lowering.fix_type(layout, attribute, found)
        elif attribute not in layout.optional:
            raise EventError.of(
                "missing-attribute",
                f"events of type '{layout.name}' have no attribute '{attribute}', which rules read",
            )


_COMPARISONS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)


def _compare(words: Words, constraint: LoweredConstraint) -> NDArray[np.bool_]:
    compare = _COMPARISONS[constraint.operator]
    if constraint.kind is ConstraintKind.INT_CONSTANT:
        result: NDArray[np.bool_] = compare(words, constraint.constant)
    else:
        result = compare(words.view(np.float64), np.int64(constraint.constant).view(np.float64))
    return result


def marked_rows(marks: NDArray[np.bool_], begin: int) -> Words:
    """The numbers of the marked rows; the first mark is for the row ``begin``."""
    rows = blocks.words(len(marks) + 1)
    return rows[: _list_rows(marks.view(np.uint8), begin, rows)]


@compiled
def _list_rows(marks: NDArray[np.uint8], begin: int, rows: Words) -> int:
    """Write down which rows are marked; return how many."""
    count = 0
    for at in range(len(marks)):
        rows[count] = begin + at
        count += marks[at]
    return count
