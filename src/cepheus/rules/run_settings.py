"""Rules as the one who runs them wants them: what simultaneous events are to them, which events they name as parts."""

from __future__ import annotations

from dataclasses import replace

from cepheus.core.errors import OptionError
from cepheus.core.options import ProvenanceDepth, TieOrder
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


def with_provenance(rules: RuleSet, depth: ProvenanceDepth) -> RuleSet:
    """The same rules, whose composite events name the events that aggregates counted if that is asked for.

    >>> from cepheus.language.tesla import parse
    >>> rules = parse("define Busy() from A() and Count(B() within 5 s from A) > 3")
    >>> with_provenance(rules, ProvenanceDepth.FULL).rules[0].full_provenance
    True
    """
    if depth is ProvenanceDepth.PARTS:
        return rules
    return replace(rules, rules=tuple(replace(rule, full_provenance=True) for rule in rules.rules))
