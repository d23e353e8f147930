"""Do the names in a rule stand for something: event types, events of the pattern, the rules themselves?"""

from __future__ import annotations

from typing import assert_never

from cepheus.core.errors import did_you_mean
from cepheus.core.source import Span
from cepheus.rules.check.findings import Findings
from cepheus.rules.check.known import KnownTypes
from cepheus.rules.check.scope import Role, RuleScope, Site
from cepheus.rules.check.wording import find_alias, find_name, line_of
from cepheus.rules.expressions import AttributeRef, Between, EventPattern, Scope, Within
from cepheus.rules.model import Aggregation, Negation, RuleSet, Selection

_SHORTEST_SIMILAR = 4


def names(scopes: list[RuleScope], rules: RuleSet, known: KnownTypes, findings: Findings) -> None:
    """Check the names of rules, of event types and of events, and every reference to an event.

    Found here: two rules of one name; types that are not known; an event named like another; references to events that
    do not exist, come later, do not take part, or are the very event that refers.
    """
    _rule_names(rules, findings)
    reported: set[str] = set()
    for scope in scopes:
        _types(scope, known, reported, findings)
        _event_names(scope, findings)
        _references(scope, findings)


def _rule_names(rules: RuleSet, findings: Findings) -> None:
    first: dict[str, Span | None] = {}
    for rule in rules.all_rules:
        if rule.name is None:
            continue
        if rule.name in first:
            other = line_of(first[rule.name], rule.span)
            message = f"two rules are called '{rule.name}'" + (f": the other stands {other}" if other else "")
            findings.error("duplicate-rule", message, find_name(rule.span, rule.name), "give one of them another name")
        else:
            first[rule.name] = rule.span


def _patterns(scope: RuleScope) -> list[tuple[EventPattern, bool]]:
    """Every event of a rule, in text order, and whether it takes part."""
    found = [(scope.rule.pattern.terminator, True)]
    for item in scope.rule.pattern.items:
        match item:
            case Selection(event=event):
                found.append((event, True))
            case Negation(event=event):
                found.append((event, False))
            case Aggregation(aggregate=aggregate):
                found.append((aggregate.event, False))
            case _:
                assert_never(item)
    in_where = len(scope.rule.pattern.items) + 1
    found += [(aggregate.event, False) for aggregate, index in scope.aggregates if index == in_where]
    return found


def _types(scope: RuleScope, known: KnownTypes, reported: set[str], findings: Findings) -> None:
    for event, _ in _patterns(scope):
        name = event.type
        if known.get(name) is not None:
            continue
        if known.closed:
            hint = known.similar.hint(name) or f"declare it with 'event {name}(..)'"
            findings.error("unknown-type", f"there is no event type '{name}'", find_name(event.span, name), hint)
        elif name not in reported and len(name) >= _SHORTEST_SIMILAR:
            reported.add(name)
            meant = known.similar_composites.mistaken_for(name)
            if meant is not None:
                message = (
                    f"'{name}' is taken for a type of input events, but looks like '{meant}', which a rule defines"
                )
                hint = f"did you mean '{meant}'? If not, declare it with 'event {name}(..)'"
                findings.warning("similar-type", message, find_name(event.span, name), hint)


def _event_names(scope: RuleScope, findings: Findings) -> None:
    """Within a rule a name stands for one event; negated and aggregated events without an alias have no name."""
    seen: set[str] = set()
    for event, takes_part in _patterns(scope):
        if event.alias is None and not takes_part:
            continue
        if event.name not in seen:
            seen.add(event.name)
            continue
        if event.alias is None:
            message = f"two events of the pattern are called '{event.name}'"
            hint = f"name one of them with an alias: '{event.type}(..) as {event.type}2'"
            span = find_name(event.span, event.type)
        else:
            message = f"the alias '{event.alias}' is already the name of another event"
            hint = "choose another alias"
            span = find_alias(event)
        findings.error("duplicate-name", message, span, hint)


