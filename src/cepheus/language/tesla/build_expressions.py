"""What the parser builds of constraints and expressions: one method per alternative of the grammar."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cepheus.core.source import Source, Span
from cepheus.core.time import MAX_TIME
from cepheus.core.values import Value, ValueType
from cepheus.language.common.literals import LiteralError, read_duration, read_number, read_string, read_time
from cepheus.language.common.node_builder import Children, NodeBuilder
from cepheus.language.common.tokens import MAX_NESTING
from cepheus.rules.aggregates import aggregate_named, approximation_of
from cepheus.rules.expressions import (
    Aggregate,
    Arithmetic,
    AttributeRef,
    Between,
    Call,
    Comparison,
    Constant,
    Constraint,
    EventPattern,
    Expression,
    Negative,
    Parameter,
    Scope,
    Within,
    joined_by,
)
from cepheus.rules.functions import AND, CONNECTIVES, IN, IS_NULL, NOT, OR
from cepheus.rules.model import Collection
from cepheus.rules.walk import children as nodes_below

MAX_JOINED = 20
"""How deep ``and``, ``or`` and ``not`` may be nested in one another."""

_OPERATORS = {"==": "=", "<>": "!=", "=<": "<=", "=>": ">="}


class ExpressionBuilder(NodeBuilder):
    """Builds expressions and event patterns of one source at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.begin(Source("<rules>", ""))

    def begin(self, source: Source) -> None:
        """Start on a text."""
        self.start(source)
        self.event_end = self.terminator_end = 0
        self.moment_name = ""
        self.collections: dict[str, Collection] = {}

    # ---- Literals ------------------------------------------------------------------------------------------------

    def _number(self, token: Any, start: int, negative: bool) -> Constant:
        span = Span(self.source, start, token.end_pos)
        zero: tuple[Value, ValueType] = (0, ValueType.INT)
        value, value_type = self._read(span, zero, lambda: read_number(token, negative=negative))
        return Constant(value, value_type, span)

    def positive(self, children: Children) -> Constant:
        """``18``, ``1.5e3``, ``18%``."""
        token = children[0]
        return self._number(token, token.start_pos, negative=False)

    def length(self, children: Children) -> Constant:
        """``5 min`` as a number of microseconds."""
        number, unit = children
        span = Span(self.source, number.start_pos, unit.end_pos)
        return Constant(self.duration(children), ValueType.INT, span, duration=True)

    def negative_number(self, children: Children) -> Constant:
        """``-18``."""
        minus, token = children
        return self._number(token, minus.start_pos, negative=True)

    def string(self, children: Children) -> Constant:
        """``'A1'``."""
        span = self._token_span(children[0])
        return Constant(self._read(span, "", lambda: read_string(children[0])), ValueType.STRING, span)

    def truth(self, children: Children) -> Constant:
        """``true`` and ``false``."""
        return Constant(children[0].type == "TRUE", ValueType.BOOL, self._token_span(children[0]))

    def timestamp(self, children: Children) -> Constant:
        """``timestamp '2026-01-31T10:00:00Z'``."""
        word, text = children
        span = Span(self.source, word.start_pos, text.end_pos)
        time = self._read(span, 0, lambda: read_time(read_string(text)))
        return Constant(time, ValueType.TIMESTAMP, span)

    # ---- Expressions ---------------------------------------------------------------------------------------------

    def expression(self, children: Children) -> Expression:
        """Check that a finished expression is not nested too deep."""
        node: Expression = children[0]
        return self._not_too_deep(node)

    def _shallow(self, condition: Constraint) -> Constraint:
        """Check that conditions are not joined in too many levels."""
        assert condition.span is not None
        if _levels(condition) > MAX_JOINED:
            message = f"conditions are nested more than {MAX_JOINED} deep"
            self._error("nesting", message, condition.span, "split the rule, or the condition over several parts")
            return Constant(True, ValueType.BOOL, condition.span)
        return condition

    def _not_too_deep(self, node: Expression) -> Expression:
        span = node.span
        assert span is not None
        # Every level takes at least one character, so a short expression cannot be deep.
        if span.end - span.start > MAX_NESTING and _depth(node) > MAX_NESTING:
            if not any(
                error.code == "nesting" for error in self.errors
            ):  # once is enough: each level around it is deep
                self._error("nesting", f"this expression is nested more than {MAX_NESTING} deep", span)
            return Constant(0, ValueType.INT, span)
        return node

    def parameter(self, children: Children) -> Parameter:
        """``$a``."""
        return Parameter(children[0].lstrip("\\$"), self._token_span(children[0]))

    def own_attribute(self, children: Children) -> AttributeRef:
        """``value``."""
        return AttributeRef(None, str(children[0]), self._token_span(children[0]))

    def attribute_of(self, children: Children) -> AttributeRef:
        """``Temp.value``."""
        event, name = children
        return AttributeRef(str(event), str(name), Span(self.source, event.start_pos, name.end_pos))

    def arithmetic(self, children: Children) -> Arithmetic:
        """``a+b`` and the like."""
        left, operator, right = children
        return Arithmetic(str(operator), left, right, Span(self.source, left.span.start, right.span.end))

    def negative(self, children: Children) -> Negative:
        """``-a``."""
        minus, operand = children
        return Negative(operand, Span(self.source, minus.start_pos, operand.span.end))

    def parenthesised(self, children: Children) -> Expression:
        """``(a)``: the parentheses belong to what an error message underlines."""
        opening, node, closing = children
        inner: Expression = node
        return replace(inner, span=Span(self.source, opening.start_pos, closing.end_pos))

    def empty_call(self, children: Children) -> Call:
        """``f()``."""
        name, closing = children
        return Call(name.lower(), (), Span(self.source, name.start_pos, closing.end_pos))

    def call(self, children: Children) -> Call:
        """``f(a, b)``."""
        name, arguments, closing = children
        return Call(name.lower(), tuple(arguments), Span(self.source, name.start_pos, closing.end_pos))

    # ---- Conditions ----------------------------------------------------------------------------------------------

    def disjunction(self, children: Children) -> Constraint:
        """``a or b``."""
        return self._joined(OR, children[0])

    def conjunction(self, children: Children) -> Constraint:
        """``a and b``."""
        return self._joined(AND, children[0])

    def _joined(self, word: str, parts: list[Constraint]) -> Constraint:
        if len(parts) == 1:
            return parts[0]
        span = self._around(parts)
        return self._shallow(Call(word, tuple(inner for part in parts for inner in joined_by(word, part)), span))

    def _around(self, nodes: list[Any]) -> Span:
        return Span(self.source, nodes[0].span.start, nodes[-1].span.end)

    def opposite(self, children: Children) -> Call:
        """``not a``."""
        word, node = children
        return Call(NOT, (node,), Span(self.source, word.start_pos, node.span.end))

    def among(self, children: Children) -> Call:
        """``a in (b, c)``."""
        value, _, _, choices, closing = children
        return Call(IN, (value, *choices), Span(self.source, value.span.start, closing.end_pos))

    def not_among(self, children: Children) -> Call:
        """``a not in (b, c)``."""
        value, _, _, _, choices, closing = children
        span = Span(self.source, value.span.start, closing.end_pos)
        return Call(NOT, (Call(IN, (value, *choices), span),), span)

    def is_null(self, children: Children) -> Call:
        """``a is null``."""
        value, word = children[0], children[-1]
        return Call(IS_NULL, (value,), Span(self.source, value.span.start, word.end_pos))

    def is_not_null(self, children: Children) -> Call:
        """``a is not null``."""
        asked = self.is_null(children)
        return Call(NOT, (asked,), asked.span)

    # ---- Constraints and events ----------------------------------------------------------------------------------

    def comparison_start(self, children: Children) -> tuple[list[Any], list[str]]:
        """``a < b``: operands and operators of a chain that may go on."""
        left, operator, right = children
        return [left, right], [_OPERATORS.get(operator, str(operator))]

    def comparison_more(self, children: Children) -> tuple[list[Any], list[str]]:
        """``.. < c``."""
        (operands, operators), operator, right = children
        operands.append(right)
        operators.append(_OPERATORS.get(operator, str(operator)))
        return operands, operators

    def comparison_constraint(self, children: Children) -> Comparison:
        """Finish a chain of comparisons."""
        operands, operators = children[0]
        return self._comparison(operands, operators)

    def _comparison(self, operands: list[Any], operators: list[str]) -> Comparison:
        span = Span(self.source, operands[0].span.start, operands[-1].span.end)
        return Comparison(tuple(operands), tuple(operators), span)

    def bare_event(self, children: Children) -> EventPattern:
        """``Smoke`` or ``Smoke()``."""
        self.event_end = children[-1].end_pos
        return EventPattern(str(children[0]), (), None, self._token_span(children[0]))

    def event_with_constraints(self, children: Children) -> EventPattern:
        """``Temp(value>45)``; the span is the type's name, which is what messages about an event underline."""
        name, conditions, closing = children
        self.event_end = closing.end_pos
        constraints = tuple(part for condition in conditions for part in joined_by(AND, self._shallow(condition)))
        return EventPattern(str(name), constraints, None, self._token_span(name))

    def renamed(self, children: Children) -> EventPattern:
        """``Temp() as Hot``."""
        event, _, alias = children
        self.event_end = alias.end_pos
        return EventPattern(event.type, event.constraints, str(alias), event.span)

    # ---- Windows, intervals and aggregates -----------------------------------------------------------------------

    def duration(self, children: Children) -> int:
        """``5 min``."""
        number, unit = children
        self.duration_start, self.duration_end = number.start_pos, unit.end_pos
        span = Span(self.source, number.start_pos, unit.end_pos)
        try:
            return read_duration(number, unit)
        except LiteralError as error:
            self._error(error.code, error.message, self._token_span(unit) if error.code == "unit" else span, error.hint)
            return 0

    def window(self, children: Children) -> Within:
        """``within 5 min from Smoke``."""
        word, duration, _, reference = children
        return Within(duration, str(reference), Span(self.source, word.start_pos, reference.end_pos))

    def between(self, children: Children) -> Between:
        """``between Temp and Smoke``."""
        word, first, second = children
        return Between(str(first), str(second), Span(self.source, word.start_pos, second.end_pos))

    def since_start(self, children: Children) -> Within:
        """``since start``: up to the moment of the rule, from its beginning."""
        first, last = children
        span = Span(self.source, first.start_pos, last.end_pos)
        return Within(MAX_TIME, self.moment_name, span, since_start=True)

    def attribute_value(self, children: Children) -> AttributeRef:
        """``.value`` of an aggregate."""
        return self.own_attribute(children)

    def computed_value(self, children: Children) -> Expression:
        """``.(price*volume)`` of an aggregate."""
        return self.expression([self.parenthesised(children)])

    def _aggregate(
        self,
        name: Any,
        event: EventPattern,
        value: Expression | None,
        scope: Scope,
        end: int,
        argument: float | None = None,
    ) -> Aggregate:
        span = Span(self.source, name.start_pos, end)
        record = aggregate_named(name)
        function = record.name
        if value is None and record.needs_value:
            hint = f"write the attribute behind the event: {function}({event.type}(..).value ..)"
            self._error("aggregate", f"{function} needs a value", span, hint)
        return Aggregate(function, event, value, scope, argument, span)

    def aggregate(self, children: Children) -> Aggregate:
        """``Avg(Temp().value within 5 min from Smoke)``."""
        name, event, value, scope, closing = children
        return self._aggregate(name, event, value, scope, closing.end_pos)

    def aggregate_with_argument(self, children: Children) -> Aggregate:
        """``Percentile(Temp().value within 5 min from Smoke, 95)``."""
        name, event, value, scope, (argument, _), closing = children
        return self._aggregate(name, event, value, scope, closing.end_pos, argument)

    def approximate_aggregate(self, children: Children) -> Aggregate:
        """``CountDistinct(Login().user within 1 day from Login, approximate)``."""
        name, event, value, scope, word, closing = children
        return self._approximate(self._aggregate(name, event, value, scope, closing.end_pos), word)

    def aggregate_without_value(self, children: Children) -> Aggregate:
        """``Count(Temp() within 5 min from Smoke)``."""
        name, event, scope, closing = children
        return self._aggregate(name, event, None, scope, closing.end_pos)

    def aggregate_value_last(self, children: Children) -> Aggregate:
        """``Avg(Temp() within 5 min from Smoke).value``."""
        name, event, scope, _, value = children
        return self._aggregate(name, event, value, scope, value.span.end)

    def aggregate_scope_last(self, children: Children) -> Aggregate:
        """``Avg(Temp().value) within 5 min from Smoke)``."""
        name, event, value, _, scope, closing = children
        return self._aggregate(name, event, value, scope, closing.end_pos)

    def aggregate_value_and_scope_last(self, children: Children) -> Aggregate:
        """``Avg(Temp()).value within 5 min from Smoke)``."""
        name, event, _, value, scope, closing = children
        return self._aggregate(name, event, value, scope, closing.end_pos)

    def aggregate_without_value_scope_last(self, children: Children) -> Aggregate:
        """``Count(Temp()) within 5 min from Smoke)``."""
        name, event, _, scope, closing = children
        return self._aggregate(name, event, None, scope, closing.end_pos)

    def members(self, children: Children) -> Aggregate:
        """``count(Temps)``."""
        name, collection, closing = children
        return self._of_members(name, collection, None, closing.end_pos)

    def value_of_members(self, children: Children) -> Aggregate:
        """``Avg(Temps.value)``."""
        name, collection, value, closing = children
        return self._of_members(name, collection, value, closing.end_pos)

    def value_of_members_with_argument(self, children: Children) -> Aggregate:
        """``Percentile(Temps.value, 95)``."""
        name, collection, value, (argument, _), closing = children
        return self._of_members(name, collection, value, closing.end_pos, argument)

    def approximate_value_of_members(self, children: Children) -> Aggregate:
        """``CountDistinct(Logins.user, approximate)``."""
        name, collection, value, word, closing = children
        return self._approximate(self._of_members(name, collection, value, closing.end_pos), word)

    def _approximate(self, exact: Aggregate, word: Any) -> Aggregate:
        """The aggregate that is nearly the same and takes less memory."""
        found = approximation_of(exact.function)
        if found is None:
            message = f"{exact.function} is exact: there is no other way to compute it"
            hint = "leave 'approximate' out; CountDistinct has it"
            self._error("aggregate-argument", message, self._token_span(word), hint)
            return exact
        return replace(exact, function=found)

    def value_of_members_last(self, children: Children) -> Aggregate:
        """``first(Temps).value``."""
        name, collection, _, value = children
        found = self._of_members(name, collection, value, value.span.end)
        return replace(found, even_undefined=aggregate_named(found.function).form.is_end)

    def _of_members(
        self, name: Any, collection: Any, value: Expression | None, end: int, argument: float | None = None
    ) -> Aggregate:
        found = self.collections.get(str(collection))
        if found is None:
            message = f"the collection '{collection}' is introduced only later in the pattern"
            self._error("later-event", message, self._token_span(collection), "move it to before this place")
            nowhere, span = Within(1, str(collection)), Span(self.source, name.start_pos, end)
            return Aggregate(aggregate_named(name).name, EventPattern(str(collection)), value, nowhere, span=span)
        return replace(self._aggregate(name, found.event, value, found.scope, end, argument), of=str(collection))


def _levels(condition: Constraint) -> int:
    """Count the levels of joined conditions, no further than needed; without recursion, which could overflow."""
    deepest = 0
    stack: list[tuple[Constraint, int]] = [(condition, 1)]
    while stack and deepest <= MAX_JOINED:
        current, depth = stack.pop()
        if isinstance(current, Call) and current.function in CONNECTIVES:
            deepest = max(deepest, depth)
            stack += [(argument, depth + 1) for argument in current.arguments]
    return deepest


def _depth(node: Expression) -> int:
    """Count the levels of a tree, without recursion, which could overflow on what is too deep."""
    deepest = 0
    stack: list[tuple[Any, int]] = [(node, 1)]
    while stack:
        current, depth = stack.pop()
        deepest = max(deepest, depth)
        stack += [(child, depth + 1) for child in nodes_below(current)]
    return deepest
