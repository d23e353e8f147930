"""The two families of rules, and the refusal of the other one by engines that run one of them."""

from __future__ import annotations

from collections.abc import Sequence

from cepheus.core.errors import UnsupportedError
from cepheus.rules.interval.model import IntervalRule
from cepheus.rules.model import AnyRule, Rule


def tesla_rules(rules: Sequence[AnyRule], engine: str) -> list[Rule]:
    """Take the rules as those of TESLA; UnsupportedError if one is an interval rule."""
    for rule in rules:
        if isinstance(rule, IntervalRule):
            raise _other_family(rule, engine, "interval rules of the ETALIS language")
    return [rule for rule in rules if isinstance(rule, Rule)]


def interval_rules(rules: Sequence[AnyRule], engine: str) -> list[IntervalRule]:
    """Take the rules as interval rules; UnsupportedError if one is a rule of TESLA."""
    for rule in rules:
        if isinstance(rule, Rule):
            raise _other_family(rule, engine, "rules of TESLA")
    return [rule for rule in rules if isinstance(rule, IntervalRule)]


def _other_family(rule: AnyRule, engine: str, family: str) -> UnsupportedError:
    return UnsupportedError.of(
        "unsupported",
        f"the engine {engine} does not run {family}",
        span=rule.span,
        hint="start the session with a rule of that family, so that it has an engine for both",
    )
