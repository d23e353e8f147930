"""Rules whose memory has no bound.

This follows what the engine goals keeps: ``engine.goals.tables`` says for how long what waits at an operator can be of
use, and when a new match takes the place of an older one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cepheus.core.time import MAX_TIME
from cepheus.rules.check.findings import Findings
from cepheus.rules.check.intervals.variables import bound_variables, mentioned_variables
from cepheus.rules.interval.model import (
    Absence,
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
from cepheus.rules.interval.reach import END_TOGETHER, LEFT_ENDS_FIRST, effective_policy, reach_below

_RECENT = ConsumptionPolicy(Choice.RECENT)
_WINDOW = "write a window around the pattern, (p).20 min"


def warn_of_unbounded_state(rule: IntervalRule, findings: Findings) -> None:
    """Warn of a rule that must remember events for ever: no window limits it, and nothing takes their place."""
    policy = effective_policy(rule)
    unlimited = list(_unlimited(rule.pattern, policy))
    if not unlimited:
        return
    if not window_missing(rule):
        findings.warning(
            "unbounded-state",
            f"rule '{rule.name}' remembers what it would otherwise forget: its policy is onesided",
            rule.head.span,
            "leave out onesided, unless the rule must do what the ETALIS system does",
        )
        return
    recent = policy.choice is not Choice.RECENT and not list(_unlimited(rule.pattern, _RECENT))
    findings.warning(
        "unbounded-state",
        f"rule '{rule.name}' remembers {_kept(policy)}: no window is around its {_words(unlimited)}",
        rule.head.span,
        f"{_WINDOW}, or choose POLICY recent" if recent else _WINDOW,
    )


def window_missing(rule: IntervalRule) -> bool:
    """Tell whether more and more waits at some operator of a rule because no window is around it."""
    return bool(list(_unlimited(rule.pattern, replace(effective_policy(rule), onesided=False))))


def _kept(policy: ConsumptionPolicy) -> str:
    if policy.choice is Choice.UNRESTRICTED:
        return "all its events for ever, as its policy is unrestricted"
    if policy.once:
        return "for ever each event that finds no partner"
    return "events for ever, as a later partner may need an older one"


def _words(nodes: list[Combined | Absence]) -> str:
    names = ["NOT" if isinstance(node, Absence) else node.operator.value for node in nodes]
    return " and ".join(dict.fromkeys(names))


def _unlimited(
    pattern: IntervalPattern, policy: ConsumptionPolicy, reach: int = MAX_TIME, filtered: bool = False
) -> Iterator[Combined | Absence]:
    """Give the operators at which more and more may wait.

    ``reach`` is what the windows around the pattern say, ``filtered`` whether conditions stand directly around it.
    """
    match pattern:
        case Lasting(pattern=inner, duration=duration):
            yield from _unlimited(inner, policy, min(reach, duration), filtered)
        case Where(pattern=inner):
            yield from _unlimited(inner, policy, reach, True)
        case Either(left=left, right=right):
            yield from _unlimited(left, policy, reach)
            yield from _unlimited(right, policy, reach)
        case Combined(operator=operator, left=left, right=right):
            reach = reach_below(operator, policy, reach)
            if reach == MAX_TIME and not _bounded(pattern, policy, filtered):
                yield pattern
            yield from _unlimited(left, policy, reach)
            yield from _unlimited(right, policy, reach)
        case Absence(negated=negated, first=first, second=second):
            # What must be absent waits, too, as long as a first delimiter does.
            if reach == MAX_TIME and not (_is_finite(first) and _is_finite(negated)):
                yield pattern
            for inner in (first, second, negated):
                yield from _unlimited(inner, policy, reach)
        case _:
            return


def _bounded(node: Combined, policy: ConsumptionPolicy, filtered: bool) -> bool:
    """Tell whether what waits at an operator without a window has a bound: as many as there are different values."""
    if node.operator in END_TOGETHER or policy.renewing:
        return True
    # At MEETS the right operand waits for no longer than an instant.
    left_alone = (*LEFT_ENDS_FIRST, Operator.MEETS)
    if _is_finite(node.left) and (node.operator in left_alone or _is_finite(node.right)):
        return True
    takes_over = policy.choice is Choice.RECENT and not (policy.once or policy.onesided)
    takes_over = takes_over and policy.preference is Preference.ARRIVAL and not filtered
    return takes_over and node.operator in (Operator.AND, Operator.PAR) and not _shares_unsurely(node)


def _shares_unsurely(node: Combined) -> bool:
    """Tell whether the operands share a variable that one side of an OR does not bind."""
    shared = mentioned_variables(node.left) & mentioned_variables(node.right)
    return not shared <= bound_variables(node.left) & bound_variables(node.right)


def _is_finite(pattern: IntervalPattern) -> bool:
    """Tell whether a pattern has few matches, however long the stream is: it is made of points in time."""
    match pattern:
        case TimePoint():
            return True
        case Lasting(pattern=inner) | Where(pattern=inner):
            return _is_finite(inner)
        case Combined(left=left, right=right) | Either(left=left, right=right) | Absence(first=left, second=right):
            return _is_finite(left) and _is_finite(right)
        case _:
            return False
