"""Do the types fit, and what are the types of attributes that nothing declares?"""

from __future__ import annotations

from dataclasses import dataclass

from cepheus.core.values import ValueType
from cepheus.rules.check.findings import Findings
from cepheus.rules.check.infer import Inference, RuleInference
from cepheus.rules.check.known import KnownTypes
from cepheus.rules.check.scope import Role, RuleScope, Site
from cepheus.rules.check.slots import Family, Key, Origin, Slot
from cepheus.rules.check.wholeness import not_whole
from cepheus.rules.check.wording import IN_WORDS, line_of, text_of
from cepheus.rules.expressions import Comparison, Constant, EventPattern, Expression
from cepheus.rules.model import Aggregation, Assignment

_ORDER = ("<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class InferredTypes:
    """The type of every attribute that rules use, None where only the data can tell.

    ``equal`` are the sets of attributes of unknown type that must turn out to be of the same type.
    """

    types: dict[Key, ValueType | None]
    equal: tuple[frozenset[Key], ...]


def types(scopes: list[RuleScope], known: KnownTypes, findings: Findings) -> InferredTypes:
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
        if site.role in (Role.EVENT, Role.MEMBER, Role.COMPARISON):
            _constraint(rule, site)
    attributes = {attribute.name for attribute in scope.rule.composite.attributes}
    for assignment in scope.rule.assignments:
        slot = rule.infer(assignment.value, None)
        if assignment.attribute in attributes:
            _assign(rule, assignment, slot)


def _constraint(rule: RuleInference, site: Site) -> None:
    node, own = site.node, site.own
    if not isinstance(node, Comparison):
        slot = rule.infer(node, own)
        if not rule.unifier.learn(slot, Family.BOOL, Origin("used as a condition", node.span)):
            message = f"a constraint must be true or false, {rule.inference.describe(node, slot, own)}"
            hint = f"compare it with something: '{text_of(node)} = ..'"
            if isinstance(node, Constant) and text_of(node).isdecimal():
                hint += "; numbers have no commas within"
            rule.inference.findings.error("not-a-condition", message, node.span, hint)
        return
    slots = [rule.infer(operand, own) for operand in node.operands]
    for position, operator in enumerate(node.operators):
        left, right = node.operands[position], node.operands[position + 1]
        _compare(rule, operator, (left, slots[position]), (right, slots[position + 1]), own)


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


def _written(slot: Slot) -> str | None:
    value_type = slot.value_type
    return None if value_type in (None, ValueType.LIST) else value_type.value


def _mismatch_hint(node: Expression, other: Slot) -> str | None:
    """How to write a constant so that it is of the other side's type."""
    if not isinstance(node, Constant):
        return None
    match other.root().family:
        case Family.STRING if node.type.is_numeric:
            return f"a string is written in quotes: '{text_of(node)}'"
        case Family.NUMBER if isinstance(node.value, str) and _is_number(node.value):
            return f"a number is written without quotes: {node.value}"
        case Family.TIMESTAMP:
            return "a time is written timestamp '2026-01-31T12:00:00Z'"
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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
