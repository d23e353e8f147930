"""Flattening: a lowering as the tables of a program."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cepheus.kernel.instructions import Instruction
from cepheus.kernel.lines import in_lines
from cepheus.kernel.program import (
    MOST_BRIEF,
    RULE_WORDS,
    ColumnField,
    ConstraintField,
    IndexField,
    ListenerField,
    OutputField,
    PolicyCode,
    Program,
    RuleField,
    RuleFlag,
    StepField,
    StepFlag,
    StepKind,
    TypeField,
    Words,
)
from cepheus.plan.pattern.code import LoweredConstraint
from cepheus.plan.pattern.content_index import Indexes, Listener, index_listeners
from cepheus.plan.pattern.lower import Lowering
from cepheus.plan.pattern.lowered import LoweredRule, LoweredStep


@dataclass(slots=True)
class _Tables:
    """Rows collected so far."""

    constraints: list[tuple[int, ...]] = field(default_factory=list)
    code: list[Instruction] = field(default_factory=list)
    steps: list[tuple[int, ...]] = field(default_factory=list)
    keys: list[tuple[int, int]] = field(default_factory=list)
    outputs: list[tuple[int, ...]] = field(default_factory=list)
    consuming: list[tuple[int, int, int]] = field(default_factory=list)
    listeners: list[tuple[int, ...]] = field(default_factory=list)

    def add_code(self, code: Sequence[Instruction]) -> int:
        """Append instructions and give where they begin; -1 for none."""
        if not code:
            return -1
        self.code += code
        return len(self.code) - len(code)

    def add_constraints(self, constraints: Iterable[LoweredConstraint]) -> tuple[int, int]:
        """Append constraints and give their range."""
        begin = len(self.constraints)
        for c in constraints:
            code = self.add_code(c.code)
            self.constraints.append(
                (c.kind, c.operator, c.position, c.slot, c.other_position, c.other_slot, c.constant, code)
            )
        return begin, len(self.constraints)

    def add_member(self, listener: Listener) -> int:
        """Append a listener and give its number, or, if there is nothing to check, whom it stands for."""
        if not listener.filters:
            return ~(2 * listener.target + listener.is_rule)
        begin, end = self.add_constraints(listener.filters)
        self.listeners.append((listener.is_rule, listener.target, begin, end))
        return len(self.listeners) - 1

    def add_step(self, step: LoweredStep, *, completes: bool = False) -> None:
        """Append a step; ``completes`` tells that each event it takes completes a composite event."""
        begin, end = self.add_constraints(step.constraints)
        keys = len(self.keys)
        self.keys += step.keys
        flags = step.single * StepFlag.SINGLE + completes * StepFlag.COMPLETES + step.plain * StepFlag.PLAIN
        self.steps.append(
            (
                step.kind,
                flags,
                step.column,
                len(step.keys),
                step.reference,
                step.window,
                step.type,
                step.position,
                keys,
                begin,
                end,
                step.since,
                *step.consumed,
                step.policy,
                step.count,
                step.other_reference,
                step.function,
                step.value_kind,
                step.value_slot,
                self.add_code(step.value_code),
                step.result,
                step.incremental,
                0,
            )
        )


def flatten(
    lowering: Lowering,
    listeners: Mapping[int, Sequence[Listener]] | None = None,
    groups: Iterable[Sequence[LoweredConstraint]] = (),
) -> Program:
    """Write all rules of a lowering as one program.

    An engine that does not fill every column names its own listeners, by type; ``groups`` are constraints that it tests
    at moments of its own.
    """
    tables = _Tables()
    if listeners is None:
        listeners = column_listeners(lowering)
    rules = [_rule(lowering, rule, tables, listeners) for rule in lowering.rules.values()]
    indexes = Indexes()
    types = _types(lowering, tables, listeners, indexes)
    ranges = [tables.add_constraints(group) for group in groups]
    return Program(
        types=types,
        listeners=_table(tables.listeners, len(ListenerField)),
        constraints=_table(tables.constraints, len(ConstraintField)),
        code=_table(tables.code, 3),
        columns=_columns(lowering),
        rules=in_lines(np.array(rules, np.int32).view(np.int64).reshape(len(rules), RULE_WORDS)),
        steps=in_lines(_table(tables.steps, len(StepField))),
        keys=_table(tables.keys, 2),
        outputs=_table(tables.outputs, len(OutputField)),
        consuming=_table(tables.consuming, 3),
        indexes=_table(indexes.rows, len(IndexField)),
        points=np.array(indexes.points, np.int64),
        nodes=_table(indexes.nodes, 2),
        members=np.array(indexes.members, np.int64),
        groups=_table(ranges, 2),
        record_width=2 + max((layout.width for layout in lowering.types.values()), default=0),
    )


def _table(rows: Sequence[Sequence[int]], width: int) -> Words:
    return np.array(rows, np.int64).reshape(len(rows), width)


def column_listeners(lowering: Lowering) -> dict[int, list[Listener]]:
    """Give the listeners of each type: rules in order of deployment, then columns."""
    found: dict[int, list[Listener]] = defaultdict(list)
    for number, rule in enumerate(lowering.rules.values()):
        found[rule.type].append(Listener(True, number, rule.filters))
    for column in lowering.columns.values():
        found[column.key.type].append(Listener(False, column.index, column.filters))
    return found


def _rule(
    lowering: Lowering, rule: LoweredRule, tables: _Tables, listeners: Mapping[int, Sequence[Listener]]
) -> list[int]:
    steps = len(tables.steps)
    for number, step in enumerate(rule.steps, 1):
        tables.add_step(step, completes=number == len(rule.steps) and _completes(rule, step))
    absences = len(tables.steps)
    for step in rule.absences:
        tables.add_step(step)
    composite = lowering.types.get(rule.resolved.composite.name)
    feeds = composite is not None and composite.index in listeners
    outputs = len(tables.outputs)
    for output in rule.outputs:
        slot = composite.slots.get(output.attribute, -1) if composite is not None else -1
        flagged = composite is not None and output.attribute in composite.optional
        code = -1 if output.code is None else tables.add_code(output.code)
        tables.outputs.append((code, output.position, output.slot, output.optional, slot, slot + 1 if flagged else -1))
    consuming = len(tables.consuming)
    tables.consuming += rule.consuming
    flags = feeds * RuleFlag.FEEDS + bool(rule.consuming) * RuleFlag.CONSUMES + _is_brief(rule) * RuleFlag.BRIEF
    brief = [half for step in rule.steps for half in (step.column, step.type, *_halves(step.window))]
    row = [
        steps,
        absences,
        len(tables.steps),
        len(rule.resolved.positions),
        outputs,
        len(tables.outputs),
        flags,
        composite.index if composite is not None else -1,
        *(brief if flags & RuleFlag.BRIEF else ()),
    ]
    row += [0] * (RuleField.SEED - len(row))
    row += [*_halves(rule.seed), consuming, len(tables.consuming)]
    return row + [0] * (2 * RULE_WORDS - len(row))


def _halves(word: int) -> tuple[int, int]:
    """Give the two half words of a word, as they lie in memory."""
    first, second = struct.unpack("=ii", struct.pack("=Q", word % (1 << 64)))
    return first, second


def _is_brief(rule: LoweredRule) -> bool:
    """Tell whether all that a rule looks for can be told in brief."""
    return (
        0 < len(rule.steps) <= MOST_BRIEF
        and not rule.absences
        and all(
            step.kind is StepKind.CHOOSE
            and step.single
            and step.plain
            and not step.keys
            and (step.reference, step.position) == (number, number + 1)
            for number, step in enumerate(rule.steps)
        )
    )


def _completes(rule: LoweredRule, last: LoweredStep) -> bool:
    """Tell whether each event that a rule's last step takes makes a composite event, with nothing left to find out."""
    return (
        last.kind is StepKind.CHOOSE
        and last.policy is PolicyCode.EACH
        and last.plain
        and not rule.absences
        and not rule.consuming
        and all(output.code is None for output in rule.outputs)
    )


