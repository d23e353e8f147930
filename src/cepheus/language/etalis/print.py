"""Rules to canonical ETALIS text: ``parse`` of the text gives the same rules again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from cepheus.core.schema import EventType
from cepheus.core.time import format_duration, format_time
from cepheus.core.values import ValueType, type_of
from cepheus.language.common.literals import quoted
from cepheus.language.etalis.consumption import format_policy
from cepheus.language.etalis.terms import BareDuration
from cepheus.rules.expressions import (
    Aggregate,
    Arithmetic,
    AttributeRef,
    Call,
    Comparison,
    Constant,
    Constraint,
    Expression,
    Negative,
    Parameter,
)
from cepheus.rules.functions import LIST_BEFORE, LIST_OF
from cepheus.rules.interval.model import (
    Absence,
    Aggregated,
    AnyOf,
    Anything,
    Argument,
    Atom,
    Bind,
    Combined,
    Condition,
    ConsumptionPolicy,
    Deduction,
    Either,
    Element,
    Fact,
    Fits,
    Holds,
    IntervalPattern,
    IntervalRule,
    Known,
    Lasting,
    ListPattern,
    Member,
    NoneOf,
    TimePoint,
    Unknown,
    Where,
)
from cepheus.rules.model import RuleSet

_LINE_WIDTH = 100
_INDENT = "    "
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2}


def format_rules(rules: RuleSet) -> str:
    """Write declarations, facts, rules of the background knowledge and event rules, each a line or more.

    >>> from cepheus.language.etalis.parse import parse
    >>> print(format_rules(parse("near(a,b). e(X) <- ((a(X) seq b(X))).300 s where X>3.")), end="")
    near('a', 'b').
    <BLANKLINE>
    e(X) <- (a(X) SEQ b(X)).5 min WHERE X > 3.
    """
    blocks = [
        [format_declaration(event_type) for event_type in rules.declarations],
        [] if rules.knowledge.most_facts is None else [format_limit(rules.knowledge.most_facts)],
        [format_fact(fact) for fact in rules.knowledge.facts],
        [format_deduction(deduction) for deduction in rules.knowledge.deductions],
        [format_rule(rule) for rule in rules.interval_rules],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + ("\n" if any(blocks) else "")


def format_declaration(event_type: EventType) -> str:
    """Write a declaration of an event type."""
    return f"event {event_type}."


def format_limit(most_facts: int) -> str:
    """Write how many facts may be derived."""
    return f"limit {most_facts}."


def format_fact(fact: Fact) -> str:
    """Write a fact."""
    return f"{fact.relation}({', '.join(map(format_expression, fact.values))})."


def format_deduction(deduction: Deduction) -> str:
    """Write a rule of the background knowledge."""
    head = _call(deduction.relation, deduction.arguments, format_expression)
    return f"{head} :- {', '.join(map(format_condition, deduction.body))}."


def format_rule(rule: IntervalRule) -> str:
    """Write an event rule, its pattern on a line of its own if it is long."""
    label = "" if rule.name is None else f"LABEL {rule.name}: "
    head = _call(rule.head.name, rule.values, format_expression)
    policy = "" if rule.policy is None else f" POLICY {format_policy(rule.policy)}"
    line = f"{label}{head} <- {format_pattern(rule.pattern)}{policy}."
    if len(line) <= _LINE_WIDTH:
        return line
    tail = f"\n{_INDENT}POLICY {format_policy(rule.policy)}" if rule.policy is not None else ""
    return f"{label}{head} <-\n{_INDENT}{_broken(rule.pattern)}{tail}."


def format_policy_of_file(policy: ConsumptionPolicy) -> str:
    """Write the policy of a file."""
    return f"policy {format_policy(policy)}."


def format_pattern(pattern: IntervalPattern) -> str:
    """Write a pattern with no more parentheses than it needs.

    >>> from cepheus.rules.interval.model import Operator
    >>> a, b = Atom("a"), Atom("b")
    >>> format_pattern(Combined(Operator.SEQ, Combined(Operator.AND, a, b), Combined(Operator.SEQ, a, b)))
    'a() AND b() SEQ (a() SEQ b())'
    """
    match pattern:
        case Where(pattern=inner, conditions=conditions):
            return f"{format_pattern(inner)} WHERE {', '.join(map(format_condition, conditions))}"
        case Combined(operator=operator, left=left, right=right):
            return f"{_chain(left)} {operator.value} {_operand(right)}"
        case Either(left=left, right=right):
            return f"{_chain(left)} OR {_operand(right)}"
        case Atom() | TimePoint() | Lasting() | Absence():
            return _operand(pattern)
        case _:
            assert_never(pattern)


def _broken(pattern: IntervalPattern) -> str:
    if isinstance(pattern, Where):
        conditions = f",\n{_INDENT}      ".join(map(format_condition, pattern.conditions))
        return f"{format_pattern(pattern.pattern)}\n{_INDENT}WHERE {conditions}"
    return format_pattern(pattern)


def _chain(pattern: IntervalPattern) -> str:
    """Write the left operand of an operator: operators bind to the left, so that only WHERE needs parentheses."""
    return f"({format_pattern(pattern)})" if isinstance(pattern, Where) else format_pattern(pattern)


def _operand(pattern: IntervalPattern) -> str:
    match pattern:
        case Atom(type=name, arguments=arguments):
            return _call(name, arguments, _argument)
        case TimePoint(time=time):
            return _point(time)
        case Lasting(pattern=inner, duration=duration, exact=exact):
            return f"({format_pattern(inner)}).{'=' if exact else ''}{_duration(duration)}"
        case Absence(negated=negated, first=first, second=second):
            return f"NOT({format_pattern(negated)}).[{_chain(first)}, {_chain(second)}]"
        case Where() | Combined() | Either():
            return f"({format_pattern(pattern)})"
        case _:
            assert_never(pattern)


def _duration(duration: int) -> str:
    return duration.written if isinstance(duration, BareDuration) else format_duration(duration)


def _point(time: int) -> str:
    """Write a point in time so that no unit of a file changes it."""
    if isinstance(time, BareDuration):
        return time.written
    return f"{time} us" if time < 10**12 else f"timestamp {quoted(format_time(time))}"


def _call(name: str, arguments: Sequence[Argument | Expression], form: Callable[..., str]) -> str:
    return f"{name}({', '.join(map(form, arguments))})"


def _argument(argument: Argument) -> str:
    match argument:
        case Anything():
            return "_"
        case ListPattern(items=items, rest=rest):
            return _list([_argument(item) for item in items], None if rest is None else _argument(rest))
        case _:
            return format_expression(argument)


def _list(items: Sequence[str], rest: str | None) -> str:
    return f"[{', '.join(items)}{'' if rest is None else f'|{rest}'}]"


def format_condition(condition: Condition) -> str:
    """Write a condition of WHERE."""
    match condition:
        case Holds(constraint=constraint):
            return _constraint(constraint)
        case Bind(variable=variable, value=Call(function=function) as made) if function in (LIST_OF, LIST_BEFORE):
            return f"{variable} is {format_expression(made)}"  # an equation would take a list apart
        case Bind(variable=variable, value=value):
            return f"{variable} = {format_expression(value)}"
        case Known(relation=relation, arguments=arguments):
            return _call(relation, arguments, _argument)
        case Unknown(relation=relation, arguments=arguments):
            return f"NOT {_call(relation, arguments, _argument)}"
        case Member(value=value, options=options):
            return f"{format_expression(value)} in [{', '.join(map(format_expression, options))}]"
        case Element(value=value, elements=elements):
            return f"{format_expression(value)} in {format_expression(elements)}"
        case Fits(value=value, pattern=pattern):
            return f"{_argument(pattern)} = {format_expression(value)}"
        case AnyOf(alternatives=alternatives):
            return f"({' OR '.join(_together(alternative.conditions) for alternative in alternatives)})"
        case NoneOf(conditions=conditions):
            return f"NOT ({_together(conditions)})"
        case Aggregated(variable=variable):
            return f"{variable} = {_aggregate(condition)}"
        case _:
            assert_never(condition)


def _together(conditions: Sequence[Condition]) -> str:
    return " AND ".join(map(format_condition, conditions))


def _aggregate(condition: Aggregated) -> str:
    value = "" if condition.value is None else f"{format_expression(condition.value)}, "
    atom = _call(condition.atom.type, condition.atom.arguments, _argument)
    return f"{condition.function.upper()}({value}{atom} WITHIN {_duration(condition.window)})"


def _constraint(constraint: Constraint) -> str:
    if not isinstance(constraint, Comparison):
        return format_expression(constraint)
    first, *rest = map(format_expression, constraint.operands)
    return first + "".join(
        f" {operator} {operand}" for operator, operand in zip(constraint.operators, rest, strict=True)
    )


def format_expression(expression: Expression) -> str:
    """Write an expression with no more parentheses than it needs.

    >>> format_expression(Arithmetic("*", Constant(1.5, ValueType.FLOAT), Parameter("P")))
    '1.5 * P'
    """
    match expression:
        case Constant():
            return _constant(expression)
        case Parameter(name=name):
            return name
        case Arithmetic(operator=operator, left=left, right=right):
            precedence = _PRECEDENCE[operator]
            return f"{_part(left, precedence)} {operator} {_part(right, precedence + 1)}"
        case Negative(operand=operand):
            bare = isinstance(operand, Parameter | Call)
            return f"-{format_expression(operand)}" if bare else f"-({format_expression(operand)})"
        case Call(function=function, arguments=arguments) if function == LIST_OF:
            return _list(list(map(format_expression, arguments)), None)
        case Call(function=function, arguments=arguments) if function == LIST_BEFORE:
            *items, rest = map(format_expression, arguments)
            return _list(items, rest)
        case Call(function=function, arguments=arguments):
            return _call(function, arguments, format_expression)
        case AttributeRef() | Aggregate() | Comparison():
            raise AssertionError("interval rules have variables, and comparisons and aggregates among their conditions")
        case _:
            assert_never(expression)


def _part(expression: Expression, precedence: int) -> str:
    text = format_expression(expression)
    needed = isinstance(expression, Arithmetic) and _PRECEDENCE[expression.operator] < precedence
    return f"({text})" if needed else text


def _constant(constant: Constant) -> str:
    """Write a constant; of a list that was read from a text, times are written as times."""
    if not constant.parts:
        return _literal(constant.value, constant.type)
    assert isinstance(constant.value, tuple)
    return _list(
        [
            _constant(part) if part.type in (ValueType.TIMESTAMP, ValueType.LIST) else _literal(value, type_of(value))
            for value, part in zip(constant.value, constant.parts, strict=True)
        ],
        None,
    )


def _literal(value: object, kind: ValueType) -> str:
    match kind:
        case ValueType.BOOL:
            return "true" if value else "false"
        case ValueType.INT | ValueType.FLOAT:
            return repr(value)
        case ValueType.STRING:
            return quoted(str(value))
        case ValueType.TIMESTAMP:
            return f"timestamp {quoted(format_time(int(str(value))))}"
        case ValueType.LIST:
            assert isinstance(value, tuple)
            return _list([_literal(element, type_of(element)) for element in value], None)
        case _:
            assert_never(kind)
