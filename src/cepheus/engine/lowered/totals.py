"""Totals since the start in snapshots: what columns know of events that are gone, by the aggregate that asks for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cepheus.core.values import ValueType
from cepheus.engine.base import snapshot_form as form
from cepheus.kernel.context import State
from cepheus.kernel.memory import address
from cepheus.kernel.program import MAX_KEYS, TotalKind, Words
from cepheus.kernel.state import LaneState
from cepheus.kernel.sums import LIMBS
from cepheus.kernel.totals import TOTAL_WORDS
from cepheus.plan.pattern.columns import Column
from cepheus.plan.pattern.lower import Lowering
from cepheus.plan.pattern.lowered import LoweredRule


@dataclass(frozen=True, slots=True)
class Total:
    """What a step of a rule knows of all its members so far, a row for each key (``kernel/totals.py``)."""

    rule: str
    step: int
    lanes: Words


def totals_of(state: State, lanes: int, rules: Iterable[LoweredRule], lowering: Lowering) -> tuple[Total, ...]:
    """The totals of all rules, each column once; what can go into them has gone into them before."""
    used = state.lanes[:lanes]
    found = []
    for name, number, column in _asking(rules, lowering):
        mine = np.flatnonzero(used[:, LaneState.COLUMN] == column.index)
        rows = np.zeros((len(mine), TOTAL_WORDS), np.int64)
        keys = len(column.key.key_slots)
        rows[:, :keys] = used[mine, LaneState.KEY : LaneState.KEY + keys]
        rows[:, MAX_KEYS] = used[mine, LaneState.SUM_NEXT] - used[mine, LaneState.SUM_FIRST]
        rows[:, MAX_KEYS + 1 : MAX_KEYS + 1 + LIMBS] = state.sums[mine]
        rows[:, -1] = used[mine, LaneState.INEXACT]
        found.append(Total(name, number, rows))
    return tuple(found)


def totals_to_put(
    totals: Sequence[Total], rules: Iterable[LoweredRule], lowering: Lowering, texts: int
) -> Iterator[tuple[int, int]]:
    """The column of each total and the address of what it is; an error if they do not go with the rules."""
    asking = {(name, number): column for name, number, column in _asking(rules, lowering)}
    named = {(each.rule, each.step) for each in totals}
    form.require(len(named) == len(totals), "$.totals", "one stands there twice")
    form.require(named <= asking.keys(), "$.totals", "no rule asks for this total")
    for each in totals:
        column = asking[each.rule, each.step]
        _require_sense(each, column, lowering, texts)
        lanes = np.ascontiguousarray(each.lanes)
        for row in range(len(lanes)):
            yield column.index, address(lanes) + 8 * TOTAL_WORDS * row


def marked_texts(state: State, lanes: int, lowering: Lowering) -> Iterator[Words]:
    """The codes of the texts that are first or last values since the start."""
    used = state.lanes[:lanes]
    for column in lowering.columns.values():
        if column.key.total > TotalKind.SUM and _type_at(column, column.key.sum_slot, lowering) is ValueType.STRING:
            yield state.sums[np.flatnonzero(used[:, LaneState.COLUMN] == column.index), 0]


def _asking(rules: Iterable[LoweredRule], lowering: Lowering) -> Iterator[tuple[str, int, Column]]:
    """The steps that ask for totals, by rule and number, one for each column."""
    columns = {column.index: column for column in lowering.columns.values()}
    seen: set[int] = set()
    for rule in rules:
        for number, step in enumerate(rule.steps):
            if step.since_start and step.column not in seen:
                seen.add(step.column)
                yield rule.name, number, columns[step.column]


def _require_sense(total: Total, column: Column, lowering: Lowering, texts: int) -> None:
    """Refuse keys and values that the types of a column cannot have."""
    rows, path = total.lanes, "$.totals"
    form.require(rows.shape[1] == TOTAL_WORDS, path, "the rows have another length")
    form.require(bool((rows[:, [MAX_KEYS, -1]] >= 0).all()), path, "a number of events is negative")
    form.require(len(np.unique(rows[:, :MAX_KEYS], axis=0)) == len(rows), path, "a key stands there twice")
    for part, slot in enumerate(column.key.key_slots):
        _require_type(rows[:, part], _type_at(column, slot, lowering), texts)
    if column.key.total > TotalKind.SUM:
        _require_type(rows[:, MAX_KEYS + 1], _type_at(column, column.key.sum_slot, lowering), texts)


def _require_type(words: Words, kind: ValueType | None, texts: int) -> None:
    if kind is ValueType.STRING:
        form.all_between(words, 0, max(1, texts), "$.totals")
    elif kind is ValueType.BOOL:
        form.all_between(words, 0, 2, "$.totals")


def _type_at(column: Column, slot: int, lowering: Lowering) -> ValueType | None:
    layout = list(lowering.types.values())[column.key.type]
    return next((layout.types[name] for name, place in layout.slots.items() if place == slot), None)
