"""The types of expressions: what each part of a rule says about the types of the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from cepheus.core.schema import TIME_ATTRIBUTE
from cepheus.core.source import Span
from cepheus.core.values import ValueType
from cepheus.rules.aggregates import AGGREGATES, Takes, names_of_any_type
from cepheus.rules.check.findings import IN_WORDS, Findings, line_of, text_of
from cepheus.rules.check.known_types import KnownTypes
from cepheus.rules.check.scope import RuleScope
from cepheus.rules.check.type_slots import FAMILY, Family, Key, Origin, Slot, Unifier
from cepheus.rules.expressions import (
    Aggregate,
    Arithmetic,
    AttributeRef,
    Call,
    Comparison,
    Constant,
    Constraint,
    EventPattern,
    Expression,
    Negative,
    Parameter,
)
from cepheus.rules.function_record import Kind
from cepheus.rules.functions import CONNECTIVES, FUNCTIONS, IN

TIMES_HINT = "of times, only TIME - TIME and TIME plus or minus an int of microseconds can be computed"

_ARITHMETIC_HINTS = {
    None: None,
    Family.NUMBER: None,
    Family.STRING: "to put texts together, write concat(a, b)",
    Family.BOOL: "bools only compare, with = and !=",
    Family.TIMESTAMP: TIMES_HINT,
    Family.LIST: None,
}
_ORDER = ("<", "<=", ">", ">=")
_NEEDED = {Kind.NUMBER: Family.NUMBER, Kind.STRING: Family.STRING, Kind.TIMESTAMP: Family.TIMESTAMP}


class Inference:
    """The slots of all attributes and, rule by rule, of the expressions over them."""

    def __init__(self, known: KnownTypes, findings: Findings) -> None:
        self.known = known
        self.findings = findings
        self.unifier = Unifier()
        self.slots: dict[Key, Slot] = {}
        self.whole: list[tuple[RuleScope, Expression, EventPattern | None, Callable[[Expression], None]]] = []
        self.unordered: list[tuple[Slot, Callable[[], None]]] = []
        self.undecided: list[_Sum] = []

    def attribute(self, type_name: str, name: str) -> Slot:
        """The slot of an attribute: fixed if its type is declared, defined or in the data's schema."""
        key = (type_name, name)
        slot = self.slots.get(key)
        if slot is None:
            slot = self.slots[key] = self._new_attribute(type_name, name)
            slot.keys.append(key)
        return slot

    def _new_attribute(self, type_name: str, name: str) -> Slot:
        if name == TIME_ATTRIBUTE:
            return Slot(Family.TIMESTAMP, ValueType.TIMESTAMP, Origin("every event's time", None))
        attributes = self.known.attributes(type_name)
        attribute = None if attributes is None else attributes.get(name)
        if attribute is None or attribute.type is None:
            return Slot()
        return Slot(FAMILY[attribute.type], attribute.type, Origin(self.known.origin(type_name), attribute.span))

    def describe(self, node: Constraint, slot: Slot, own: EventPattern | None) -> str:
        """Say what a node is and how that is known: ``Temp.area is a string (declared at line 3)``."""
        slot = slot.root()
        text = text_of(node)
        if isinstance(node, AttributeRef) and node.event is None and own is not None:
            text = f"{own.name}.{node.name}"
        if slot.family is None:
            return f"{text} is of unknown type"
        kind = slot.family.value if slot.exact is None or isinstance(node, Constant) else IN_WORDS[slot.exact]
        reason = ""
        if slot.origin is not None and isinstance(node, (AttributeRef, Parameter)):
            reason = f" ({' '.join(filter(None, (slot.origin.phrase, line_of(slot.origin.span, node.span))))})"
        return f"{text} is {kind}{reason}"


