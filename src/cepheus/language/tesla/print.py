"""Rules to canonical TESLA text: ``parse`` of the text gives the same rules again."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import assert_never

from cepheus.core.distribution import Biased, Distribution
from cepheus.core.schema import Attribute, EventType
from cepheus.core.time import format_duration, format_time
from cepheus.core.values import ValueType, as_int
from cepheus.language.common.literals import quoted
from cepheus.language.tesla.names import written_attribute, written_name
from cepheus.rules.aggregates import exact_form
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
from cepheus.rules.functions import AND, CONNECTIVES, IN, IS_NULL, NOT, OR
from cepheus.rules.model import (
    Aggregation,
    Collection,
    ErrorDeclaration,
    FreeCondition,
    Negation,
    Pattern,
    PatternItem,
    Rule,
    RuleSet,
    Selection,
    Ties,
)
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
    ordered = any(rule.ordered for rule in rules.rules)
    said = [format_ties(Ties(ordered))] if ordered else []
    declared = [*said, *map(format_declaration, rules.declarations), *map(format_error, rules.errors)]
    blocks = ["\n".join(declared)] if declared else []
    blocks += [format_rule(rule) for rule in rules.rules]
    blocks += [format_belief(belief) for belief in rules.beliefs]
    return "\n\n".join(blocks) + "\n" if blocks else ""


def format_declaration(event_type: EventType) -> str:
    """Write a declaration of an event type.

    >>> format_declaration(EventType("Smoke"))
    'event Smoke()'
    """
    return f"event {_event_type(event_type)}"


def _event_type(event_type: EventType) -> str:
    return f"{written_name(event_type.name)}({', '.join(map(_attribute, event_type.attributes))})"


def _attribute(attribute: Attribute) -> str:
    name = written_attribute(attribute.name)
    column = "" if attribute.column is None else f" from {written_attribute(attribute.column)}"
    if attribute.type is None:
        return f"{name}{column}"
    return f"{name}: {attribute.type.value}{'?' if attribute.optional else ''}{column}"


def format_error(declaration: ErrorDeclaration) -> str:
    """Write what the values of an attribute are off by.

    >>> from cepheus.core.distribution import Normal
    >>> format_error(ErrorDeclaration("Temp", "value", Normal(0, 1)))
    'error Temp.value ~ N(0, 1)'
    """
    attribute = f"{written_name(declaration.event)}.{written_attribute(declaration.attribute)}"
    if isinstance(declaration.error, Biased):
        error = declaration.error
        return (
            f"error {attribute} ~ {error.own} + shared {error.bias} per {', '.join(map(written_attribute, error.per))}"
        )
    return f"error {attribute} ~ {declaration.error}"


def format_ties(ties: Ties) -> str:
    """Write what is made of simultaneous events.

    >>> format_ties(Ties(ordered=True))
    'ties ordered'
    """
    return "ties ordered" if ties.ordered else "ties apart"


def format_rule(rule: Rule) -> str:
    """Write one rule over several lines, without a line end after the last."""
    lines = [f"rule {written_name(rule.name)}"] if rule.name is not None else []
    lines += [f"define {_event_type(rule.composite)}", f"from   {format_pattern(rule.pattern)}"]
    if rule.assignments:
        assignments = [f"{written_attribute(a.attribute)}={format_expression(a.value)}" for a in rule.assignments]
        line = "where  " + " and ".join(assignments)
        lines.append(line if len(line) <= _LINE_WIDTH else "where  " + f" and\n{_INDENT}".join(assignments))
    if rule.consuming:
        lines.append(f"consuming {', '.join(map(written_name, rule.consuming))}")
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
    alias = f" as {written_name(event.alias)}" if event.alias is not None else ""
    return f"{written_name(event.type)}({_constraints(event.constraints)}){alias}"


def _constraints(constraints: tuple[Constraint, ...]) -> str:
    """Join constraints by ``and``, or by commas where one of them is an ``or``."""
    loose = len(constraints) > 1 and any(_level(constraint) is _Level.OR for constraint in constraints)
    return (", " if loose else " and ").join(map(format_condition, constraints))


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
            attribute = written_attribute(name)
            return attribute if event is None else f"{written_name(event)}.{attribute}"
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
            bare = bare or isinstance(operand, AttributeRef | Parameter | Call | Aggregate | Comparison)
            return f"-{text}" if bare else f"-({text})"
        case Call(function=function, arguments=arguments) if function not in CONNECTIVES:
            return f"{function}({', '.join(map(format_condition, arguments))})"
        case Call() | Comparison():
            return f"({format_condition(expression)})"
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
        case ValueType.INT if constant.duration:
            return format_duration(as_int(value))
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


class _Level(IntEnum):
    """How tightly the parts of a condition are bound."""

    OR = 0
    AND = 1
    NOT = 2
    TIGHT = 3


_LEVELS = {OR: _Level.OR, AND: _Level.AND, NOT: _Level.NOT}


def _level(condition: Constraint) -> _Level:
    match condition:
        case Call(function="not", arguments=(Call(function="in" | "is null"),)):
            return _Level.TIGHT
        case Call(function=function):
            return _LEVELS.get(function, _Level.TIGHT)
        case _:
            return _Level.TIGHT


def format_condition(condition: Constraint) -> str:
    """Write a condition with no more parentheses than it needs.

    >>> from cepheus.language.tesla.parse import parse_event_pattern
    >>> format_condition(parse_event_pattern("A((not (x > 1)) and y in (2) or (z is not null or (b)))").constraints[0])
    'not x>1 and y in (2) or z is not null or b'
    """
    match condition:
        case Comparison(operands=operands, operators=operators):
            gap = " " if len(operators) > 1 else ""
            return _chain([format_expression(operand) for operand in operands], operators, gap)
        case Call(function="or" | "and" as word, arguments=arguments):
            return f" {word} ".join(_part(argument, _LEVELS[word] + 1) for argument in arguments)
        case Call(function="not", arguments=(Call(function="in" | "is null") as inner,)):
            return _membership(inner, negated=True)
        case Call(function="not", arguments=(operand,)):
            return f"not {_part(operand, _Level.NOT)}"
        case Call(function="in" | "is null"):
            return _membership(condition, negated=False)
        case _:
            return format_expression(condition)


def _part(condition: Constraint, level: int) -> str:
    text = format_condition(condition)
    return text if _level(condition) >= level else f"({text})"


def _membership(call: Call, *, negated: bool) -> str:
    value, *choices = call.arguments
    left, word = format_expression(value), "not " if negated else ""
    if call.function == IS_NULL:
        return f"{left} is {word}null"
    assert call.function == IN
    return f"{left} {word}in ({', '.join(map(format_condition, choices))})"


def _chain(operands: list[str], operators: tuple[str, ...], gap: str) -> str:
    rest = zip(operators, operands[1:], strict=True)
    return operands[0] + "".join(f"{gap}{operator}{gap}{operand}" for operator, operand in rest)


def _item(item: PatternItem) -> str:
    match item:
        case Selection(policy=policy, event=event, window=window, count=count, per=per, ranking=ranking):
            number = "" if count is None else f"{count} "
            groups = f" per {', '.join(map(format_expression, per))}" if per else ""
            if ranking is not None:
                value = format_expression(ranking.by)
                return f"{ranking.count} top {format_event_pattern(event)} by {value}{groups} {scope_text(window)}"
            return f"{number}{policy.value} {format_event_pattern(event)}{groups} {scope_text(window)}"
        case Negation(event=event, scope=scope):
            return f"not {format_event_pattern(event)} {scope_text(scope)}"
        case Aggregation():
            return _aggregation(item)
        case Collection(event=event, scope=scope):
            return f"all {bounds_text(item)}{format_event_pattern(event)} {scope_text(scope)}"
        case FreeCondition(constraint=constraint):
            return _free_condition(constraint)
        case _:
            assert_never(item)


def bounds_text(collection: Collection) -> str:
    """Write how many members a collection must have, with a space behind it; nothing for at least one.

    >>> from cepheus.rules.expressions import EventPattern
    >>> bounds_text(Collection(EventPattern("Temp"), Within(1, "Smoke"), 3))
    '3.. '
    """
    if (collection.least, collection.most) == (1, None):
        return ""
    return f"{collection.least}..{'' if collection.most is None else collection.most} "


def _free_condition(constraint: Constraint) -> str:
    """Write a condition among the parts of a pattern, where ``and``, ``or`` and ``not`` need parentheses."""
    match constraint:
        case Call(function="or" | "and"):
            return format_expression(constraint)
        case Call(function="not", arguments=(operand,)) if _level(constraint) is _Level.NOT:
            return f"not ({format_condition(operand)})"
        case Comparison(operands=operands, operators=operators):
            return _chain([format_expression(operand) for operand in operands], operators, " ")
        case _:
            return format_condition(constraint)


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
            value = f".{written_attribute(name)}"
        case expression:
            value = f".({format_expression(expression)})"
    function = aggregate.function
    argument = "" if aggregate.argument is None else f", {_number(aggregate.argument)}"
    if aggregate.value is not None and exact_form(function) != function:
        function, argument = exact_form(function), ", approximate"
    if aggregate.even_undefined and aggregate.of is not None:
        return f"{function}({written_name(aggregate.of)}){value}"
    if aggregate.of is not None:
        return f"{function}({written_name(aggregate.of)}{value}{argument})"
    event = format_event_pattern(aggregate.event)
    return f"{function}({event}{value} {scope_text(aggregate.scope)}{argument})"


def _number(number: float) -> str:
    """A number as it is written: without a point where it is whole."""
    return str(int(number)) if number.is_integer() else repr(number)


def scope_text(scope: Scope) -> str:
    """Write a scope as rules do.

    >>> scope_text(Within(300_000_000, "Smoke")), scope_text(Between("Smoke", "Temp"))
    ('within 5 min from Smoke', 'between Smoke and Temp')
    """
    match scope:
        case Within(since_start=True):
            return "since start"
        case Within(duration=duration, reference=reference):
            return f"within {format_duration(duration)} from {written_name(reference)}"
        case Between(first=first, second=second):
            return f"between {written_name(first)} and {written_name(second)}"
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
