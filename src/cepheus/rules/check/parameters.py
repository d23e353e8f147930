"""Is every parameter bound, once, and used?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cepheus.core.errors import did_you_mean
from cepheus.core.source import Span
from cepheus.rules.check.findings import Findings, find_name
from cepheus.rules.check.scope import Role, RuleScope, Site
from cepheus.rules.expressions import AttributeRef, Call, Comparison, Constraint, Parameter
from cepheus.rules.model import Aggregation
from cepheus.rules.walk import walk


def check_parameters(scope: RuleScope, findings: Findings) -> None:
    """Check the parameters of a rule.

    Found here: parameters that nothing binds, or that an aggregate binds although they are bound already; aggregates
    that need each other's results; and, as a warning, parameters that are bound and never used.
    """
    uses: dict[str, list[tuple[Site, Parameter]]] = {}
    for site in scope.sites:
        for node in site.nodes:
            if isinstance(node, Parameter):
                uses.setdefault(node.name, []).append((site, node))
    for name, places in uses.items():
        if name not in scope.binders:
            _unbound(scope, name, places, findings)
    _rebound(scope, findings)
    _circular(scope, findings)
    _unused(scope, uses, findings)


def _unbound(scope: RuleScope, name: str, places: list[tuple[Site, Parameter]], findings: Findings) -> None:
    site, parameter = places[0]
    for candidate, node in places:
        if candidate.role is Role.MEMBER and _would_bind(candidate, name):
            what = "a negated event" if candidate.own and candidate.own.name in scope.absent else "an aggregated event"
            findings.error(
                "unbound-parameter",
                f"${name} is bound only inside {what}, which does not take part and so cannot bind it",
                node.span,
                f"bind it in an event that takes part, with 'attribute=${name}'",
            )
            return
    for candidate, node in places:
        if candidate.role is Role.EVENT and _inside(candidate.node, name):
            findings.error(
                "unbound-parameter",
                f"${name} is compared only where 'or' or 'not' may leave it without a value, and nothing else binds it",
                node.span,
                f"bind it by itself, with 'attribute=${name}' outside of 'or' and 'not', or name the attribute instead",
            )
            return
    if _assigned_expression(site, name):
        findings.error(
            "unbound-parameter",
            f"${name} is to stand for a value that is not known here",
            parameter.span,
            "write it behind all that it names, attributes with the names of their events: B.value * 2",
        )
        return
    hint = did_you_mean(name, scope.binders)
    if hint is not None:
        hint = hint.replace("'", "'$", 1)
    elif site.role is Role.ASSIGNMENT:
        hint = f"bind it in the pattern with 'attribute=${name}'"
    else:
        hint = f"bind it in an event of the pattern with 'attribute=${name}'"
    findings.error("unbound-parameter", f"${name} is used, but nothing binds it", parameter.span, hint)


def _would_bind(site: Site, name: str) -> bool:
    match site.node:
        case Comparison(operands=(AttributeRef(), Parameter(name=found)), operators=("=",)):
            return found == name
        case Comparison(operands=(Parameter(name=found), AttributeRef()), operators=("=",)):
            return found == name
    return False


def _inside(node: Constraint, name: str) -> bool:
    """Whether a condition has ``attribute = $name`` as one of its parts."""
    if not isinstance(node, Call):
        return False
    for part in walk(node):
        match part:
            case Comparison(operands=(AttributeRef(), Parameter(name=found)), operators=("=",)) if found == name:
                return True
            case Comparison(operands=(Parameter(name=found), AttributeRef()), operators=("=",)) if found == name:
                return True
    return False


def _assigned_expression(site: Site, name: str) -> bool:
    """Whether a condition among the parts of the pattern looks as if it gave the parameter its value."""
    match site.node:
        case Comparison(operands=(Parameter(name=found), *_), operators=("=", *_)):
            return site.role is Role.CONDITION and found == name
        case _:
            return False


def _binding_aggregates(scope: RuleScope) -> Iterator[tuple[str, Aggregation, int]]:
    for index, item in enumerate(scope.rule.pattern.items, 1):
        if isinstance(item, Aggregation) and item.parameter is not None:
            yield item.parameter, item, index


def _place(name: str, item: Aggregation) -> Span | None:
    dollar = f"${name}"
    return find_name(item.span, dollar if item.span is not None and dollar in item.span.text else name)


def _rebound(scope: RuleScope, findings: Findings) -> None:
    seen: set[str] = set()
    for name, item, _ in _binding_aggregates(scope):
        attribute = scope.binders.get(name)
        if attribute is not None:
            problem = f"${name} is bound to {attribute.event}.{attribute.name} and cannot also be bound to an aggregate"
            hint = f"choose another name, and compare it with ${name}"
        elif name in seen:
            problem = f"${name} is bound to two aggregates"
            hint = "choose another name for one of them"
        else:
            seen.add(name)
            continue
        findings.error("rebound-parameter", problem, _place(name, item), hint)


def _circular(scope: RuleScope, findings: Findings) -> None:
    """Refuse aggregates that can never be computed because each needs another's result first."""
    needed: dict[str, set[str]] = {}
    items: dict[str, Aggregation] = {}
    indexes: dict[int, str] = {}
    for name, item, index in _binding_aggregates(scope):
        if scope.binders.get(name) is None and name not in items:
            needed[name], items[name], indexes[index] = set(), item, name
    for site in scope.sites:
        if site.index in indexes and site.role in (Role.MEMBER, Role.VALUE):
            needed[indexes[site.index]].update(
                node.name for node in site.nodes if isinstance(node, Parameter) and node.name in items
            )
    stuck = _stuck(needed)
    if stuck:
        what = f"${stuck[0]} needs its own result"
        if len(stuck) > 1:
            what = f"{', '.join(f'${name}' for name in stuck)} need one another's results"
        hint = "compare the aggregates outside of one another"
        findings.error("circular-aggregate", what, _place(stuck[0], items[stuck[0]]), hint)


def _stuck(needed: dict[str, set[str]]) -> list[str]:
    """Find the names that need one another in a circle, in text order."""
    left = {name: set(others) for name, others in needed.items()}
    while True:
        wanted = {other for others in left.values() for other in others}
        free = [name for name, others in left.items() if not others or name not in wanted]
        if not free:
            return list(left)
        for name in free:
            del left[name]
        for others in left.values():
            others.intersection_update(left)


def _unused(scope: RuleScope, uses: dict[str, list[tuple[Site, Parameter]]], findings: Findings) -> None:
    counts = Counter({name: len(places) for name, places in uses.items()})
    for name, attribute in scope.binders.items():
        if attribute is not None and counts[name] == 1:
            _, parameter = uses[name][0]
            findings.warning(
                "unused-parameter",
                f"${name} is bound here and never used",
                parameter.span,
                "use it in another event or in where, or leave the constraint out",
            )
    for name, item, _ in _binding_aggregates(scope):
        if scope.binders.get(name) is None and counts[name] == 0 and item.comparison is None:
            findings.warning(
                "unused-parameter",
                f"${name} is bound to an aggregate and never used",
                _place(name, item),
                f"compare it or use it in where: attribute=${name}",
            )
