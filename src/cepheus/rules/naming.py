"""Names for rules that their author left unnamed."""

from __future__ import annotations

from dataclasses import replace

from cepheus.rules.interval.model import IntervalRule
from cepheus.rules.model import AnyRule, Rule, RuleSet


def name_rules(rules: RuleSet) -> RuleSet:
    """Name every unnamed rule after its composite type, with ``_2``, ``_3`` and so on where that name is taken.

    Names are given in text order and never clash with those that the author gave.

    >>> from cepheus.core.schema import EventType
    >>> from cepheus.rules.expressions import EventPattern
    >>> from cepheus.rules.model import Pattern, Rule
    >>> fire = Rule(EventType("Fire"), Pattern(EventPattern("Smoke")))
    >>> [rule.name for rule in name_rules(RuleSet((), (fire, fire, replace(fire, name="Fire_2")))).rules]
    ['Fire', 'Fire_3', 'Fire_2']
    """
    taken = {rule.name for rule in rules.all_rules if rule.name is not None}
    next_number: dict[str, int] = {}
    named: list[AnyRule] = []
    for rule in rules.all_rules:
        if rule.name is None:
            name = _free(rule.composite.name, taken, next_number)
            taken.add(name)
            named.append(replace(rule, name=name))
        else:
            named.append(rule)
    return replace(
        rules,
        rules=tuple(rule for rule in named if isinstance(rule, Rule)),
        interval_rules=tuple(rule for rule in named if isinstance(rule, IntervalRule)),
    )


def _free(base: str, taken: set[str], next_number: dict[str, int]) -> str:
    """Find the first free name; numbers tried once are not tried again, so that many alike rules cost little."""
    number = next_number.get(base, 1)
    name = base if number == 1 else f"{base}_{number}"
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    next_number[base] = number + 1
    return name
