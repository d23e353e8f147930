"""Bands as rows of integer tables, data to the kernel of uncertain events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from cepheus.engine.uncertain.index_tables import (
    BandIndexTables,
    BlurredListener,
    find_band_indexes,
    write_band_indexes,
)
from cepheus.kernel.instructions import OPERATOR_CODES, Instruction, Op
from cepheus.kernel.program import (
    ConstraintKind,
    InstructionField,
    PolicyCode,
    Program,
    RuleField,
    SpanField,
    StepKind,
    Words,
)
from cepheus.kernel.tables import Fields, cell, padding, real
from cepheus.plan.pattern.bands import LoweredBand, LoweredTerm
from cepheus.plan.pattern.code import LoweredConstraint
from cepheus.plan.pattern.content_index import Listener
from cepheus.plan.pattern.flatten import column_listeners, flatten
from cepheus.plan.pattern.layouts import DOUBT, ERROR_MARKS
from cepheus.plan.pattern.lower import Lowering
from cepheus.plan.pattern.lowered import LoweredRule, LoweredStep
from cepheus.uncertainty.laws import Spreads


class BandField(Fields):
    """Of a band: its terms, its bounds, and the constraints that decide it where nothing of it is uncertain."""

    TERMS = cell()
    TERMS_END = cell()
    BOUNDS = cell()
    BOUNDS_END = cell()
    CONSTRAINTS = cell()
    CONSTRAINTS_END = cell()


class TermField(Fields):
    """Of a term: where its value and error are (position -1: a computed value), and the bits of its coefficient."""

    POSITION = cell()
    SLOT = cell()
    ERROR_SLOT = cell()
    IS_INTEGER = cell()
    COEFFICIENT = real()


class BoundField(Fields):
    """Of a bound: the operator, the bits of a constant, and the instructions that give it otherwise (-1: none)."""

    OPERATOR = cell()
    CONSTANT = real()
    CODE = cell()


class UncertainRuleField(Fields):
    """Of a rule: the bits of its least probability and of its factor, its own bands, its absences: a cache line."""

    FLOOR = real()
    FACTOR = real()
    BANDS = cell()
    BANDS_END = cell()
    ABSENCES = cell()
    ABSENCES_END = cell()
    ERRORS = cell()
    PADDING = padding()


class PivotField(Fields):
    """Of a rule: where the quantity is that several of its parts ask about (position -1: there is none).

    ``DOUBT`` is where the terminator's doubt stands.
    """

    POSITION = cell()
    SLOT = cell()
    ERROR_SLOT = cell()
    IS_INTEGER = cell()
    DOUBT = cell()


class MembersCode(IntEnum):
    """Of an aggregate: who belongs to it, and whether the rule can do without it where there may be nobody."""

    FITTING = 0
    ALL = 1
    WEIGHED = 2
    NEEDED = 3


class UncertainStepField(Fields):
    """Of a step: its bands, whether a candidate must exceed the least probability, the error of what is aggregated.

    ``SHARED`` is the number of an aggregate or absence that rules have in common (-1: none): it asks nothing but the
    terminator, so one of them works it out for all. ``REMEMBERED`` tells that the probability of the bands depends on
    the terminator and the candidate alone, so that other rules may use it, too. ``SINGLE`` tells that a step takes just
    the last event, ``UNSURE`` that it takes some of the events and which fit is uncertain, ``MEMBERS`` who belongs to
    an aggregate.
    """

    BANDS = cell()
    BANDS_END = cell()
    EXCEEDS = cell()
    VALUE_ERROR = cell()
    SHARED = cell()
    REMEMBERED = cell()
    SINGLE = cell()
    MEMBERS = cell()
    UNSURE = cell()


class ErrorField(Fields):
    """Of the error of an attribute that a rule computes: its terms, and where it goes in a row of its type."""

    TERMS = cell()
    TERMS_END = cell()
    TYPE_SLOT = cell()


class UncertainColumnField(Fields):
    """Of a column: the bands of its events and the bits of the probability that they must reach."""

    BANDS = cell()
    BANDS_END = cell()
    FLOOR = real()


class ListField(Fields):
    """Of a list of members: the function, how many there are, how many are not sure, how likely there are any.

    Then whether their values are whole numbers. The members follow.
    """

    FUNCTION = cell()
    COUNT = cell()
    UNSURE = cell()
    DEFINED = real()
    ARE_WHOLE = cell()


class ListedField(Fields):
    """Of a listed member: its probability, its value, kind and parameters of the error of that, its value as a word."""

    PROBABILITY = real()
    VALUE = real()
    KIND = cell()
    FIRST = real()
    SECOND = real()
    WORD = cell()


class SpreadField(Fields):
    """Of a component of a distribution: the bits of weight, mean, variance and two half widths."""

    WEIGHT = real()
    MEAN = real()
    VARIANCE = real()
    WIDE = real()
    NARROW = real()


@dataclass(frozen=True, slots=True)
class UncertainTables:
    """What the kernel knows of uncertainty, next to the program."""

    bands: Words
    terms: Words
    bounds: Words
    rules: Words
    pivots: Words
    steps: Words
    columns: Words
    errors: Words
    doubts: Words
    band_indexes: BandIndexTables
    most_outputs: int
    shared: int


@dataclass(slots=True)
class _Rows:
    """Bands and terms collected so far; equal bands of several rules stand there once."""

    found: list[LoweredBand] = field(default_factory=list)
    terms: list[tuple[int, ...]] = field(default_factory=list)
    spans: dict[tuple[LoweredBand, ...], tuple[int, int]] = field(default_factory=dict)

    def span(self, bands: tuple[LoweredBand, ...]) -> tuple[int, int]:
        """The range of bands that belong together."""
        if not bands:
            return 0, 0
        if bands not in self.spans:
            self.spans[bands] = len(self.found), len(self.found) + len(bands)
            self.found += bands
        return self.spans[bands]

    def add_terms(self, terms: Iterable[LoweredTerm]) -> tuple[int, int]:
        begin = len(self.terms)
        self.terms += [
            TermField.row(
                position=term.position,
                slot=term.slot,
                error_slot=term.error_slot,
                is_integer=term.is_integer,
                coefficient=term.coefficient,
            )
            for term in terms
        ]
        return begin, len(self.terms)


def flatten_uncertain(lowering: Lowering, factors: Mapping[str, float]) -> tuple[Program, UncertainTables]:
    """Write rules as a program and, beside it, what is uncertain about them.

    Absences are taken out of the program: what must be absent is now a matter of probability.
    """
    listeners = column_listeners(lowering)
    band_indexes = find_band_indexes({kind: _blurred(lowering, found) for kind, found in listeners.items()})
    members = [near for band_index in band_indexes for near in band_index.members]
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
    rule_rows: list[tuple[int, ...]] = []
    steps: list[tuple[int, ...]] = []
    errors: list[tuple[int, ...]] = []
    shared: dict[LoweredStep, int] = {}
    rules = RuleField.zeros(len(program.rules))
    rules[:] = program.rules
    halves = rules.view(np.int32)
    for number, rule in enumerate(lowering.rules.values()):
        floor, factor = rule.resolved.min_probability, factors.get(rule.name, 1.0)
        begin, end = rows.span(rule.bands)
        rule_rows.append(
            UncertainRuleField.row(
                floor=floor,
                factor=factor,
                bands=begin,
                bands_end=end,
                absences=int(halves[number, RuleField.ABSENCES]),
                absences_end=int(halves[number, RuleField.ABSENCES_END]),
                errors=len(errors),
            )
        )
        halves[number, RuleField.ABSENCES_END] = halves[number, RuleField.ABSENCES]
        inner = len(rule.resolved.positions)
        steps += [_step(step, inner, rows, shared) for step in (*rule.steps, *rule.absences)]
        errors += _errors(lowering, rule, rows)
    columns = UncertainColumnField.zeros(lowering.column_count + 1)
    for column in lowering.columns.values():
        begin, end = rows.span(column.bands)
        columns[column.index] = UncertainColumnField.row(bands=begin, bands_end=end, floor=column.key.floor)
    doubts = [layout.slots[DOUBT] for layout in lowering.types.values()]
    return program._replace(code=InstructionField.array(code), rules=rules), UncertainTables(
        bands=bands,
        terms=TermField.array(rows.terms),
        bounds=bounds,
        rules=UncertainRuleField.array(rule_rows),
        pivots=PivotField.array([_pivot(rule.pivot, doubts[rule.type]) for rule in lowering.rules.values()]),
        steps=UncertainStepField.array(steps),
        columns=columns,
        errors=ErrorField.array(errors),
        doubts=np.array([*doubts, 0], np.int64),
        band_indexes=write_band_indexes(
            band_indexes,
            len(lowering.types),
            [(begin, end) for begin, end in program.groups[len(groups) :].tolist()],
            rows.span,
        ),
        most_outputs=max((len(rule.outputs) for rule in lowering.rules.values()), default=0),
        shared=len(shared),
    )


def _blurred(lowering: Lowering, listeners: Iterable[Listener]) -> list[BlurredListener]:
    """Put listeners together with what they ask of uncertain values."""
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
        terms, terms_end = rows.add_terms(band.terms)
        begin = len(bounds)
        for bound in band.bounds:
            operator, at = OPERATOR_CODES[bound.operator], len(code) if bound.code else -1
            bounds.append(BoundField.row(operator=operator, constant=bound.constant, code=at))
            code += bound.code
        constraints, constraints_end = program.groups[number].tolist()
        bands.append(
            BandField.row(
                terms=terms,
                terms_end=terms_end,
                bounds=begin,
                bounds_end=len(bounds),
                constraints=constraints,
                constraints_end=constraints_end,
            )
        )
    return BandField.array(bands), BoundField.array(bounds)


def _step(step: LoweredStep, inner: int, rows: _Rows, shared: dict[LoweredStep, int]) -> tuple[int, ...]:
    asked = _positions(step)
    number = -1
    if step.kind in (StepKind.COMPUTE, StepKind.ABSENT) and not step.weighed and asked <= {0, inner}:
        number = shared.setdefault(step, len(shared))
    remembered = bool(step.bands) and _of_bands(step.bands) <= {0, step.position}
    exceeds = step.policy is not PolicyCode.EACH
    single = step.single
    members = MembersCode.ALL if step.plain else MembersCode.FITTING
    if step.weighed:
        members = MembersCode.NEEDED if step.needed else MembersCode.WEIGHED
    begin, end = rows.span(step.bands)
    return UncertainStepField.row(
        bands=begin,
        bands_end=end,
        exceeds=exceeds,
        value_error=step.value_error_slot,
        shared=number,
        remembered=remembered,
        single=single,
        members=members,
        unsure=step.unsure and exceeds,
    )


def _pivot(term: LoweredTerm | None, doubt: int) -> tuple[int, ...]:
    if term is None:
        return PivotField.row(position=-1, slot=0, error_slot=0, is_integer=0, doubt=doubt)
    return PivotField.row(
        position=term.position, slot=term.slot, error_slot=term.error_slot, is_integer=term.is_integer, doubt=doubt
    )


_ANYTHING = -1
"""Stands for a position that cannot be named: that of a computed value."""


def _positions(step: LoweredStep) -> set[int]:
    """The positions that a step asks."""
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
        begin, end = rows.add_terms(output.error_terms)
        found.append(ErrorField.row(terms=begin, terms_end=end, type_slot=slot))
    return found


def spread_rows(laws: Sequence[Spreads]) -> tuple[Words, Words]:
    """Write the components of distributions one after the other; give also where those of each begin and end."""
    lines: list[tuple[int, ...]] = []
    ranges: list[tuple[int, int]] = []
    for law in laws:
        begin = len(lines)
        for component in law.components:
            wide, narrow = (*component.widths, 0.0, 0.0)[:2]
            lines.append(
                SpreadField.row(
                    weight=component.weight, mean=component.mean, variance=component.variance, wide=wide, narrow=narrow
                )
            )
        ranges.append((begin, len(lines)))
    return SpreadField.array(lines), SpanField.array(ranges)
