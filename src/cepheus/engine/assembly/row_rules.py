"""Queries over rows as an engine of rules: events are rows, and every match is a composite event.

A match has the time of its last row; with ALL ROWS PER MATCH each row that is given is an event of its own time. It
comes when nothing that may still come can change it: mostly with a later row, by time alone where WITHIN ends it, at
last with the end of the input.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cepheus.core.batch import ColumnKey, EventBatch, Provenance
from cepheus.core.errors import (
    CepheusWarning,
    Diagnostic,
    EventError,
    OptionError,
    Severity,
    UnsupportedError,
    did_you_mean,
)
from cepheus.core.event import Event, EventId, composite_id
from cepheus.core.options import DEFAULT_LIMIT
from cepheus.core.schema import TIME_ATTRIBUTE, Schema
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.core.values import ValueType
from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.batch_bytes import batch_from_bytes, batch_to_bytes
from cepheus.engine.base.refusals import no_such_rule, refuse_uncertain, require_factor
from cepheus.engine.base.snapshot import pack, restoring, unpack
from cepheus.engine.base.ties import TieCounts
from cepheus.engine.rows.engine import Given, RowEngine
from cepheus.rules.check.rows import TYPE_COLUMN
from cepheus.rules.model import AnyRule
from cepheus.rules.node_json import node_to_json
from cepheus.rules.rows.json_form import read_row_rule
from cepheus.rules.rows.model import RowRule, RowsPerMatch

if TYPE_CHECKING:
    from cepheus.engine.rows.matching import RowMatching

NAME = "rows"
_KIND = "row rules"
_NUMBER, _TEXT = "#id", "#text"
"""The columns that have the ids of rows: numbers in one, texts in the other."""
_PARTS = (TIME_ATTRIBUTE, _NUMBER, _TEXT)
_OWN = {TIME_ATTRIBUTE: ValueType.TIMESTAMP, _NUMBER: ValueType.INT, _TEXT: ValueType.STRING}
_WAITING_IS_TOLD = 1_000
"""When so many rows have waited for the types of their columns, whoever feeds them is told."""
_SAVED = form.record(
    rule=read_row_rule,
    kinds=form.by_name(form.maybe(form.value_type)),
    factor=form.probability,
    waiting=form.maybe(lambda value, _: value),
)
_HEADER = form.record(rules=form.listing(_SAVED), fed=form.count)


@dataclass(slots=True)
class _Deployed:
    """A rule at work. ``kinds`` are the types of its columns, None until the data tells; until then its rows wait."""

    rule: RowRule
    kinds: dict[str, ValueType | None]
    matching: RowMatching | None = None
    waiting: EventBatch = field(default_factory=EventBatch.empty)
    factor: float = 1.0
    given: dict[str, ValueType] = field(default_factory=dict)
    reached: int = MIN_TIME

    def feed(self, batch: EventBatch) -> EventBatch:
        """Take the rows of a batch that are its own."""
        rows = self._rows(batch)
        if not len(rows):
            return rows
        read = frozenset(self.kinds)
        refuse_uncertain(rows, dict.fromkeys(rows.types, read), "queries with MATCH_RECOGNIZE")
        self._settle(rows)
        if self.matching is not None:
            return self._made(self.matching.feed(self._table(rows)))
        before, self.waiting = len(self.waiting), EventBatch.concat([self.waiting, rows])
        if None not in self.kinds.values():
            return self._begin()
        if before < _WAITING_IS_TOLD <= len(self.waiting):
            self._tell_unknown("rows wait until one tells its type")
        return EventBatch.empty()

    def advance(self, time: int) -> EventBatch:
        """Let time go on; the greatest time is the end of all partitions."""
        self.reached = max(self.reached, time)
        if time < MAX_TIME:
            return EventBatch.empty() if self.matching is None else self._made(self.matching.advance(time))
        made = EventBatch.empty()
        if self.matching is None:
            if len(self.waiting):
                self._tell_unknown("it is null in all of them")
            made = self._begin()
        assert self.matching is not None
        return EventBatch.concat([made, self._made(self.matching.finish())])

    @property
    def undecided(self) -> int | None:
        """The time before which no match can end that is still to come; None if no row that has come can be in one."""
        if self.matching is None:
            return int(self.waiting.times[0]) if len(self.waiting) else None
        return self.matching.undecided_since

    @property
    def deadline(self) -> int | None:
        """When time alone decides something next."""
        query, since = self.rule.query, self.undecided
        if query.within is None or since is None or self.matching is None or since + query.within <= self.reached:
            return None
        return since + query.within

    def _rows(self, batch: EventBatch) -> EventBatch:
        source = self.rule.source
        if source is None:
            return batch if batch.provenance is None else batch.take(_from_outside(batch))
        if batch.types == (source,):
            return batch
        if source not in batch.types:
            return EventBatch.empty()
        return batch.take(np.flatnonzero(batch.codes == batch.types.index(source)))

    def _settle(self, rows: EventBatch) -> None:
        """Find the types of columns that only the data tells, and refuse values of another type."""
        for (name, kind), column in rows.columns.items():
            if name not in self.kinds or column.null_count == len(column):
                continue
            known = self.kinds[name]
            if kind is ValueType.LIST:
                raise _misfit(self.rule, name, kind, known)
            if known is None or (self.matching is None and {known, kind} == _NUMBERS):
                self.kinds[name] = ValueType.FLOAT if known is not None else kind
            elif known is not kind and not (kind is ValueType.INT and known in _FROM_INTEGERS):
                raise _misfit(self.rule, name, kind, known)

    def start(self) -> None:
        """Make what finds the matches, with the types that are known."""
        types = {name: kind or ValueType.STRING for name, kind in self.kinds.items()} | _OWN
        unknown = frozenset(name for name, kind in self.kinds.items() if kind is None)
        query = self.rule.query.without_values(unknown) if unknown else self.rule.query
        engine = RowEngine(query, types, TIME_ATTRIBUTE, parts=_PARTS)
        self.given, self.matching = engine.given, engine.build()

    def _tell_unknown(self, consequence: str) -> None:
        """Warn of columns that no row has had a value for, such as those whose names are misspelled."""
        given = {name for name, _ in self.waiting.columns}
        for column in (each for each in self.rule.columns if self.kinds[each.name] is None):
            message = f"no row of {len(self.waiting):,} has a value for '{column.name}'; {consequence}"
            declared = "" if self.rule.source is None else f": event {self.rule.source}({column.name}: string?)"
            hint = did_you_mean(column.name, given) or f"if the name is right, declare its type{declared}"
            finding = Diagnostic("unknown-column", message, column.span, hint, severity=Severity.WARNING)
            warnings.warn(CepheusWarning(finding), stacklevel=2)

    def _begin(self) -> EventBatch:
        """Begin with the rows that have waited for their types."""
        self.start()
        assert self.matching is not None
        waiting, self.waiting = self.waiting, EventBatch.empty()
        return self._made(self.matching.feed(self._table(waiting))) if len(waiting) else EventBatch.empty()

    def _table(self, rows: EventBatch) -> pa.Table:
        columns: dict[str, Any] = {}
        for name, kind in self.kinds.items():
            if name == TYPE_COLUMN:
                columns[name] = pa.DictionaryArray.from_arrays(pa.array(rows.codes), pa.array(rows.types))
            else:
                column = rows.column(name, kind or ValueType.STRING)
                columns[name] = _as_kind(column, kind or ValueType.STRING, len(rows))
        columns[TIME_ATTRIBUTE] = pa.array(rows.times).cast(ValueType.TIMESTAMP.arrow)
        columns[_NUMBER], columns[_TEXT] = _id_columns(rows)
        return pa.table(columns)

    def _made(self, given: Given) -> EventBatch:
        """Composite events for what the query gives, each made of the rows of its match."""
        count = given.table.num_rows
        if not count:
            return EventBatch.empty()
        assert given.parts is not None
        name, composite = str(self.rule.name), self.rule.composite.name
        made_of = _made_of(given)
        told_apart = made_of
        if self.rule.query.rows is not RowsPerMatch.ONE_ROW:  # rows of one match, and one row in several matches
            told_apart = [(own, *parts) for own, parts in zip(_ids_in(given.parts.own), made_of, strict=True)]
        first = given.parts.begins[:-1]
        starts = given.parts.columns[TIME_ATTRIBUTE].cast(pa.int64()).to_numpy()[first]
        columns: dict[ColumnKey, pa.Array] = {}
        for attribute, kind in self.given.items():
            column = given.table.column(attribute).combine_chunks()
            if column.null_count < count:
                columns[attribute, kind] = column
        return EventBatch(
            (composite,),
            np.zeros(count, np.int32),
            given.times,
            columns,
            ids=[composite_id(composite, name, parts) for parts in told_apart],
            probabilities=None if self.factor == 1.0 else np.full(count, self.factor),
            starts=starts,
            provenance=Provenance((name,), np.zeros(count, np.int32), made_of),
        )


_NUMBERS = {ValueType.INT, ValueType.FLOAT}
_FROM_INTEGERS = (ValueType.FLOAT, ValueType.TIMESTAMP)


def _from_outside(batch: EventBatch) -> np.ndarray[Any, Any]:
    assert batch.provenance is not None
    return np.flatnonzero([not made_of for made_of in batch.provenance.made_of])


def _misfit(rule: RowRule, name: str, kind: ValueType, known: ValueType | None) -> EventError:
    if kind is ValueType.LIST:
        message, hint = f"'{name}' is a list here, and rows have none", "leave it out of the query"
    else:
        message = f"'{name}' is {kind.value} here, but {known.value if known else ''} in earlier rows of '{rule.name}'"
        hint = "declare its type, and read the events of one type"
    return EventError.of("type-conflict", message, hint=hint)


def _as_kind(column: pa.Array | None, kind: ValueType, length: int) -> pa.Array:
    if column is None:
        return pa.nulls(length, kind.arrow)
    coded = pa.types.is_dictionary(column.type) and column.type.value_type == kind.arrow
    return column if coded or column.type == kind.arrow else column.cast(kind.arrow, safe=False)


def _id_columns(rows: EventBatch) -> tuple[pa.Array, pa.Array]:
    """The ids of rows: those that are numbers, and those that are texts."""
    ids, count = rows.ids, len(rows)
    assert ids is not None
    if isinstance(ids, range):
        return pa.array(np.arange(ids.start, ids.stop, ids.step)), pa.nulls(count, pa.string())
    if isinstance(ids, np.ndarray):
        return pa.array(ids), pa.nulls(count, pa.string())
    numbers = [each if isinstance(each, int) else None for each in ids]
    texts = [None if isinstance(each, int) else each for each in ids]
    return pa.array(numbers, pa.int64()), pa.array(texts, pa.string())


def _made_of(given: Given) -> list[tuple[EventId, ...]]:
    """The ids of the rows of each match, in their order."""
    assert given.parts is not None
    ids = _ids_in(given.parts.columns)
    begins = given.parts.begins.tolist()
    return [tuple(ids[begin:end]) for begin, end in pairwise(begins)]


def _ids_in(columns: Mapping[str, Any]) -> list[EventId]:
    numbers, texts = columns[_NUMBER], columns[_TEXT]
    found: list[EventId] = numbers.to_pylist() if not numbers.null_count else _mixed(numbers, texts)
    return found


def _mixed(numbers: pa.Array, texts: pa.Array) -> list[EventId]:
    pairs = zip(numbers.to_pylist(), texts.to_pylist(), strict=True)
    return [text if number is None else number for number, text in pairs]


class RowRulesEngine:
    """Runs queries over rows as rules, each in a matching of its own."""

    name = NAME

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._rules: dict[str, _Deployed] = {}
        self._fed = 0

    @property
    def ties(self) -> TieCounts:
        """Rows of one time are taken in their order, which is not counted."""
        return TieCounts.not_counted(self.name)

    @property
    def undecided(self) -> int | None:
        """The time before which no match can end that is still to come; None if nothing is under way."""
        return min((since for each in self._rules.values() if (since := each.undecided) is not None), default=None)

    def next_deadline(self) -> int | None:
        """When time alone will next decide something; None if nothing waits for that."""
        return min((due for each in self._rules.values() if (due := each.deadline) is not None), default=None)

    def deploy(self, rules: Sequence[AnyRule], schema: Schema) -> None:
        """Add queries, all or none."""
        added: dict[str, _Deployed] = {}
        for rule in rules:
            if not isinstance(rule, RowRule):
                hint = "start the session with a rule of that family, so that it has an engine for it"
                raise UnsupportedError.of("unsupported", "the engine rows runs queries only", span=rule.span, hint=hint)
            event_type = None if rule.source is None else schema.get(rule.source)
            kinds: dict[str, ValueType | None] = {}
            for column in rule.columns:
                known = None if event_type is None else event_type.attribute(column.name)
                kinds[column.name] = column.type or (None if known is None else known.type)
            added[str(rule.name)] = _Deployed(rule, kinds)
        for each in added.values():
            if None not in each.kinds.values():
                each.start()
        self._rules |= added

    def withdraw(self, name: str) -> None:
        """Remove a query with all that it remembers."""
        if name not in self._rules:
            hint = did_you_mean(name, self._rules)
            raise OptionError.of("withdraw", f"no rule named '{name}' is deployed", hint=hint)
        del self._rules[name]

    def set_factor(self, rule: str, factor: float) -> None:
        """Set what the probabilities of a query's matches are multiplied by."""
        if rule not in self._rules:
            raise no_such_rule(rule, self._rules)
        self._rules[rule].factor = require_factor(factor)

    def feed(self, batch: EventBatch) -> EventBatch:
        """Take events in total order; what is decided comes by time, simultaneous matches in the order of their ids."""
        if not len(batch):
            return batch
        if batch.ids is None:
            batch = replace(batch, ids=range(self._fed, self._fed + len(batch)))
        self._fed += len(batch)
        last = int(batch.times[-1])
        made = [each.feed(batch) for each in self._rules.values()]
        made += [each.advance(last) for each in self._rules.values() if each.rule.query.within is not None]
        return _in_order(made)

    def feed_event(self, event: Event) -> list[Event]:
        """Take one event."""
        return self.feed(EventBatch.from_events([event])).to_events()

    def advance(self, time: int) -> EventBatch:
        """Return what time alone decides; the greatest time ends all partitions."""
        return _in_order([each.advance(time) for each in self._rules.values()])

    def snapshot(self) -> bytes:
        """Queries, and all that later answers depend on."""
        saved, blobs = [], {}
        for number, each in enumerate(self._rules.values()):
            waiting = None
            if len(each.waiting):
                waiting, blobs[f"{number} waiting"] = batch_to_bytes(each.waiting)
            if each.matching is not None:
                blobs[f"{number}"] = each.matching.snapshot()
            kinds = {name: None if kind is None else kind.value for name, kind in each.kinds.items()}
            saved.append({"rule": node_to_json(each.rule), "kinds": kinds, "factor": each.factor, "waiting": waiting})
        return pack(_KIND, {"rules": saved, "fed": self._fed}, blobs)

    def restore(self, data: bytes) -> None:
        """Take over queries and their state."""
        with restoring(self):
            header, blobs = unpack(_KIND, data)
            found = _HEADER(header, "$")
            rules: dict[str, _Deployed] = {}
            for number, saved in enumerate(found["rules"]):
                each = _Deployed(saved["rule"], saved["kinds"], factor=saved["factor"])
                read = {column.name for column in each.rule.columns}
                form.require(each.kinds.keys() == read, f"$.rules[{number}].kinds", "these are not the columns read")
                if saved["waiting"] is not None:
                    each.waiting = batch_from_bytes(saved["waiting"], blobs.pop(f"{number} waiting"))
                if f"{number}" in blobs:
                    each.start()
                    assert each.matching is not None
                    each.matching.restore(blobs.pop(f"{number}"))
                rules[str(each.rule.name)] = each
            form.only_blobs(blobs, ())
            self._rules, self._fed = rules, found["fed"]


def _in_order(made: Sequence[EventBatch]) -> EventBatch:
    together = EventBatch.concat(made)
    if len(together) < 2:
        return together
    ids = together.id_list() or []
    times = together.times.tolist()
    order = sorted(range(len(together)), key=lambda row: (times[row], str(ids[row])))
    return together if order == list(range(len(order))) else together.take(np.array(order))
