"""What a network of processors runs: rules of TESLA over certain events. Anything else is refused with its place."""

from __future__ import annotations

from cepheus.engine.base.capabilities import NETWORK
from cepheus.plan.pattern.constructs import require_rules
from cepheus.rules.model import RuleSet


def check_supported(rules: RuleSet) -> None:
    """Refuse rules that a network cannot run.

    >>> from cepheus.language.tesla import parse
    >>> check_supported(parse("define Fire() from Smoke() min probability 0.5"))
    Traceback (most recent call last):
    ...
    cepheus.core.errors.UnsupportedError: ...: a network of processors does not support min probability...
    """
    require_rules(NETWORK, rules)
