"""All checks on a rule set, and what they find out about it; rules that their author left unnamed get names first."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cepheus.core.errors import Diagnostic, RuleError
from cepheus.core.garbage_collector import collector_at_rest
from cepheus.core.schema import Schema
from cepheus.rules.check.beginnings import check_beginnings
from cepheus.rules.check.belief import check_beliefs
from cepheus.rules.check.clauses import check_assignments, check_windows
from cepheus.rules.check.contradictions import find_contradictions
from cepheus.rules.check.cycles import refuse_cycles, refuse_cycles_across_families
from cepheus.rules.check.declared_errors import declared_errors, refuse_declared_errors, warn_of_equalities, with_errors
from cepheus.rules.check.findings import Findings
from cepheus.rules.check.inputs import composites, inputs, with_positional
from cepheus.rules.check.interval.check import check_intervals
from cepheus.rules.check.known_types import known_types
from cepheus.rules.check.names import check_attributes, check_names
from cepheus.rules.check.parameters import check_parameters
from cepheus.rules.check.rows import CheckedRows, check_rows, refuse_row_cycles, with_rows
from cepheus.rules.check.scope import RuleScope, scope_of
from cepheus.rules.check.type_slots import Key
from cepheus.rules.check.types import infer_types, with_doubles
from cepheus.rules.computed import computed
from cepheus.rules.interval.model import IntervalRule
from cepheus.rules.model import AnyRule, Rule, RuleSet, Selection
from cepheus.rules.resolve import resolve
from cepheus.rules.rows.model import RowRule
from cepheus.rules.timers import Every

MAX_DEPTH = 200
"""How far expressions may be nested, so that what walks them never runs out of stack."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A rule set in which every rule makes sense.

    ``rules`` are the rules, all with names. ``inputs`` are the types of events that come from outside, ``composites``
    those that the rules define. ``equal_types`` are sets of attributes, as pairs of event type and attribute, whose
    type only the data can tell and must be the same for all of a set.
    """

    rules: RuleSet
    inputs: Schema
    composites: Schema
    warnings: tuple[Diagnostic, ...] = ()
    equal_types: tuple[frozenset[Key], ...] = ()


def check(rules: RuleSet, *, schema: Schema | None = None, closed: bool | None = None) -> Checked:
    """Check a rule set; all errors are raised together, warnings are part of the result.

    ``schema`` has the types of events in the data, where they are known. In a ``closed`` world every event type must be
    declared, defined or in the schema; if not said, the world is closed when rules declare any type or the schema
    is closed.

    >>> from cepheus.core.schema import EventType
    >>> from cepheus.core.values import ValueType
    >>> from cepheus.rules.expressions import AttributeRef, Comparison, Constant, EventPattern
    >>> from cepheus.rules.model import Pattern
    >>> hot = Comparison((AttributeRef(None, "value"), Constant(45, ValueType.INT)), (">",))
    >>> checked = check(RuleSet((), (Rule(EventType("Fire"), Pattern(EventPattern("Temp", (hot,)))),)))
    >>> checked.inputs, checked.rules.rules[0].name
    (Schema(Temp(value: double)), 'Fire')
    """
    with collector_at_rest():
        return _check(rules, schema, closed)


def _check(rules: RuleSet, schema: Schema | None, closed: bool | None) -> Checked:
    findings = Findings()
    named = _without_computed(name_rules(rules), findings)
    refuse_row_cycles(named, findings)
    rows = CheckedRows()
    if rules.row_rules:  # what they make is known only when the types of their rows are
        rows = check_rows(named, known_types(replace(named, row_rules=()), schema, closed, Findings()), findings)
        named = replace(named, row_rules=rows.rules)
    known = known_types(named, schema, closed, findings)
    intervals = check_intervals(named, known, findings)
    named = replace(named, interval_rules=intervals.rules)
    known = known.with_composites(intervals.heads)
    scopes = [scope for rule in named.rules if (scope := _scope(rule, findings)) is not None]
    check_names(scopes, rules, known, findings)
    for scope in scopes:
        check_attributes(scope, known, findings)
        check_parameters(scope, findings)
        check_assignments(scope, findings)
        check_windows(scope, findings)
        check_beginnings(scope, findings)
    inferred = infer_types(scopes, known, findings)
    for scope in scopes:
        find_contradictions(scope, inferred, findings)
    refuse_cycles(named, findings)
    refuse_cycles_across_families(named, findings)
    with_error = declared_errors(named, known, inferred, findings)
    refuse_declared_errors(intervals, with_error, findings)
    check_beliefs(named, findings)
    _check_ties(named, findings)
    _raise(findings)
    _check_rankings(named, findings)
    _raise(findings)
    read = with_rows(with_positional(inputs(scopes, known, inferred), intervals.reads, known), rows, known)
    read = with_errors(read, with_error)
    if not read:
        _warn_of_moments(named, findings)
    for scope in scopes:
        warn_of_equalities(scope, read, findings)
    doubles = tuple(with_doubles(scope, inferred) for scope in scopes)
    return Checked(
        rules=replace(named, rules=doubles),
        inputs=read,
        composites=composites(known, inferred),
        warnings=findings.warnings(),
        equal_types=inferred.equal,
    )


def _without_computed(rules: RuleSet, findings: Findings) -> RuleSet:
    """Write out the parameters that stand for computed values, and find those that nothing uses."""
    written = []
    for rule in rules.rules:
        plain, unused = computed(rule)
        written.append(plain)
        for parameter in unused:
            message = f"${parameter.name} stands for a value that nothing uses"
            findings.warning(
                "unused-parameter", message, parameter.span, "compare it or use it in where, or leave it out"
            )
    return replace(rules, rules=tuple(written))


def _raise(findings: Findings) -> None:
    mistakes = findings.errors()
    if mistakes:
        raise RuleError(mistakes)


def _warn_of_moments(rules: RuleSet, findings: Findings) -> None:
    """Warn of regular moments where no rule looks at an event: without one, they never begin."""
    for rule in rules.rules:
        if isinstance(rule.pattern.timer, Every):
            findings.warning(
                "timer",
                f"the moments of rule '{rule.name}' never begin: no rule looks at any event",
                rule.pattern.timer.span,
                "moments begin with the first event that some rule looks at: 'and Count(A() within 1 h from now) >= 0'",
            )


def _check_rankings(rules: RuleSet, findings: Findings) -> None:
    """Find events that are ranked by what is known only later, as it shows when rules that are sound are resolved."""
    for rule in rules.rules:
        if any(isinstance(item, Selection) and item.ranking is not None for item in rule.pattern.items):
            try:
                resolve(rule)
            except RuleError as error:
                for each in error.diagnostics:
                    findings.error(each.code, each.message, each.span, each.hint)


def _check_ties(rules: RuleSet, findings: Findings) -> None:
    """Find rules that make different things of simultaneous events: they could not feed on one stream."""
    ordered = [rule for rule in rules.rules if rule.ordered]
    apart = [rule for rule in rules.rules if not rule.ordered]
    if ordered and apart:
        findings.error(
            "ties",
            f"rule '{ordered[0].name}' has ties ordered, rule '{apart[0].name}' has not",
            apart[0].span,
            "write ties ordered in every file of rules, or give it as an option",
        )
    if ordered and rules.interval_rules:
        findings.error(
            "ties",
            "ties ordered is for rules of TESLA: to rules over intervals simultaneous events have no order",
            rules.interval_rules[0].span,
            "leave it out, or run the rules of TESLA alone",
        )


def _scope(rule: Rule, findings: Findings) -> RuleScope | None:
    """Take a rule apart, unless it is nested too deep for anything to look at it."""
    scope = scope_of(rule)
    site = next((site for site in scope.sites if site.depth > MAX_DEPTH), None)
    if site is None:
        return scope
    findings.error(
        "nesting",
        f"this expression is nested more than {MAX_DEPTH} deep",
        site.node.span,
        "compute it in several rules",
    )
    return None


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
        row_rules=tuple(rule for rule in named if isinstance(rule, RowRule)),
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
