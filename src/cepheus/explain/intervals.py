"""Interval rules as trees in words, for terminals."""

from __future__ import annotations

from typing import assert_never

from rich.markup import escape
from rich.tree import Tree

from cepheus.core.time import format_duration, format_time
from cepheus.language.etalis.print import format_condition, format_expression, format_pattern
from cepheus.rules.interval.model import (
    Absence,
    Atom,
    Choice,
    Combined,
    ConsumptionPolicy,
    Either,
    IntervalPattern,
    IntervalRule,
    Lasting,
    Operator,
    Preference,
    TimePoint,
    Where,
)

_IN_WORDS: dict[Operator, str] = {
    Operator.SEQ: "one after the other",
    Operator.AND: "both, in any order",
    Operator.PAR: "both, at least partly at the same time",
    Operator.EQUALS: "both, from the same start to the same end",
    Operator.MEETS: "the second starts when the first ends",
    Operator.DURING: "the first inside the second",
    Operator.STARTS: "both start together, the first ends earlier",
    Operator.FINISHES: "both end together, the first starts later",
    Operator.OVERLAPS: "the first starts earlier and ends inside the second",
}
_PREFERENCES: dict[Preference, str] = {
    Preference.ARRIVAL: "",
    Preference.SHORTER: ", the shorter of equals",
    Preference.LONGER: ", the longer of equals",
    Preference.GREATEST: ", of equals that with the greatest",
    Preference.LEAST: ", of equals that with the least",
}


def interval_tree(rule: IntervalRule) -> Tree:
    """Give a rule as a tree: what happens, how it is combined, what is made."""
    values = ", ".join(map(format_expression, rule.values))
    root = Tree(escape(f"{rule.name}: makes {rule.head.name}({values}) over the interval of"))
    _add(root, rule.pattern)
    root.add(escape(f"policy: {_policy(rule.policy or ConsumptionPolicy())}"))
    if rule.decided_late:
        root.add("decided when the instant is over: it looks at all that ends then")
    return root


def _add(tree: Tree, pattern: IntervalPattern) -> None:
    match pattern:
        case Atom():
            tree.add(escape(format_pattern(pattern)))
        case TimePoint(time=time):
            tree.add(escape(f"the time {format_time(time)}"))
        case Lasting(pattern=inner, duration=duration, exact=exact):
            _add(tree.add(escape(f"{'exactly' if exact else 'within'} {format_duration(duration)}")), inner)
        case Where(pattern=inner, conditions=conditions):
            branch = tree.add(escape("where " + ", ".join(map(format_condition, conditions))))
            _add(branch, inner)
        case Combined(operator=operator, left=left, right=right):
            branch = tree.add(f"{operator.value}: {_IN_WORDS[operator]}")
            _add(branch, left)
            _add(branch, right)
        case Either(left=left, right=right):
            branch = tree.add("OR: either")
            _add(branch, left)
            _add(branch, right)
        case Absence(negated=negated, first=first, second=second):
            branch = tree.add("NOT: one after the other, and nothing in between of")
            _add(branch, negated)
            between = branch.add("between")
            _add(between, first)
            _add(between, second)
        case _:
            assert_never(pattern)


def _policy(policy: ConsumptionPolicy) -> str:
    if policy.choice is Choice.UNRESTRICTED:
        return "every combination"
    which = "the most recent partner" if policy.choice is Choice.RECENT else "the earliest partner"
    prefer = _PREFERENCES[policy.preference] + (f" {policy.attribute}" if policy.attribute else "")
    use = "each is used once" if policy.once else "which may be used again"
    renewing = "; a new event replaces one with the same values" if policy.renewing else ""
    onesided = "; an event waits only if nothing waits for it" if policy.onesided else ""
    return f"{which}{prefer}; {use}{renewing}{onesided}"
