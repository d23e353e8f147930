"""What a network of processors runs: rules of TESLA over certain events. Anything else is refused with its place."""

from __future__ import annotations

from collections.abc import Iterator

from cepheus.core.errors import Diagnostic, UnsupportedError
from cepheus.rules.model import RuleSet

_ELSEWHERE = "run it in one process or on Spark, and publish what it finds"


def check_supported(rules: RuleSet) -> None:
    """Refuse rules that a network cannot run.

    >>> from cepheus.language.tesla import parse
    >>> check_supported(parse("define Fire() from Smoke() min probability 0.5"))
    Traceback (most recent call last):
    ...
    cepheus.core.errors.UnsupportedError: ...error[unsupported]: a network does not weigh probabilities...
    """
    findings = list(_findings(rules))
    if findings:
        raise UnsupportedError(findings)


def _findings(rules: RuleSet) -> Iterator[Diagnostic]:
    for rule in rules.rules:
        if rule.min_probability is not None:
            message = "a network does not weigh probabilities"
            yield Diagnostic("unsupported", message, span=rule.span, hint=_ELSEWHERE)
    for interval_rule in rules.interval_rules:
        message = "a network does not run rules over intervals"
        yield Diagnostic("unsupported", message, span=interval_rule.span, hint=_ELSEWHERE)
    for belief in rules.beliefs:
        message = "a network of processors does not weigh rules by Bayesian networks"
        yield Diagnostic("unsupported", message, span=belief.span, hint=_ELSEWHERE)
    for error in rules.errors:
        message = "a network does not know errors of measurement"
        yield Diagnostic("unsupported", message, span=error.span, hint=_ELSEWHERE)
