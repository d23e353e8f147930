"""Where ``if`` and ``coalesce`` choose between an int and a double: what they give is a double, whichever it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, assert_never

from cepheus.core.values import ValueType
from cepheus.rules.aggregates import AGGREGATES
from cepheus.rules.check.scope import RuleScope
from cepheus.rules.check.types import InferredTypes
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
from cepheus.rules.model import Aggregation, Rule
from cepheus.rules.walk import transform


def with_doubles(scope: RuleScope, inferred: InferredTypes) -> Rule:
    """A rule in which every choice between an int and a double says that it gives a double."""
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
