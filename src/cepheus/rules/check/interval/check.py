"""All checks on interval rules, in the order in which they build on one another."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cepheus.core.schema import EventType
from cepheus.core.time import MILLISECOND, format_duration
from cepheus.rules.check.findings import Findings
from cepheus.rules.check.interval.knowledge import arities_of, check_uses, relations, used_relations
from cepheus.rules.check.interval.negation_traps import may_last, warn_of_negation_traps, warn_of_open_delimiters
from cepheus.rules.check.interval.signatures import Signatures, with_types
from cepheus.rules.check.interval.strata import stratify
from cepheus.rules.check.interval.types import check_expressions
from cepheus.rules.check.interval.unbounded import warn_of_endless_rules, warn_of_unbounded_state
from cepheus.rules.check.interval.variables import check_variables, with_elements
from cepheus.rules.check.known_types import KnownTypes
from cepheus.rules.interval.model import (
    Aggregated,
    Atom,
    Combined,
    Condition,
    IntervalPattern,
    IntervalRule,
    Known,
    Lasting,
    Operator,
    Relation,
    Where,
)
from cepheus.rules.model import RuleSet
from cepheus.rules.walk import transform, walk


@dataclass(frozen=True, slots=True)
class CheckedIntervals:
    """Interval rules ready to run.

    ``reads`` are the event types that their patterns mention, ``heads`` those that they define, with their attributes
    in the order of arguments.
    """

    rules: tuple[IntervalRule, ...]
    reads: Mapping[str, EventType]
    heads: Mapping[str, EventType]


def check_intervals(rules: RuleSet, known: KnownTypes, findings: Findings) -> CheckedIntervals:
    """Check the interval rules of a rule set, which have names, and complete them with what the checks find out."""
    arities = arities_of(rules.knowledge, findings)
    found = relations(rules.knowledge, arities, findings)
    _ambiguous(rules, known, found, findings)
    guarded = [with_elements(with_guards(rule, found, findings)) for rule in rules.interval_rules]
    for rule in guarded:
        for conditions in _conditions(rule):
            check_uses(conditions, arities, findings)
        check_variables(rule, findings)
    signatures = Signatures(guarded, known, findings)
    _unknown_types(guarded, known, findings)
    informed = [_informed(signatures.named(rule), found) for rule in guarded]
    typed = with_types(informed, signatures.types)
    # A composite event of another family lasts from its first event to its terminator.
    staged = stratify(typed, known.composites, findings)
    heads = {rule.head.name: rule.head for rule in staged}
    known_heads = {**signatures.types, **heads}
    made = {*heads, *known.composites}
    lasting = may_last(staged, known.composites)
    for rule in staged:
        check_expressions(rule, known_heads, findings)
        warn_of_unbounded_state(rule, findings, made)
        warn_of_negation_traps(rule, known_heads, findings)
        warn_of_open_delimiters(rule, lasting, findings)
        warn_of_bare_durations(rule, findings)
    warn_of_endless_rules(staged, findings)
    reads = {node.type: heads.get(node.type) or signatures.types[node.type] for rule in staged for node in _atoms(rule)}
    return CheckedIntervals(tuple(staged), reads, heads)


def _atoms(rule: IntervalRule) -> Iterator[Atom]:
    return (node for node in walk(rule.pattern) if isinstance(node, Atom))


def _conditions(rule: IntervalRule) -> Iterator[Sequence[Condition]]:
    return (node.conditions for node in walk(rule.pattern) if isinstance(node, Where))


def _informed(rule: IntervalRule, found: Mapping[str, Relation]) -> IntervalRule:
    """Attach the relations that a rule looks at."""
    names = {name for conditions in _conditions(rule) for name, _, _, _ in used_relations(conditions)}
    return replace(rule, relations=tuple(found[name] for name in sorted(names) if name in found))


def _ambiguous(rules: RuleSet, known: KnownTypes, found: Mapping[str, Relation], findings: Findings) -> None:
    """A name stands for background knowledge or for an event, not for both."""
    spans = {fact.relation: fact.span for fact in reversed(rules.knowledge.facts)}
    spans |= {rule.relation: rule.span for rule in reversed(rules.knowledge.deductions)}
    heads = {rule.head.name for rule in rules.interval_rules}
    for name in found:
        if name in heads or known.get(name) is not None:
            message = f"'{name}' is both background knowledge and a type of events"
            findings.error("ambiguous-name", message, spans.get(name), "give one of them another name")


def _unknown_types(rules: Sequence[IntervalRule], known: KnownTypes, findings: Findings) -> None:
    heads = {rule.head.name for rule in rules}
    for rule in rules:
        for atom in _atoms(rule):
            if atom.type not in heads and known.is_unknown(atom.type):
                hint = known.similar.hint(atom.type) or f"declare it with 'event {atom.type}(..).'"
                findings.error("unknown-type", f"there is no event type '{atom.type}'", atom.span, hint)


_BARE = re.compile(r"\.=?\d+(?:\.\d+)?\)*$")


def warn_of_bare_durations(rule: IntervalRule, findings: Findings) -> None:
    """Warn of a window that was written without a unit and is shorter than a millisecond: seconds were meant."""
    for node in walk(rule.pattern):
        if isinstance(node, Lasting) and node.span is not None and 0 < node.duration < MILLISECOND:
            written = _BARE.search(node.span.text)
            if written is not None:
                findings.warning(
                    "bare-duration",
                    f"a window of rule '{rule.name}' is only {format_duration(node.duration)} long",
                    node.span,
                    "write its unit, as in (p).20 s, or say 'unit s.' for the file",
                )


def with_guards(rule: IntervalRule, relations: Collection[str], findings: Findings) -> IntervalRule:
    """Return a rule in which ``p AND known(..)`` has become ``p WHERE known(..)``.

    Before: ``alarm(X) <- temp(X, V) AND located(X, hall).``
    After: ``alarm(X) <- temp(X, V) WHERE located(X, hall).``
    """

    def change(node: object) -> object:
        if isinstance(node, Combined) and node.operator is Operator.AND:
            for guard, pattern in ((node.right, node.left), (node.left, node.right)):
                if _is_guard(guard, relations) and not _is_guard(pattern, relations):
                    assert isinstance(guard, Atom)
                    return Where(pattern, (Known(guard.type, guard.arguments, guard.span),), node.span)
        return node

    pattern: IntervalPattern = transform(rule.pattern, change)
    aggregated = {id(node.atom) for node in walk(pattern) if isinstance(node, Aggregated)}
    for node in walk(pattern):
        if isinstance(node, Atom) and _is_guard(node, relations):
            hint = "join it to an event with AND, or ask for it in WHERE"
            if id(node) in aggregated:
                hint = "an aggregate is taken over events; if that is an event, give one of the two another name"
            findings.error("guard", f"'{node.type}' is background knowledge, which has no time", node.span, hint)
    return replace(rule, pattern=pattern)


def _is_guard(pattern: IntervalPattern, relations: Collection[str]) -> bool:
    return isinstance(pattern, Atom) and pattern.type in relations
