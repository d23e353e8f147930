"""How far back a rule can look."""

from __future__ import annotations

from cepheus.core.time import MAX_TIME
from cepheus.rules.expressions import Between, Scope, Within
from cepheus.rules.resolved import Choose, Compute, ResolvedRule
from cepheus.rules.timers import NOW


def reach(rule: ResolvedRule) -> int:
    """The longest time, in microseconds, between the evaluation of a rule and an event it may look at then.

    Windows hang from other events, so their lengths add up along the way to the terminator, which comes when the rule
    is evaluated, or so long before as a timer says.
    """
    back = {NOW: 0, rule.terminator.name: rule.delay}
    longest = rule.delay
    for step in rule.steps:
        if isinstance(step, Choose):
            back[step.name] = min(back[step.window.reference] + step.window.duration, MAX_TIME)
            longest = max(longest, back[step.name])
        elif isinstance(step, Compute):
            longest = max(longest, _scope_reach(step.scope, back))
    scopes = [*(absent.scope for absent in rule.absences), *(gather.scope for gather in rule.gathers)]
    return max([longest, *(_scope_reach(scope, back) for scope in scopes)])


def _scope_reach(scope: Scope, back: dict[str, int]) -> int:
    match scope:
        case Within(duration=duration, reference=reference):
            return min(back[reference] + duration, MAX_TIME)
        case Between(first=first, second=second):
            return max(back[first], back[second])