def _references(scope: RuleScope, findings: Findings) -> None:
    for index, item in enumerate(scope.rule.pattern.items, 1):
        match item:
            case Selection(event=event, window=window):
                _scope_references(scope, window, event, index, findings)
            case Negation(event=event, scope=interval):
                _scope_references(scope, interval, event, index, findings)
            case Aggregation():
                pass
    for aggregate, index in scope.aggregates:
        _scope_references(scope, aggregate.scope, aggregate.event, index, findings)
    for site in scope.sites:
        _attribute_references(scope, site, findings)


def _scope_references(scope: RuleScope, interval: Scope, event: EventPattern, index: int, findings: Findings) -> None:
    match interval:
        case Within(reference=reference):
            referenced: tuple[tuple[str, bool], ...] = ((reference, True),)
        case Between(first=first, second=second):
            referenced = ((first, False), (second, True))
    for name, last in referenced:
        introduced = scope.events.get(name)
        if introduced is not None and introduced.index <= index and introduced.event is not event:
            continue
        span = find_name(interval.span, name, last=last)
        if name == event.name and (introduced is None or introduced.event is event):
            hint = _suggestion(scope, index - 1, exclude=name)
            findings.error("self-reference", f"'{name}' is placed in time relative to itself", span, hint)
        else:
            _reference(scope, name, index - 1, span, findings)


def _attribute_references(scope: RuleScope, site: Site, findings: Findings) -> None:
    own = site.own
    for node in site.nodes:
        if not isinstance(node, AttributeRef):
            continue
        if node.event is None:
            if own is None:
                _nameless(scope, site, node, findings)
            continue
        introduced = scope.events.get(node.event)
        if (introduced is not None and introduced.index <= site.index) or (own is not None and node.event == own.alias):
            continue
        span = find_name(node.span, node.event)
        if introduced is None and own is not None and node.event == own.type:
            findings.error(
                "unknown-event",
                f"no event that takes part is called '{node.event}'",
                span,
                f"inside {node.event}(..) write just '{node.name}'",
            )
        else:
            _reference(scope, node.event, site.index, span, findings, attribute=node.name)


def _nameless(scope: RuleScope, site: Site, node: AttributeRef, findings: Findings) -> None:
    where = "where" if site.role is Role.ASSIGNMENT else "a comparison with an aggregate"
    example = f"'{next(iter(scope.events))}.{node.name}'"
    hint = f"write it with its event, such as {example}"
    if node.name in scope.binders:
        hint = f"did you mean '${node.name}'?"
    findings.error("no-event", f"in {where}, '{node.name}' belongs to no event", node.span, hint)


def _reference(
    scope: RuleScope, name: str, index: int, span: Span | None, findings: Findings, attribute: str | None = None
) -> None:
    """Check one reference to an event, or to an attribute of it, made at the given part of the pattern."""
    introduced = scope.events.get(name)
    if introduced is not None:
        if introduced.index > index:
            findings.error(
                "later-event",
                f"'{name}' is introduced only later in the pattern",
                span,
                f"move '{name}' to before this place, or compare through a parameter",
            )
        return
    hint = _suggestion(scope, index, exclude=name)
    for word, others in (("negated", scope.absent), ("aggregated", scope.aggregated)):
        if name in others:
            findings.error(
                "not-selected",
                f"'{name}' is a {word} event: it does not take part, so nothing can refer to it"
                if word == "negated"
                else f"'{name}' is an {word} event: only the aggregate itself can be referred to",
                span,
                hint,
            )
            return
    called = next((known for known, event in scope.events.items() if event.event.type == name), None)
    close = (
        did_you_mean(name, scope.events) if called is None else f"the event of type '{name}' is called '{called}' here"
    )
    if attribute is not None:  # other languages write the parts of an object so
        hint = f"an attribute has no dot in its name: let the data call it {name}_{attribute}" + (
            f"; {hint}" if hint else ""
        )
    findings.error("unknown-event", f"no event of the pattern is called '{name}'", span, close or hint)


def _suggestion(scope: RuleScope, index: int, exclude: str) -> str | None:
    """List the events that can be referred to, a few of them if they are many."""
    usable = [name for name, event in scope.events.items() if event.index <= index and name != exclude]
    shown = ", ".join(usable[:5]) + (", .." if len(usable) > 5 else "")
    return f"events that can be referred to here: {shown}" if usable else None
