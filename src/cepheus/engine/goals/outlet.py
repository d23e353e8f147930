"""Complex events on their way out: columns first, everything that people look at one by one only when asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cepheus.core.batch import ColumnKey, EventBatch, Provenance
from cepheus.core.event import EventId
from cepheus.core.values import Value, ValueType
from cepheus.engine.goals.kernel import split
from cepheus.engine.goals.steps import NO_PART
from cepheus.engine.lowered.intake import id_of_word
from cepheus.kernel.memory import address
from cepheus.kernel.program import Words
from cepheus.kernel.state import COMPOSITE_ID_BASE, STRING_ID_FLOOR
from cepheus.kernel.strings import StringTable
from cepheus.plan.interval.goal_texts import Goal, Seat, fraction_of
from cepheus.plan.interval.graph import NodeSpec
from cepheus.plan.interval.layout import (
    MATCH_HEADER,
    OUTPUT_HEADER,
    RECORD_HEADER,
    TAG_BITS,
    TAGS_PER_WORD,
    Match,
    OutputRecord,
    Record,
    Tag,
)
from cepheus.plan.interval.tables import tag_words
from cepheus.plan.interval.values import Texts
from cepheus.rules.interval.lists import is_hidden
from cepheus.rules.interval.model import IntervalRule

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HeadForm:
    """What the records of a rule hold: its type, the names of its attributes, the types of its parts."""

    rule: str
    type: str
    attributes: tuple[str, ...]
    parts: tuple[str, ...]

    @property
    def tag_words(self) -> int:
        """How many words hold the tags."""
        return (len(self.attributes) + TAGS_PER_WORD - 1) // TAGS_PER_WORD

    @property
    def values_at(self) -> int:
        """Where in a record the values begin."""
        return OUTPUT_HEADER + RECORD_HEADER + self.tag_words

    @property
    def stride(self) -> int:
        """How many words a record takes."""
        return self.values_at + len(self.attributes) + len(self.parts)


class _Found:
    """The records that the kernel wrote in one feeding."""

    def __init__(self, forms: Sequence[HeadForm], texts: Texts, words: Words) -> None:
        self.forms = forms
        self.table = texts.table
        self.words = words
        strides = np.array([form.stride for form in forms], np.int64)
        most = len(words) // int(strides.min()) + 1
        places, rules = np.empty(most, np.int64), np.empty(most, np.int64)
        count = split(
            address(words, OutputRecord, mixed=True), address(strides), len(words), address(places), address(rules)
        )
        self.places, self.rules = places[:count].copy(), rules[:count].copy()

    def field(self, at: Record) -> Words:
        """A field of all records."""
        found: Words = self.words[OUTPUT_HEADER + at :].take(self.places)
        return found

    def id(self, at: int) -> EventId:
        """The id of a complex event."""
        word = int(self.words[self.places[at] + OUTPUT_HEADER + Record.ID])
        return f"{self.forms[self.rules[at]].type}:{word - COMPOSITE_ID_BASE:016x}"

    def made_of(self, at: int) -> tuple[EventId, ...]:
        """The ids of the events that a complex event was made of."""
        form = self.forms[self.rules[at]]
        first = int(self.places[at]) + form.values_at + len(form.attributes)
        words = self.words[first : first + len(form.parts)].tolist()
        parts = zip(words, form.parts, strict=True)
        return tuple(part_id(word, kind, self.table) for word, kind in parts if word != NO_PART)


def part_id(word: int, event_type: str, table: StringTable) -> EventId:
    """The id of a part, an event of that type."""
    if word >= STRING_ID_FLOOR:
        return id_of_word(word, table)
    return f"{event_type}:{word - COMPOSITE_ID_BASE:016x}"


class _Lazy(Sequence[T], Generic[T]):
    """A sequence whose items are computed when asked for."""

    def __init__(self, count: int, item: Callable[[int], T]) -> None:
        self._count = count
        self._item = item

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        if isinstance(at, slice):
            return [self._item(k) for k in range(*at.indices(self._count))]
        return self._item(range(self._count)[at])

    def __iter__(self) -> Iterator[T]:
        return map(self._item, range(self._count))


def to_batch(forms: Sequence[HeadForm], texts: Texts, words: Words, factors: Mapping[str, float]) -> EventBatch:
    """Make a batch of the records of an output; factors are the probabilities of rules that have one."""
    found = _Found(forms, texts, words)
    types: dict[str, int] = {}
    codes = np.array([types.setdefault(form.type, len(types)) for form in forms], np.int32)
    return EventBatch(
        types=tuple(types),
        codes=codes[found.rules],
        times=found.field(Record.END),
        columns=_columns(found),
        ids=_Lazy(len(found.rules), found.id),
        probabilities=np.array([factors.get(form.rule, 1.0) for form in forms])[found.rules] if factors else None,
        starts=found.field(Record.START),
        provenance=Provenance(
            tuple(form.rule for form in forms),
            found.rules.astype(np.int32),
            _Lazy(len(found.rules), found.made_of),
        ),
    )


_TYPES = {
    Tag.BOOL: ValueType.BOOL,
    Tag.INT: ValueType.INT,
    Tag.FLOAT: ValueType.FLOAT,
    Tag.STRING: ValueType.STRING,
    Tag.LIST: ValueType.LIST,
}


def _columns(found: _Found) -> dict[ColumnKey, pa.Array]:
    """The attributes, those of one name together; every value keeps its type."""
    cells: dict[str, dict[Tag, tuple[Words, NDArray[np.bool_]]]] = {}
    count = len(found.rules)
    for number, form in enumerate(found.forms):
        if not form.attributes:
            continue
        rows = np.flatnonzero(found.rules == number)
        if not len(rows):
            continue
        places = found.places[rows]
        for at, name in enumerate(form.attributes):
            packed = found.words[places + OUTPUT_HEADER + RECORD_HEADER + at // TAGS_PER_WORD]
            tags = (packed >> (TAG_BITS * (at % TAGS_PER_WORD))) & (2**TAG_BITS - 1)
            words = found.words[places + form.values_at + at]
            for tag in np.unique(tags).tolist():
                chosen = tags == tag
                own = cells.setdefault(name, {})
                values, valid = own.setdefault(Tag(tag), (np.zeros(count, np.int64), np.zeros(count, bool)))
                values[rows[chosen]] = words[chosen]
                valid[rows[chosen]] = True
    return {
        (name, _TYPES[tag]): _array(tag, *cell, found.table) for name, own in cells.items() for tag, cell in own.items()
    }


def _array(tag: Tag, words: Words, valid: NDArray[np.bool_], table: StringTable) -> pa.Array:
    mask = None if valid.all() else ~valid
    match tag:
        case Tag.FLOAT:
            return pa.array(words.view(np.float64), mask=mask)
        case Tag.BOOL:
            return pa.array(words != 0, mask=mask)
        case Tag.STRING | Tag.LIST:
            codes, places = np.unique(words, return_inverse=True)
            found = pa.array([table.text(code) for code in codes.tolist()], pa.string())
            return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32), mask=mask), found)
        case _:
            return pa.array(words, mask=mask)


def goals_of(matches: Words, spec: NodeSpec, seat: Seat, rule: IntervalRule, texts: Texts) -> list[Goal]:
    """Describe matches that wait at a seat of a rule as goals, in the words of the rule."""
    tags_at = MATCH_HEADER
    values_at = tags_at + tag_words(spec.variables)
    found = []
    for match in matches.tolist():
        values: dict[str, Value] = {}
        for place, variable in enumerate(seat.names):
            tag = (match[tags_at + place // TAGS_PER_WORD] >> (TAG_BITS * (place % TAGS_PER_WORD))) & 15
            value = texts.decode(tag, match[values_at + place])
            if value is not None and not is_hidden(variable):
                values[variable] = value
        parts = zip(match[values_at + spec.variables :], spec.parts, strict=True)
        found.append(
            Goal(
                rule=str(rule.name),
                type=rule.head.name,
                happened=seat.happened,
                missing=seat.missing,
                absent=seat.absent,
                start=match[Match.START],
                end=match[Match.END],
                values=values,
                parts=tuple(part_id(word, kind, texts.table) for word, kind in parts if word != NO_PART),
                fraction=fraction_of(seat, rule),
            )
        )
    return found
