"""Do windows, intervals, counts and probabilities make sense as numbers?"""

from __future__ import annotations

from cepheus.core.source import Span
from cepheus.rules.check.findings import Findings
from cepheus.rules.check.scope import RuleScope
from cepheus.rules.check.wording import find_name
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
                        _start(item.span, str(count)),
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
            _probability_span(scope.rule.span),
            "write 'min probability 0.5' for one in two",
        )


def _interval(interval: Scope, findings: Findings) -> None:
    match interval:
        case Within(duration=0, reference=reference):
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


def _start(span: Span | None, text: str) -> Span | None:
    return (
        span
        if span is None or not span.text.startswith(text)
        else Span(span.source, span.start, span.start + len(text))
    )


def _probability_span(span: Span | None) -> Span | None:
    """Give the place of the min probability clause, which ends the rule."""
    if span is None:
        return None
    word = span.text.lower().rfind("probability")
    if word < 0:
        return find_name(span, "probability")
    number = span.text[word + len("probability") :]
    start = span.start + word + len("probability") + len(number) - len(number.lstrip())
    return Span(span.source, start, start + max(1, len(number.split()[0]) if number.split() else 1))
