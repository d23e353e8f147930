"""Automaton models as flat tables, beside those of the program that all compiled engines share.

A listener of this engine is a rule, a column that a negation or an aggregate looks at, or an entrance: all states of a
rule that an event of one position leads to. Entrances are numbered after the columns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from cepheus.engine.automata.model import TERMINATOR, AutomatonModel, SequenceModel, positions_of
from cepheus.kernel.program import Program, SpanField, StepKind, Words
from cepheus.kernel.tables import Fields, cell
from cepheus.plan.pattern.content_index import Listener
from cepheus.plan.pattern.flatten import flatten
from cepheus.plan.pattern.lower import Lowering


class StateField(Fields):
    """Of a state: how many events it has, what the next one must satisfy, which instances can be dropped.

    The states of a sequence are numbered one after the other, so what leads to a state is said by the one before it.
    """

    LENGTH = cell()
    WINDOW = cell()
    PATH = cell()
    KEYS = cell()
    KEYS_END = cell()
    CONSTRAINTS = cell(0)  # constraints are placed when the program is written
    CONSTRAINTS_END = cell(0)
    NEEDS = cell()
    NEEDS_END = cell()
    POLICY = cell()
    COUNT = cell()
    KEPT = cell()
    RULE = cell()


class KeyField(Fields):
    """Of a part of a key: the event in the sequence, its type and attribute, the attribute of the next event."""

    INDEX = cell()
    TYPE = cell()
    SLOT = cell()
    NEXT_SLOT = cell()
    IS_FLOAT = cell()


class NeedField(Fields):
    """Of an event that the constraints of a transition look at: its place in the sequence, type and position."""

    INDEX = cell()
    TYPE = cell()
    POSITION = cell()


class ChoiceField(Fields):
    """Of a step of a rule that chooses: the last state of the sequence it reads, and the place of its event there."""

    STATE = cell()
    INDEX = cell()


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
    states: list[tuple[int, ...]] = field(default_factory=list)
    paths: list[int] = field(default_factory=list)
    keys: list[tuple[int, ...]] = field(default_factory=list)
    needs: list[tuple[int, ...]] = field(default_factory=list)
    entrances: list[tuple[int, ...]] = field(default_factory=list)
    entered: list[int] = field(default_factory=list)
    choices: list[tuple[int, ...]] = field(default_factory=list)
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
                rows.choices.append(ChoiceField.row(state=last, index=choice.index))
            else:
                rows.choices.append(ChoiceField.row(state=-1, index=0))
    program = flatten(lowering, listeners, groups)
    states = StateField.array(rows.states)
    states[:, StateField.CONSTRAINTS : StateField.CONSTRAINTS_END + 1] = program.groups
    return program, Tables(
        states=states,
        paths=np.array(rows.paths, np.int64),
        keys=KeyField.array(rows.keys),
        needs=NeedField.array(rows.needs),
        entrances=SpanField.array(rows.entrances),
        entered=np.array(rows.entered, np.int64),
        choices=ChoiceField.array(rows.choices),
        first_state=rows.first_state,
    )


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
            KeyField.row(
                index=key.index,
                type=types[sequence.path[key.index]],
                slot=key.slot,
                next_slot=key.next_slot,
                is_float=key.is_float,
            )
            for key in state.keys
        ]
        read = {position for constraint in state.constraints for position in positions_of(constraint)}
        rows.needs += [
            NeedField.row(index=index, type=types[position], position=position)
            for index, position in enumerate(sequence.path[:length])
            if position in read
        ]
        rows.states.append(
            StateField.row(
                length=length,
                window=state.window,
                path=path,
                keys=keys,
                keys_end=len(rows.keys),
                needs=needs,
                needs_end=len(rows.needs),
                policy=state.policy,
                count=state.count,
                kept=state.kept,
                rule=rule,
            )
        )


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
        rows.entrances.append(SpanField.row(begin=begin, end=len(rows.entered)))
        listeners[types[position]].append(listener)
