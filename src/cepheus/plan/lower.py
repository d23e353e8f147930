"""Lowering: from resolved rules to columns, listeners and steps, and from those to the flat program.

A column is what CDP calls so: the events of one type that satisfy the constraints a position puts on them alone, here
kept apart by the attributes that must equal something already bound (the key). Positions of any rules that ask for
the same column share it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from cepheus.core.errors import EventError, OptionError, UnsupportedError
from cepheus.core.event import text_digest
from cepheus.core.schema import TIME_ATTRIBUTE, Schema
from cepheus.core.time import MAX_TIME
from cepheus.core.values import ValueType
from cepheus.plan.bands import (
    Band,
    LoweredBand,
    LoweredBound,
    LoweredTerm,
    Reference,
    bands,
    blurred,
    linear_terms,
)
from cepheus.plan.code import Coder, Instruction, LoweredConstraint, Place, place_of_time
from cepheus.plan.constructs import Construct, unsupported
from cepheus.plan.program import (
    HEADER,
    MAX_KEYS,
    MAX_POSITIONS,
    ConstraintKind,
    FunctionCode,
    PolicyCode,
    StepKind,
    ValueKind,
)
from cepheus.plan.strings import StringTable
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
from cepheus.rules.resolve import Absent, Choose, Compute, ResolvedRule, needs
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
_UNLIMITED = MAX_TIME
_FEW = 4

ERROR_MARKS = ("#kind", "#first", "#second")
"""What the names of the slots of an attribute's error end in."""

DOUBT = "#doubt"
"""The name of the slot of an event's probability of not having occurred."""


@dataclass(slots=True)
class TypeLayout:
    """The row of an event type: which slot holds which attribute. Slots are only ever added."""

    name: str
    index: int
    slots: dict[str, int] = field(default_factory=dict)
    types: dict[str, ValueType | None] = field(default_factory=dict)
    optional: set[str] = field(default_factory=set)
    told_by_data: set[str] = field(default_factory=set)
    readers: dict[str, set[str]] = field(default_factory=dict)
    width: int = HEADER
    consumption_bits: int = 0
    consumption_slot: int = -1

    def error_slot(self, attribute: str) -> int:
        """Give the first of three slots for the error of an attribute: its kind and two parameters."""
        first = self.slot(f"{attribute}{ERROR_MARKS[0]}", ValueType.INT, False)
        for mark in ERROR_MARKS[1:]:
            self.slot(f"{attribute}{mark}", ValueType.FLOAT, False)
        return first

    def doubt_slot(self) -> int:
        """Give the slot for the probability that the event did not occur."""
        return self.slot(DOUBT, ValueType.FLOAT, False)

    def slot(self, attribute: str, value_type: ValueType | None, optional: bool) -> int:
        """Give the slot of an attribute, a new one if it has none; an optional one is followed by its flag."""
        if attribute not in self.slots:
            self.slots[attribute] = self.width
            self.types[attribute] = value_type
            self.width += 1
            if optional:
                self.optional.add(attribute)
                self.width += 1
        return self.slots[attribute]

    def drop(self, attribute: str) -> None:
        """Forget an attribute that no rule reads; its slot stays unused."""
        del self.slots[attribute], self.types[attribute]
        self.optional.discard(attribute)
        self.told_by_data.discard(attribute)
        self.readers.pop(attribute, None)

    def expect(self, types: Mapping[str, ValueType | None], optional: Sequence[str], told: Sequence[str]) -> None:
        """Take over what is known of a type's attributes, before any rule asks for them."""
        for name, value_type in types.items():
            self.slot(name, value_type, name in optional)
        self.told_by_data.update(told)

    def read(self) -> list[str]:
        """Give the attributes that some rule reads."""
        return [attribute for attribute, rules in self.readers.items() if rules]

    def consumption(self) -> tuple[int, int]:
        """Give the slot and bit by which one more rule marks the events it consumed."""
        if self.consumption_bits % 63 == 0:
            self.consumption_slot = self.width
            self.width += 1
        bit = self.consumption_bits % 63
        self.consumption_bits += 1
        return self.consumption_slot, bit


@dataclass(frozen=True, slots=True)
class ColumnKey:
    """What makes two positions share a column."""

    type: int
    constraints: frozenset[Constraint]
    key_slots: tuple[int, ...]
    float_keys: int = 0
    sum_kind: ValueKind = ValueKind.NONE
    sum_slot: int = 0
    sum_window: int = -1
    since: int = 0
    blurred: frozenset[Constraint] = frozenset()
    floor: float = 0.0


