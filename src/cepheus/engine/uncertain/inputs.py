"""Errors and doubts on their way in: those of a batch, planned once for all batches alike, and of a single event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.distribution import Distribution, Normal, Uniform
from cepheus.core.distribution_column import ErrorColumn, ErrorKind
from cepheus.core.event import Event
from cepheus.engine.lowered.intake import no_slots
from cepheus.engine.lowered.single_event import SingleInput
from cepheus.engine.uncertain.error_lists import ListedErrors
from cepheus.kernel.program import Words
from cepheus.plan.pattern.layouts import DOUBT, ERROR_MARKS
from cepheus.plan.pattern.lower import Lowering

_NOTHING: dict[str, Distribution] = {}
_NONE, _NORMAL, _UNIFORM, _OTHER = (
    int(kind) for kind in (ErrorKind.NONE, ErrorKind.NORMAL, ErrorKind.UNIFORM, ErrorKind.OTHER)
)


class ErrorIntake:
    """Where the errors and doubts of batches go, for the rules of the moment; batches alike have one plan.

    ``listed`` has the numbers of distributions that are neither Normal nor Uniform, and gets those of new ones.
    """

    def __init__(self, lowering: Lowering, listed: ListedErrors) -> None:
        self._lowering = lowering
        self._listed = listed
        self._plans: dict[tuple[tuple[str, ...], tuple[str, ...], bool], _ErrorPlan] = {}

    def words(self, batch: EventBatch) -> tuple[list[np.ndarray[Any, Any]], Words]:
        """Columns of errors and doubts as the kernel reads them, and the column that goes to each slot, -1 for none."""
        key = (batch.types, tuple(batch.errors), batch.probabilities is None)
        if key not in self._plans:
            self._plans[key] = _error_plan(self._lowering, batch)
        plan = self._plans[key]
        columns: list[np.ndarray[Any, Any]] = []
        for attribute in plan.attributes:
            columns += self._error_words(ErrorColumn.of(batch.errors[attribute]))
        if batch.probabilities is not None:
            columns.append(doubts_of(batch))
        return columns, plan.slots

    def _error_words(self, column: ErrorColumn) -> tuple[np.ndarray[Any, Any], ...]:
        """Kinds and parameters; of what is neither Normal nor Uniform, the number."""
        first = column.first
        if column.others:
            places = np.array([self._listed.number(error) for error in column.others], float)
            foreign = column.kinds == ErrorKind.OTHER
            first = first.copy()
            first[foreign] = places[first[foreign].astype(np.int64)]
        return np.ascontiguousarray(column.kinds), np.ascontiguousarray(first), np.ascontiguousarray(column.second)


@dataclass(frozen=True, slots=True)
class _ErrorPlan:
    """Which errors of a batch are read, and the column of errors or doubts that goes to each slot, -1 for none."""

    attributes: tuple[str, ...]
    slots: Words


def _error_plan(lowering: Lowering, batch: EventBatch) -> _ErrorPlan:
    """Find out which errors and doubts of a batch, and of all batches alike, go where."""
    layouts = list(lowering.types.values())
    mark = ERROR_MARKS[0]
    read = [name for name in batch.errors if any(f"{name}{mark}" in layout.slots for layout in layouts)]
    slots = no_slots(lowering)
    begin = 0
    for layout in layouts:
        if layout.name in batch.types:
            for number, attribute in enumerate(read):
                slot = layout.slots.get(f"{attribute}{mark}")
                if slot is not None:
                    slots[begin + slot : begin + slot + 3] = range(3 * number, 3 * number + 3)
            if batch.probabilities is not None:
                slots[begin + layout.slots[DOUBT]] = 3 * len(read)
        begin += layout.width
    return _ErrorPlan(tuple(read), slots)


def doubts_of(batch: EventBatch) -> np.ndarray[Any, np.dtype[np.float64]]:
    """For each event, the probability that it did not occur; a composite event counts as certain."""
    if batch.probabilities is None:
        return np.zeros(len(batch))
    doubts = 1.0 - batch.probabilities
    if batch.provenance is not None:
        doubts[[row for row, parts in enumerate(batch.provenance.made_of) if parts]] = 0.0
    return doubts


def with_declared(batch: EventBatch, declared: Mapping[str, Mapping[str, Distribution]]) -> EventBatch:
    """The same batch, in which events that have no errors of their own have those that their types declare."""
    if not declared:
        return batch
    errors = dict(batch.errors)
    for code, event_type in enumerate(batch.types):
        for name, error in declared.get(event_type, _NOTHING).items():
            column = ErrorColumn.of(errors.get(name, [None] * len(batch)))
            lacking = (batch.codes == code) & (column.kinds == ErrorKind.NONE)
            if lacking.any():
                stacked = ErrorColumn.concat([column, ErrorColumn.of([error])])
                errors[name] = stacked.take(np.where(lacking, len(batch), np.arange(len(batch))))
    return replace(batch, errors=errors) if errors else batch


class UncertainInput(SingleInput):
    """As for certain events, with the words of errors and doubts.

    ``declared`` are the errors of events that have none of their own, ``listed`` the numbers of distributions that are
    neither Normal nor Uniform.
    """

    def __init__(
        self,
        lowering: Lowering,
        listening: Sequence[bool],
        declared: Mapping[str, Mapping[str, Distribution]],
        listed: ListedErrors,
    ) -> None:
        super().__init__(lowering, listening)
        self._declared = declared
        self._listed = listed
        self._error_slots: dict[str, list[tuple[str, int]]] = {}
        self._doubt_slots: dict[str, int] = {}
        mark = ERROR_MARKS[0]
        begin = 0
        for layout in lowering.types.values():
            found = [(name.removesuffix(mark), slot) for name, slot in layout.slots.items() if name.endswith(mark)]
            self._error_slots[layout.name] = found
            self._doubt_slots[layout.name] = layout.slots[DOUBT]
            for place in [layout.slots[DOUBT], *(slot + part for _, slot in found for part in range(3))]:
                self.given.slots[begin + place] = place
            begin += layout.width

    def load(self, event: Event, position: int) -> bool:
        """Put an event into place; False if no rule listens to its type."""
        if not super().load(event, position):
            return False
        errors, declared = event.errors, self._declared.get(event.type, _NOTHING)
        words, floats = self._words, self._floats
        for name, slot in self._error_slots[event.type]:
            error = errors.get(name) or declared.get(name)
            if error is None:
                words[slot] = _NONE
            elif isinstance(error, Normal):
                words[slot], floats[slot + 1], floats[slot + 2] = _NORMAL, error.mean, error.variance
            elif isinstance(error, Uniform):
                words[slot], floats[slot + 1], floats[slot + 2] = _UNIFORM, error.low, error.high
            else:
                words[slot], floats[slot + 1] = _OTHER, self._listed[error]
        composite = event.rule is not None or bool(event.made_of)
        floats[self._doubt_slots[event.type]] = 0.0 if composite else 1.0 - event.probability
        return True
