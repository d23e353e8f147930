"""The background knowledge, computed: facts and stratified rules to relations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cepheus.core.source import Span
from cepheus.core.values import Value
from cepheus.rules.check.cycles import components
from cepheus.rules.check.findings import Findings
from cepheus.rules.check.interval.deduce import Store, TooManyFactsError, complete
from cepheus.rules.check.interval.types import check_body
from cepheus.rules.check.interval.variables import check_deduction, with_elements_in_body
from cepheus.rules.functions import FUNCTIONS
from cepheus.rules.interval.model import (
    DEFAULT_MOST_FACTS,
    AnyOf,
    Condition,
    Deduction,
    Knowledge,
    Known,
    NoneOf,
    Relation,
    Unknown,
)


def relations(knowledge: Knowledge, arities: Arities, findings: Findings) -> dict[str, Relation]:
    """Compute every relation with all its rows; none if something is wrong with the knowledge."""
    deductions = list(map(with_elements_in_body, knowledge.deductions))
    for deduction in deductions:
        check_deduction(deduction, findings)
        check_body(deduction, findings)
    strata = _strata(deductions, findings)
    if findings.errors():
        return _without_rows(arities)
    given: dict[str, list[tuple[Value, ...]]] = {name: [] for name in arities}
    for table in knowledge.tables:
        given[table.name] += table.rows
    for fact in knowledge.facts:
        given[fact.relation].append(tuple(constant.value for constant in fact.values))
    stores = {name: Store(rows) for name, rows in given.items()}
    limit = DEFAULT_MOST_FACTS if knowledge.most_facts is None else knowledge.most_facts
    left = limit
    try:
        for stratum in strata:
            left -= complete(stores, stratum, left)
    except TooManyFactsError as error:
        _too_many(error.rule, limit, findings)
        return _without_rows(arities)
    return {name: Relation(name, arities[name] or 0, store.values()) for name, store in stores.items()}


def _without_rows(arities: Arities) -> dict[str, Relation]:
    return {name: Relation(name, arity or 0, ()) for name, arity in arities.items()}


def _too_many(rule: Deduction, limit: int, findings: Findings) -> None:
    findings.error(
        "too-many-facts",
        f"more than {limit:,} facts and elements of lists are derived, the last for '{rule.relation}' by this rule",
        rule.span,
        "does the rule count up, or make lists longer, without an end? If not, allow more facts and elements of lists: "
        f"limit {10 * limit}.",
    )


def used_relations(conditions: Sequence[Condition]) -> Iterator[tuple[str, int, bool, Span | None]]:
    """The relations that conditions look at: name, number of arguments, whether under a negation, place."""
    for condition in conditions:
        match condition:
            case Known(relation=name, arguments=arguments, span=span):
                yield name, len(arguments), False, span
            case Unknown(relation=name, arguments=arguments, span=span):
                yield name, len(arguments), True, span
            case AnyOf(alternatives=alternatives):
                for alternative in alternatives:
                    yield from used_relations(alternative.conditions)
            case NoneOf(conditions=inner):
                for name, arity, _, span in used_relations(inner):
                    yield name, arity, True, span
            case _:
                pass


Arities = dict[str, int | None]
"""The number of arguments of each relation; None for one without rows that anything may be asked of."""


def _is_open(table: Relation) -> bool:
    """Whether a table has neither rows nor columns, so that nothing tells how many arguments it has."""
    return not table.rows and table.arity == 0


def arities_of(knowledge: Knowledge, findings: Findings) -> Arities:
    """The number of arguments of each relation; what gives it another number is an error."""
    given: list[tuple[str, int, Span | None]] = []
    given += [(table.name, table.arity, None) for table in knowledge.tables if not _is_open(table)]
    given += [(fact.relation, len(fact.values), fact.span) for fact in knowledge.facts]
    given += [(rule.relation, len(rule.arguments), rule.span) for rule in knowledge.deductions]
    arities: Arities = {table.name: None for table in knowledge.tables if _is_open(table)}
    _named_like_functions([*((name, None) for name in arities), *((name, span) for name, _, span in given)], findings)
    for name, arity, span in given:
        arities[name] = arity if arities.get(name) is None else arities[name]
        if arities[name] != arity:
            findings.error(
                "arity",
                f"'{name}' has {arity} arguments here and {arities[name]} elsewhere",
                span,
                "give it the same number of arguments everywhere",
            )
    for rule in knowledge.deductions:
        check_uses(rule.body, arities, findings)
    return arities


def _named_like_functions(given: Sequence[tuple[str, Span | None]], findings: Findings) -> None:
    """Report relations that nothing could ask for: their names, in any case, are those of functions."""
    for name, span in dict(reversed(given)).items():
        if name.lower() in FUNCTIONS:
            message = f"'{name}' is the name of a function, so that no condition could ask for the relation"
            findings.error("ambiguous-name", message, span, "give the relation another name")


def check_uses(conditions: Sequence[Condition], arities: Arities, findings: Findings) -> None:
    """Check that conditions ask for relations that exist, with the right number of arguments."""
    for name, arity, _, span in used_relations(conditions):
        if name not in arities:
            findings.error(
                "unknown-relation",
                f"nothing is known of '{name}': no fact, rule or table gives it",
                span,
                "write facts such as located(t1, hall), or check the name",
            )
        elif arities[name] not in (None, arity):
            findings.error("arity", f"'{name}' has {arities[name]} arguments, not {arity}", span)


def _strata(deductions: Sequence[Deduction], findings: Findings) -> list[list[Deduction]]:
    """Order rules so that what is negated is complete before; a negation inside a recursion is an error."""
    by_name: dict[str, list[Deduction]] = {}
    for deduction in deductions:
        by_name.setdefault(deduction.relation, []).append(deduction)
    edges = {
        name: [used for rule in rules for used, _, _, _ in used_relations(rule.body) if used in by_name]
        for name, rules in by_name.items()
    }
    strata = []
    for component in components(edges):
        rules = [rule for name in component for rule in by_name[name]]
        for rule in rules:
            for used, _, negated, span in used_relations(rule.body):
                if negated and used in component:
                    findings.error(
                        "unstratified",
                        f"'{rule.relation}' depends on the absence of '{used}', which depends on '{rule.relation}'",
                        span,
                        "negate only what is known without the rule itself",
                    )
        strata.append(rules)
    return strata