class RuleInference:
    """Infers the expressions of one rule."""

    def __init__(self, scope: RuleScope, inference: Inference) -> None:
        self.scope = scope
        self.inference = inference
        self.unifier = inference.unifier
        self._computed: dict[str, Slot] = {}
        self._aggregates: dict[Aggregate, Slot] = {}

    def bind(self, parameter: str, slot: Slot, span: Span | None) -> None:
        """Let a parameter stand for an aggregate."""
        computed = self._computed.setdefault(parameter, slot)
        self.unifier.same(computed, slot, lambda _: Origin("computed", span))

    def infer(self, node: Expression, own: EventPattern | None) -> Slot:
        """The slot of an expression, reporting what cannot be inside it."""
        match node:
            case Constant(type=value_type):
                return Slot(FAMILY[value_type], value_type)
            case AttributeRef():
                return self._attribute(node, own)
            case Parameter(name=name):
                binder = self.scope.binders.get(name)
                if binder is not None:
                    return self._attribute(binder, None)
                return self._computed.setdefault(name, Slot())
            case Arithmetic():
                return self._arithmetic(node, own)
            case Negative(operand=operand):
                return Slot(Family.NUMBER) if self.number(operand, self.infer(operand, own), own) else Slot()
            case Call():
                return self._call(node, own)
            case Comparison():
                self._comparison(node, own)
                return Slot(Family.BOOL, ValueType.BOOL)
            case Aggregate():
                if any(node is misplaced for misplaced in self.scope.misplaced):
                    return Slot()
                if node not in self._aggregates:  # one that is bound and compared is inferred, and reported, once
                    self._aggregates[node] = self._aggregate(node)
                return self._aggregates[node]
            case _:
                assert_never(node)

    def condition(self, node: Constraint, slot: Slot, own: EventPattern | None) -> None:
        """Take an expression for a condition, and report it if it is known to be something else."""
        if self.unifier.learn(slot, Family.BOOL, Origin("used as a condition", node.span)):
            return
        message = f"a constraint must be true or false, {self.inference.describe(node, slot, own)}"
        hint = f"compare it with something: '{text_of(node)} = ..'"
        if isinstance(node, Constant) and text_of(node).isdecimal():
            hint += "; numbers have no commas within"
        self.inference.findings.error("not-a-condition", message, node.span, hint)

    def _comparison(self, node: Comparison, own: EventPattern | None) -> None:
        slots = [self.infer(operand, own) for operand in node.operands]
        for position, operator in enumerate(node.operators):
            left, right = node.operands[position], node.operands[position + 1]
            _compare(self, operator, (left, slots[position]), (right, slots[position + 1]), own)

    def describe_double(self, node: Expression, own: EventPattern | None) -> str:
        """Say that a part of an expression is a double, and how that is known if it is declared."""
        if isinstance(node, AttributeRef | Parameter):
            slot = self.infer(node, own)
            if slot.exact is ValueType.FLOAT:
                return self.inference.describe(node, slot, own)
        return f"{text_of(node)} is a double"

    def _attribute(self, node: AttributeRef, own: EventPattern | None) -> Slot:
        type_name = self.scope.type_of(node, own)
        known = self.inference.known
        if type_name is None or known.is_unknown(type_name):
            return Slot()
        return self.inference.attribute(type_name, node.name)

    def _need(self, node: Expression, slot: Slot, family: Family, phrase: str, report: Callable[[], None]) -> bool:
        fine = self.unifier.learn(slot, family, Origin(phrase, node.span))
        if not fine:
            report()
        return fine

    def number(self, node: Expression, slot: Slot, own: EventPattern | None) -> bool:
        """Take an operand for a number; False if it is known to be something else."""

        def report() -> None:
            hint = _ARITHMETIC_HINTS[slot.root().family]
            message = f"arithmetic needs numbers, {self.inference.describe(node, slot, own)}"
            self.inference.findings.error("arithmetic", message, node.span, hint)

        return self._need(node, slot, Family.NUMBER, "used in arithmetic", report)

    def _arithmetic(self, node: Arithmetic, own: EventPattern | None) -> Slot:
        left, right = self.infer(node.left, own), self.infer(node.right, own)
        if node.operator in ("*", "/"):
            fine = [self.number(node.left, left, own), self.number(node.right, right, own)]
            return Slot(Family.NUMBER) if all(fine) else Slot()
        if left.root().family is Family.NUMBER and right.root().family is Family.NUMBER:
            return Slot(Family.NUMBER)
        result = Slot()
        _Sum(self, node, own, left, right, result).decide()
        return result

    def _call(self, node: Call, own: EventPattern | None) -> Slot:
        slots = [self.infer(argument, own) for argument in node.arguments]
        function = FUNCTIONS.get(node.function) or CONNECTIVES.get(node.function)
        if function is None:
            return Slot()
        last = function.arguments[-1]
        alike: list[tuple[Expression, Slot]] = []
        for position, (argument, slot) in enumerate(zip(node.arguments, slots, strict=True)):
            kind = function.kind(position)
            if kind is Kind.TRUTH:
                self.condition(argument, slot, own)
                continue
            if kind is Kind.SAME:
                alike.append((argument, slot))
                if node.function == IN:
                    _compare(self, "=", alike[0], alike[-1], own)
                elif len(alike) > 1:
                    self._alike(function.name, *alike[0], argument, slot, own)
                continue
            # lists, which have a length, too, are values of rules over intervals alone
            self._argument(function.name, Kind.STRING if kind is Kind.SIZED else kind, argument, slot, own)
        if function.result is not None:
            return Slot(FAMILY[function.result], function.result)
        if last is Kind.SAME:
            return alike[0][1] if alike else Slot()
        return Slot(Family.NUMBER)

    def _argument(self, name: str, kind: Kind, node: Expression, slot: Slot, own: EventPattern | None) -> None:
        def report() -> None:
            message = f"'{name}' takes {kind.value}, {self.inference.describe(node, slot, own)}"
            self.inference.findings.error("argument-type", message, node.span, f"write {FUNCTIONS[name].signature}")

        self._need(node, slot, _NEEDED[kind], f"argument of {name}", report)

    def _alike(
        self, name: str, first: Expression, first_slot: Slot, node: Expression, slot: Slot, own: EventPattern | None
    ) -> None:
        if not self.unifier.same(first_slot, slot, lambda _: Origin(f"argument of {name}", node.span)):
            describe = self.inference.describe
            self.inference.findings.error(
                "argument-type",
                f"'{name}' takes arguments of one type: {describe(first, first_slot, own)}, "
                + describe(node, slot, own),
                node.span,
                "replace one of them by a value of the other's type",
            )

    def _aggregate(self, node: Aggregate) -> Slot:
        record = AGGREGATES.get(node.function.lower())
        if node.value is None:
            return Slot(Family.NUMBER, ValueType.INT) if record is not None and not record.needs_value else Slot()
        own = node.event
        slot = self.infer(node.value, own)
        if record is None:  # reported elsewhere
            return slot

        def report() -> None:
            assert node.value is not None
            described = self.inference.describe(node.value, slot, own)
            message = f"{node.function} is taken over {record.takes.value}, {described}"
            hint = f"{names_of_any_type()} take values of any type"
            self.inference.findings.error("aggregate-type", message, node.value.span, hint)

        fine = True
        match record.takes:
            case Takes.EVENTS | Takes.ANYTHING:
                pass
            case Takes.NUMBERS:
                fine = self._need(node.value, slot, Family.NUMBER, f"taken by {node.function}", report)
            case Takes.ORDERED:
                self.inference.unordered.append((slot, report))
                fine = slot.root().family is not Family.BOOL
            case _:
                assert_never(record.takes)
        if not fine:
            return Slot()
        if record.result is not None:
            return Slot(FAMILY[record.result], record.result)
        return Slot(Family.NUMBER) if record.takes is Takes.NUMBERS else slot


