"""What rules make of simultaneous events, as the one who runs them wants it: ``ties apart`` or ``ties ordered``."""

from __future__ import annotations

from dataclasses import replace

from cepheus.core.errors import OptionError
from cepheus.core.options import TieOrder
from cepheus.rules.model import RuleSet


def with_ties(rules: RuleSet, ties: TieOrder | None) -> RuleSet:
    """The same rules with ties as a host was asked for; as their files say if it was not.

    Rules over intervals have no order of simultaneous events, so they are refused with ``ordered``.
    """
    if ties is None:
        return rules
    ordered = ties is TieOrder.ORDERED
    if ordered and rules.interval_rules:
        raise OptionError.of(
            "ties",
            "ties ordered is for rules of TESLA: to rules over intervals simultaneous events have no order",
            span=rules.interval_rules[0].span,
            hint="leave it out, or run the rules of TESLA alone",
        )
    if all(rule.ordered == ordered for rule in rules.rules):
        return rules
    return replace(rules, rules=tuple(replace(rule, ordered=ordered) for rule in rules.rules), ties=None)


def has_ties_ordered(rules: RuleSet) -> bool:
    """Whether rules take simultaneous events as coming one after the other.

    >>> from cepheus.language.tesla import parse
    >>> has_ties_ordered(parse("ties ordered; define Fire() from Smoke()"))
    True
    """
    return any(rule.ordered for rule in rules.rules)
