"""Groups: rules that run together, the engines that run them, and how events are dealt out to these by their keys.

Each key has a bucket, each bucket an engine. Hashing is compiled for many events and the same in Python for one. Values
that rules can find equal have equal hashes. Numbers of all types are hashed as doubles, since an integer may equal a
double; two integers that are the same double share a bucket, which does no harm.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from cepheus.core.batch import EventBatch
from cepheus.core.errors import OptionError
from cepheus.core.event import Event
from cepheus.core.schema import TIME_ATTRIBUTE
from cepheus.core.values import Value, ValueType, as_float
from cepheus.engine.columns.engine import ColumnsEngine
from cepheus.engine.lowered.intake import BatchWords, type_in
from cepheus.kernel.compiled import compiled
from cepheus.kernel.memory import address, float_of_bits, peek, signed
from cepheus.kernel.program import Words
from cepheus.plan.split.component import Component, components
from cepheus.plan.split.model import Reason
from cepheus.plan.split.search import Attributes
from cepheus.plan.split.ways import find_keys
from cepheus.rules.model import Rule

_MOST_KEYED = 4
"""Groups that are split by keys; each has as many engines as there are threads."""


@dataclass(slots=True, eq=False)
class Group:
    """Rules and their engines: one, or several among which events are dealt out by their keys.

    ``keys`` names the key of each event type; None if there is but one engine.
    """

    engines: list[ColumnsEngine]
    keys: Attributes | None
    dealer: Dealer
    rules: dict[str, Rule] = field(default_factory=dict)
    looked: frozenset[str] = frozenset()
    made: frozenset[str] = frozenset()

    def engine_for(self, event: Event) -> ColumnsEngine:
        """The engine that an event goes to."""
        if self.keys is None:
            return self.engines[0]
        attribute = self.keys[event.type]
        value = event.time if attribute == TIME_ATTRIBUTE else event.attributes.get(attribute)
        return self.engines[self.dealer.owner(value)]

    def know(self, rules: Iterable[Rule]) -> None:
        """Take note of the rules that the engines run now."""
        self.rules = {str(rule.name): rule for rule in rules}
        self.looked = frozenset(name for part in components(tuple(self.rules.values())) for name in part.types)
        self.made = frozenset(rule.composite.name for rule in self.rules.values())


@dataclass(slots=True)
class Place:
    """Where new rules go: a group, with the keys that it goes by then."""

    group: Group
    keys: Attributes | None
    rules: list[Rule]


def place(
    rules: Sequence[Rule], groups: Sequence[Group], shards: int, make_engine: Callable[[], ColumnsEngine]
) -> list[Place]:
    """Find a group for each new rule, a new one where none fits; OptionError if rules link what runs apart.

    Nothing is changed: the groups take up the rules when they are deployed.
    """
    places = [Place(group, group.keys, []) for group in groups]
    parts = components(rules)
    for part in sorted(parts, key=lambda part: (not any(member.sites for member in part.members), -len(part.members))):
        added = [member.rule for member in part.members]
        linked = [known for known in places if _link(part, known)]
        if len(linked) > 1:
            raise _refused(added[0], "it brings together what rules in different threads make or look at")
        if linked:
            _join(linked[0], added)
        elif not _share_keys(part, places, shards, make_engine):
            _smallest(places, shards, make_engine).rules.extend(added)
    order = {str(rule.name): number for number, rule in enumerate(rules)}
    for found in places:
        found.rules.sort(key=lambda rule: order[str(rule.name)])
    return [found for found in places if found.rules]


def _link(part: Component, known: Place) -> bool:
    """Whether rules look at what those of a group make, or the other way round."""
    made = {member.rule.composite.name for member in part.members}
    return not (part.types.isdisjoint(known.group.made) and made.isdisjoint(known.group.looked))


def _join(known: Place, added: list[Rule]) -> None:
    """Add rules to a group that they are linked with; OptionError if its keys are none of theirs."""
    keys = known.keys
    if keys is not None:
        for part in components((*known.group.rules.values(), *known.rules, *added)):
            found = find_keys(part, keys)
            if isinstance(found, Reason):
                raise _refused(added[0], f"rules that it is linked with are spread over threads by key, and {found}")
            keys = found
    known.keys = keys
    known.rules += added


def _share_keys(part: Component, places: list[Place], shards: int, make_engine: Callable[[], ColumnsEngine]) -> bool:
    """Add rules to a group that goes by keys which suit them, or make one; False if no keys do."""
    keyed = [known for known in places if known.keys is not None]
    for known in keyed:
        assert known.keys is not None
        keys = find_keys(part, known.keys)
        if not isinstance(keys, Reason):
            known.keys = keys
            known.rules += [member.rule for member in part.members]
            return True
    keys = find_keys(part, {})
    if isinstance(keys, Reason) or len(keyed) >= _MOST_KEYED or shards == 1:
        return False
    group = Group([make_engine() for _ in range(shards)], keys, Dealer(shards))
    places.append(Place(group, keys, [member.rule for member in part.members]))
    return True


def _smallest(places: list[Place], shards: int, make_engine: Callable[[], ColumnsEngine]) -> Place:
    """Find the group of one engine that has the fewest rules, a new one while there are fewer than threads."""
    whole = [known for known in places if known.keys is None]
    if len(whole) < shards:
        places.append(Place(Group([make_engine()], None, Dealer(1)), None, []))
        return places[-1]
    return min(whole, key=lambda known: len(known.group.rules) + len(known.rules))


def _refused(rule: Rule, why: str) -> OptionError:
    return OptionError.of(
        "threads",
        f"rule '{rule.name}' cannot join the rules that run in several threads: {why}",
        span=rule.span,
        hint="deploy these rules together, before the first event, or run with threads=1",
    )


BUCKETS = 1 << 12
_UNUSED_BITS = 64 - 12
_MASK = 2**64 - 1
_FIRST_FACTOR, _SECOND_FACTOR = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


class KeyKind(IntEnum):
    """What the words of a key column are: integers, doubles, or hashes of texts."""

    INTEGER = 0
    DOUBLE = 1
    TEXT = 2


_INTEGER, _TEXT = int(KeyKind.INTEGER), int(KeyKind.TEXT)
_DOUBLES = struct.Struct("<d")
_UNSIGNED = struct.Struct("<Q")


def bucket_of(value: Value | None) -> int:
    """The bucket of an event with that key; an event without one meets no other, so any will do.

    >>> bucket_of(3) == bucket_of(3.0) != bucket_of("3")
    True
    """
    if value is None or isinstance(value, tuple):  # a list, which the engine that gets it refuses
        return 0
    word = hash_text(value) if isinstance(value, str) else _UNSIGNED.unpack(_DOUBLES.pack(as_float(value) + 0.0))[0]
    word = ((word ^ (word >> 30)) * _FIRST_FACTOR) & _MASK
    word = ((word ^ (word >> 27)) * _SECOND_FACTOR) & _MASK
    return int((word ^ (word >> 31)) >> _UNUSED_BITS)


def hash_text(text: str) -> int:
    """A hash of a text that is the same in every process."""
    return crc32(text.encode("utf-8", "surrogatepass"))


@compiled
def _bucket(word: np.uint64) -> int:
    word = (word ^ (word >> np.uint64(30))) * np.uint64(_FIRST_FACTOR)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(_SECOND_FACTOR)
    return signed((word ^ (word >> np.uint64(31))) >> np.uint64(_UNUSED_BITS))


@compiled
def _hash(kind: int, word: int, scratch: NDArray[np.float64], bits: NDArray[np.uint64]) -> np.uint64:
    """The word that stands for a key; ``bits`` are those of ``scratch``."""
    if kind == _TEXT:
        return np.uint64(word)
    scratch[0] = (float(word) if kind == _INTEGER else float_of_bits(word)) + 0.0
    return np.uint64(bits[0])


@compiled
def sort_rows(
    codes: NDArray[np.int32], rows: Words, columns: Words, kinds: Words, buckets: NDArray[np.int16], counts: Words
) -> None:
    """Find the bucket of each row, -1 for an event that does not matter, and count the rows of each bucket.

    For each type code, ``columns`` has the address of its keys, 0 if events of the type do not matter, and ``kinds``
    what they are.
    """
    scratch = np.zeros(1, np.float64)
    bits = scratch.view(np.uint64)
    for at in range(len(rows)):
        row = rows[at]
        code = codes[row]
        if columns[code] == 0:
            buckets[at] = -1
        else:
            bucket = _bucket(_hash(kinds[code], peek(columns[code], row), scratch, bits))
            buckets[at] = bucket
            counts[bucket] += 1


@compiled
def deal_rows(rows: Words, buckets: NDArray[np.int16], owners: Words, counts: Words, dealt: Words) -> None:
    """Deal rows out to the owners of their buckets; ``dealt`` has a line for each, of which ``counts`` are filled."""
    for at in range(len(rows)):
        if buckets[at] >= 0:
            owner = owners[buckets[at]]
            dealt[owner, counts[owner]] = rows[at]
            counts[owner] += 1


class KeyColumns:
    """For each type of a batch, where its keys are and what they are; ``attributes`` names them by event type."""

    def __init__(self, batch: EventBatch, attributes: Mapping[str, str], words: KeyWords) -> None:
        self.codes = np.ascontiguousarray(batch.codes, np.int32)
        self.columns = np.zeros(max(1, len(batch.types)), np.int64)
        self.kinds = np.zeros_like(self.columns)
        self._keep: list[Words] = []
        for code, name in enumerate(batch.types):
            if name in attributes:
                column, kind = words.of(attributes[name], code)
                self.columns[code], self.kinds[code] = address(column), kind
                self._keep.append(column)


class KeyWords:
    """The columns of a batch as words to be hashed, each made when it is first asked for."""

    def __init__(self, given: BatchWords) -> None:
        self._given = given
        self._hashes: dict[str, Words] = {}

    def of(self, attribute: str, code: int) -> tuple[Words, KeyKind]:
        """The values that an attribute has in events of a type, and what they are.

        What stands where an event has no value means nothing: such an event goes anywhere.
        """
        batch = self._given.batch
        if attribute == TIME_ATTRIBUTE:
            return np.ascontiguousarray(batch.times), KeyKind.INTEGER
        value_type = type_in(batch, attribute, code)
        if value_type is None:
            return np.zeros(len(batch), np.int64), KeyKind.INTEGER
        if value_type is ValueType.STRING:
            return self._hashed(attribute), KeyKind.TEXT
        kind = KeyKind.DOUBLE if value_type is ValueType.FLOAT else KeyKind.INTEGER
        return self._given.values(attribute, value_type), kind

    def _hashed(self, attribute: str) -> Words:
        if attribute not in self._hashes:
            column = self._given.texts(attribute)
            hashes = np.array([hash_text(text) for text in column.dictionary.to_pylist()] or [0], np.int64)
            indices = column.indices.fill_null(0) if column.null_count else column.indices
            self._hashes[attribute] = hashes[indices.to_numpy(zero_copy_only=False)]
        return self._hashes[attribute]


class Dealer:
    """Knows which engine has which keys.

    Keys fall into buckets. A bucket goes to the engine that has had the fewest events when its first event comes, the
    fullest buckets of a batch first, so that a few frequent keys do not meet in one engine; it stays there for ever.
    """

    def __init__(self, engines: int, owners: dict[int, int] | None = None) -> None:
        self._owners = np.full(BUCKETS, -1, np.int64)
        self._loads = np.zeros(engines, np.int64)
        for bucket, owner in (owners or {}).items():
            self._owners[bucket] = owner

    @property
    def owners(self) -> dict[int, int]:
        """The owner of every bucket that has one."""
        return {int(bucket): int(self._owners[bucket]) for bucket in np.flatnonzero(self._owners >= 0)}

    def owner(self, value: Value | None) -> int:
        """The engine of an event with that key."""
        bucket = bucket_of(value)
        owner = int(self._owners[bucket])
        if owner < 0:
            owner = self._owners[bucket] = int(self._loads.argmin())
        self._loads[owner] += 1
        return owner

    def settle(self, counts: Words) -> None:
        """Give every bucket that has events an owner; ``counts`` tells how many."""
        met = np.flatnonzero(counts)
        fresh = met[self._owners[met] < 0]
        np.add.at(self._loads, self._owners[met[self._owners[met] >= 0]], counts[met[self._owners[met] >= 0]])
        for bucket in fresh[np.argsort(-counts[fresh], kind="stable")].tolist():
            owner = int(self._loads.argmin())
            self._owners[bucket] = owner
            self._loads[owner] += counts[bucket]

    def deal(self, rows: Words, buckets: NDArray[np.int16]) -> list[Words]:
        """Deal rows out to engines, in order."""
        counts = np.zeros_like(self._loads)
        dealt = np.empty((len(counts), len(rows)), np.int64)
        deal_rows(rows, buckets, self._owners, counts, dealt)
        return [line[:count] for line, count in zip(dealt, counts.tolist(), strict=True)]


class SortedRows:
    """Rows of a batch, with the bucket of each and how many are in each bucket."""

    def __init__(self, rows: Words, keys: KeyColumns) -> None:
        self.rows = rows
        self.buckets = np.empty(len(rows), np.int16)
        self.counts = np.zeros(BUCKETS, np.int64)
        sort_rows(keys.codes, rows, keys.columns, keys.kinds, self.buckets, self.counts)