def _compare(
    rule: RuleInference,
    operator: str,
    left: tuple[Expression, Slot],
    right: tuple[Expression, Slot],
    own: EventPattern | None,
) -> None:
    inference = rule.inference
    span = left[0].span.to(right[0].span) if left[0].span is not None and right[0].span is not None else None

    def origin(teacher: Slot) -> Origin:
        other = left if left[1].root() is teacher else right
        return Origin(f"compared with {text_of(other[0])}", span)

    if not rule.unifier.same(left[1], right[1], origin):
        one, two = inference.describe(*left, own), inference.describe(*right, own)
        hint = _mismatch_hint(left[0], right[1]) or _mismatch_hint(right[0], left[1])
        hint = hint or "compare values of one type; an int and a double are both numbers"
        inference.findings.error("type-mismatch", f"these cannot be compared: {one}, {two}", span, hint)
    elif operator in _ORDER and left[1].root().family in (None, Family.BOOL):

        def report() -> None:
            message = f"'{operator}' does not apply to bools: {inference.describe(*left, own)}"
            inference.findings.error("no-order", message, span, "bools compare with = and != only")

        inference.unordered.append((left[1], report))


def _mismatch_hint(node: Expression, other: Slot) -> str | None:
    """How to write a constant so that it is of the other side's type."""
    if not isinstance(node, Constant):
        return None
    match other.root().family:
        case Family.STRING if node.type.is_numeric:
            return f"a string is written in quotes: '{text_of(node)}'"
        case Family.NUMBER if isinstance(node.value, str) and _is_number(node.value):
            return f"a number is written without quotes: {node.value}"
        case Family.TIMESTAMP if node.duration:
            return f"between two times lies a length of time: A.time - B.time > {text_of(node)}"
        case Family.TIMESTAMP:
            return "a time is written timestamp '2026-01-31T12:00:00Z'"
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class _Sum:
    """A sum or difference whose meaning depends on which of its parts are times.

    ``decide`` is called again whenever one of them becomes known, and with ``guess`` at the end, when whatever is
    still open is taken for a number.
    """

    __slots__ = ("done", "left", "node", "own", "result", "right", "rule")

    def __init__(self, rule: RuleInference, node: Arithmetic, own: EventPattern | None, *slots: Slot) -> None:
        self.rule, self.node, self.own = rule, node, own
        self.left, self.right, self.result = slots
        self.done = False
        for slot in slots:
            if slot.root().family is None:
                rule.unifier.wait(slot, self.decide)
        rule.inference.undecided.append(self)

    def decide(self, *, guess: bool = False) -> None:
        """Settle the three types if what is known determines them."""
        if self.done:
            return
        families = tuple(slot.root().family for slot in (self.left, self.right, self.result))
        if any(family in (Family.STRING, Family.BOOL) for family in families[:2]):
            self._no_number()
            return
        possible = [
            triple
            for triple in _MEANINGS[self.node.operator]
            if all(known is None or known is meant for known, meant in zip(families, triple, strict=True))
        ]
        if not possible:  # the result is compared with what it cannot be: that place reports it
            possible = [
                triple
                for triple in _MEANINGS[self.node.operator]
                if all(known is None or known is meant for known, meant in zip(families[:2], triple[:2], strict=True))
            ]
            if not possible:
                self._no_meaning()
                return
        if len(possible) == 1 or guess:
            self._conclude(*possible[0])

    def _conclude(self, left: Family, right: Family, result: Family) -> None:
        self.done = True
        rule = self.rule
        for node, slot, family in ((self.node.left, self.left, left), (self.node.right, self.right, right)):
            if family is Family.NUMBER:
                rule.number(node, slot, self.own)
            else:
                rule.unifier.learn(slot, family, Origin("used as a time", node.span))
        if not rule.unifier.learn(self.result, result, Origin("computed", self.node.span)):
            known = self.result.root()
            assert known.family is not None
            reason = f" ({known.origin.phrase})" if known.origin is not None else ""
            message = f"{text_of(self.node)} gives {result.value}, but is used as {known.family.value}{reason}"
            hint = "to put texts together, write concat(a, b)" if known.family is Family.STRING else None
            rule.inference.findings.error("arithmetic", message, self.node.span, hint)
        if result is Family.TIMESTAMP:
            step = self.node.right if left is Family.TIMESTAMP else self.node.left
            rule.inference.whole.append((rule.scope, step, self.own, self._not_whole))

    def _no_number(self) -> None:
        """Report the operand that is no number; what the other one and the result are meant to be is anyone's guess."""
        self.done = True
        for node, slot in ((self.node.left, self.left), (self.node.right, self.right)):
            if slot.root().family in (Family.STRING, Family.BOOL):
                self.rule.number(node, slot, self.own)
                return

    def _no_meaning(self) -> None:
        self.done = True
        describe = self.rule.inference.describe
        left, right = describe(self.node.left, self.left, self.own), describe(self.node.right, self.right, self.own)
        message = f"'{self.node.operator}' has no meaning here: {left}, {right}"
        self.rule.inference.findings.error("arithmetic", message, self.node.span, TIMES_HINT)

    def _not_whole(self, node: Expression) -> None:
        described = self.rule.describe_double(node, self.own)
        message = f"a time is moved by a whole number of microseconds, {described}"
        hint = f"use floor({text_of(node)}) or round({text_of(node)})"
        self.rule.inference.findings.error("arithmetic", message, node.span, hint)


_N, _T = Family.NUMBER, Family.TIMESTAMP
_MEANINGS: dict[str, tuple[tuple[Family, Family, Family], ...]] = {
    "+": ((_N, _N, _N), (_T, _N, _T), (_N, _T, _T)),
    "-": ((_N, _N, _N), (_T, _N, _T), (_T, _T, _N)),
}
