"""Is every variable bound where its value is needed, elements of lists included?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import assert_never

from cepheus.core.source import Span
from cepheus.rules.check.findings import Findings
from cepheus.rules.expressions import Call, Constraint, Expression, Parameter
from cepheus.rules.functions import LIST_OF
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
    Deduction,
    Either,
    Element,
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
from cepheus.rules.walk import transform, walk

NO_NULL = "a null is no value: an event matches only if the arguments that the rule reads have one"
"""For whoever asks for a missing value."""


def check_variables(rule: IntervalRule, findings: Findings) -> None:
    """Check that the pattern binds what conditions and the head need, and that negations hide nothing."""
    bound = _pattern(rule.pattern, findings)
    sometimes = mentioned_variables(rule.pattern) - bound
    for name, span in _variables(*rule.values):
        if name not in bound:
            either = name in sometimes
            findings.error(
                "unbound-variable",
                f"the pattern does not bind {name}" + (" in every case" if either else ""),
                span,
                "bind it in both operands of OR, and outside of NOT" if either else "use it as an argument of an event",
            )
    _policy_attribute(rule, bound, findings)
    _negated_elsewhere(rule, findings)


def check_deduction(rule: Deduction, findings: Findings) -> None:
    """Check that the body of a rule of the background knowledge binds what it needs."""
    bound = _conditions(rule.body, frozenset(), findings)
    for name, span in _variables(*rule.arguments):
        if name not in bound:
            hint = "let a condition before it bind it"
            findings.error("unbound-variable", f"the conditions do not bind {name}", span, hint)


def bound_variables(pattern: IntervalPattern) -> frozenset[str]:
    """The variables that every match of a pattern binds."""
    return _pattern(pattern, Findings())


def bound_after(condition: Condition, bound: frozenset[str]) -> frozenset[str]:
    """The variables that have a value after a condition, if ``bound`` had one before."""
    return _conditions((condition,), bound, Findings())


def _pattern(pattern: IntervalPattern, findings: Findings) -> frozenset[str]:
    match pattern:
        case Atom(arguments=arguments):
            return _names(arguments)
        case TimePoint():
            return frozenset()
        case Lasting(pattern=inner):
            return _pattern(inner, findings)
        case Where(pattern=inner, conditions=conditions):
            return _conditions(conditions, _pattern(inner, findings), findings)
        case Combined(left=left, right=right):
            return _pattern(left, findings) | _pattern(right, findings)
        case Either(left=left, right=right):
            return _pattern(left, findings) & _pattern(right, findings)
        case Absence(negated=negated, first=first, second=second):
            _pattern(negated, findings)
            return _pattern(first, findings) | _pattern(second, findings)
        case _:
            assert_never(pattern)


def _conditions(conditions: Sequence[Condition], bound: frozenset[str], findings: Findings) -> frozenset[str]:
    for condition in conditions:
        match condition:
            case Holds(constraint=constraint):
                _need(_variables(constraint), bound, findings)
            case Bind(variable=variable, value=value):
                _need(_variables(value), bound, findings)
                bound |= {variable}
            case Known(arguments=arguments):
                bound |= _names(arguments)
            case Unknown(arguments=arguments, relation=relation):
                _need(_variables(*arguments), bound, findings, f"write _ if {relation} may have any value there")
            case Member(value=value, options=options):
                if condition.gives is not None:
                    bound |= {condition.gives}
                _need(_variables(value, *options), bound, findings)
            case Element(value=value, elements=elements):
                _need(_variables(elements), bound, findings)
                bound |= {value.name} if isinstance(value, Parameter) else frozenset()
                _need(_variables(value), bound, findings)
            case Fits(value=value, pattern=pattern):
                bound = _fitted(value, pattern, bound, findings)
            case AnyOf(alternatives=alternatives):
                for alternative in alternatives:
                    _conditions(alternative.conditions, bound, findings)
            case NoneOf(conditions=inner):
                _conditions(inner, bound, findings)
            case Aggregated():
                _aggregated(condition, bound, findings)
                bound |= {condition.variable}
            case _:
                assert_never(condition)
    return bound


def _fitted(value: Expression, pattern: ListPattern, bound: frozenset[str], findings: Findings) -> frozenset[str]:
    """Check ``L = [H|T]``: the list is taken apart if it has a value, and made of its parts if not."""
    if not isinstance(value, Parameter) or value.name in bound:
        _need(_variables(value), bound, findings)
        return bound | _names((pattern,))
    hint = f"{value.name} has no value before this, so that the list is to be made, of parts that have one"
    _need(_variables(pattern), bound, findings, hint)
    for node in walk(pattern):
        if isinstance(node, Anything):
            findings.error("unsafe-variable", "_ has no value here", node.span, hint)
    return bound | {value.name}


def _aggregated(condition: Aggregated, bound: frozenset[str], findings: Findings) -> None:
    inner = _names(condition.atom.arguments)
    if condition.value is None:
        return
    _need(_variables(condition.value), bound | inner, findings)
    names = {name for name, _ in _variables(condition.value)}
    if names and names <= bound:
        name = min(names)
        findings.warning(
            "aggregate-of-one-value",
            f"{name} has its value from outside, so that all members of {condition.function} have the same",
            condition.span,
            f"give the members a variable of their own, in place of {name} in both",
        )


def _policy_attribute(rule: IntervalRule, bound: frozenset[str], findings: Findings) -> None:
    policy = rule.policy
    mentioned = bound | mentioned_variables(rule.pattern)
    if policy is not None and policy.attribute is not None and policy.attribute not in mentioned:
        message = f"rule '{rule.name}' has no variable {policy.attribute} to prefer partners by"
        findings.error("policy", message, policy.span, "name a variable of the rule's pattern")


def _negated_elsewhere(rule: IntervalRule, findings: Findings) -> None:
    """A variable of a negated pattern joins with the delimiters; elsewhere in the rule it would mean something else."""
    for node in walk(rule.pattern):
        if not isinstance(node, Absence):
            continue
        inside = mentioned_variables(node.first) | mentioned_variables(node.second)
        own = {name for name, _ in _variables(node.negated)}
        others = [name for name, _ in _variables(rule.pattern, *rule.values)]
        within = [name for name, _ in _variables(node)]
        for name in sorted(own - inside):
            if others.count(name) > within.count(name):
                findings.error(
                    "negated-variable",
                    f"{name} stands in a negated event and outside of the NOT, but not in its delimiters",
                    node.span,
                    "let a delimiter bind it, or give the negated event a variable of its own",
                )


def _need(
    variables: Iterator[tuple[str, Span | None]], bound: frozenset[str], findings: Findings, hint: str | None = None
) -> None:
    for name, span in variables:
        if name not in bound:
            known = "only variables of the pattern before WHERE, or of conditions before this one, have values"
            if name.lower() in ("null", "none"):
                known = NO_NULL
            findings.error("unsafe-variable", f"{name} has no value here", span, hint or known)


def mentioned_variables(pattern: IntervalPattern) -> frozenset[str]:
    """The variables that some match of a pattern may bind."""
    match pattern:
        case Either(left=left, right=right):
            return mentioned_variables(left) | mentioned_variables(right)
        case Combined(left=left, right=right) | Absence(first=left, second=right):
            return mentioned_variables(left) | mentioned_variables(right)
        case Lasting(pattern=inner) | Where(pattern=inner):
            return mentioned_variables(inner) | bound_variables(pattern)
        case _:
            return bound_variables(pattern)


def _names(arguments: Sequence[Argument]) -> frozenset[str]:
    return frozenset(name for name, _ in _variables(*arguments))


def _variables(*nodes: Constraint | IntervalPattern | Argument) -> Iterator[tuple[str, Span | None]]:
    for node in nodes:
        for child in walk(node):
            if isinstance(child, Parameter):
                yield child.name, child.span


def with_elements(rule: IntervalRule) -> IntervalRule:
    """Return a rule in which ``X in [Y, 2]`` gives X each element of a list, where X has no value before.

    Before: a ``Member``, which compares X with Y and with 2. After: an ``Element`` of the list of both.
    """

    def change(node: object) -> object:
        if isinstance(node, Where):
            return replace(node, conditions=_changed(node.conditions, bound_variables(node.pattern)))
        return node

    pattern: IntervalPattern = transform(rule.pattern, change)
    return replace(rule, pattern=pattern)


def with_elements_in_body(rule: Deduction) -> Deduction:
    """Return a rule of the background knowledge that is changed in the same way."""
    return replace(rule, body=_changed(rule.body, frozenset()))


def _changed(conditions: Sequence[Condition], bound: frozenset[str]) -> tuple[Condition, ...]:
    found: list[Condition] = []
    for condition in conditions:
        changed: Condition = condition
        match condition:
            case Member(value=Parameter(name=name) as value, options=options, span=span):
                if condition.gives is None and name not in bound:
                    changed = Element(value, Call(LIST_OF, options, span), span)
            case AnyOf(alternatives=alternatives):
                ways = (replace(each, conditions=_changed(each.conditions, bound)) for each in alternatives)
                changed = replace(condition, alternatives=tuple(ways))
            case NoneOf(conditions=inner):
                changed = replace(condition, conditions=_changed(inner, bound))
            case _:
                pass
        found.append(changed)
        bound = bound_after(changed, bound)
    return tuple(found)
