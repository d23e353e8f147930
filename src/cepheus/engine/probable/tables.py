"""Bands as rows of integer tables, data to the kernel of uncertain events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from cepheus.plan.bands import LoweredBand, LoweredTerm
from cepheus.plan.code import float_bits
from cepheus.plan.flatten import flatten
from cepheus.plan.layouts import DOUBT, ERROR_MARKS
from cepheus.plan.lower import Lowering
from cepheus.plan.lowered import LoweredRule
from cepheus.plan.program import OPERATOR_CODES, PolicyCode, Program, RuleField, Words
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
    """Of a rule: the bits of its least probability and of its factor, its own bands, its absences."""

    FLOOR = 0
    FACTOR = 1
    BANDS = 2
    BANDS_END = 3
    ABSENCES = 4
    ABSENCES_END = 5
    ERRORS = 6


class StepWorthField(IntEnum):
    """Of a step: its bands, whether a candidate must exceed the least probability, the error of what is aggregated."""

    BANDS = 0
    BANDS_END = 1
    EXCEEDS = 2
    VALUE_ERROR = 3


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
    most_outputs: int


@dataclass(slots=True)
class _Rows:
    bands: list[tuple[int, ...]] = field(default_factory=list)
    terms: list[tuple[int, ...]] = field(default_factory=list)
    bounds: list[tuple[int, ...]] = field(default_factory=list)

    def add_terms(self, terms: Iterable[LoweredTerm]) -> tuple[int, int]:
        begin = len(self.terms)
        self.terms += [(t.position, t.slot, t.error_slot, t.is_integer, float_bits(t.coefficient)) for t in terms]
        return begin, len(self.terms)


def flatten_probable(lowering: Lowering, factors: Mapping[str, float]) -> tuple[Program, Worths]:
    """Write rules as a program and, beside it, what is uncertain about them.

    Absences are taken out of the program: what must be absent is now a matter of probability.
    """
    found = [band for rule in lowering.rules.values() for band in rule.bands]
    steps = (step for rule in lowering.rules.values() for step in (*rule.steps, *rule.absences))
    found += [band for step in steps for band in step.bands]
    found += [band for column in lowering.columns.values() for band in column.bands]
    program = flatten(lowering, None, [band.certain for band in found])
    return _with_worths(program, lowering, factors, found)


def _with_worths(
    program: Program, lowering: Lowering, factors: Mapping[str, float], found: Sequence[LoweredBand]
) -> tuple[Program, Worths]:
    rows = _Rows()
    code: list[tuple[int, int, int]] = [tuple(line) for line in program.code.tolist()]
    number_of: dict[int, int] = {}
    for number, band in enumerate(found):
        number_of[id(band)] = number
        terms = rows.add_terms(band.terms)
        begin = len(rows.bounds)
        for bound in band.bounds:
            at = -1
            if bound.code:
                at = len(code)
                code += bound.code
            rows.bounds.append((OPERATOR_CODES[bound.operator], float_bits(bound.constant), at))
        rows.bands.append((*terms, begin, len(rows.bounds), *program.groups[number].tolist()))

    def span(bands: Sequence[LoweredBand]) -> tuple[int, int]:
        if not bands:
            return 0, 0
        begin = number_of[id(bands[0])]
        return begin, begin + len(bands)

    worths = np.zeros((len(lowering.rules), len(WorthField)), np.int64)
    steps: list[tuple[int, ...]] = []
    errors: list[tuple[int, ...]] = []
    rules = program.rules.copy()
    for number, rule in enumerate(lowering.rules.values()):
        own = span(rule.bands)
        floor, factor = rule.resolved.min_probability, factors.get(rule.name, 1.0)
        absences = int(rules[number, RuleField.ABSENCES]), int(rules[number, RuleField.ABSENCES_END])
        worths[number] = (float_bits(floor), float_bits(factor), *own, *absences, len(errors))
        rules[number, RuleField.ABSENCES_END] = rules[number, RuleField.ABSENCES]
        steps += [
            (*span(step.bands), step.policy is not PolicyCode.EACH, step.value_error_slot)
            for step in (*rule.steps, *rule.absences)
        ]
        errors += _errors(lowering, rule, rows)
    columns = np.zeros((lowering.column_count + 1, len(ColumnWorthField)), np.int64)
    for column in lowering.columns.values():
        columns[column.index] = (*span(column.bands), float_bits(column.key.floor))
    doubts = [layout.slots[DOUBT] for layout in lowering.types.values()]
    program = program._replace(code=_table(code, 3), rules=rules)
    return program, Worths(
        bands=_table(rows.bands, len(BandField)),
        terms=_table(rows.terms, len(TermField)),
        bounds=_table(rows.bounds, len(BoundField)),
        rules=worths,
        steps=_table(steps, len(StepWorthField)),
        columns=columns,
        errors=_table(errors, len(ErrorField)),
        doubts=np.array([*doubts, 0], np.int64),
        most_outputs=max((len(rule.outputs) for rule in lowering.rules.values()), default=0),
    )


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
