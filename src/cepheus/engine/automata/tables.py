"""Automaton models as flat tables, beside those of the program that all compiled engines share.

A listener of this engine is a rule, a column that a negation or an aggregate looks at, or an entrance: all states of a
rule that an event of one position leads to. Entrances are numbered after the columns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from cepheus.engine.automata.model import TERMINATOR, AutomatonModel, SequenceModel, positions_of
from cepheus.kernel.program import Program, StepKind, Words
from cepheus.plan.pattern.content_index import Listener
from cepheus.plan.pattern.flatten import flatten
from cepheus.plan.pattern.lower import Lowering


class StateField(IntEnum):
    """Of a state: how many events it has, what the next one must satisfy, which instances can be dropped.

    The states of a sequence are numbered one after the other, so what leads to a state is said by the one before it.
    """

    LENGTH = 0
    WINDOW = 1
    PATH = 2
    KEYS = 3
    KEYS_END = 4
    CONSTRAINTS = 5
    CONSTRAINTS_END = 6
    NEEDS = 7
    NEEDS_END = 8
    POLICY = 9
    COUNT = 10
    KEPT = 11
    RULE = 12


class KeyField(IntEnum):
    """Of a part of a key: the event in the sequence, its type and attribute, the attribute of the next event."""

    INDEX = 0
    TYPE = 1
    SLOT = 2
    NEXT_SLOT = 3
    IS_FLOAT = 4


class NeedField(IntEnum):
    """Of an event that the constraints of a transition look at: its place in the sequence, type and position."""

    INDEX = 0
    TYPE = 1
    POSITION = 2


class ChoiceField(IntEnum):
    """Of a step of a rule that chooses: the last state of the sequence it reads, and the place of its event there."""

    STATE = 0
    INDEX = 1


@dataclass(frozen=True, slots=True)
class Tables:
    """The automata of all rules; the kernel only reads them. ``first_state`` is by name of rule."""

    states: Words
    paths: Words
    keys: Words
    needs: Words
    entrances: Words
    entered: Words
    choices: Words
    first_state: Mapping[str, int]


@dataclass(slots=True)
class _Rows:
    states: list[list[int]] = field(default_factory=list)
    paths: list[int] = field(default_factory=list)
    keys: list[tuple[int, ...]] = field(default_factory=list)
    needs: list[tuple[int, ...]] = field(default_factory=list)
    entrances: list[tuple[int, int]] = field(default_factory=list)
    entered: list[int] = field(default_factory=list)
    choices: list[tuple[int, int]] = field(default_factory=list)
    first_state: dict[str, int] = field(default_factory=dict)


def flatten_automata(lowering: Lowering, models: Mapping[str, AutomatonModel]) -> tuple[Program, Tables]:
    """Write all rules, with their automata, as tables; ``models`` are by name of rule."""
    rows = _Rows()
    listeners: dict[int, list[Listener]] = defaultdict(list)
    _listen_for_rules(lowering, listeners)
    groups = []
    for number, rule in enumerate(lowering.rules.values()):
        model = models[rule.name]
        first = rows.first_state[rule.name] = len(rows.states)
        starts = []
        for sequence in model.sequences:
            starts.append(len(rows.states))
            _add_sequence(rows, model, sequence, number)
            groups += [state.constraints for state in sequence.states]
        _add_entrances(rows, model, first, lowering.column_count, listeners)
        for step in (*model.rule.steps, *model.rule.absences):
            if step.kind is StepKind.CHOOSE:
                choice = model.choices[step.position]
                last = starts[choice.sequence] + len(model.sequences[choice.sequence].states) - 1
                rows.choices.append((last, choice.index))
            else:
                rows.choices.append((-1, 0))
    program = flatten(lowering, listeners, groups)
    states = _table(rows.states, len(StateField))
    states[:, StateField.CONSTRAINTS : StateField.CONSTRAINTS_END + 1] = program.groups
    return program, Tables(
        states=states,
        paths=np.array(rows.paths, np.int64),
        keys=_table(rows.keys, len(KeyField)),
        needs=_table(rows.needs, len(NeedField)),
        entrances=_table(rows.entrances, 2),
        entered=np.array(rows.entered, np.int64),
        choices=_table(rows.choices, len(ChoiceField)),
        first_state=rows.first_state,
    )


def _table(rows: Sequence[Sequence[int]], width: int) -> Words:
    return np.array(rows, np.int64).reshape(len(rows), width)


def _listen_for_rules(lowering: Lowering, listeners: dict[int, list[Listener]]) -> None:
    """Add the rules, in order of deployment, and the columns that some negation or aggregate looks at."""
    looked_at = set()
    for number, rule in enumerate(lowering.rules.values()):
        listeners[rule.type].append(Listener(True, number, rule.filters))
        looked_at |= {step.column for step in (*rule.steps, *rule.absences) if step.kind is not StepKind.CHOOSE}
    for column in lowering.columns.values():
        if column.index in looked_at:
            listeners[column.key.type].append(Listener(False, column.index, column.filters))


def _add_sequence(rows: _Rows, model: AutomatonModel, sequence: SequenceModel, rule: int) -> None:
    types = model.types
    path = len(rows.paths)
    rows.paths += (*sequence.path, TERMINATOR)
    for length, state in enumerate(sequence.states, 1):
        keys, needs = len(rows.keys), len(rows.needs)
        rows.keys += [
            (key.index, types[sequence.path[key.index]], key.slot, key.next_slot, key.is_float) for key in state.keys
        ]
        read = {position for constraint in state.constraints for position in positions_of(constraint)}
        rows.needs += [
            (index, types[position], position)
            for index, position in enumerate(sequence.path[:length])
            if position in read
        ]
        row = [0] * len(StateField)
        row[StateField.LENGTH] = length
        row[StateField.WINDOW] = state.window
        row[StateField.PATH] = path
        row[StateField.KEYS], row[StateField.KEYS_END] = keys, len(rows.keys)
        row[StateField.NEEDS], row[StateField.NEEDS_END] = needs, len(rows.needs)
        row[StateField.POLICY] = state.policy
        row[StateField.COUNT] = state.count
        row[StateField.KEPT] = state.kept
        row[StateField.RULE] = rule
        rows.states.append(row)


def _add_entrances(
    rows: _Rows, model: AutomatonModel, first: int, columns: int, listeners: dict[int, list[Listener]]
) -> None:
    """Add one entrance for each position, leading to every state that an event of it completes."""
    entered: dict[int, list[int]] = defaultdict(list)
    number = first
    for sequence in model.sequences:
        for state in sequence.states:
            entered[state.position].append(number)
            number += 1
    types = model.types
    for position, states in entered.items():
        begin = len(rows.entered)
        rows.entered += states
        listener = Listener(False, columns + len(rows.entrances), model.filters[position])
        rows.entrances.append((begin, len(rows.entered)))
        listeners[types[position]].append(listener)
