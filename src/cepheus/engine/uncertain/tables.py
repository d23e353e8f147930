"""Bands as rows of integer tables, data to the kernel of uncertain events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from cepheus.engine.uncertain.vicinity_tables import (
    BlurredListener,
    VicinityTables,
    find_vicinities,
    write_vicinities,
)
from cepheus.kernel.instructions import OPERATOR_CODES, Instruction, Op
from cepheus.kernel.lines import in_lines
from cepheus.kernel.program import (
    ConstraintKind,
    PolicyCode,
    Program,
    RuleField,
    StepKind,
    Words,
)
from cepheus.plan.pattern.bands import LoweredBand, LoweredTerm
from cepheus.plan.pattern.code import LoweredConstraint, float_bits
from cepheus.plan.pattern.content_index import Listener
from cepheus.plan.pattern.flatten import column_listeners, flatten
from cepheus.plan.pattern.layouts import DOUBT, ERROR_MARKS
from cepheus.plan.pattern.lower import Lowering
from cepheus.plan.pattern.lowered import LoweredRule, LoweredStep
from cepheus.uncertainty.laws import Spreads


class BandField(IntEnum):
    """Of a band: its terms, its bounds, and the constraints that decide it where nothing of it is uncertain."""

    TERMS = 0
    TERMS_END = 1
    BOUNDS = 2
    BOUNDS_END = 3
    CONSTRAINTS = 4
    CONSTRAINTS_END = 5


class TermField(IntEnum):
    """Of a term: where its value and error are (position -1: a computed value), and the bits of its coefficient."""

    POSITION = 0
    SLOT = 1
    ERROR_SLOT = 2
    IS_INTEGER = 3
    COEFFICIENT = 4


class BoundField(IntEnum):
    """Of a bound: the operator, the bits of a constant, and the instructions that give it otherwise (-1: none)."""

    OPERATOR = 0
    CONSTANT = 1
    CODE = 2


class WorthField(IntEnum):
    """Of a rule: the bits of its least probability and of its factor, its own bands, its absences: a cache line."""

    FLOOR = 0
    FACTOR = 1
    BANDS = 2
    BANDS_END = 3
    ABSENCES = 4
    ABSENCES_END = 5
    ERRORS = 6
    PADDING = 7


class MembersCode(IntEnum):
    """Of an aggregate: who belongs to it, and whether the rule can do without it where there may be nobody."""

    FITTING = 0
    ALL = 1
    WEIGHED = 2
    NEEDED = 3


class StepWorthField(IntEnum):
    """Of a step: its bands, whether a candidate must exceed the least probability, the error of what is aggregated.

    ``SHARED`` is the number of an aggregate or absence that rules have in common (-1: none): it asks nothing but the
    terminator, so one of them works it out for all. ``REMEMBERED`` tells that the worth of the bands depends on the
    terminator and the candidate alone, so that other rules may use it, too. ``SINGLE`` tells that a step takes just the
    last event, ``MEMBERS`` who belongs to an aggregate.
    """

    BANDS = 0
    BANDS_END = 1
    EXCEEDS = 2
    VALUE_ERROR = 3
    SHARED = 4
    REMEMBERED = 5
    SINGLE = 6
    MEMBERS = 7


class ErrorField(IntEnum):
    """Of the error of an attribute that a rule computes: its terms, and where it goes in a row of its type."""

    TERMS = 0
    TERMS_END = 1
    TYPE_SLOT = 2


class ColumnWorthField(IntEnum):
    """Of a column: the bands of its events and the bits of the probability that they must reach."""

    BANDS = 0
    BANDS_END = 1
    FLOOR = 2


class SpreadField(IntEnum):
    """Of a component of a distribution: the bits of weight, mean, variance and two half widths."""

    WEIGHT = 0
    MEAN = 1
    VARIANCE = 2
    WIDE = 3
    NARROW = 4


@dataclass(frozen=True, slots=True)
class Worths:
    """What the kernel knows of uncertainty, next to the program."""

    bands: Words
    terms: Words
    bounds: Words
    rules: Words
    steps: Words
    columns: Words
    errors: Words
    doubts: Words
    vicinities: VicinityTables
    most_outputs: int
    shared: int


@dataclass(slots=True)
class _Rows:
    """Bands and terms collected so far; equal bands of several rules stand there once."""

    found: list[LoweredBand] = field(default_factory=list)
    terms: list[tuple[int, ...]] = field(default_factory=list)
    spans: dict[tuple[LoweredBand, ...], tuple[int, int]] = field(default_factory=dict)

    def span(self, bands: tuple[LoweredBand, ...]) -> tuple[int, int]:
        """Give the range of bands that belong together."""
        if not bands:
            return 0, 0
        if bands not in self.spans:
            self.spans[bands] = len(self.found), len(self.found) + len(bands)
            self.found += bands
        return self.spans[bands]

    def add_terms(self, terms: Iterable[LoweredTerm]) -> tuple[int, int]:
        begin = len(self.terms)
        self.terms += [(t.position, t.slot, t.error_slot, t.is_integer, float_bits(t.coefficient)) for t in terms]
        return begin, len(self.terms)


def flatten_probable(lowering: Lowering, factors: Mapping[str, float]) -> tuple[Program, Worths]:
    """Write rules as a program and, beside it, what is uncertain about them.

    Absences are taken out of the program: what must be absent is now a matter of probability.
    """
    listeners = column_listeners(lowering)
    vicinities = find_vicinities({kind: _blurred(lowering, found) for kind, found in listeners.items()})
    members = [near for vicinity in vicinities for near in vicinity.members]
    rows = _Rows()
    for near in members:
        rows.span((near.band,))
        rows.span(near.rest)
    for rule in lowering.rules.values():
        rows.span(rule.bands)
        for step in (*rule.steps, *rule.absences):
            rows.span(step.bands)
    for column in lowering.columns.values():
        rows.span(column.bands)
    found_near = {near.listener for near in members}
    others = {kind: [one for one in found if one not in found_near] for kind, found in listeners.items()}
    groups = [band.certain for band in rows.found]
    program = flatten(lowering, others, [*groups, *(near.listener.filters for near in members)])
    code: list[Instruction] = [(op, a, b) for op, a, b in program.code.tolist()]
    bands, bounds = _bands(rows, program, code)
    worths = np.zeros((len(lowering.rules), len(WorthField)), np.int64)
    steps: list[tuple[int, ...]] = []
    errors: list[tuple[int, ...]] = []
    shared: dict[LoweredStep, int] = {}
    rules = in_lines(program.rules)
    halves = rules.view(np.int32)
    for number, rule in enumerate(lowering.rules.values()):
        floor, factor = rule.resolved.min_probability, factors.get(rule.name, 1.0)
        absences = int(halves[number, RuleField.ABSENCES]), int(halves[number, RuleField.ABSENCES_END])
        worths[number] = (float_bits(floor), float_bits(factor), *rows.span(rule.bands), *absences, len(errors), 0)
        halves[number, RuleField.ABSENCES_END] = halves[number, RuleField.ABSENCES]
        inner = len(rule.resolved.positions)
        steps += [_step(step, inner, rows, shared) for step in (*rule.steps, *rule.absences)]
        errors += _errors(lowering, rule, rows)
    columns = np.zeros((lowering.column_count + 1, len(ColumnWorthField)), np.int64)
    for column in lowering.columns.values():
        columns[column.index] = (*rows.span(column.bands), float_bits(column.key.floor))
    doubts = [layout.slots[DOUBT] for layout in lowering.types.values()]
    return program._replace(code=_table(code, 3), rules=rules), Worths(
        bands=bands,
        terms=_table(rows.terms, len(TermField)),
        bounds=bounds,
        rules=worths,
        steps=_table(steps, len(StepWorthField)),
        columns=columns,
        errors=_table(errors, len(ErrorField)),
        doubts=np.array([*doubts, 0], np.int64),
        vicinities=write_vicinities(
            vicinities,
            len(lowering.types),
            [(begin, end) for begin, end in program.groups[len(groups) :].tolist()],
            rows.span,
        ),
        most_outputs=max((len(rule.outputs) for rule in lowering.rules.values()), default=0),
        shared=len(shared),
    )


def _blurred(lowering: Lowering, listeners: Iterable[Listener]) -> list[BlurredListener]:
    """Give listeners with what they ask of uncertain values."""
    rules = list(lowering.rules.values())
    columns = {column.index: column for column in lowering.columns.values()}
    return [
        BlurredListener(one, rules[one.target].bands, rules[one.target].resolved.min_probability)
        if one.is_rule
        else BlurredListener(one, columns[one.target].bands, columns[one.target].key.floor)
        for one in listeners
    ]


def _bands(rows: _Rows, program: Program, code: list[Instruction]) -> tuple[Words, Words]:
    """Write bands and their bounds; the instructions of bounds go to the end of the code."""
    bands: list[tuple[int, ...]] = []
    bounds: list[tuple[int, ...]] = []
    for number, band in enumerate(rows.found):
        terms = rows.add_terms(band.terms)
        begin = len(bounds)
        for bound in band.bounds:
            bounds.append((OPERATOR_CODES[bound.operator], float_bits(bound.constant), len(code) if bound.code else -1))
            code += bound.code
        bands.append((*terms, begin, len(bounds), *program.groups[number].tolist()))
    return _table(bands, len(BandField)), _table(bounds, len(BoundField))


def _step(step: LoweredStep, inner: int, rows: _Rows, shared: dict[LoweredStep, int]) -> tuple[int, ...]:
    asked = _positions(step)
    number = -1
    if step.kind in (StepKind.COMPUTE, StepKind.ABSENT) and not step.weighed and asked <= {0, inner}:
        number = shared.setdefault(step, len(shared))
    remembered = bool(step.bands) and _of_bands(step.bands) <= {0, step.position}
    exceeds = step.policy is not PolicyCode.EACH
    single = step.policy is PolicyCode.LAST and step.count == 1
    members = MembersCode.ALL if step.plain else MembersCode.FITTING
    if step.weighed:
        members = MembersCode.NEEDED if step.needed else MembersCode.WEIGHED
    return (*rows.span(step.bands), exceeds, step.value_error_slot, number, remembered, single, members)


_ANYTHING = -1
"""Stands for a position that cannot be named: that of a computed value."""


def _positions(step: LoweredStep) -> set[int]:
    """Give the positions that a step asks."""
    found = {step.reference, *(position for position, _ in step.keys)}
    if step.other_reference >= 0:
        found.add(step.other_reference)
    return found | _of_bands(step.bands) | _of_constraints(step.constraints) | _of_code(step.value_code)


def _of_bands(bands: Iterable[LoweredBand]) -> set[int]:
    found: set[int] = set()
    for band in bands:
        found |= {term.position for term in band.terms} | _of_constraints(band.certain)
        for bound in band.bounds:
            found |= _of_code(bound.code)
    return found


def _of_constraints(constraints: Iterable[LoweredConstraint]) -> set[int]:
    found: set[int] = set()
    for constraint in constraints:
        if constraint.kind is ConstraintKind.CODE:
            found |= _of_code(constraint.code)
        else:
            found.add(constraint.position)
            if constraint.kind in (ConstraintKind.INT_SLOT, ConstraintKind.FLOAT_SLOT):
                found.add(constraint.other_position)
    return found


def _of_code(code: Iterable[Instruction]) -> set[int]:
    found: set[int] = set()
    for op, a, _ in code:
        if op in (Op.SLOT, Op.OPTIONAL_SLOT):
            found.add(a)
        elif op == Op.RESULT:
            found.add(_ANYTHING)
    return found


def _errors(lowering: Lowering, rule: LoweredRule, rows: _Rows) -> list[tuple[int, ...]]:
    composite = lowering.types.get(rule.resolved.composite.name)
    found: list[tuple[int, ...]] = []
    for output in rule.outputs:
        slot = -1 if composite is None else composite.slots.get(f"{output.attribute}{ERROR_MARKS[0]}", -1)
        found.append((*rows.add_terms(output.error_terms), slot))
    return found


def spread_rows(laws: Sequence[Spreads]) -> tuple[Words, Words]:
    """Write the components of distributions one after the other; give also where those of each begin and end."""
    lines: list[tuple[int, ...]] = []
    ranges: list[tuple[int, int]] = []
    for law in laws:
        begin = len(lines)
        for component in law.components:
            wide, narrow = (*component.widths, 0.0, 0.0)[:2]
            numbers = (component.weight, component.mean, component.variance, wide, narrow)
            lines.append(tuple(map(float_bits, numbers)))
        ranges.append((begin, len(lines)))
    return _table(lines, len(SpreadField)), _table(ranges, 2)


def _table(rows: Sequence[Sequence[int]], width: int) -> Words:
    return np.array(rows, np.int64).reshape(len(rows), width)
