"""Which rules a device can evaluate, and where their tables are in the program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cepheus.core.schema import OWNED_ATTRIBUTE
from cepheus.engine.device.opencl import DEEPEST, JUMPING
from cepheus.kernel.instructions import Instruction, Op
from cepheus.kernel.program import (
    ConstraintField,
    ConstraintKind,
    InstructionField,
    PolicyCode,
    Program,
    RuleField,
    RuleFlag,
    StepKind,
    Words,
)
from cepheus.plan.pattern.lower import Lowering
from cepheus.plan.pattern.lowered import LoweredRule, LoweredStep

_POLICIES = (PolicyCode.EACH, PolicyCode.LAST, PolicyCode.FIRST)
"""The policies that kernels on devices know."""
_JUMPS = (Op.JUMP, Op.JUMP_IF, Op.JUMP_UNLESS, Op.JUMP_IF_DEFINED)
_PUSHES = (Op.SLOT, Op.OPTIONAL_SLOT, Op.CONSTANT)
_KEEPS = (Op.TO_FLOAT, Op.ABS_INT, Op.ABS_FLOAT, Op.FLOOR, Op.CEIL, Op.ROUND, Op.SQRT, Op.CALENDAR, Op.NOT, Op.IS_NULL)
_JOINS = (
    *(Op.ADD_INT, Op.SUB_INT, Op.MUL_INT, Op.MIN_INT, Op.MAX_INT, Op.MOD_INT, Op.COMPARE_INT, Op.COMPARE_FLOAT),
    *(Op.ADD_FLOAT, Op.SUB_FLOAT, Op.MUL_FLOAT, Op.DIV_FLOAT, Op.MIN_FLOAT, Op.MAX_FLOAT, Op.MOD_FLOAT),
    *(Op.BOTH, Op.EITHER),
)
_EFFECTS = {
    **dict.fromkeys(map(int, _PUSHES), 1),
    **dict.fromkeys(map(int, (*_KEEPS, Op.END, Op.JUMP, Op.JUMP_IF)), 0),
    **dict.fromkeys(map(int, (*_JOINS, Op.JUMP_UNLESS, Op.JUMP_IF_DEFINED)), -1),
}
"""By how many values an instruction that a device knows makes the stack higher."""


@dataclass(frozen=True, slots=True)
class DeviceRule:
    """A rule that a device evaluates: its number, the type of its terminators, its steps, and its place in tables.

    ``step_at`` is the number of its first step. ``searched`` are the columns of steps that look at all events of a
    window; without such a step a device would have nothing to do.
    """

    number: int
    type: int
    steps: tuple[LoweredStep, ...]
    absences: tuple[LoweredStep, ...]
    step_at: int
    positions: int
    outputs: int
    outputs_end: int
    fields: int
    may_be_undefined: bool

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns that it looks at."""
        looking = (StepKind.CHOOSE, StepKind.ABSENT)
        return tuple(dict.fromkeys(s.column for s in (*self.steps, *self.absences) if s.kind in looking))

    @property
    def searched(self) -> tuple[int, ...]:
        """The columns of which it looks at many events for one."""
        return tuple(step.column for step in (*self.steps, *self.absences) if _is_searched(step))


def _is_searched(step: LoweredStep) -> bool:
    if step.kind is StepKind.CHOOSE:
        return step.policy is PolicyCode.EACH or not step.plain
    return step.kind is StepKind.ABSENT and not step.plain


def device_rules(lowering: Lowering, program: Program, rules: Sequence[LoweredRule]) -> list[DeviceRule]:
    """The rules that a device can evaluate, with its answers and counts those of the host."""
    if lowering.ordered or any(OWNED_ATTRIBUTE in layout.slots for layout in lowering.types.values()):
        return []
    table = program.rules.view(np.int32)
    return [
        DeviceRule(
            number=number,
            type=rule.type,
            steps=rule.steps,
            absences=rule.absences,
            step_at=int(row[RuleField.STEPS]),
            positions=int(row[RuleField.POSITIONS]),
            outputs=int(row[RuleField.OUTPUTS]),
            outputs_end=int(row[RuleField.OUTPUTS_END]),
            fields=rule.stride,
            may_be_undefined=any(output.code is not None and not output.optional for output in rule.outputs),
        )
        for number, (rule, row) in enumerate(zip(rules, table, strict=True))
        if not row[RuleField.FLAGS] & RuleFlag.FEEDS and _is_fit(rule)
    ]


def _is_fit(rule: LoweredRule) -> bool:
    if rule.timer is not None or rule.consuming or rule.gathers:
        return False
    steps = (*rule.steps, *rule.absences)
    if not all(_is_fit_step(step) for step in steps) or not any(_is_searched(step) for step in steps):
        return False
    return all(_is_fit_code(code) for code in _codes(rule))


def _is_fit_step(step: LoweredStep) -> bool:
    if step.kind not in (StepKind.CHOOSE, StepKind.REQUIRE, StepKind.ABSENT):
        return False
    if step.kind is StepKind.CHOOSE and step.policy not in _POLICIES:
        return False
    return step.listing is None and not step.keys and step.consumed[0] < 0


def _codes(rule: LoweredRule) -> Iterator[Sequence[Instruction]]:
    for step in (*rule.steps, *rule.absences):
        yield from (each.code for each in step.constraints if each.kind is ConstraintKind.CODE)
    yield from (output.code for output in rule.outputs if output.code is not None)


def _is_fit_code(code: Sequence[Instruction]) -> bool:
    """Whether a device knows all instructions, and has room for all values at once; behind a jump it may have more."""
    height = 0
    for op, _, _ in code:
        if op not in _EFFECTS:
            return False
        height += _EFFECTS[op]
        if height > DEEPEST:
            return False
    return True


def constraints_for_device(program: Program) -> Words:
    """The table of constraints, in which those whose code has jumps say so."""
    constraints = program.constraints.copy()
    jumps = np.isin(program.code[:, InstructionField.OP], _JUMPS)
    ends = np.flatnonzero(program.code[:, InstructionField.OP] == Op.END)
    for row in constraints:
        if row[ConstraintField.KIND] == ConstraintKind.CODE:
            begin = int(row[ConstraintField.CODE])
            end = int(ends[np.searchsorted(ends, begin)])
            if jumps[begin:end].any():
                row[ConstraintField.KIND] = JUMPING
    return constraints
