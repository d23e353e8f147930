"""The networks of a rule set, and what they are worth as time goes by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cepheus.core.errors import OptionError, did_you_mean
from cepheus.rules.belief.periods import contains, next_change
from cepheus.rules.model import RuleSet
from cepheus.uncertainty.belief.belief import RuleBelief

_MOST_NAMED = 10


def beliefs_of(rules: RuleSet) -> dict[str, RuleBelief]:
    """The networks of checked rules that have one, by the name of the rule; each is evaluated once.

    A rule without a network of its own says that its parts have no other cause: its probability is 1.

    >>> from cepheus.language.tesla import parse
    >>> from cepheus.rules.check.check import name_rules
    >>> rules = parse("define Fire() from Smoke() network Fire {node Smoke given Fire {*: {YES: .5, NO: .5}}}")
    >>> beliefs_of(name_rules(rules))["Fire"].probability()
    0.5
    """
    by_name = {rule.name: rule for rule in rules.rules}
    found = {each.rule: RuleBelief.of(by_name[each.rule], each) for each in rules.beliefs}
    for belief in found.values():
        verify(belief)
    return found


def belief_of(rules: RuleSet, name: str) -> RuleBelief:
    """The network of a rule, given by its name, in checked rules."""
    rule = next((rule for rule in rules.rules if rule.name == name), None)
    if rule is None:
        names = [str(rule.name) for rule in rules.rules]
        hint = did_you_mean(name, names) or f"the rules are {', '.join(names[:_MOST_NAMED])}"
        raise OptionError.of("network", f"there is no rule '{name}'", hint=hint if names else None)
    return RuleBelief.of(rule, next((each for each in rules.beliefs if each.rule == name), None))


def verify(belief: RuleBelief) -> None:
    """Evaluate a network as it is at most times and in each of its seasons; RuleError if what is observed cannot be."""
    belief.probability()
    for node in belief.nodes.values():
        for season in node.seasons:
            begins = next_change(season.period, 0)
            while begins is not None and not contains(season.period, begins):
                begins = next_change(season.period, begins)
            if begins is not None:
                belief.probability(begins)


def probabilities_at(beliefs: Iterable[RuleBelief], time: int) -> tuple[Mapping[str, float], int | None]:
    """The probability of each rule at a time, and the time at which one of them may change next."""
    found, change = {}, None
    for belief in beliefs:
        found[str(belief.rule.name)] = belief.probability(time)
        changes = belief.next_change(time)
        change = changes if change is None else change if changes is None else min(change, changes)
    return found, change
