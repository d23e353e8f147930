"""Which rules look at all of an instant, and in which order they are to be run when it is over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cepheus.rules.check.cycles import components
from cepheus.rules.check.findings import Findings
from cepheus.rules.interval.model import (
    Absence,
    Aggregated,
    Atom,
    Choice,
    Combined,
    Either,
    IntervalPattern,
    IntervalRule,
    Lasting,
    Operator,
    TimePoint,
    Where,
)
from cepheus.rules.walk import walk


def stratify(rules: Sequence[IntervalRule], intervals: Iterable[str], findings: Findings) -> list[IntervalRule]:
    """Return the rules with ``decided_late`` set; ``intervals`` are types from elsewhere that last for some time.

    A rule that depends on itself through what it must see all of, an aggregate or a second delimiter of NOT, is an
    error.
    """
    lasting = _lasting(rules, set(intervals))
    strict = [_strict(rule, lasting) for rule in rules]
    by_type: dict[str, list[int]] = {}
    for index, rule in enumerate(rules):
        by_type.setdefault(rule.head.name, []).append(index)
    edges = {
        name: [used for index in indices for used in (*_types(rules[index].pattern), *strict[index])]
        for name, indices in by_type.items()
    }
    numbers = [0] * len(rules)
    level: dict[str, int] = {}
    for component in components(edges):
        members = [index for name in component for index in by_type[name]]
        for index in members:
            for used, node in strict[index].items():
                if used in component:
                    _report(rules[index], used, node, findings)
        number = max(
            (
                max(
                    [level.get(used, 0) for used in _types(rules[index].pattern)]
                    + [level.get(used, 0) + 1 for used in strict[index]],
                    default=0,
                )
                for index in members
            ),
            default=0,
        )
        for index in members:
            numbers[index] = number
        level.update(dict.fromkeys(component, number))
    return [replace(rule, decided_late=number) for rule, number in zip(rules, numbers, strict=True)]


def _lasting(rules: Sequence[IntervalRule], lasting: set[str]) -> set[str]:
    """The types of events that may last, those that rules make included: the least set that holds all it must."""
    reading: dict[str, list[IntervalRule]] = {}
    for rule in rules:
        for used in set(_types(rule.pattern)):
            reading.setdefault(used, []).append(rule)
    work = list(rules)
    while work:
        rule = work.pop()
        if rule.head.name not in lasting and _may_last(rule.pattern, lasting):
            lasting.add(rule.head.name)
            work += reading.get(rule.head.name, ())
    return lasting


def _report(rule: IntervalRule, used: str, node: Aggregated | Absence, findings: Findings) -> None:
    hint = "break the recursion, or choose policy recent or chronological for the NOT"
    if isinstance(node, Aggregated):
        hint = "break the recursion: take the aggregate over events that do not depend on what the rule makes"
    findings.error(
        "unstratified",
        f"rule '{rule.name}' must see every '{used}' of an instant, but '{used}' depends on what the rule makes",
        node.span,
        hint,
    )


def _types(pattern: IntervalPattern) -> list[str]:
    return [node.type for node in walk(pattern) if isinstance(node, Atom)]


def _strict(rule: IntervalRule, lasting: set[str]) -> dict[str, Aggregated | Absence]:
    """The types of which the rule must see all that ends when its match does, each with what looks at it."""
    found: dict[str, Aggregated | Absence] = {}
    unrestricted = rule.policy is None or rule.policy.choice is Choice.UNRESTRICTED
    for node in walk(rule.pattern):
        if isinstance(node, Aggregated):
            found.setdefault(node.atom.type, node)
        elif isinstance(node, Absence) and unrestricted and _may_last(node.second, lasting):
            for used in _types(node.second):
                found.setdefault(used, node)
    return found


def _may_last(pattern: IntervalPattern, lasting: set[str]) -> bool:
    """Whether a pattern may have matches that are more than a point."""
    match pattern:
        case Atom(type=name):
            return name in lasting
        case TimePoint():
            return False
        case Lasting(pattern=inner, duration=duration):
            return duration > 0 and _may_last(inner, lasting)
        case Where(pattern=inner):
            return _may_last(inner, lasting)
        case Either(left=left, right=right):
            return _may_last(left, lasting) or _may_last(right, lasting)
        case Combined(operator=Operator.EQUALS, left=left, right=right):
            return _may_last(left, lasting) and _may_last(right, lasting)
        case Combined() | Absence():
            return True
