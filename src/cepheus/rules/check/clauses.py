"""Do the clauses of a rule make sense: windows, counts, ``where``, ``consuming``, the least probability?"""

from __future__ import annotations

from cepheus.core.errors import did_you_mean
from cepheus.core.schema import ID_FIELD, RESERVED
from cepheus.rules.check.findings import Findings, find_name, listed
from cepheus.rules.check.scope import RuleScope
from cepheus.rules.expressions import Between, EventPattern, Scope, Within
from cepheus.rules.model import Collection, Negation, Rule, Selection
from cepheus.rules.walk import walk


def check_windows(scope: RuleScope, findings: Findings) -> None:
    """Check the numbers of a rule.

    Found here: windows in which nothing lies, intervals between an event and itself, choices of no event at all, and
    a minimum probability that is none.
    """
    for item in scope.rule.pattern.items:
        match item:
            case Selection(window=window, count=count, policy=policy):
                _interval(window, findings)
                _groups(item, findings)
                if count is not None and count < 1:
                    findings.error(
                        "count",
                        f"'{count} {policy.value}' chooses nothing",
                        item.span,
                        f"choose at least one event, or write 'not {item.event.type}(..)' if there must be none",
                    )
            case Negation(scope=interval):
                _interval(interval, findings)
            case Collection(scope=interval, least=least, most=most):
                _interval(interval, findings)
                if most is not None and (most < least or most == 0):
                    findings.error(
                        "count",
                        f"no collection has {least} to {most} members"
                        if most
                        else "a collection of no event names nothing",
                        item.span,
                        f"write 'not {item.event.type}(..)' if there must be none"
                        if most == 0
                        else f"write 'all {most}..{least}'",
                    )
            case _:
                pass
    for aggregate, _ in scope.aggregates:
        if aggregate.of is None:
            _interval(aggregate.scope, findings)
    probability = scope.rule.min_probability
    if probability is not None and not 0.0 <= probability <= 1.0:
        findings.error(
            "probability",
            f"a probability lies between 0 and 1, found {probability:g}",
            scope.rule.span,
            "write 'min probability 0.5' for one in two",
        )


def _groups(item: Selection, findings: Findings) -> None:
    """Check what a choice is made for each value of."""
    seen: set[str] = set()
    for attribute in item.per:
        if attribute.name in seen:
            findings.error(
                "duplicate-group", f"'{attribute.name}' stands twice behind 'per'", attribute.span, "name it once"
            )
        seen.add(attribute.name)
    if item.ranking is not None:
        return
    if item.per and item.policy.takes_all:
        groups = ", ".join(attribute.name for attribute in item.per)
        findings.error(
            "no-groups",
            f"'{item.policy.value}' takes every event, whatever groups they are in",
            item.per[0].span,
            f"write 'last {item.event.type}(..) per {groups}' for the last of each group, or leave 'per' out",
        )


def _interval(interval: Scope, findings: Findings) -> None:
    match interval:
        case Within(duration=duration, reference=reference) if duration <= 0:
            findings.warning(
                "empty-window",
                f"nothing lies within no time from '{reference}': a window ends just before the event it starts from",
                interval.span,
                "write a duration above zero, such as 'within 5 min'",
            )
        case Between(first=first, second=second) if first == second:
            findings.error(
                "empty-interval",
                f"nothing lies between '{first}' and itself",
                interval.span,
                "name two different events",
            )
        case _:
            pass


def check_assignments(scope: RuleScope, findings: Findings) -> None:
    """Check the ``where`` and ``consuming`` clauses of a rule.

    Found here: assignments to attributes that the composite event does not have or that have their value already,
    attributes left without a value, and names in ``consuming`` that are not chosen events of the pattern.
    """
    _assigned(scope, findings)
    _consumed(scope, findings)


def _assigned(scope: RuleScope, findings: Findings) -> None:
    rule = scope.rule
    # a reserved or doubled attribute is reported where it is defined, and not asked for a second time here
    names = {attribute.name: attribute for attribute in rule.composite.attributes}
    assigned: set[str] = set()
    for assignment in rule.assignments:
        name = assignment.attribute
        if name not in names:
            missing = [other for other in names if all(other != a.attribute for a in rule.assignments)]
            hint = did_you_mean(name, missing) or did_you_mean(name, names)
            findings.error(
                "unknown-attribute",
                f"'{rule.composite.name}' has no attribute '{name}'",
                find_name(assignment.span, name),
                hint or f"add it to the definition: define {rule.composite.name}(.., {name}: double)",
            )
        elif name in assigned:
            findings.error(
                "duplicate-assignment",
                f"'{name}' is given a value twice",
                find_name(assignment.span, name),
                "keep one of the two assignments",
            )
        assigned.add(name)
    missing = [name for name in names if name not in assigned and name not in RESERVED - {ID_FIELD}]
    if missing:
        example = " and ".join(f"{name}=.." for name in missing)
        first = names[missing[0]]
        findings.error(
            "unassigned",
            f"'{rule.composite.name}' is defined with {listed(missing)}, but the rule gives "
            + ("it no value" if len(missing) == 1 else "them no values"),
            find_name(first.span or rule.composite.span, first.name),
            f"add 'where {example}'" if not rule.assignments else f"add 'and {example}' to where",
        )


def _consumed(scope: RuleScope, findings: Findings) -> None:
    rule = scope.rule
    if not rule.consuming:
        return
    chosen = [*(name for name, event in scope.events.items() if event.index > 0), *scope.collected]
    usable = f"events that can be consumed: {', '.join(chosen[:5])}" if chosen else "leave the clause out"
    for position, name in enumerate(rule.consuming):
        span = rule.consuming_spans[position] if position < len(rule.consuming_spans) else rule.span
        introduced = scope.events.get(name)
        if name in scope.collected:
            continue
        if name == scope.moment:
            findings.error("not-selected", f"'{name}' is a moment, not an event: it cannot be consumed", span, usable)
        elif introduced is not None:
            if introduced.index == 0 and not _met_again(rule):
                findings.warning(
                    "consuming-terminator",
                    f"consuming '{name}' changes nothing: the rule looks at each terminator once",
                    span,
                    usable,
                )
        elif name in scope.absent or name in scope.aggregated:
            kind = "a negated" if name in scope.absent else "an aggregated"
            findings.error(
                "not-selected", f"'{name}' is {kind} event: it does not take part and cannot be consumed", span, usable
            )
        else:
            hint = did_you_mean(name, chosen) or usable
            findings.error("unknown-event", f"no event of the pattern is called '{name}'", span, hint)


def _met_again(rule: Rule) -> bool:
    """Whether the terminator's type stands elsewhere in the pattern, where a consumed one is missed."""
    terminator = rule.pattern.terminator
    patterns = [node for node in walk(rule) if isinstance(node, EventPattern)]
    return sum(pattern.type == terminator.type for pattern in patterns) > 1