@dataclass(slots=True)
class Column:
    """A column and the rules that use it."""

    index: int
    key: ColumnKey
    filters: tuple[LoweredConstraint, ...]
    born: int
    bands: tuple[LoweredBand, ...] = ()
    reaches: dict[str, int] = field(default_factory=dict)

    @property
    def reach(self) -> int:
        """How long, in microseconds, an entry may still be looked at."""
        return max(self.reaches.values(), default=0)


@dataclass(frozen=True, slots=True)
class LoweredStep:
    """A step of a rule, ready to be written as a row."""

    kind: StepKind
    position: int = 0
    column: int = -1
    policy: PolicyCode = PolicyCode.EACH
    count: int = _UNLIMITED
    window: int = 0
    reference: int = 0
    other_reference: int = -1
    constraints: tuple[LoweredConstraint, ...] = ()
    keys: tuple[tuple[int, int], ...] = ()
    since: int = 0
    consumed: tuple[int, int] = (-1, 0)
    function: FunctionCode = FunctionCode.COUNT
    value_kind: ValueKind = ValueKind.NONE
    value_slot: int = -1
    value_code: tuple[Instruction, ...] = ()
    result: int = 0
    incremental: bool = False
    type: int = 0
    bands: tuple[LoweredBand, ...] = ()
    value_error_slot: int = -1

    @property
    def plain(self) -> bool:
        """Whether every event of the window will do, without a look at the event."""
        return not self.constraints and self.since == 0 and self.consumed[0] < 0


@dataclass(frozen=True, slots=True)
class LoweredOutput:
    """An assignment: a copy of a slot, or code."""

    attribute: str
    type: ValueType
    optional: bool
    position: int = 0
    slot: int = 0
    code: tuple[Instruction, ...] | None = None
    error_terms: tuple[LoweredTerm, ...] = ()


@dataclass(frozen=True, slots=True)
class LoweredRule:
    """A rule as rows to be."""

    name: str
    resolved: ResolvedRule
    type: int
    filters: tuple[LoweredConstraint, ...]
    steps: tuple[LoweredStep, ...]
    absences: tuple[LoweredStep, ...]
    outputs: tuple[LoweredOutput, ...]
    consuming: tuple[tuple[int, int, int], ...]
    marks: tuple[tuple[str, int, int], ...]
    seed: int
    bands: tuple[LoweredBand, ...] = ()

    @property
    def stride(self) -> int:
        """Words that one composite event takes in the output."""
        return len(self.resolved.positions) + sum(2 if output.optional else 1 for output in self.outputs)


