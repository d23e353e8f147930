"""Which events composite events name among what they were made of, as the one who runs the rules wants it."""

from __future__ import annotations

from dataclasses import replace

from cepheus.core.options import ProvenanceDepth
from cepheus.rules.model import RuleSet


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