def _types(lowering: Lowering, tables: _Tables, listeners: Mapping[int, Sequence[Listener]], indexes: Indexes) -> Words:
    reach: dict[int, int] = defaultdict(int)
    for column in lowering.columns.values():
        reach[column.key.type] = max(reach[column.key.type], column.reach)
    types = np.zeros((len(lowering.types), len(TypeField)), np.int64)
    inputs = 0
    stored = set(reach)
    for layout in lowering.types.values():
        linear, groups = index_listeners(listeners.get(layout.index, []))
        begin = len(indexes.members)
        indexes.members += [tables.add_member(listener) for listener in linear]
        end = len(indexes.members)
        first_index = len(indexes.rows)
        for group in groups:
            indexes.add(group, tables.add_member)
        row = types[layout.index]
        row[TypeField.WIDTH] = layout.width
        row[TypeField.MEMBERS] = begin
        row[TypeField.MEMBERS_END] = end
        row[TypeField.REACH] = reach[layout.index]
        row[TypeField.INPUTS] = inputs
        row[TypeField.INDEXES] = first_index
        row[TypeField.INDEXES_END] = len(indexes.rows)
        row[TypeField.STORED] = layout.index in stored
        inputs += layout.width
    return types


def _columns(lowering: Lowering) -> Words:
    columns = np.zeros((lowering.column_count, len(ColumnField)), np.int64)
    for column in lowering.columns.values():
        row, key = columns[column.index], column.key
        row[ColumnField.TYPE] = key.type
        row[ColumnField.KEYS] = len(key.key_slots)
        for part, slot in enumerate(key.key_slots):
            row[ColumnField.KEY_0 + part] = slot
        row[ColumnField.REACH] = column.reach
        row[ColumnField.SUM_KIND] = key.sum_kind
        row[ColumnField.SUM_SLOT] = key.sum_slot
        row[ColumnField.FLOAT_KEYS] = key.float_keys
    return columns