class Lowering:
    """All rules of an engine, lowered; rules come and go while columns that others share stay.

    ``uncertain`` are, by event type, the attributes that may have errors; None where nothing is uncertain.
    """

    def __init__(self, strings: StringTable, uncertain: Mapping[str, Set[str]] | None = None) -> None:
        self.strings = strings
        self.uncertain = {} if uncertain is None else uncertain
        self.doubtful = uncertain is not None
        self.types: dict[str, TypeLayout] = {}
        self.columns: dict[ColumnKey, Column] = {}
        self.rules: dict[str, LoweredRule] = {}
        self.compared: dict[tuple[str, str], set[tuple[str, str]]] = {}
        self._free_columns: list[int] = []
        self._column_count = 0
        self._widths: list[int] = []

    @property
    def column_count(self) -> int:
        """How many column numbers are in use or free."""
        return self._column_count

    def add(self, rule: ResolvedRule, schema: Schema, fed: Mapping[str, int]) -> LoweredRule:
        """Lower one more rule; ``fed`` tells for each event type how many rows were stored before."""
        if rule.name in self.rules:
            raise OptionError.of("deploy", f"a rule named '{rule.name}' is already deployed", hint="withdraw it first")
        try:
            lowered = _RuleLowering(self, rule, schema, fed).lower()
        except UnsupportedError:
            self._release(rule.name)
            raise
        self.rules[rule.name] = lowered
        return lowered

    def remove(self, name: str) -> list[int]:
        """Take a rule out and give the columns that nothing uses any more; their numbers may be used again."""
        if name not in self.rules:
            raise OptionError.of("withdraw", f"no rule named '{name}' is deployed")
        del self.rules[name]
        return self._release(name)

    def _release(self, name: str) -> list[int]:
        for layout in self.types.values():
            for rules in layout.readers.values():
                rules.discard(name)
        dropped = []
        for key, column in list(self.columns.items()):
            column.reaches.pop(name, None)
            if not column.reaches:
                dropped.append(column.index)
                del self.columns[key]
        self._free_columns += dropped
        return dropped

    def simple_filters(self, layout: TypeLayout) -> list[list[LoweredConstraint]] | None:
        """Give, for each listener of a type, its comparisons with constants; None if too many or one has none."""
        listeners = [rule.filters for rule in self.rules.values() if rule.type == layout.index]
        listeners += [column.filters for column in self.columns.values() if column.key.type == layout.index]
        simple = (ConstraintKind.INT_CONSTANT, ConstraintKind.FLOAT_CONSTANT)
        choices = [[constraint for constraint in filters if constraint.kind in simple] for filters in listeners]
        return None if len(choices) > _FEW or not all(choices) else choices

    def fix_type(self, layout: TypeLayout, attribute: str, value_type: ValueType) -> None:
        """Take the type of an attribute from the data, and with it that of all attributes compared with it."""
        waiting = [(layout.name, attribute)]
        while waiting:
            type_name, name = waiting.pop()
            current = self.types[type_name]
            known = current.types.get(name)
            if known is value_type:
                continue
            if known is not None:
                raise EventError.of(
                    "type-mismatch",
                    f"{layout.name}.{attribute} is of type {value_type.value} in the data, but rules compare it with "
                    f"{type_name}.{name}, which is of type {known.value}",
                    hint=f"declare both: event {layout.name}({attribute}: ..), event {type_name}({name}: ..)",
                )
            current.types[name] = value_type
            current.told_by_data.add(name)
            waiting += self.compared.get((type_name, name), ())

    def stored_width(self, kind: int) -> int:
        """Give the width that rows of a type had when they were last laid out."""
        return self._widths[kind]

    def note_widths(self) -> None:
        """Remember that rows are laid out as the types say now."""
        self._widths = [layout.width for layout in self.types.values()]

    def compare(self, one: tuple[str, str], other: tuple[str, str]) -> None:
        """Note that two attributes, given by event type and name, are compared as they come."""
        self.compared.setdefault(one, set()).add(other)
        self.compared.setdefault(other, set()).add(one)

    def layout(self, name: str) -> TypeLayout:
        """Give the layout of a type, a new one if it has none."""
        if name not in self.types:
            self.types[name] = TypeLayout(name, len(self.types))
            if self.doubtful:
                self.types[name].doubt_slot()
        return self.types[name]

    def column(
        self, key: ColumnKey, filters: tuple[LoweredConstraint, ...], stored: int, bands: tuple[LoweredBand, ...] = ()
    ) -> Column:
        """Give the column of a key, a new one if there is none; ``stored`` rows of its type came before it."""
        if key in self.columns:
            return self.columns[key]
        if self._free_columns:
            index = self._free_columns.pop()
        else:
            index = self._column_count
            self._column_count += 1
        self.columns[key] = Column(index, key, filters, stored, bands)
        return self.columns[key]


