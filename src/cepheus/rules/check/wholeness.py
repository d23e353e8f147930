"""Where only an int will do: finds what makes an expression a double, and makes ints of undeclared attributes."""

from __future__ import annotations

from typing import assert_never

from cepheus.core.values import ValueType
from cepheus.rules.aggregates import AGGREGATES
from cepheus.rules.check.infer import Inference
from cepheus.rules.check.scope import RuleScope
from cepheus.rules.check.slots import Family
from cepheus.rules.expressions import (
    Aggregate,
    Arithmetic,
    AttributeRef,
    Call,
    Constant,
    EventPattern,
    Expression,
    Negative,
    Parameter,
)
from cepheus.rules.functions import FUNCTIONS
from cepheus.rules.model import Aggregation


def not_whole(node: Expression, own: EventPattern | None, scope: RuleScope, inference: Inference) -> Expression | None:
    """The part of an expression that makes it a double, None if it is an int.

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
                return self._first(arguments, own)
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
