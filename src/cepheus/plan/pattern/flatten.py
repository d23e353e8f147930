"""Flattening: a lowering as the tables of a program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from cepheus.kernel.instructions import Instruction
from cepheus.kernel.program import (
    MOST_BRIEF,
    BriefField,
    ColumnField,
    ConstraintField,
    ConsumedField,
    Forgets,
    GroupKeyField,
    IndexField,
    InstructionField,
    KeyField,
    ListenerField,
    ListingField,
    OutputField,
    PolicyCode,
    Program,
    RuleField,
    RuleFlag,
    SpanField,
    StepField,
    StepFlag,
    StepKind,
    TimerField,
    TotalKind,
    TypeField,
    ValueKind,
    Words,
)
from cepheus.plan.pattern.code import LoweredConstraint, float_bits
from cepheus.plan.pattern.content_index import Indexes, Listener, index_listeners
from cepheus.plan.pattern.lower import Lowering
from cepheus.plan.pattern.lowered import LoweredListing, LoweredRule, LoweredStep


@dataclass(slots=True)
class _Tables:
    """Rows collected so far."""

    constraints: list[tuple[int, ...]] = field(default_factory=list)
    code: list[Instruction] = field(default_factory=list)
    steps: list[tuple[int, ...]] = field(default_factory=list)
    keys: list[tuple[int, ...]] = field(default_factory=list)
    listings: list[tuple[int, ...]] = field(default_factory=list)
    group_keys: list[tuple[int, ...]] = field(default_factory=list)
    outputs: list[tuple[int, ...]] = field(default_factory=list)
    consuming: list[tuple[int, ...]] = field(default_factory=list)
    listeners: list[tuple[int, ...]] = field(default_factory=list)

    def add_code(self, code: Sequence[Instruction]) -> int:
        """Append instructions and return where they begin; -1 for none."""
        if not code:
            return -1
        self.code += code
        return len(self.code) - len(code)

    def add_constraints(self, constraints: Iterable[LoweredConstraint]) -> tuple[int, int]:
        """Append constraints and return their range."""
        begin = len(self.constraints)
        for c in constraints:
            code = self.add_code(c.code)
            self.constraints.append(
                ConstraintField.row(
                    kind=c.kind,
                    operator=c.operator,
                    position=c.position,
                    slot=c.slot,
                    other_position=c.other_position,
                    other_slot=c.other_slot,
                    constant=c.constant,
                    code=code,
                )
            )
        return begin, len(self.constraints)

    def add_member(self, listener: Listener) -> int:
        """Append a listener and return its number, or, if there is nothing to check, whom it stands for."""
        if not listener.filters:
            return ~(2 * listener.target + listener.is_rule)
        begin, end = self.add_constraints(listener.filters)
        self.listeners.append(
            ListenerField.row(is_rule=listener.is_rule, target=listener.target, constraints=begin, constraints_end=end)
        )
        return len(self.listeners) - 1

    def add_step(self, step: LoweredStep, *, completes: bool = False) -> None:
        """Append a step; ``completes`` tells that each event it takes completes a composite event."""
        begin, end = self.add_constraints(step.constraints)
        keys = len(self.keys)
        self.keys += [KeyField.row(position=position, slot=slot) for position, slot in step.keys]
        flags = step.single * StepFlag.SINGLE + completes * StepFlag.COMPLETES + step.plain * StepFlag.PLAIN
        flags += (step.listing is not None) * StepFlag.LISTED
        flags += step.consumes * StepFlag.CONSUMES + step.counted * StepFlag.COUNTED
        flags += step.silent * StepFlag.SILENT + step.even_undefined * StepFlag.EVEN_UNDEFINED
        flags += step.since_start * StepFlag.SINCE_START + step.of_texts * StepFlag.OF_TEXTS
        consumed_slot, consumed_bit = step.consumed
        self.steps.append(
            StepField.row(
                kind=step.kind,
                flags=flags,
                column=step.column,
                key_count=len(step.keys),
                reference=step.reference,
                window=step.window,
                type=step.type,
                position=step.position,
                keys=keys,
                constraints=begin,
                constraints_end=end,
                since=step.since,
                consumed_slot=consumed_slot,
                consumed_bit=consumed_bit,
                policy=step.policy,
                count=float_bits(step.argument) if step.kind is StepKind.COMPUTE else step.count,
                other_reference=step.other_reference,
                function=step.function,
                value_kind=step.value_kind,
                value_slot=step.value_slot,
                value_code=self.add_code(step.value_code),
                result=step.result,
                incremental=step.incremental,
                listing=-1 if step.listing is None else self.add_listing(step.listing),
            )
        )

    def add_listing(self, listing: LoweredListing) -> int:
        """Append what is particular to a selection that is listed and return its number."""
        begin = len(self.group_keys)
        self.group_keys += [
            GroupKeyField.row(slot=key.slot, flag_slot=key.flag_slot, is_float=key.is_float) for key in listing.groups
        ]
        self.listings.append(
            ListingField.row(
                groups=begin,
                groups_end=len(self.group_keys),
                ranked=listing.ranked,
                computed=listing.computed,
                value_kind=listing.value_kind,
                value_code=self.add_code(listing.value_code),
            )
        )
        return len(self.listings) - 1


def flatten(
    lowering: Lowering,
    listeners: Mapping[int, Sequence[Listener]] | None = None,
    groups: Iterable[Sequence[LoweredConstraint]] = (),
    *,
    in_time: bool = False,
) -> Program:
    """Write all rules of a lowering as one program.

    An engine that does not fill every column names its own listeners, by type; ``groups`` are constraints that it tests
    at moments of its own. One that evaluates every terminator ``in_time``, before it takes the next event, need not
    keep what later terminators do not ask for.
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
        listeners=ListenerField.array(tables.listeners),
        constraints=ConstraintField.array(tables.constraints),
        code=InstructionField.array(tables.code),
        columns=_columns(lowering, in_time=in_time),
        rules=RuleField.array(rules),
        steps=StepField.array(tables.steps),
        keys=KeyField.array(tables.keys),
        listings=ListingField.array(tables.listings),
        group_keys=GroupKeyField.array(tables.group_keys),
        outputs=OutputField.array(tables.outputs),
        consuming=ConsumedField.array(tables.consuming),
        timers=TimerField.array(_timers(lowering)),
        indexes=IndexField.array(indexes.rows),
        points=np.array(indexes.points, np.int64),
        nodes=SpanField.array(indexes.nodes),
        members=np.array(indexes.members, np.int64),
        groups=SpanField.array(ranges),
        record_width=2 + max((layout.width for layout in lowering.types.values()), default=0),
    )


