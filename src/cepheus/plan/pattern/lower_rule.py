"""Lowering of one rule: from its resolved steps to columns, keys and what is left to check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from cepheus.core.event import text_digest
from cepheus.core.schema import TIME_ATTRIBUTE, Schema
from cepheus.core.time import MAX_TIME
from cepheus.core.values import ValueType
from cepheus.kernel.instructions import Instruction
from cepheus.kernel.program import (
    MAX_KEYS,
    MAX_POSITIONS,
    FunctionCode,
    PolicyCode,
    StepKind,
    ValueKind,
)
from cepheus.plan.pattern.bands import (
    Band,
    LoweredBand,
    LoweredBound,
    LoweredTerm,
    Reference,
    bands,
    blurred,
    linear_terms,
)
from cepheus.plan.pattern.code import Coder, LoweredConstraint, Place, place_of_time
from cepheus.plan.pattern.columns import ColumnKey, SharedColumns
from cepheus.plan.pattern.constructs import Construct, not_lowered, unsupported
from cepheus.plan.pattern.layouts import TypeLayout
from cepheus.plan.pattern.lowered import UNLIMITED, LoweredOutput, LoweredRule, LoweredStep
from cepheus.rules.expressions import (
    AttributeRef,
    Between,
    Comparison,
    Constraint,
    Expression,
    Parameter,
    Scope,
    Within,
)
from cepheus.rules.model import Policy
from cepheus.rules.resolve import Absent, Choose, Compute, Require, ResolvedRule, needed_aggregates, needs
from cepheus.rules.walk import transform, walk

_POLICIES = {Policy.EACH: PolicyCode.EACH, Policy.LAST: PolicyCode.LAST, Policy.FIRST: PolicyCode.FIRST}
_FUNCTIONS = {
    "Count": FunctionCode.COUNT,
    "Sum": FunctionCode.SUM,
    "Avg": FunctionCode.AVG,
    "Min": FunctionCode.MIN,
    "Max": FunctionCode.MAX,
    "Stddev": FunctionCode.STDDEV,
    "First": FunctionCode.FIRST,
    "Last": FunctionCode.LAST,
}
_RUNNING = ("Count", "Sum", "Avg")
_OF_LISTS = ("Min", "Max")
"""Functions of uncertain values that ask for all of them, not only for their sum or one of them."""

_OPEN = ("Stddev",)
"""Functions that have no closed form if anything is uncertain."""


def lower_rule(shared: SharedColumns, rule: ResolvedRule, schema: Schema, fed: Mapping[str, int]) -> LoweredRule:
    """Lower a rule, with columns shared with others; ``fed`` tells how many rows of each type came before it."""
    return _RuleLowering(shared, rule, schema, fed).lower()


class _RuleLowering:
    """Lowers one rule."""

    def __init__(self, shared: SharedColumns, rule: ResolvedRule, schema: Schema, fed: Mapping[str, int]) -> None:
        self._shared = shared
        self._rule = rule
        self._schema = schema
        self._fed = fed
        self._positions = {position.name: number for number, position in enumerate(rule.positions)}
        self._types = {position.name: position.type for position in rule.positions}
        self._inner = len(rule.positions)
        self._back = {rule.terminator.name: 0}
        self._results: dict[str, tuple[int, ValueType | None]] = {}
        self._own_type = ""
        self._marks: dict[str, tuple[int, int]] = {}
        self._blurred_results: dict[str, bool] = {}
        self._weighed: set[str] = set()
        self._banded: set[Reference] = set()
        self._parents: dict[str, str] = {}
        self._coder = Coder(self._locate, self._results, shared.strings)
        if len(self._positions) > MAX_POSITIONS:
            raise unsupported(Construct.LONG_PATTERNS, rule.composite.span)

    def lower(self) -> LoweredRule:
        """Lower the rule, step by step."""
        rule = self._rule
        for name in rule.consuming:
            self._marks.setdefault(self._types[name], (-1, 0))
        for event_type in self._marks:
            self._marks[event_type] = self._shared.layout(event_type).consumption()
        terminator = self._shared.layout(rule.terminator.type)
        sharp, blurs = self._sharp(rule.terminator.constraints)
        filters = self._constraints(sharp)
        terminator_bands = self._bands(blurs)
        steps = []
        for step in rule.steps:
            match step:
                case Choose():
                    steps.append(self._choose(step))
                case Compute():
                    steps.append(self._compute(step))
                case Require(constraint=constraint):
                    sharp, blurs = self._sharp((constraint,))
                    steps.append(
                        LoweredStep(StepKind.REQUIRE, constraints=self._constraints(sharp), bands=self._bands(blurs))
                    )
                case _:
                    assert_never(step)
        absences = tuple(self._absent(absent) for absent in rule.absences)
        outputs = tuple(self._outputs())
        consuming = [
            (self._positions[name], *self._marks[self._types[name]])
            for name in sorted(rule.consuming)
            if name in self._back
        ]
        return LoweredRule(
            rule.name,
            rule,
            terminator.index,
            filters,
            tuple(steps),
            absences,
            outputs,
            tuple(consuming),
            tuple((event_type, *mark) for event_type, mark in self._marks.items()),
            text_digest(rule.name),
            terminator_bands,
        )

    def _is_uncertain(self, reference: Reference) -> bool:
        if isinstance(reference, Parameter):
            return self._blurred_results.get(reference.name, False)
        return reference.name in self._shared.uncertain.get(self._type_name(reference), ())

    def _is_weighed(self, reference: Reference) -> bool:
        return isinstance(reference, Parameter) and reference.name in self._weighed

    def _sharp(self, constraints: Sequence[Constraint]) -> tuple[list[Constraint], list[Constraint]]:
        """Split constraints into those that read nothing uncertain and the others."""
        if not self._shared.uncertain:
            return list(constraints), []
        blurs = [constraint for constraint in constraints if blurred(constraint, self._is_uncertain)]
        return [constraint for constraint in constraints if constraint not in blurs], blurs

    def _bands(self, constraints: Sequence[Constraint]) -> tuple[LoweredBand, ...]:
        """Lower the bands of events that take part; an uncertain attribute may stand in one of them only."""
        found = bands(constraints, self._is_uncertain)
        self._claim(found)
        return tuple(self._lowered_band(band, self._coder, self._locate) for band in found)

    def _claim(self, found: Sequence[Band]) -> None:
        for band in found:
            references = {reference for reference, _ in band.terms}
            if any(self._may_be_same(one, other) for one in references for other in self._banded):
                raise unsupported(Construct.UNCERTAIN_FORMS, band.constraints[0].span)
            self._banded |= references

    def _may_be_same(self, one: Reference, other: Reference) -> bool:
        """Tell whether two references may stand for the same quantity: two positions may take the same event.

        They cannot if one hangs from the other, for it then lies strictly before it.
        """
        if not isinstance(one, AttributeRef) or not isinstance(other, AttributeRef):
            return one == other
        if one.name != other.name or one.event is None or other.event is None or one.event == other.event:
            return one == other
        if self._types[one.event] != self._types[other.event]:
            return False
        return other.event not in self._above(one.event) and one.event not in self._above(other.event)

    def _above(self, name: str) -> set[str]:
        """Give the events that an event hangs from."""
        found = set()
        while name in self._parents:
            name = self._parents[name]
            found.add(name)
        return found

    def _lowered_band(self, band: Band, coder: Coder, locate: Callable[[str | None, str], Place]) -> LoweredBand:
        if len(band.terms) > 1 and any(self._is_weighed(reference) for reference, _ in band.terms):
            raise unsupported(Construct.UNCERTAIN_FORMS, band.constraints[0].span)
        terms = tuple(self._term(reference, coefficient, locate) for reference, coefficient in band.terms)
        bounds = tuple(
            LoweredBound(bound.operator, bound.constant, ())
            if bound.constant is not None
            else LoweredBound(bound.operator, 0.0, coder.expression(bound.expression, ValueType.FLOAT)[0])
            for bound in band.bounds
        )
        certain = tuple(lowered for constraint in band.constraints for lowered in coder.constraint(constraint))
        return LoweredBand(terms, bounds, certain)

    def _term(
        self, reference: Reference, coefficient: float, locate: Callable[[str | None, str], Place]
    ) -> LoweredTerm:
        if isinstance(reference, Parameter):
            number, value_type = self._results[reference.name]
            return LoweredTerm(coefficient, -1, number, number, value_type is ValueType.INT)
        place = locate(reference.event, reference.name)
        if place.optional or place.type is None:
            raise unsupported(Construct.UNCERTAIN_FORMS, reference.span)
        type_name = self._type_name(reference)
        error_slot = self._shared.layout(type_name).error_slot(reference.name)
        source = (type_name, reference.name)
        return LoweredTerm(coefficient, place.position, place.slot, error_slot, place.type is ValueType.INT, source)

    def _locate(self, event: str | None, attribute: str) -> Place:
        position = self._inner if event is None else self._positions[event]
        if attribute == TIME_ATTRIBUTE:
            return place_of_time(position)
        name = self._own_type if event is None else self._types[event]
        event_type = self._schema.get(name)
        declared = event_type.attribute(attribute) if event_type is not None else None
        layout = self._shared.layout(name)
        value_type = declared.type if declared is not None else None
        optional = declared.optional if declared is not None else False
        self._agree(layout, attribute, value_type, optional)
        slot = layout.slot(attribute, value_type, optional)
        layout.readers.setdefault(attribute, set()).add(self._rule.name)
        if layout.types[attribute] is None:
            layout.types[attribute] = value_type
        return Place(position, slot, layout.types[attribute], attribute in layout.optional)

    def _agree(self, layout: TypeLayout, attribute: str, value_type: ValueType | None, optional: bool) -> None:
        """Refuse a rule that takes an attribute for something else than rules deployed before it do."""
        if attribute not in layout.slots:
            return
        known, known_optional = layout.types[attribute], attribute in layout.optional
        told = value_type is None and attribute in layout.told_by_data
        if (known is value_type or told) and known_optional == optional:
            return
        if layout.readers.get(attribute, set()) - {self._rule.name}:
            raise unsupported(Construct.OTHER_TYPE, self._rule.composite.span)
        layout.drop(attribute)

    def _type_name(self, attribute: AttributeRef) -> str:
        return self._own_type if attribute.event is None else self._types[attribute.event]

    def _constraints(self, constraints: Sequence[Constraint]) -> tuple[LoweredConstraint, ...]:
        return tuple(lowered for constraint in constraints for lowered in self._coder.constraint(constraint))

    def _choose(self, step: Choose) -> LoweredStep:
        if step.policy not in _POLICIES:
            raise not_lowered("policy", step.policy.value, step.window.span)
        self._back[step.name] = min(self._back[step.window.reference] + step.window.duration, MAX_TIME)
        self._parents[step.name] = step.window.reference
        column, keys, residual, since, blurs = self._enter(
            step.type, step.name, step.constraints, self._back[step.name], floor=self._rule.min_probability
        )
        return LoweredStep(
            StepKind.CHOOSE,
            position=self._positions[step.name],
            column=column,
            policy=_POLICIES[step.policy],
            count=self._count(step),
            window=step.window.duration,
            reference=self._positions[step.window.reference],
            constraints=residual,
            keys=keys,
            since=since,
            consumed=self._marks.get(step.type, (-1, 0)),
            type=self._shared.layout(step.type).index,
            bands=blurs,
        )

    @staticmethod
    def _count(step: Choose) -> int:
        if step.policy is Policy.EACH:
            return UNLIMITED
        return 1 if step.count is None else step.count

    def _scope(self, scope: Scope) -> tuple[int, int, int, int]:
        """Give window, both references and how far back the scope reaches."""
        match scope:
            case Within(duration=duration, reference=reference):
                return duration, self._positions[reference], -1, min(self._back[reference] + duration, MAX_TIME)
            case Between(first=first, second=second):
                reach = max(self._back[first], self._back[second])
                return 0, self._positions[first], self._positions[second], reach
            case _:
                assert_never(scope)

    def _absent(self, absent: Absent) -> LoweredStep:
        window, reference, other, reach = self._scope(absent.scope)
        column, keys, residual, since, blurs = self._enter(absent.type, None, absent.constraints, reach)
        return LoweredStep(
            StepKind.ABSENT,
            position=self._inner,
            column=column,
            window=window,
            reference=reference,
            other_reference=other,
            constraints=residual,
            keys=keys,
            since=since,
            consumed=self._marks.get(absent.type, (-1, 0)),
            type=self._shared.layout(absent.type).index,
            bands=blurs,
        )

    def _compute(self, step: Compute) -> LoweredStep:
        if step.function not in _FUNCTIONS:
            raise not_lowered("aggregate", step.function, step.scope.span if step.value is None else step.value.span)
        window, reference, other, reach = self._scope(step.scope)
        self._own_type = step.type
        kind, slot, code, value_type = self._value(step)
        error_slot = self._value_error(step)
        weighed = self._weighs(step, error_slot)
        running = (
            step.function in _RUNNING
            and not weighed
            and other < 0
            and reference == 0
            and not code
            and step.type not in self._marks
            and not self._correlated(step)
        )
        sums = (kind, slot, window) if running else None
        column, keys, residual, since, blurs = self._enter(step.type, None, step.constraints, reach, sums)
        self._blurred_results[step.name] = weighed or error_slot >= 0
        if weighed:
            self._weighed.add(step.name)
        result = len(self._results)
        self._results[step.name] = (result, value_type)
        return LoweredStep(
            StepKind.COMPUTE,
            position=self._inner,
            column=column,
            window=window,
            reference=reference,
            other_reference=other,
            constraints=residual,
            keys=keys,
            since=since,
            consumed=self._marks.get(step.type, (-1, 0)),
            function=_FUNCTIONS[step.function],
            value_kind=kind,
            value_slot=slot,
            value_code=code,
            result=result,
            incremental=running,
            type=self._shared.layout(step.type).index,
            bands=blurs,
            value_error_slot=error_slot,
            weighed=weighed,
            needed=step.name in needed_aggregates(self._rule),
        )

    def _weighs(self, step: Compute, error_slot: int) -> bool:
        """Tell whether the members of an aggregate must be weighed one by one."""
        self._own_type = step.type
        unsure = step.type in self._shared.doubted or bool(self._sharp(step.constraints)[1])
        if (unsure or error_slot >= 0) and step.function in _OPEN:
            raise unsupported(Construct.UNCERTAIN_FORMS, None if step.value is None else step.value.span)
        return unsure or (error_slot >= 0 and step.function in _OF_LISTS)

    def _value_error(self, step: Compute) -> int:
        """Give the slot of the error of what is aggregated; -1 if the aggregate is certain."""
        value = step.value
        self._own_type = step.type
        if value is None or not self._shared.uncertain or step.function == "Count":
            return -1
        if not blurred(value, self._is_uncertain):
            return -1
        if not isinstance(value, AttributeRef):
            raise unsupported(Construct.UNCERTAIN_FORMS, value.span)
        return self._term(value, 1.0, self._locate).error_slot

    def _value(self, step: Compute) -> tuple[ValueKind, int, tuple[Instruction, ...], ValueType | None]:
        """Give the kind, slot or code of an aggregated value, and the type of the aggregate."""
        if step.value is None:
            return ValueKind.NONE, -1, (), ValueType.INT
        code, value_type = self._coder.expression(step.value)
        if value_type is ValueType.STRING and step.function in ("Min", "Max"):
            raise unsupported(Construct.EXTREMES_OF_TEXTS, step.value.span)
        kind = ValueKind.FLOAT if value_type is ValueType.FLOAT else ValueKind.INT
        result = {"Count": ValueType.INT, "Avg": ValueType.FLOAT, "Stddev": ValueType.FLOAT}.get(
            step.function, value_type
        )
        if isinstance(step.value, AttributeRef) and step.value.event is None:
            place = self._locate(None, step.value.name)
            if not place.optional:
                return kind, place.slot, (), result
        return kind, -1, code, result

    def _correlated(self, step: Compute) -> bool:
        """Tell whether members must satisfy more than constraints of their own and equalities with bound events."""
        self._own_type = step.type
        _, keys, rest = self._split(None, step.constraints)
        return bool(rest) or len(keys) > MAX_KEYS

    def _split(
        self, own: str | None, constraints: Sequence[Constraint]
    ) -> tuple[list[Constraint], list[tuple[Place, Place]], list[Constraint]]:
        """Split constraints into the event's own, equalities with something bound, and the rest."""
        static: list[Constraint] = []
        keys: list[tuple[Place, Place]] = []
        rest: list[Constraint] = []
        for constraint in constraints:
            if set(needs(constraint)) <= ({own} if own is not None else set()):
                static.append(constraint)
                continue
            pair = self._equality(own, constraint)
            if pair is not None and len(keys) < MAX_KEYS and pair[0].slot not in [key.slot for key, _ in keys]:
                keys.append(pair)
            else:
                rest.append(constraint)
        return static, keys, rest

    def _equality(self, own: str | None, constraint: Constraint) -> tuple[Place, Place] | None:
        """Give the places of ``own attribute = bound attribute``, if the constraint is that and nothing else."""
        match constraint:
            case Comparison(operands=(AttributeRef() as left, AttributeRef() as right), operators=("=",)):
                if right.event == own:
                    left, right = right, left
                if left.event != own or right.event == own or TIME_ATTRIBUTE in (left.name, right.name):
                    return None
                mine, other = self._locate(left.event, left.name), self._locate(right.event, right.name)
                self._shared.compare((self._type_name(left), left.name), (self._type_name(right), right.name))
                alike = mine.type is other.type or self._may_be_alike(left, mine, right, other)
                return (mine, other) if alike and not mine.optional and not other.optional else None
            case _:
                return None

    def _may_be_alike(self, left: AttributeRef, mine: Place, right: AttributeRef, other: Place) -> bool:
        """Tell whether data has told the type of one attribute and may tell that of the other to be the same."""
        if None not in (mine.type, other.type):
            return False
        known = left if other.type is None else right
        return known.name in self._shared.layout(self._type_name(known)).told_by_data

    def _enter(
        self,
        event_type: str,
        own: str | None,
        constraints: Sequence[Constraint],
        reach: int,
        sums: tuple[ValueKind, int, int] | None = None,
        floor: float = 0.0,
    ) -> tuple[int, tuple[tuple[int, int], ...], tuple[LoweredConstraint, ...], int, tuple[LoweredBand, ...]]:
        """Find or make the column of a position; give it, where its key comes from, and what is left to check."""
        self._own_type = event_type
        sharp, blurs = self._sharp(constraints)
        found = bands(blurs, self._is_uncertain)
        if own is not None:
            self._claim(found)
        alone_bands = [band for band in found if _is_static(band, own)]
        static, keys, rest = self._split(own, sharp)
        layout = self._shared.layout(event_type)
        stored = self._fed.get(event_type, 0)
        alone = frozenset(_forget_name(constraint, own) for constraint in static)
        floats = sum(1 << part for part, (mine, _) in enumerate(keys) if mine.type is ValueType.FLOAT)
        key = ColumnKey(layout.index, alone, tuple(mine.slot for mine, _ in keys), floats)
        if sums is not None:
            kind, slot, window = sums
            key = replace(key, sum_kind=kind, sum_slot=max(slot, 0), sum_window=window, since=stored)
        if alone_bands:
            blurs_alone = frozenset(_forget_name(c, own) for band in alone_bands for c in band.constraints)
            key = replace(key, blurred=blurs_alone, floor=floor)
            filters = tuple(self._own_filters(event_type, alone))
            column = self._shared.column(key, filters, stored, self._own_bands(event_type, blurs_alone))
        else:
            column = self._shared.column(key, tuple(self._own_filters(event_type, alone)), stored)
        column.reaches[self._rule.name] = max(column.reaches.get(self._rule.name, 0), reach)
        sources = tuple((other.position, other.slot) for _, other in keys)
        since = 0 if column.born == stored else stored
        self._own_type = event_type
        joint = [band for band in found if band not in alone_bands]
        step_bands = tuple(self._lowered_band(band, self._coder, self._locate) for band in joint)
        return column.index, sources, self._constraints(rest), since, step_bands

    def _own_bands(self, event_type: str, constraints: frozenset[Constraint]) -> tuple[LoweredBand, ...]:
        """Lower the bands of an arriving event alone: it stands at position 0 then."""

        def locate(_: str | None, attribute: str) -> Place:
            self._own_type = event_type
            return replace(self._locate(None, attribute), position=0)

        coder = Coder(locate, {}, self._shared.strings)
        ordered = sorted(constraints, key=repr)
        return tuple(self._lowered_band(band, coder, locate) for band in bands(ordered, self._is_uncertain))

    def _own_filters(self, event_type: str, constraints: frozenset[Constraint]) -> list[LoweredConstraint]:
        """Lower constraints on an arriving event alone: it stands at position 0 then."""

        def locate(_: str | None, attribute: str) -> Place:
            self._own_type = event_type
            return replace(self._locate(None, attribute), position=0)

        coder = Coder(locate, {}, self._shared.strings)
        ordered = sorted(constraints, key=repr)
        return [lowered for constraint in ordered for lowered in coder.constraint(constraint)]

    def _outputs(self) -> list[LoweredOutput]:
        values = {assignment.attribute: assignment.value for assignment in self._rule.assignments}
        outputs = []
        for attribute in self._rule.composite.attributes:
            assert attribute.type is not None
            value = values[attribute.name]
            place = self._copied(value, attribute.type)
            if place is not None and not attribute.optional:
                outputs.append(
                    LoweredOutput(
                        attribute.name,
                        attribute.type,
                        False,
                        position=place.position,
                        slot=place.slot,
                        error_terms=self._error_terms(value),
                    )
                )
            else:
                code, _ = self._coder.expression(value, attribute.type)
                errors = self._error_terms(value)
                listed = any(self._is_weighed(node) for node in walk(value) if isinstance(node, Parameter))
                mixed = listed and (not isinstance(value, Parameter) or not attribute.type.is_numeric)
                if mixed or (errors and attribute.optional):
                    raise unsupported(Construct.UNCERTAIN_FORMS, value.span)
                outputs.append(
                    LoweredOutput(attribute.name, attribute.type, attribute.optional, code=code, error_terms=errors)
                )
        return outputs

    def _error_terms(self, value: Expression) -> tuple[LoweredTerm, ...]:
        """Give where the error of a computed attribute comes from."""
        if not self._shared.uncertain or not blurred(value, self._is_uncertain):
            return ()
        terms = linear_terms(value, self._is_uncertain)
        if terms is None:
            raise unsupported(Construct.UNCERTAIN_FORMS, value.span)
        return tuple(self._term(reference, coefficient, self._locate) for reference, coefficient in terms.items())

    def _copied(self, value: Expression, wanted: ValueType) -> Place | None:
        if not isinstance(value, AttributeRef):
            return None
        place = self._locate(value.event, value.name)
        return place if place.type is wanted and not place.optional else None


def _is_static(band: Band, own: str | None) -> bool:
    """Tell whether a band asks nothing but attributes of the event itself."""
    nodes = (node for constraint in band.constraints for node in walk(constraint))
    return all(
        not isinstance(node, Parameter) and (not isinstance(node, AttributeRef) or node.event == own) for node in nodes
    )


def _forget_name(constraint: Constraint, own: str | None) -> Constraint:
    """Rewrite a constraint on one event so that it no longer depends on what the rule calls that event."""

    def change(node: object) -> object:
        if isinstance(node, AttributeRef) and node.event is not None and node.event == own:
            return replace(node, event=None)
        return node

    result: Constraint = transform(constraint, change)
    return result