class _RuleLowering:
    """Lowers one rule."""

    def __init__(self, lowering: Lowering, rule: ResolvedRule, schema: Schema, fed: Mapping[str, int]) -> None:
        self._lowering = lowering
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
        self._banded: set[Reference] = set()
        self._parents: dict[str, str] = {}
        self._coder = Coder(self._locate, self._results, lowering.strings)
        if len(self._positions) > MAX_POSITIONS:
            raise unsupported(Construct.LONG_PATTERNS, rule.composite.span)

    def lower(self) -> LoweredRule:
        """Lower the rule, step by step."""
        rule = self._rule
        for name in rule.consuming:
            self._marks.setdefault(self._types[name], (-1, 0))
        for event_type in self._marks:
            self._marks[event_type] = self._lowering.layout(event_type).consumption()
        terminator = self._lowering.layout(rule.terminator.type)
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
                case _:
                    sharp, blurs = self._sharp((step.constraint,))
                    steps.append(
                        LoweredStep(StepKind.REQUIRE, constraints=self._constraints(sharp), bands=self._bands(blurs))
                    )
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
        return reference.name in self._lowering.uncertain.get(self._type_name(reference), ())

    def _sharp(self, constraints: Sequence[Constraint]) -> tuple[list[Constraint], list[Constraint]]:
        """Split constraints into those that read nothing uncertain and the others."""
        if not self._lowering.uncertain:
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
        error_slot = self._lowering.layout(type_name).error_slot(reference.name)
        source = (type_name, reference.name)
        return LoweredTerm(coefficient, place.position, place.slot, error_slot, place.type is ValueType.INT, source)

    def _locate(self, event: str | None, attribute: str) -> Place:
        position = self._inner if event is None else self._positions[event]
        if attribute == TIME_ATTRIBUTE:
            return place_of_time(position)
        name = self._own_type if event is None else self._types[event]
        event_type = self._schema.get(name)
        declared = event_type.attribute(attribute) if event_type is not None else None
        layout = self._lowering.layout(name)
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
            type=self._lowering.layout(step.type).index,
            bands=blurs,
        )

    @staticmethod
    def _count(step: Choose) -> int:
        if step.policy is Policy.EACH:
            return _UNLIMITED
        return 1 if step.count is None else step.count

    def _scope(self, scope: Scope) -> tuple[int, int, int, int]:
        """Give window, both references and how far back the scope reaches."""
        match scope:
            case Within(duration=duration, reference=reference):
                return duration, self._positions[reference], -1, min(self._back[reference] + duration, MAX_TIME)
            case Between(first=first, second=second):
                reach = max(self._back[first], self._back[second])
                return 0, self._positions[first], self._positions[second], reach

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
            type=self._lowering.layout(absent.type).index,
            bands=blurs,
        )

    def _compute(self, step: Compute) -> LoweredStep:
        window, reference, other, reach = self._scope(step.scope)
        self._own_type = step.type
        kind, slot, code, value_type = self._value(step)
        running = (
            step.function in _RUNNING
            and other < 0
            and reference == 0
            and not code
            and step.type not in self._marks
            and not self._correlated(step)
        )
        sums = (kind, slot, window) if running else None
        error_slot = self._value_error(step)
        column, keys, residual, since, blurs = self._enter(step.type, None, step.constraints, reach, sums)
        if blurs:
            raise unsupported(Construct.UNCERTAIN_FORMS, step.constraints[0].span)
        self._blurred_results[step.name] = error_slot >= 0
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
            type=self._lowering.layout(step.type).index,
            value_error_slot=error_slot,
        )

    def _value_error(self, step: Compute) -> int:
        """Give the slot of the error of what is aggregated; -1 if the aggregate is certain."""
        value = step.value
        self._own_type = step.type
        if value is None or not self._lowering.uncertain or step.function == "Count":
            return -1
        if not blurred(value, self._is_uncertain):
            return -1
        if not isinstance(value, AttributeRef) or step.function not in ("Sum", "Avg"):
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
                self._lowering.compare((self._type_name(left), left.name), (self._type_name(right), right.name))
                return None if mine.optional or other.optional or mine.type is not other.type else (mine, other)
            case _:
                return None

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
        layout = self._lowering.layout(event_type)
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
            column = self._lowering.column(key, filters, stored, self._own_bands(event_type, blurs_alone))
        else:
            column = self._lowering.column(key, tuple(self._own_filters(event_type, alone)), stored)
        column.reaches[self._rule.name] = max(column.reaches.get(self._rule.name, 0), reach)
        sources = tuple((other.position, other.slot) for _, other in keys)
        since = 0 if column.born == stored else stored
        self._own_type = event_type
        step_bands = tuple(self._lowered_band(band, self._coder, self._locate) for band in found)
        return column.index, sources, self._constraints(rest), since, step_bands

    def _own_bands(self, event_type: str, constraints: frozenset[Constraint]) -> tuple[LoweredBand, ...]:
        """Lower the bands of an arriving event alone: it stands at position 0 then."""

        def locate(_: str | None, attribute: str) -> Place:
            self._own_type = event_type
            return replace(self._locate(None, attribute), position=0)

        coder = Coder(locate, {}, self._lowering.strings)
        ordered = sorted(constraints, key=repr)
        return tuple(self._lowered_band(band, coder, locate) for band in bands(ordered, self._is_uncertain))

    def _own_filters(self, event_type: str, constraints: frozenset[Constraint]) -> list[LoweredConstraint]:
        """Lower constraints on an arriving event alone: it stands at position 0 then."""

        def locate(_: str | None, attribute: str) -> Place:
            self._own_type = event_type
            return replace(self._locate(None, attribute), position=0)

        coder = Coder(locate, {}, self._lowering.strings)
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
                if errors and attribute.optional:
                    raise unsupported(Construct.UNCERTAIN_FORMS, value.span)
                outputs.append(
                    LoweredOutput(attribute.name, attribute.type, attribute.optional, code=code, error_terms=errors)
                )
        return outputs

    def _error_terms(self, value: Expression) -> tuple[LoweredTerm, ...]:
        """Give where the error of a computed attribute comes from."""
        if not self._lowering.uncertain or not blurred(value, self._is_uncertain):
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