def _timers(lowering: Lowering) -> list[tuple[int, ...]]:
    """The rows of the timers of rules, in order of deployment."""
    rows: list[tuple[int, ...]] = []
    another = {one: other for same in _timers_by_type(lowering).values() for one, other in pairwise(same)}
    for number, rule in enumerate(lowering.rules.values()):
        timer = rule.timer
        if timer is not None:
            consumed_slot, consumed_bit = timer.consumed
            rows.append(
                TimerField.row(
                    rule=number,
                    type=rule.type,
                    column=timer.column,
                    delay=timer.delay,
                    position=timer.position,
                    consumed_slot=consumed_slot,
                    consumed_bit=consumed_bit,
                    period=0 if timer.every is None else timer.every.period,
                    another=another.get(len(rows), -1),
                )
            )
    return rows


def _timers_by_type(lowering: Lowering) -> dict[int, list[int]]:
    """The numbers of the timers that wait after events, by the type of the events."""
    timers = [(rule.type, rule.timer) for rule in lowering.rules.values() if rule.timer is not None]
    found: dict[int, list[int]] = defaultdict(list)
    for number, (kind, timer) in enumerate(timers):
        if timer.every is None:
            found[kind].append(number)
    return found


def column_listeners(lowering: Lowering) -> dict[int, list[Listener]]:
    """The listeners of each type: rules in order of deployment, then columns."""
    found: dict[int, list[Listener]] = defaultdict(list)
    for number, rule in enumerate(lowering.rules.values()):
        if rule.timer is None:
            found[rule.type].append(Listener(True, number, rule.filters))
    for column in lowering.columns.values():
        found[column.key.type].append(Listener(False, column.index, column.filters))
    return found


def _rule(
    lowering: Lowering, rule: LoweredRule, tables: _Tables, listeners: Mapping[int, Sequence[Listener]]
) -> tuple[int, ...]:
    steps = len(tables.steps)
    for number, step in enumerate(rule.steps, 1):
        tables.add_step(step, completes=number == len(rule.steps) and _completes(rule, step))
    absences = len(tables.steps)
    for step in rule.absences:
        tables.add_step(step)
    gathers = len(tables.steps)
    for step in rule.gathers:
        tables.add_step(step)
    composite = lowering.types.get(rule.resolved.composite.name)
    feeds = composite is not None and composite.index in listeners
    outputs = len(tables.outputs)
    for output in rule.outputs:
        slot = composite.slots.get(output.attribute, -1) if composite is not None else -1
        flagged = composite is not None and output.attribute in composite.optional
        code = -1 if output.code is None else tables.add_code(output.code)
        tables.outputs.append(
            OutputField.row(
                code=code,
                position=output.position,
                slot=output.slot,
                optional=output.optional,
                type_slot=slot,
                flag_slot=slot + 1 if flagged else -1,
            )
        )
    consuming = len(tables.consuming)
    tables.consuming += [
        ConsumedField.row(position=position, slot=slot, bit=bit) for position, slot, bit in rule.consuming
    ]
    flags = feeds * RuleFlag.FEEDS + bool(rule.consuming) * RuleFlag.CONSUMES + _is_brief(rule) * RuleFlag.BRIEF
    flags += bool(rule.gathers) * RuleFlag.GATHERS
    flags += all(_takes_latest(step) for step in rule.steps) * RuleFlag.STRAIGHT
    brief = [BriefField.row(column=step.column, type=step.type, window=step.window) for step in rule.steps]
    return RuleField.row(
        steps=steps,
        absences=absences,
        absences_end=gathers,
        positions=len(rule.resolved.positions),
        outputs=outputs,
        outputs_end=len(tables.outputs),
        flags=flags,
        type=composite.index if composite is not None else -1,
        brief=[half for row in brief for half in row] if flags & RuleFlag.BRIEF else (),
        seed=rule.seed,
        consuming=consuming,
        consuming_end=len(tables.consuming),
        gathers=gathers,
        gathers_end=len(tables.steps),
    )


