"""Do windows, intervals, counts and probabilities make sense as numbers?"""

from __future__ import annotations

from cepheus.rules.check.findings import Findings
from cepheus.rules.check.scope import RuleScope
from cepheus.rules.expressions import Between, Scope, Within
from cepheus.rules.model import Negation, Selection


def windows(scope: RuleScope, findings: Findings) -> None:
    """Check the numbers of a rule.

    Found here: windows in which nothing lies, intervals between an event and itself, choices of no event at all, and
    a minimum probability that is none.
    """
    for item in scope.rule.pattern.items:
        match item:
            case Selection(window=window, count=count, policy=policy):
                _interval(window, findings)
                if count is not None and count < 1:
                    findings.error(
                        "count",
                        f"'{count} {policy.value}' chooses nothing",
                        item.span,
                        f"choose at least one event, or write 'not {item.event.type}(..)' if there must be none",
                    )
            case Negation(scope=interval):
                _interval(interval, findings)
            case _:
                pass
    for aggregate, _ in scope.aggregates:
        _interval(aggregate.scope, findings)
    probability = scope.rule.min_probability
    if probability is not None and not 0.0 <= probability <= 1.0:
        findings.error(
            "probability",
            f"a probability lies between 0 and 1, found {probability:g}",
            scope.rule.span,
            "write 'min probability 0.5' for one in two",
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
