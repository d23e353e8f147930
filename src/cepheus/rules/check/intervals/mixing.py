"""Rules of both families that feed one another: does each event come before what it is made of?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cepheus.rules.check.findings import Findings
from cepheus.rules.check.intervals.graph import components
from cepheus.rules.check.wording import find_name
from cepheus.rules.interval.model import Atom, IntervalRule, TimePoint
from cepheus.rules.model import Rule, RuleSet
from cepheus.rules.walk import walk


def mixing(rules: RuleSet, findings: Findings) -> None:
    """Refuse rules of both families that wait for one another at the same instant.

    A composite event carries its terminator's time, and an interval rule may be completed by any of its events. So no
    terminator may depend on its own rule; and what is decided when an instant is over cannot, through a terminator,
    take part in that instant once more.
    """
    if not rules.rules or not rules.interval_rules:
        return
    terminators: dict[str, list[Rule]] = {}
    for rule in rules.rules:
        terminators.setdefault(rule.composite.name, []).append(rule)
    atoms: dict[str, list[str]] = {}
    for interval_rule in rules.interval_rules:
        atoms.setdefault(interval_rule.head.name, []).extend(_types(interval_rule))
    edges = {
        name: [rule.pattern.terminator.type for rule in terminators.get(name, ())] + atoms.get(name, [])
        for name in (*terminators, *atoms)
    }
    _cycles(edges, terminators, atoms, findings)
    _late(rules.interval_rules, terminators, findings)


def _cycles(
    edges: Mapping[str, Sequence[str]],
    terminators: Mapping[str, list[Rule]],
    atoms: Mapping[str, list[str]],
    findings: Findings,
) -> None:
    for component in components(edges):
        if any(name in atoms for name in component):
            for name in component:
                for rule in terminators.get(name, ()):
                    terminator = rule.pattern.terminator
                    if terminator.type in component:
                        chain = " and ".join(f"'{member}'" for member in component)
                        findings.error(
                            "cycle",
                            f"the terminator of rule '{rule.name}' depends on what the rule makes, by way of {chain}",
                            find_name(terminator.span, terminator.type),
                            "let another event be the terminator",
                        )


def _late(rules: Sequence[IntervalRule], terminators: Mapping[str, list[Rule]], findings: Findings) -> None:
    late = {rule.head.name for rule in rules if rule.decided_late or _has_point(rule)}
    by_time: set[str] = set()
    while True:
        more = {rule.head.name for rule in rules if not late.isdisjoint(_types(rule))} - late
        made = {
            name
            for name, defining in terminators.items()
            if any(rule.pattern.terminator.type in late | by_time for rule in defining)
        } - by_time
        if not more and not made:
            break
        late |= more
        by_time |= made
    for rule in rules:
        for node in walk(rule.pattern):
            if isinstance(node, Atom) and node.type in by_time:
                findings.error(
                    "late-feedback",
                    f"'{node.type}' hangs from an event that is only decided when its instant is over, "
                    f"too late for rule '{rule.name}'",
                    node.span,
                    "write the rule that makes it in the ETALIS language, too",
                )


def _types(rule: IntervalRule) -> list[str]:
    return [node.type for node in walk(rule.pattern) if isinstance(node, Atom)]


def _has_point(rule: IntervalRule) -> bool:
    return any(isinstance(node, TimePoint) for node in walk(rule.pattern))
