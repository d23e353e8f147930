"""Rules to canonical TESLA text: ``parse`` of the text gives the same rules again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from cepheus.core.distribution import Distribution
from cepheus.core.schema import EventType
from cepheus.core.time import format_duration, format_time
from cepheus.core.values import ValueType, as_int
from cepheus.language.common.literals import quoted
from cepheus.rules.belief.model import Bands, Belief, Chances, Node, Observation, Row
from cepheus.rules.belief.periods import format_period
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
)
from cepheus.rules.model import Aggregation, ErrorDeclaration, Negation, Pattern, PatternItem, Rule, RuleSet, Selection
from cepheus.rules.timers import After, Every

_LINE_WIDTH = 100
_INDENT = " " * len("define ")
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2}
_UNARY = 3


def format_rules(rules: RuleSet) -> str:
    """Write declarations, one a line, and then rules and networks with an empty line between them.

    >>> from cepheus.language.tesla.parse import parse
    >>> print(format_rules(parse("EVENT Smoke(area:string) Define Fire() From Smoke")), end="")
    event Smoke(area: string)
    <BLANKLINE>
    define Fire()
    from   Smoke()
    """
    declared = [*map(format_declaration, rules.declarations), *map(format_error, rules.errors)]
    blocks = ["\n".join(declared)] if declared else []
    blocks += [format_rule(rule) for rule in rules.rules]
    blocks += [format_belief(belief) for belief in rules.beliefs]
    return "\n\n".join(blocks) + "\n" if blocks else ""


def format_declaration(event_type: EventType) -> str:
    """Write a declaration of an event type.

    >>> format_declaration(EventType("Smoke"))
    'event Smoke()'
    """
    return f"event {event_type}"


def format_error(declaration: ErrorDeclaration) -> str:
    """Write what the values of an attribute are off by.

    >>> from cepheus.core.distribution import Normal
    >>> format_error(ErrorDeclaration("Temp", "value", Normal(0, 1)))
    'error Temp.value ~ N(0, 1)'
    """
    return f"error {declaration.event}.{declaration.attribute} ~ {declaration.error}"


def format_rule(rule: Rule) -> str:
    """Write one rule over several lines, without a line end after the last."""
    lines = [f"rule {rule.name}"] if rule.name is not None else []
    lines += [f"define {rule.composite}", f"from   {format_pattern(rule.pattern)}"]
    if rule.assignments:
        assignments = [f"{a.attribute}={format_expression(a.value)}" for a in rule.assignments]
        line = "where  " + " and ".join(assignments)
        lines.append(line if len(line) <= _LINE_WIDTH else "where  " + f" and\n{_INDENT}".join(assignments))
    if rule.consuming:
        lines.append(f"consuming {', '.join(rule.consuming)}")
    if rule.min_probability is not None:
        lines.append(f"min probability {rule.min_probability!r}")
    return "\n".join(lines)


def format_pattern(pattern: Pattern) -> str:
    """Write a pattern, one event a line, indented to stand behind ``from``.

    >>> from cepheus.language.tesla.parse import parse_pattern
    >>> print(format_pattern(parse_pattern("A and 2-last B(x = 1) within 300 s from A")))
    A() and
           2 last B(x=1) within 5 min from A
    """
    parts = [_terminator(pattern), *map(_item, pattern.items)]
    return f" and\n{_INDENT}".join(parts)


def _terminator(pattern: Pattern) -> str:
    match pattern.timer:
        case None:
            return format_event_pattern(pattern.terminator)
        case After():
            return f"{pattern.timer} {format_event_pattern(pattern.terminator)}"
        case Every():
            return str(pattern.timer)
        case _:
            assert_never(pattern.timer)


def format_event_pattern(event: EventPattern) -> str:
    """Write one event with its constraints.

    >>> from cepheus.language.tesla.parse import parse_event_pattern
    >>> format_event_pattern(parse_event_pattern('Temp(area="A1", 10 =< value =< 12) as Cool'))
    "Temp(area='A1' and 10 <= value <= 12) as Cool"
    """
    alias = f" as {event.alias}" if event.alias is not None else ""
    return f"{event.type}({' and '.join(map(_constraint, event.constraints))}){alias}"


def format_expression(expression: Expression) -> str:
    """Write an expression with no more parentheses than it needs.

    >>> from cepheus.core.values import ValueType
    >>> one, x = Constant(1, ValueType.INT), AttributeRef(None, "x")
    >>> format_expression(Arithmetic("*", Arithmetic("-", x, Arithmetic("-", x, one)), x))
    '(x-(x-1))*x'
    """
    match expression:
        case Constant():
            return _literal(expression)
        case AttributeRef(event=event, name=name):
            return name if event is None else f"{event}.{name}"
        case Parameter(name=name):
            return f"${name}"
        case Arithmetic(operator=operator, left=left, right=right):
            precedence = _PRECEDENCE[operator]
            second = _operand(right, precedence + 1)
            # Two minus signs without a space begin a comment.
            gap = " " if operator == "-" and second.startswith("-") else ""
            return f"{_operand(left, precedence)}{operator}{gap}{second}"
        case Negative(operand=operand):
            # A minus directly before a number would be part of the number.
            bare = isinstance(operand, Constant) and not operand.type.is_numeric
            text = format_expression(operand)
            return (
                f"-{text}" if bare or isinstance(operand, AttributeRef | Parameter | Call | Aggregate) else f"-({text})"
            )
        case Call(function=function, arguments=arguments):
            return f"{function}({', '.join(map(format_expression, arguments))})"
        case Aggregate():
            return _aggregate(expression)
        case _:
            assert_never(expression)


def _operand(expression: Expression, precedence: int) -> str:
    text = format_expression(expression)
    needed = isinstance(expression, Arithmetic) and _PRECEDENCE[expression.operator] < precedence
    return f"({text})" if needed else text


def _literal(constant: Constant) -> str:
    value = constant.value
    match constant.type:
        case ValueType.BOOL:
            return "true" if value else "false"
        case ValueType.INT | ValueType.FLOAT:
            return repr(value)
        case ValueType.STRING:
            return quoted(str(value))
        case ValueType.TIMESTAMP:
            return f"timestamp {quoted(format_time(as_int(value)))}"
        case ValueType.LIST:
            raise AssertionError("rules of TESLA have no lists")
        case _:
            assert_never(constant.type)


def _constraint(constraint: Constraint) -> str:
    if not isinstance(constraint, Comparison):
        return format_expression(constraint)
    gap = " " if len(constraint.operators) > 1 else ""
    return _chain([format_expression(operand) for operand in constraint.operands], constraint.operators, gap)


def _chain(operands: list[str], operators: tuple[str, ...], gap: str) -> str:
    rest = zip(operators, operands[1:], strict=True)
    return operands[0] + "".join(f"{gap}{operator}{gap}{operand}" for operator, operand in rest)


def _item(item: PatternItem) -> str:
    match item:
        case Selection(policy=policy, event=event, window=window, count=count):
            number = "" if count is None else f"{count} "
            return f"{number}{policy.value} {format_event_pattern(event)} {scope_text(window)}"
        case Negation(event=event, scope=scope):
            return f"not {format_event_pattern(event)} {scope_text(scope)}"
        case Aggregation():
            return _aggregation(item)
        case _:
            assert_never(item)


def _aggregation(item: Aggregation) -> str:
    bound = format_expression(item.aggregate)
    if item.parameter is not None:
        bound = f"${item.parameter} = {bound}"
    if item.comparison is None:
        return bound
    operands = [bound if o == item.aggregate else format_expression(o) for o in item.comparison.operands]
    return _chain(operands, item.comparison.operators, " ")


def _aggregate(aggregate: Aggregate) -> str:
    match aggregate.value:
        case None:
            value = ""
        case AttributeRef(event=None, name=name):
            value = f".{name}"
        case expression:
            value = f".({format_expression(expression)})"
    event = format_event_pattern(aggregate.event)
    return f"{aggregate.function}({event}{value} {scope_text(aggregate.scope)})"


def scope_text(scope: Scope) -> str:
    """Write a scope as rules do.

    >>> scope_text(Within(300_000_000, "Smoke")), scope_text(Between("Smoke", "Temp"))
    ('within 5 min from Smoke', 'between Smoke and Temp')
    """
    match scope:
        case Within(duration=duration, reference=reference):
            return f"within {format_duration(duration)} from {reference}"
        case Between(first=first, second=second):
            return f"between {first} and {second}"
        case _:
            assert_never(scope)


INDENT = "  "
"""How far what stands in a network is indented."""


def format_belief(belief: Belief) -> str:
    """Write a network over several lines, without a line end after the last.

    >>> from cepheus.language.tesla.parse import parse
    >>> print(format_belief(parse("network Fire {node Jam{HIGH:.1,LOW:.9} observe Jam=LOW}").beliefs[0]))
    network Fire {
      node Jam {HIGH: 0.1, LOW: 0.9}
      observe Jam = LOW
    }
    """
    lines = [f"network {belief.rule} {{"]
    lines += [f"{INDENT}{line}" for node in belief.nodes for line in format_node(node).split("\n")]
    lines += [f"{INDENT}{format_observation(known)}" for known in belief.observations]
    return "\n".join([*lines, "}"])


def format_node(node: Node) -> str:
    """Write one node of a network, with its seasons below it."""
    bands = f" {format_bands(node.bands)}" if node.bands is not None else ""
    given = f" given {', '.join(node.parents)}" if node.parents else ""
    lines = [f"node {node.name}{bands}{given}{_table(node.rows, '')}"]
    for season in node.seasons:
        start, end = format_period(season.period)
        lines.append(f"{INDENT}from '{start}' to '{end}'{_table(season.rows, INDENT)}")
    return "\n".join(lines)


def format_observation(known: Observation) -> str:
    """Write what is known of a node."""
    return f"observe {known.node} = {known.state}"


def format_bands(bands: Bands) -> str:
    """Write the bands of a number."""
    steps = zip(bands.cuts, bands.states[1:], strict=True)
    return f"{{{bands.states[0]}{''.join(f' < {format_number(cut)} < {state}' for cut, state in steps)}}}"


def format_value(value: Chances | Distribution) -> str:
    """Write what a row says: chances or a distribution.

    >>> format_value((("YES", 0.25), ("NO", 0.75)))
    '{YES: 0.25, NO: 0.75}'
    """
    if isinstance(value, tuple):
        return f"{{{', '.join(f'{state}: {format_number(chance)}' for state, chance in value)}}}"
    return str(value)


def format_given(given: Sequence[str | None]) -> str:
    """Write the states of parents that a row is for."""
    return ", ".join("*" if state is None else state for state in given)


def format_number(number: float) -> str:
    """Write a number so that reading gives it again, without a decimal point where it needs none."""
    return repr(int(number)) if abs(number) < 1e15 and number == int(number) else repr(number)


def _table(rows: tuple[Row, ...], indent: str) -> str:
    if len(rows) == 1 and not rows[0].given:
        value = rows[0].value
        return f" {format_value(value)}" if isinstance(value, tuple) else f" ~ {format_value(value)}"
    lines = [f"{indent}{INDENT}{format_given(row.given)}: {format_value(row.value)}" for row in rows]
    return "\n".join([" {", *lines, f"{indent}}}"])