def _is_brief(rule: LoweredRule) -> bool:
    """Whether all that a rule looks for can be told in brief."""
    return (
        0 < len(rule.steps) <= MOST_BRIEF
        and not rule.absences
        and not rule.gathers
        and all(
            _takes_latest(step) and not step.keys and (step.reference, step.position) == (number, number + 1)
            for number, step in enumerate(rule.steps)
        )
    )


def _takes_latest(step: LoweredStep) -> bool:
    """Whether a step takes the latest event of its column, whatever that is like."""
    return step.kind is StepKind.CHOOSE and step.single and step.plain


def _completes(rule: LoweredRule, last: LoweredStep) -> bool:
    """Whether each event that a rule's last step takes makes a composite event, with nothing left to find out."""
    return (
        last.kind is StepKind.CHOOSE
        and last.policy is PolicyCode.EACH
        and last.plain
        and last.listing is None
        and not rule.absences
        and not rule.consuming
        and not rule.gathers
        and all(output.code is None for output in rule.outputs)
    )


def _types(lowering: Lowering, tables: _Tables, listeners: Mapping[int, Sequence[Listener]], indexes: Indexes) -> Words:
    reach: dict[int, int] = defaultdict(int)
    for column in lowering.columns.values():
        reach[column.key.type] = max(reach[column.key.type], column.reach)
    types = TypeField.zeros(len(lowering.types))
    inputs = 0
    stored = set(reach)
    timers = _timers_by_type(lowering)
    for layout in lowering.types.values():
        linear, groups = index_listeners(listeners.get(layout.index, []))
        begin = len(indexes.members)
        indexes.members += [tables.add_member(listener) for listener in linear]
        end = len(indexes.members)
        first_index = len(indexes.rows)
        for group in groups:
            indexes.add(group, tables.add_member)
        types[layout.index] = TypeField.row(
            width=layout.width,
            members=begin,
            members_end=end,
            reach=reach[layout.index],
            inputs=inputs,
            indexes=first_index,
            indexes_end=len(indexes.rows),
            stored=layout.index in stored,
            timer=timers.get(layout.index, [-1])[0],
        )
        inputs += layout.width
    return types


def _columns(lowering: Lowering, *, in_time: bool) -> Words:
    columns = ColumnField.zeros(lowering.column_count)
    forgetful = _forgetful(lowering) if in_time else {}
    for column in lowering.columns.values():
        key = column.key
        columns[column.index] = ColumnField.row(
            type=key.type,
            keys=len(key.key_slots),
            key=key.key_slots,
            reach=column.reach,
            sum_kind=key.sum_kind,
            sum_slot=key.sum_slot,
            float_keys=key.float_keys,
            total=key.total,
            forgets=forgetful.get(column.index, Forgets.WHEN_FULL),
            in_order=key.in_order,
        )
    return columns


def _forgetful(lowering: Lowering) -> dict[int, Forgets]:
    """The columns that need not keep all that is in reach, and what they keep."""
    latest: dict[int, bool] = {}
    timed: set[int] = set()
    for rule in lowering.rules.values():
        timed |= {-1 if rule.timer is None else rule.timer.column}
        for step in (*rule.steps, *rule.absences, *rule.gathers):
            asks_for_latest = step.plain and step.reference == 0 and step.other_reference < 0 and rule.timer is None
            asks_for_latest &= step.single if step.kind is StepKind.CHOOSE else step.kind is StepKind.ABSENT
            latest[step.column] = latest.get(step.column, True) and asks_for_latest
    return {
        column.index: Forgets.ALL_BUT_LATEST if latest.get(column.index, False) else Forgets.WHEN_PASSED
        for column in lowering.columns.values()
        if column.index not in timed and (column.key.sum_kind, column.key.total) == (ValueKind.NONE, TotalKind.NONE)
    }
