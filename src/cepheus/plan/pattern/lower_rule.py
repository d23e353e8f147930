"""Lowering of one rule: from its resolved steps to columns, keys and what is left to check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    PolicyCode,
    StepKind,
    ValueKind,
)
from cepheus.plan.aggregates import code_of
from cepheus.plan.pattern.bands import (
    Band,
    LoweredBand,
    bands,
    blurred,
)
from cepheus.plan.pattern.code import Coder, LoweredConstraint, Place
from cepheus.plan.pattern.columns import ColumnKey, SharedColumns
from cepheus.plan.pattern.constructs import COMPILED, Construct, unsupported
from cepheus.plan.pattern.lowered import (
    UNLIMITED,
    GroupKey,
    LoweredListing,
    LoweredOutput,
    LoweredRule,
    LoweredStep,
    LoweredTimer,
)
from cepheus.plan.pattern.places import Places
from cepheus.plan.pattern.uncertain_forms import UncertainForms
from cepheus.plan.support import require
from cepheus.rules.aggregates import Form, aggregate_named
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
from cepheus.rules.needed_aggregates import needed_aggregates
from cepheus.rules.policies import Take
from cepheus.rules.resolve import Absent, Choose, Compute, Gather, Ranked, Require, ResolvedRule, needs
from cepheus.rules.timers import NOW, After, Every
from cepheus.rules.walk import transform, walk


def lower_rule(shared: SharedColumns, rule: ResolvedRule, schema: Schema, fed: Mapping[str, int]) -> LoweredRule:
    """Lower a rule, with columns shared with others; ``fed`` tells how many rows of each type came before it."""
    return _RuleLowering(shared, rule, schema, fed).lower()


class _RuleLowering:
    """Lowers one rule."""

    def __init__(self, shared: SharedColumns, rule: ResolvedRule, schema: Schema, fed: Mapping[str, int]) -> None:
        self._shared = shared
        self._rule = rule
        self._fed = fed
        self._places = Places(shared, rule, schema)
        self._back = {rule.terminator.name: 0}
        self._results: dict[str, tuple[int, ValueType | None]] = {}
        self._marks: dict[str, tuple[int, int]] = {}
        self._coder = Coder(self._places.locate, self._results, shared.strings)
        self._forms = UncertainForms(shared, self._places, self._coder, self._results)
        if rule.timer is not None:
            require(COMPILED, Construct.TIMERS, rule.timer.span)
            self._back |= {NOW: 0, rule.terminator.name: rule.delay}
            if shared.doubtful:
                raise unsupported(Construct.UNCERTAIN_FORMS, rule.timer.span)
        if len(self._places.positions) > MAX_POSITIONS:
            raise unsupported(Construct.LONG_PATTERNS, rule.composite.span)
        for gather in rule.gathers:
            construct = Construct.FULL_PROVENANCE if gather.counted else Construct.COLLECTIONS
            require(COMPILED, construct, gather.scope.span)
            if shared.uncertain or shared.doubted:  # who the members are is then a matter of chance
                raise unsupported(Construct.UNCERTAIN_FORMS, gather.scope.span)

    def lower(self) -> LoweredRule:
        """Lower the rule, step by step."""
        rule = self._rule
        types = self._places.types | {gather.name: gather.type for gather in rule.gathers if not gather.counted}
        for name in rule.consuming:
            self._marks.setdefault(types[name], (-1, 0))
        for event_type in self._marks:
            self._marks[event_type] = self._shared.layout(event_type).consumption()
        terminator = self._shared.layout(rule.terminator.type)
        sharp, blurs = self._forms.split(rule.terminator.constraints)
        filters = self._constraints(sharp) if rule.timer is None else ()
        terminator_bands = self._forms.bands(blurs)
        timer, steps = self._timer()
        later: list[tuple[int, Ranked]] = []
        for step in rule.steps:
            match step:
                case Choose():
                    ranked = len(steps)
                    steps.append(self._choose(step))
                    if step.ranked is not None:
                        later.append((ranked, step.ranked))
                case Compute():
                    steps.append(self._compute(step))
                case Require(constraint=constraint):
                    sharp, blurs = self._forms.split((constraint,))
                    steps.append(
                        LoweredStep(
                            StepKind.REQUIRE, constraints=self._constraints(sharp), bands=self._forms.bands(blurs)
                        )
                    )
                case _:
                    assert_never(step)
        for place, ranking in later:
            steps[place] = replace(steps[place], listing=self._ranking(steps[place].listing, ranking))
        absences = tuple(self._absent(absent) for absent in rule.absences)
        gathers = tuple(self._gather(gather) for gather in rule.gathers)
        outputs = tuple(self._outputs())
        consuming = [
            (self._places.positions[name], *self._marks[self._places.types[name]])
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
            gathers,
            timer,
        )

    def _timer(self) -> tuple[LoweredTimer | None, list[LoweredStep]]:
        """The timer of the rule, and what is left to check at its moments of the event it waits after."""
        rule = self._rule
        match rule.timer:
            case None:
                return None, []
            case Every() as every:
                return LoweredTimer(every=every), []
            case After(duration=delay):
                terminator = rule.terminator
                column, _, rest, since, _ = self._enter(terminator.type, terminator.name, terminator.constraints, delay)
                consumed = self._marks.get(terminator.type, (-1, 0))
                timer = LoweredTimer(column, delay, self._places.waited, consumed, since)
                return timer, [LoweredStep(StepKind.REQUIRE, constraints=rest)] if rest else []
            case _:
                assert_never(rule.timer)

    def _constraints(self, constraints: Sequence[Constraint]) -> tuple[LoweredConstraint, ...]:
        return tuple(lowered for constraint in constraints for lowered in self._coder.constraint(constraint))

    def _choose(self, step: Choose) -> LoweredStep:
        require(COMPILED, step.policy, step.window.span)
        most = step.policy.most(step.count)
        self._back[step.name] = min(self._back[step.window.reference] + step.window.duration, MAX_TIME)
        self._forms.parents[step.name] = step.window.reference
        column, keys, residual, since, blurs = self._enter(
            step.type, step.name, step.constraints, self._back[step.name], floor=self._rule.min_probability
        )
        return LoweredStep(
            StepKind.CHOOSE,
            position=self._places.positions[step.name],
            column=column,
            policy=PolicyCode[step.policy.name],
            count=UNLIMITED if most is None else most,
            window=step.window.duration,
            reference=self._places.positions[step.window.reference],
            constraints=residual,
            keys=keys,
            since=since,
            consumed=self._marks.get(step.type, (-1, 0)),
            type=self._shared.layout(step.type).index,
            bands=blurs,
            listing=self._listing(step),
        )

    def _listing(self, step: Choose) -> LoweredListing | None:
        """What is particular to a choice for each group; None for any other."""
        if not step.per and step.ranked is None:
            return None
        if step.per:
            require(COMPILED, Construct.GROUPS, step.per[0].span)
            if step.policy.takes is Take.BY_MEANING:
                require(COMPILED, Construct.OTHER_GROUPS, step.per[0].span)
        groups = []
        for attribute in step.per:
            if self._forms.is_uncertain(attribute):
                raise unsupported(Construct.UNCERTAIN_FORMS, attribute.span)
            place = self._places.locate(step.name, attribute.name)
            flag = place.slot + 1 if place.optional else -1
            groups.append(GroupKey(place.slot, flag, place.type is ValueType.FLOAT))
        return LoweredListing(tuple(groups))

    def _ranking(self, listing: LoweredListing | None, ranked: Ranked) -> LoweredListing:
        """Add what a choice is ranked by, once the aggregates are known that its value needs."""
        assert listing is not None
        require(COMPILED, Construct.RANKINGS, ranked.by.span)
        if self._shared.uncertain or self._shared.doubted:
            raise unsupported(Construct.UNCERTAIN_FORMS, ranked.by.span)
        code, value_type = self._coder.expression(ranked.by)
        if value_type is None:
            raise unsupported(Construct.UNTOLD_TYPES, ranked.by.span)
        kind = ValueKind.FLOAT if value_type is ValueType.FLOAT else ValueKind.INT
        return replace(listing, ranked=ranked.count, computed=len(ranked.computes), value_kind=kind, value_code=code)

    def _scope(self, scope: Scope) -> tuple[int, int, int, int]:
        """Window, both references and how far back the scope reaches."""
        match scope:
            case Within(duration=duration, reference=reference):
                return duration, self._places.positions[reference], -1, min(self._back[reference] + duration, MAX_TIME)
            case Between(first=first, second=second):
                reach = max(self._back[first], self._back[second])
                return 0, self._places.positions[first], self._places.positions[second], reach
            case _:
                assert_never(scope)

    def _absent(self, absent: Absent) -> LoweredStep:
        window, reference, other, reach = self._scope(absent.scope)
        column, keys, residual, since, blurs = self._enter(absent.type, None, absent.constraints, reach)
        return LoweredStep(
            StepKind.ABSENT,
            position=self._places.inner,
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

    def _gather(self, gather: Gather) -> LoweredStep:
        window, reference, other, reach = self._scope(gather.scope)
        column, keys, residual, since, _ = self._enter(gather.type, None, gather.constraints, reach)
        code = () if gather.value is None else self._coder.expression(gather.value)[0]
        return LoweredStep(
            StepKind.GATHER,
            position=self._places.inner,
            column=column,
            window=window,
            reference=reference,
            other_reference=other,
            constraints=residual,
            keys=keys,
            since=since,
            consumed=self._marks.get(gather.type, (-1, 0)),
            type=self._shared.layout(gather.type).index,
            consumes=gather.name in self._rule.consuming and not gather.counted,
            counted=gather.counted,
            value_kind=ValueKind.INT if code else ValueKind.NONE,
            value_code=code,
        )

    def _compute(self, step: Compute) -> LoweredStep:
        record = aggregate_named(step.function)
        require(COMPILED, record, step.scope.span if step.value is None else step.value.span)
        function = code_of(record)
        assert function is not None
        window, reference, other, reach = self._scope(step.scope)
        self._places.own_type = step.type
        kind, slot, code, value_type = self._value(step)
        error_slot = self._value_error(step)
        weighed = self._weighs(step, error_slot)
        running = (
            record.form.is_sum
            and not weighed
            and other < 0
            and reference == 0
            and not code
            and step.type not in self._marks
            and not self._correlated(step)
        )
        sums = (kind, slot, window) if running else None
        column, keys, residual, since, blurs = self._enter(step.type, None, step.constraints, reach, sums)
        self._forms.uncertain_results[step.name] = weighed or error_slot >= 0
        if weighed:
            self._forms.weighed.add(step.name)
        result = len(self._results)
        self._results[step.name] = (result, value_type)
        return LoweredStep(
            StepKind.COMPUTE,
            position=self._places.inner,
            column=column,
            window=window,
            reference=reference,
            other_reference=other,
            constraints=residual,
            keys=keys,
            since=since,
            consumed=self._marks.get(step.type, (-1, 0)),
            function=function,
            value_kind=kind,
            value_slot=slot,
            value_code=code,
            result=result,
            incremental=running,
            argument=step.argument or 0.0,
            type=self._shared.layout(step.type).index,
            bands=blurs,
            value_error_slot=error_slot,
            weighed=weighed,
            needed=step.name in needed_aggregates(self._rule),
            silent=step.silent,
            even_undefined=step.even_undefined,
        )

    def _weighs(self, step: Compute, error_slot: int) -> bool:
        """Whether the members of an aggregate must be weighed one by one."""
        self._places.own_type = step.type
        unsure = step.type in self._shared.doubted or bool(self._forms.split(step.constraints)[1])
        if (unsure or error_slot >= 0) and not aggregate_named(step.function).form.is_closed:
            raise unsupported(Construct.UNCERTAIN_FORMS, None if step.value is None else step.value.span)
        return unsure or (error_slot >= 0 and aggregate_named(step.function).form.is_extreme)

    def _value_error(self, step: Compute) -> int:
        """The slot of the error of what is aggregated; -1 if the aggregate is certain."""
        value = step.value
        self._places.own_type = step.type
        if value is None or not self._shared.uncertain or aggregate_named(step.function).form is Form.COUNT:
            return -1
        if not blurred(value, self._forms.is_uncertain):
            return -1
        if not isinstance(value, AttributeRef):
            raise unsupported(Construct.UNCERTAIN_FORMS, value.span)
        return self._forms.term(value, 1.0, self._places.locate).error_slot

    def _value(self, step: Compute) -> tuple[ValueKind, int, tuple[Instruction, ...], ValueType | None]:
        """The kind, slot or code of an aggregated value, and the type of the aggregate."""
        if step.value is None:
            return ValueKind.NONE, -1, (), ValueType.INT
        code, value_type = self._coder.expression(step.value)
        record = aggregate_named(step.function)
        if value_type is ValueType.STRING and record.form.is_extreme:
            raise unsupported(Construct.EXTREMES_OF_TEXTS, step.value.span)
        if value_type is None and not record.form.is_closed:
            raise unsupported(Construct.UNTOLD_TYPES, step.value.span)
        kind = ValueKind.FLOAT if value_type is ValueType.FLOAT else ValueKind.INT
        result = value_type if record.result is None else record.result
        if isinstance(step.value, AttributeRef) and step.value.event is None:
            place = self._places.locate(None, step.value.name)
            if not place.optional:
                return kind, place.slot, (), result
        return kind, -1, code, result

    def _correlated(self, step: Compute) -> bool:
        """Whether members must satisfy more than constraints of their own and equalities with bound events."""
        self._places.own_type = step.type
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
        """The places of ``own attribute = bound attribute``, if the constraint is that and nothing else."""
        match constraint:
            case Comparison(operands=(AttributeRef() as left, AttributeRef() as right), operators=("=",)):
                if right.event == own:
                    left, right = right, left
                if left.event != own or right.event == own or TIME_ATTRIBUTE in (left.name, right.name):
                    return None
                mine, other = self._places.locate(left.event, left.name), self._places.locate(right.event, right.name)
                self._shared.compare(
                    (self._places.type_name(left), left.name), (self._places.type_name(right), right.name)
                )
                alike = mine.type is other.type or self._may_be_alike(left, mine, right, other)
                return (mine, other) if alike and not mine.optional and not other.optional else None
            case _:
                return None

    def _may_be_alike(self, left: AttributeRef, mine: Place, right: AttributeRef, other: Place) -> bool:
        """Whether data has told the type of one attribute and may tell that of the other to be the same."""
        if None not in (mine.type, other.type):
            return False
        known = left if other.type is None else right
        return known.name in self._shared.layout(self._places.type_name(known)).told_by_data

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
        self._places.own_type = event_type
        sharp, blurs = self._forms.split(constraints)
        found = bands(blurs, self._forms.is_uncertain)
        if own is not None:
            self._forms.claim(found)
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
        self._places.own_type = event_type
        joint = [band for band in found if band not in alone_bands]
        step_bands = tuple(self._forms.lowered_band(band, self._coder, self._places.locate) for band in joint)
        return column.index, sources, self._constraints(rest), since, step_bands

    def _own_bands(self, event_type: str, constraints: frozenset[Constraint]) -> tuple[LoweredBand, ...]:
        """Lower the bands of an arriving event alone: it stands at position 0 then."""

        def locate(_: str | None, attribute: str) -> Place:
            self._places.own_type = event_type
            return replace(self._places.locate(None, attribute), position=0)

        coder = Coder(locate, {}, self._shared.strings)
        ordered = sorted(constraints, key=repr)
        return tuple(self._forms.lowered_band(band, coder, locate) for band in bands(ordered, self._forms.is_uncertain))

    def _own_filters(self, event_type: str, constraints: frozenset[Constraint]) -> list[LoweredConstraint]:
        """Lower constraints on an arriving event alone: it stands at position 0 then."""

        def locate(_: str | None, attribute: str) -> Place:
            self._places.own_type = event_type
            return replace(self._places.locate(None, attribute), position=0)

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
                        error_terms=self._forms.error_terms(value),
                    )
                )
            else:
                code, _ = self._coder.expression(value, attribute.type)
                errors = self._forms.error_terms(value)
                listed = any(self._forms.is_weighed(node) for node in walk(value) if isinstance(node, Parameter))
                mixed = listed and (not isinstance(value, Parameter) or not attribute.type.is_numeric)
                if mixed or (errors and attribute.optional):
                    raise unsupported(Construct.UNCERTAIN_FORMS, value.span)
                outputs.append(
                    LoweredOutput(attribute.name, attribute.type, attribute.optional, code=code, error_terms=errors)
                )
        return outputs

    def _copied(self, value: Expression, wanted: ValueType) -> Place | None:
        if not isinstance(value, AttributeRef):
            return None
        place = self._places.locate(value.event, value.name)
        return place if place.type is wanted and not place.optional else None


def _is_static(band: Band, own: str | None) -> bool:
    """Whether a band asks nothing but attributes of the event itself."""
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
