"""Do the types fit, what are the types of attributes that nothing declares, and where is an int to become a double?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, assert_never

from cepheus.core.values import ValueType
from cepheus.rules.aggregates import AGGREGATES
from cepheus.rules.check.expression_types import Inference, RuleInference
from cepheus.rules.check.findings import IN_WORDS, Findings, line_of, text_of
from cepheus.rules.check.known_types import KnownTypes
from cepheus.rules.check.scope import Role, RuleScope, Site
from cepheus.rules.check.type_slots import Family, Key, Origin, Slot
from cepheus.rules.expressions import (
    Aggregate,
    Arithmetic,
    AttributeRef,
    Call,
    Comparison,
    Constant,
    EventPattern,
    Expression,
    Negative,
    Parameter,
)
from cepheus.rules.function_record import Kind
from cepheus.rules.functions import CONNECTIVES, FUNCTIONS
from cepheus.rules.model import Aggregation, Assignment, Rule
from cepheus.rules.walk import transform, walk


@dataclass(frozen=True, slots=True)
class InferredTypes:
    """The type of every attribute that rules use, None where only the data can tell.

    ``equal`` are the sets of attributes of unknown type that must turn out to be of the same type.
    """

    types: dict[Key, ValueType | None]
    equal: tuple[frozenset[Key], ...]


def infer_types(scopes: list[RuleScope], known: KnownTypes, findings: Findings) -> InferredTypes:
    """Infer the types of attributes over all rules together and report what does not fit.

    ``area = $a`` in one rule and ``area = 'hall'`` in another make both attributes strings; ``value > 45`` makes a
    number. Found here: comparisons of different types, arithmetic on what is no number, wrong arguments, constraints
    that are not conditions, order between bools, values that do not fit the attribute they are assigned to.
    """
    inference = Inference(known, findings)
    for scope in scopes:
        _rule(scope, inference)
        inference.unifier.settle()
    for undecided in inference.undecided:
        undecided.decide(guess=True)
        inference.unifier.settle()
    for slot, report in inference.unordered:
        if slot.root().family is Family.BOOL:
            report()
    for scope, node, own, complain in inference.whole:
        offender = not_whole(node, own, scope, inference)
        if offender is not None:
            complain(offender)
    return _result(inference)


def _result(inference: Inference) -> InferredTypes:
    found = {key: slot.value_type for key, slot in inference.slots.items()}
    classes = {id(root): root for slot in inference.slots.values() if (root := slot.root()).family is None}
    equal = (frozenset(root.keys) for root in classes.values())
    return InferredTypes(found, tuple(keys for keys in equal if len(keys) > 1))


def _rule(scope: RuleScope, inference: Inference) -> None:
    rule = RuleInference(scope, inference)
    for item in scope.rule.pattern.items:
        if isinstance(item, Aggregation):
            slot = rule.infer(item.aggregate, None)
            if item.parameter is not None and scope.binders.get(item.parameter) is None:
                rule.bind(item.parameter, slot, item.span)
    for site in scope.sites:
        if site.role in (Role.EVENT, Role.MEMBER, Role.COMPARISON, Role.CONDITION):
            _constraint(rule, site)
        elif site.role is Role.RANKING and not isinstance(site.node, Comparison):
            _ranking(rule, site.node, site.own)
        elif site.role is Role.GROUP and isinstance(site.node, AttributeRef):
            rule.infer(site.node, site.own)
    attributes = {attribute.name for attribute in scope.rule.composite.attributes}
    for assignment in scope.rule.assignments:
        slot = rule.infer(assignment.value, None)
        if assignment.attribute in attributes:
            _assign(rule, assignment, slot)


def _ranking(rule: RuleInference, node: Expression, own: EventPattern | None) -> None:
    slot = rule.infer(node, own)
    if slot.root().family is Family.TIMESTAMP:
        return
    if not rule.unifier.learn(slot, Family.NUMBER, Origin("what events are ranked by", node.span)):
        message = f"events are ranked by a number or a time, {rule.inference.describe(node, slot, own)}"
        hint = f"write 'by Count(..)', or 'by {own.type if own else 'Temp'}.value' for the greatest values"
        rule.inference.findings.error("ranking", message, node.span, hint)


def _constraint(rule: RuleInference, site: Site) -> None:
    node, own = site.node, site.own
    rule.condition(node, rule.infer(node, own), own)


def _written(slot: Slot) -> str | None:
    value_type = slot.value_type
    return None if value_type in (None, ValueType.LIST) else value_type.value


def _assign(rule: RuleInference, assignment: Assignment, slot: Slot) -> None:
    inference, composite, node = rule.inference, rule.scope.rule.composite, assignment.value
    target = inference.attribute(composite.name, assignment.attribute)
    span = node.span

    def describe_target() -> str:
        where = line_of(target.origin.span, span) if target.origin is not None else ""
        kind = IN_WORDS[target.exact] if target.exact is not None else "of another type"
        return f"'{assignment.attribute}' of {composite.name} is {kind}" + (f" (defined {where})" if where else "")

    if not rule.unifier.same(target, slot, lambda _: Origin(f"assigned to {assignment.attribute}", span)):
        message = f"{describe_target()}, {inference.describe(node, slot, None)}"
        wanted = _written(slot)
        hint = f"assign another value, or define '{assignment.attribute}: {wanted}'" if wanted else None
        inference.findings.error("assignment-type", message, span, hint)
    elif target.exact is ValueType.INT:

        def complain(offender: Expression) -> None:
            message = f"{describe_target()}, {rule.describe_double(offender, None)}"
            hint = f"use floor({text_of(node)}) or round({text_of(node)}), or define it as a double"
            inference.findings.error("narrowing", message, offender.span, hint)

        inference.whole.append((rule.scope, node, None, complain))


def not_whole(node: Expression, own: EventPattern | None, scope: RuleScope, inference: Inference) -> Expression | None:
    """Find the part of an expression that makes it a double, None if it is an int.

    Attributes whose type nothing declares are made ints on the way.
    """
    return _Search(scope, inference).offender(node, own)


class _Search:
    def __init__(self, scope: RuleScope, inference: Inference) -> None:
        self._scope = scope
        self._inference = inference
        self._visited: set[str] = set()

    def offender(self, node: Expression, own: EventPattern | None) -> Expression | None:
        match node:
            case Constant(type=value_type):
                return node if value_type is ValueType.FLOAT else None
            case AttributeRef():
                return node if self._is_double(node, own) else None
            case Parameter(name=name):
                return self._parameter(node, name)
            case Arithmetic(operator=operator, left=left, right=right):
                if operator == "/":
                    return node
                return self._first((left, right), own)
            case Negative(operand=operand):
                return self.offender(operand, own)
            case Call(function=name, arguments=arguments):
                function = FUNCTIONS.get(name)
                if function is None or function.result is not None:
                    return node if function is not None and function.result is ValueType.FLOAT else None
                return self._first(arguments[function.arguments.count(Kind.TRUTH) :], own)
            case Comparison():
                return None
            case Aggregate(function=name, event=event, value=value):
                result = AGGREGATES[name.lower()].result if name.lower() in AGGREGATES else None
                if result is not None:
                    return node if result is ValueType.FLOAT else None
                return None if value is None or self.offender(value, event) is None else node
            case _:
                assert_never(node)

    def _first(self, nodes: tuple[Expression, ...], own: EventPattern | None) -> Expression | None:
        return next((found for node in nodes if (found := self.offender(node, own)) is not None), None)

    def _parameter(self, node: Parameter, name: str) -> Expression | None:
        binder = self._scope.binders.get(name)
        if binder is not None:
            return node if self._is_double(binder, None) else None
        if name in self._visited:  # aggregates that need each other are reported elsewhere
            return None
        self._visited.add(name)
        for item in self._scope.rule.pattern.items:
            if isinstance(item, Aggregation) and item.parameter == name:
                return None if self.offender(item.aggregate, None) is None else node
        return None

    def _is_double(self, node: AttributeRef, own: EventPattern | None) -> bool:
        type_name = self._scope.type_of(node, own)
        if type_name is None or self._inference.known.is_unknown(type_name):
            return False
        slot = self._inference.attribute(type_name, node.name).root()
        if slot.fixed:
            return slot.exact is ValueType.FLOAT
        if slot.family is Family.NUMBER:
            slot.must_be_int = True
        return False


def with_doubles(scope: RuleScope, inferred: InferredTypes) -> Rule:
    """A rule in which every choice between an int and a double says that it gives a double."""
    if not any(isinstance(node, Call) for node in walk(scope.rule)):
        return scope.rule
    return _Marker(scope, inferred).marked(scope.rule)


class _Marker:
    def __init__(self, scope: RuleScope, inferred: InferredTypes) -> None:
        self._scope = scope
        self._types = inferred.types
        self._computed = {
            item.parameter: item.aggregate
            for item in scope.rule.pattern.items
            if isinstance(item, Aggregation) and item.parameter is not None
        }

    def marked(self, rule: Rule) -> Rule:
        def change(node: Any) -> Any:
            match node:
                case Call():
                    return self._call(node, None)
                case EventPattern(constraints=constraints):
                    mine = tuple(self._within(constraint, node) for constraint in constraints)
                    changed = any(one is not other for one, other in zip(mine, constraints, strict=True))
                    return replace(node, constraints=mine) if changed else node
                case Aggregate(event=event, value=value) if value is not None:
                    own = self._within(value, event)
                    return replace(node, value=own) if own is not value else node
                case _:
                    return node

        found: Rule = transform(rule, change)
        return found

    def _within(self, node: Expression, own: EventPattern | None) -> Expression:
        """An expression over the attributes of one event, marked."""
        found: Expression = transform(node, lambda each: self._call(each, own) if isinstance(each, Call) else each)
        return found

    def _call(self, call: Call, own: EventPattern | None) -> Call:
        function = FUNCTIONS.get(call.function)
        if function is None or function.result is not None or Kind.SAME not in function.arguments:
            return call if not call.gives_double else replace(call, gives_double=False)
        kinds = {self._kind(value, own) for value in call.arguments[function.arguments.count(Kind.TRUTH) :]}
        return replace(call, gives_double=True) if {ValueType.INT, ValueType.FLOAT} <= kinds else call

    def _kind(self, node: Expression, own: EventPattern | None) -> ValueType | None:
        """The type of an expression, None where only the data can tell."""
        match node:
            case Constant(type=kind):
                return kind
            case AttributeRef(name=name):
                type_name = self._scope.type_of(node, own)
                return None if type_name is None else self._types.get((type_name, name))
            case Parameter(name=name):
                binder = self._scope.binders.get(name)
                if binder is not None:
                    return self._kind(binder, None)
                return self._kind(self._computed[name], None) if name in self._computed else None
            case Negative(operand=operand):
                return self._kind(operand, own)
            case Arithmetic(operator="/"):
                return ValueType.FLOAT
            case Arithmetic(left=left, right=right):
                return self._together((left, right), own)
            case Call(function=name, arguments=arguments):
                function = FUNCTIONS.get(name) or CONNECTIVES.get(name)
                if function is None or function.result is not None:
                    return None if function is None else function.result
                return self._together(arguments[function.arguments.count(Kind.TRUTH) :], own)
            case Comparison():
                return ValueType.BOOL
            case Aggregate(function=name, event=event, value=value):
                record = AGGREGATES.get(name.lower())
                if record is None or record.result is not None or value is None:
                    return None if record is None else record.result
                return self._kind(value, event)
            case _:
                assert_never(node)

    def _together(self, nodes: tuple[Expression, ...], own: EventPattern | None) -> ValueType | None:
        kinds = [self._kind(node, own) for node in nodes]
        return ValueType.FLOAT if ValueType.FLOAT in kinds else kinds[0]
