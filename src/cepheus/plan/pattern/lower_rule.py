"""Lowering of one rule: each resolved step to a row of what is looked up, chosen, computed and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from cepheus.core.event import text_digest
from cepheus.core.schema import Schema
from cepheus.core.time import MAX_TIME
from cepheus.core.values import ValueType
from cepheus.kernel.instructions import Instruction
from cepheus.kernel.program import (
    MAX_POSITIONS,
    PolicyCode,
    StepKind,
    TotalKind,
    ValueKind,
)
from cepheus.plan.aggregate_codes import code_of
from cepheus.plan.pattern.bands import Band, blurred
from cepheus.plan.pattern.candidates import CandidateFinder, Sums
from cepheus.plan.pattern.code import Coder, Place
from cepheus.plan.pattern.columns import SharedColumns
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
    Call,
    Expression,
    Parameter,
    Scope,
    Within,
)
from cepheus.rules.functions import IS_NULL, NOT
from cepheus.rules.policies import Take
from cepheus.rules.resolved import Absent, Choose, Compute, Gather, Ranked, Require, ResolvedRule, needed_aggregates
from cepheus.rules.timers import NOW, After, Every
from cepheus.rules.walk import walk

_TOTALS = {
    **dict.fromkeys((Form.COUNT, Form.SUM, Form.AVERAGE), TotalKind.SUM),
    Form.LEAST: TotalKind.LEAST,
    Form.GREATEST: TotalKind.GREATEST,
    Form.FIRST: TotalKind.FIRST,
    Form.LAST: TotalKind.LAST,
}
"""What columns know of all events since the start for aggregates of each form."""

_TOLD = ValueType.INT  # of what has no slot


def lower_rule(shared: SharedColumns, rule: ResolvedRule, schema: Schema, fed: Mapping[str, int]) -> LoweredRule:
    """Lower a rule, with columns shared with others; ``fed`` tells how many rows of each type came before it."""
    return _RuleLowering(shared, rule, schema, fed).lower()


@dataclass(frozen=True, slots=True)
class _Scope:
    """A window or interval: its length, the positions it hangs from (-1 for no other), and how far back it reaches."""

    window: int
    reference: int
    other: int
    reach: int


class _RuleLowering:
    """Lowers one rule."""

    def __init__(self, shared: SharedColumns, rule: ResolvedRule, schema: Schema, fed: Mapping[str, int]) -> None:
        self._shared = shared
        self._rule = rule
        self._places = Places(shared, rule, schema)
        self._back = {rule.terminator.name: 0}
        self._results: dict[str, tuple[int, ValueType | None]] = {}
        self._marks: dict[str, tuple[int, int]] = {}
        self._coder = Coder(self._places.locate, self._results, shared.strings)
        self._forms = UncertainForms(shared, self._places, self._coder, self._results)
        self._finder = CandidateFinder(shared, rule.name, fed, self._places, self._coder, self._forms)
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
        filters = self._coder.constraints(sharp) if rule.timer is None else ()
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
                            StepKind.REQUIRE, constraints=self._coder.constraints(sharp), bands=self._forms.bands(blurs)
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
            self._forms.pivot(rule.composite.span),
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
                found = self._finder.find(terminator.type, terminator.name, terminator.constraints, delay)
                consumed = self._marks.get(terminator.type, (-1, 0))
                timer = LoweredTimer(found.column, delay, self._places.waited, consumed, found.since)
                left = found.constraints
                return timer, [LoweredStep(StepKind.REQUIRE, constraints=left)] if left else []
            case _:
                assert_never(rule.timer)

    def _choose(self, step: Choose) -> LoweredStep:
        require(COMPILED, step.policy, step.window.span)
        most = step.policy.most(step.count)
        self._back[step.name] = min(self._back[step.window.reference] + step.window.duration, MAX_TIME)
        found = self._finder.find(
            step.type,
            step.name,
            step.constraints,
            self._back[step.name],
            # an event that is hardly possible still takes the place of the last one now and then
            floor=self._rule.min_probability if most is None else 0.0,
            note=lambda bands: self._forms.sharing.choosing(step, bands),
        )
        unsure = step.type in self._shared.doubted or bool(self._forms.split(step.constraints)[1])
        listing = self._listing(step)
        if unsure and (step.policy.takes is Take.BY_MEANING or (most is not None and listing is not None)):
            raise unsupported(Construct.UNCERTAIN_FORMS, step.window.span)
        return LoweredStep(
            StepKind.CHOOSE,
            position=self._places.positions[step.name],
            column=found.column,
            policy=PolicyCode[step.policy.name],
            count=UNLIMITED if most is None else most,
            window=step.window.duration,
            reference=self._places.positions[step.window.reference],
            constraints=found.constraints,
            keys=found.keys,
            since=found.since,
            consumed=self._marks.get(step.type, (-1, 0)),
            type=self._shared.layout(step.type).index,
            bands=found.bands,
            listing=listing,
            unsure=unsure,
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

    def _scope(self, scope: Scope) -> _Scope:
        match scope:
            case Within(duration=duration, reference=reference):
                reach = min(self._back[reference] + duration, MAX_TIME)
                return _Scope(duration, self._places.positions[reference], -1, reach)
            case Between(first=first, second=second):
                reach = max(self._back[first], self._back[second])
                return _Scope(0, self._places.positions[first], self._places.positions[second], reach)
            case _:
                assert_never(scope)

    def _look(
        self,
        kind: StepKind,
        step: Absent | Gather | Compute,
        sums: Sums | None = None,
        note: Callable[[Sequence[Band]], None] = lambda _: None,
    ) -> LoweredStep:
        """A step that looks at events of a scope without taking them; those of a total need not be kept."""
        scope = self._scope(step.scope)
        reach = scope.reach if sums is None or sums.total is TotalKind.NONE else 0
        found = self._finder.find(step.type, None, step.constraints, reach, sums, note=note)
        return LoweredStep(
            kind,
            position=self._places.inner,
            column=found.column,
            window=scope.window,
            reference=scope.reference,
            other_reference=scope.other,
            constraints=found.constraints,
            keys=found.keys,
            since=found.since,
            consumed=self._marks.get(step.type, (-1, 0)),
            type=self._shared.layout(step.type).index,
            bands=found.bands,
        )

    def _absent(self, absent: Absent) -> LoweredStep:
        return self._look(StepKind.ABSENT, absent, note=lambda bands: self._forms.sharing.looking(absent, bands))

    def _gather(self, gather: Gather) -> LoweredStep:
        looking = self._look(StepKind.GATHER, gather)
        code = () if gather.value is None else self._coder.expression(gather.value)[0]
        return replace(
            looking,
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
        scope = self._scope(step.scope)
        self._places.own_type = step.type
        since_start = isinstance(step.scope, Within) and step.scope.since_start
        kind, slot, code, value_type = self._value(step)
        if since_start and code:
            step, slot, code = self._defined(step)
        error_slot = self._value_error(step)
        weighed = self._weighs(step, error_slot)
        running = (
            (record.form.is_sum or record.from_order or since_start)
            and not weighed
            and scope.other < 0
            and scope.reference == 0
            and not code
            and step.type not in self._marks
            and not (self._rule.ordered and self._rule.timer is not None)  # sums go on with what has a moment's time
            and not self._finder.are_correlated(step.type, step.constraints)
        )
        summed = step.value.name if error_slot >= 0 and isinstance(step.value, AttributeRef) else None
        total = _TOTALS.get(record.form, TotalKind.NONE) if since_start else TotalKind.NONE
        if since_start and (not running or total is TotalKind.NONE or self._shared.doubtful or self._is_untold(step)):
            raise unsupported(Construct.OTHER_TOTALS, step.scope.span)
        looking = self._look(
            StepKind.COMPUTE,
            step,
            Sums(kind, slot, scope.window, total, record.from_order) if running else None,
            lambda bands: self._forms.sharing.adding_up(step, bands, summed),
        )
        self._forms.uncertain_results[step.name] = weighed or error_slot >= 0
        if weighed:
            self._forms.weighed.add(step.name)
        result = len(self._results)
        self._results[step.name] = (result, value_type)
        return replace(
            looking,
            function=function,
            value_kind=kind,
            value_slot=slot,
            value_code=code,
            result=result,
            incremental=running,
            argument=step.argument or 0.0,
            value_error_slot=error_slot,
            weighed=weighed,
            needed=step.name in needed_aggregates(self._rule),
            silent=step.silent,
            even_undefined=step.even_undefined,
            since_start=since_start,
            of_texts=self._is_text(step),
        )

    def _defined(self, step: Compute) -> tuple[Compute, int, tuple[Instruction, ...]]:
        """An aggregate of an attribute that events may lack as one of those that have it; its slot, its code."""
        value = step.value
        if not isinstance(value, AttributeRef) or value.event is not None:
            raise unsupported(Construct.OTHER_TOTALS, step.scope.span)
        has_it = Call(NOT, (Call(IS_NULL, (value,)),))
        return replace(step, constraints=(*step.constraints, has_it)), self._places.locate(None, value.name).slot, ()

    def _is_untold(self, step: Compute) -> bool:
        """Whether only the data tells the type of something that an aggregate asks of its members."""
        layout = self._shared.layout(step.type)
        asked = [node for part in (*step.constraints, step.value) if part is not None for node in walk(part)]
        names = {node.name for node in asked if isinstance(node, AttributeRef) and node.event is None}
        return any(name in layout.told_by_data or layout.types.get(name, _TOLD) is None for name in names)

    def _is_text(self, step: Compute) -> bool:
        self._places.own_type = step.type
        return step.value is not None and self._coder.expression(step.value)[1] is ValueType.STRING

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
