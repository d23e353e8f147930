"""Do the names in a rule stand for something: event types, events, attributes, functions, aggregates, other rules?"""

from __future__ import annotations

import re
from typing import assert_never

from cepheus.core.errors import did_you_mean
from cepheus.core.lists import LISTS_HINT
from cepheus.core.schema import ID_FIELD, RESERVED, TIME_ATTRIBUTE
from cepheus.core.source import Span
from cepheus.core.values import ValueType
from cepheus.rules.aggregates import AGGREGATES, aggregate_named, aggregate_names
from cepheus.rules.check.findings import Findings, find_alias, find_name, line_of, text_of
from cepheus.rules.check.known_types import KnownTypes, refuse_moment
from cepheus.rules.check.scope import Role, RuleScope, Site
from cepheus.rules.expressions import Aggregate, AttributeRef, Between, Call, Constant, EventPattern, Scope, Within
from cepheus.rules.functions import CONNECTIVES, FUNCTIONS, function_of
from cepheus.rules.model import Aggregation, Collection, FreeCondition, Negation, RuleSet, Selection
from cepheus.rules.regular_expressions import PatternFault, fault_in
from cepheus.rules.timers import NOW, After, Every, is_moment
from cepheus.rules.walk import walk

_LETTER = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)|[^\\]", re.DOTALL)
"""A letter of a string as it is written, with its escape."""


def check_regex(node: Call, findings: Findings) -> None:
    """Check the regular expression that a call writes out, and point at the letters where it breaks."""
    place = function_of(node.function).regex
    if place is None or place >= len(node.arguments):
        return
    match node.arguments[place]:
        case Constant(value=str(pattern)) as constant:
            fault = fault_in(pattern)
        case _:
            return
    if fault is not None:
        hint = fault.hint.replace("\\", "\\\\")  # as it is written in a string of a rule
        findings.error("regular-expression", fault.message, _place(fault, pattern, constant.span), hint)


def _place(fault: PatternFault, pattern: str, span: Span | None) -> Span | None:
    """The place of a fault in the text of the rule, where a letter may be written as an escape."""
    if span is None or fault.start is None or fault.end is None:
        return span
    letters = [match.end() for match in _LETTER.finditer(span.text, 1, len(span.text) - 1)]
    if len(letters) != len(pattern):
        return span
    ends = [1, *letters]
    return Span(span.source, span.start + ends[fault.start], span.start + ends[min(fault.end, len(pattern))])


def check_call(node: Call, findings: Findings) -> None:
    """Report a function that does not exist, a wrong number of arguments, and what is no regular expression."""
    if node.function in CONNECTIVES:
        return
    function = FUNCTIONS.get(node.function)
    if function is None:
        hint = did_you_mean(node.function, FUNCTIONS)
        if node.function in AGGREGATES:
            name = AGGREGATES[node.function].name
            hint = f"the aggregate is written '{name}(Event(..).attribute within 5 min from Event)'"
        findings.error("unknown-function", f"there is no function '{node.function}'", place_of_name(node), hint)
        return
    expected, found = len(function.arguments), len(node.arguments)
    if found < expected or (found > expected and not function.variadic):
        count = f"{'at least ' if function.variadic else ''}{expected} argument{'s' if expected > 1 else ''}"
        findings.error(
            "argument-count",
            f"'{function.name}' takes {count}, found {found}",
            node.span,
            f"write {function.signature}: {function.summary}",
        )
    check_regex(node, findings)
    for argument in node.arguments[1:] if function.wrong is not None else ():
        if isinstance(argument, Constant) and isinstance(argument.value, str) and function.wrong is not None:
            problem = function.wrong(argument.value)
            if problem is not None:
                what, _, hint = problem.partition(": ")
                findings.error("argument-value", what, argument.span, hint)


def place_of_name(node: Call | Aggregate) -> Span | None:
    """The place of a function's name, which is written in any case."""
    if node.span is None:
        return None
    written = node.span.text[: len(node.function)]
    return find_name(node.span, written) if written.lower() == node.function.lower() else node.span


_NULLS = ("null", "none", "nil")
_NULL_HINT = "x is null asks whether x is undefined, x is not null whether it is not"


def check_attributes(scope: RuleScope, known: KnownTypes, findings: Findings) -> None:
    """Check every attribute, function call and aggregate of a rule.

    Found here: attributes that a known type does not have, names of an event's own fields used as attributes, functions
    that do not exist or get the wrong number of arguments, aggregates without a value or in a place where none can be.
    """
    for site in scope.sites:
        for node in site.nodes:
            if isinstance(node, AttributeRef):
                type_name = scope.type_of(node, site.own)
                if type_name is not None:
                    _attribute(node, type_name, known, findings)
            elif isinstance(node, Call):
                check_call(node, findings)
    for attribute in scope.rule.composite.attributes:
        if attribute.type is ValueType.LIST:
            message = f"'{attribute.name}' is a list, which rules of TESLA cannot make"
            findings.error("list-attribute", message, attribute.span, "let a rule of ETALIS make the event")
    for aggregate, _ in scope.aggregates:
        _aggregate(aggregate, findings)
    for aggregate in scope.misplaced:
        findings.error(
            "misplaced-aggregate",
            f"{text_of(aggregate)} cannot stand here: an aggregate stands by itself in the pattern, or in where",
            aggregate.span,
            f"write '$x = {text_of(aggregate)}' as a part of the pattern of its own, and use $x here",
        )


def _own_field_hint(name: str, type_name: str) -> str:
    if name == ID_FIELD:
        return f"declare that the data has it: event {type_name}(id: string, ..)"
    declared = f"event {type_name}(own_{name}: string from {name}, ..)"
    return f"of these fields, only 'time' can be read; give it another name: {declared}"


def _attribute(node: AttributeRef, type_name: str, known: KnownTypes, findings: Findings) -> None:
    found = known.attributes(type_name)
    if is_moment(type_name):
        if node.name != TIME_ATTRIBUTE:
            span = find_name(node.span, node.name, last=True)
            findings.error("unknown-attribute", f"a moment has no '{node.name}'", span, f"it has its time: {NOW}.time")
    elif found is None:
        if node.name.lower() in _NULLS and node.event is None:
            message = f"'{node.name}' is read as an attribute of '{type_name}', as there is no such value"
            findings.warning("null", message, node.span, _NULL_HINT)
        if node.name in RESERVED and node.name != TIME_ATTRIBUTE:
            span = find_name(node.span, node.name, last=True)
            findings.error(
                "reserved-name",
                f"'{node.name}' is a field of the event itself, which rules do not read",
                span,
                _own_field_hint(node.name, type_name),
            )
    elif node.name not in found:
        hint = did_you_mean(node.name, found) or f"{type_name} has the attributes {', '.join(found)}"
        hint = _NULL_HINT if node.name.lower() in _NULLS else hint
        span = find_name(node.span, node.name, last=True)
        findings.error("unknown-attribute", f"'{type_name}' has no attribute '{node.name}'", span, hint)
    else:
        event_type = known.get(type_name)
        attribute = None if event_type is None else event_type.attribute(node.name)
        if attribute is not None and attribute.type is ValueType.LIST:
            span = find_name(node.span, node.name, last=True)
            message = f"{type_name}.{node.name} is a list, which rules of TESLA cannot read"
            findings.error("list-attribute", message, span, LISTS_HINT)


def _aggregate(node: Aggregate, findings: Findings) -> None:
    names = aggregate_names()
    if node.function not in names:
        hint = did_you_mean(node.function, names) or f"there are {', '.join(names)}"
        findings.error("unknown-aggregate", f"there is no aggregate '{node.function}'", place_of_name(node), hint)
    elif node.value is None and aggregate_named(node.function).needs_value:
        without = " and ".join(record.name for record in AGGREGATES.values() if not record.needs_value)
        findings.error(
            "aggregate-value",
            f"{node.function} needs a value of the events it runs over; only {without} goes without",
            node.span,
            f"write '{node.function}({node.event.type}(..).attribute ..)'",
        )
    else:
        _argument(node, findings)


def _argument(node: Aggregate, findings: Findings) -> None:
    """Check the number that an aggregate is told besides its members."""
    wanted = aggregate_named(node.function).argument
    if wanted is None:
        if node.argument is not None:
            findings.error("aggregate-argument", f"{node.function} takes no number behind its window", node.span, None)
        return
    if node.argument is not None and wanted.least <= node.argument <= wanted.most:
        return
    range_ = f"from {wanted.least:g} to {wanted.most:g}"
    message = f"{node.function} needs the {wanted.name}, a number {range_}, behind its window"
    if node.argument is not None:
        message = f"{node.argument:g} is no {wanted.name} for {node.function}: that is a number {range_}"
    findings.error(
        "aggregate-argument",
        message,
        node.span,
        f"write '{node.function}({node.event.type}(..).attribute within .., {wanted.example})'",
    )


_SHORTEST_SIMILAR = 4


def check_names(scopes: list[RuleScope], rules: RuleSet, known: KnownTypes, findings: Findings) -> None:
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
    """List every event of a rule, in text order, and whether it takes part."""
    found = [(scope.rule.pattern.terminator, True)]
    for item in scope.rule.pattern.items:
        match item:
            case Selection(event=event, ranking=ranking):
                found.append((event, True))
                aggregates = [node for node in walk(ranking) if isinstance(node, Aggregate)] if ranking else []
                found += [(node.event, False) for node in aggregates if node.of is None]
            case Negation(event=event):
                found.append((event, False))
            case Aggregation(aggregate=aggregate):
                found += [(aggregate.event, False)] * (aggregate.of is None)
            case Collection(event=event):
                found.append((event, True))
            case FreeCondition(constraint=constraint):
                aggregates = [node for node in walk(constraint) if isinstance(node, Aggregate)]
                found += [(node.event, False) for node in aggregates if node.of is None]
            case _:
                assert_never(item)
    in_where = len(scope.rule.pattern.items) + 1
    found += [
        (aggregate.event, False) for aggregate, index in scope.aggregates if index == in_where and aggregate.of is None
    ]
    return found


def _types(scope: RuleScope, known: KnownTypes, reported: set[str], findings: Findings) -> None:
    pattern = scope.rule.pattern
    for event, _ in _patterns(scope):
        name = event.type
        if event is pattern.terminator and isinstance(pattern.timer, Every):
            continue
        if is_moment(name) and name not in known.declared and name not in known.composites:
            refuse_moment(name, event.span, findings)
        if known.get(name) is not None or is_moment(name):
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
    seen = {NOW} if isinstance(scope.rule.pattern.timer, After) else set[str]()
    for event, takes_part in _patterns(scope):
        if event.alias is None and not takes_part:
            continue
        if event.name not in seen:
            seen.add(event.name)
            continue
        if event.name == NOW and scope.moment is not None:
            message = f"'{NOW}' is the moment of the rule's timer"
            hint = f"give the event another name: '{event.type}(..) as {event.type.capitalize()}2'"
            span = find_name(event.span, NOW, last=True)
        elif event.alias is None:
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
            case Negation(event=event, scope=interval) | Collection(event=event, scope=interval):
                _scope_references(scope, interval, event, index, findings)
            case Aggregation() | FreeCondition():
                pass
            case _:
                assert_never(item)
    for aggregate, index in scope.aggregates:
        if aggregate.of is None:
            _scope_references(scope, aggregate.scope, aggregate.event, index, findings)
        else:
            _collection_of(scope, aggregate, index, findings)
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


def _collection_of(scope: RuleScope, aggregate: Aggregate, index: int, findings: Findings) -> None:
    """Check that an aggregate over members is one over those of a collection before it."""
    items = scope.rule.pattern.items[:index]
    found = next((item for item in items if isinstance(item, Collection) and item.event.name == aggregate.of), None)
    if found is None or (found.event, found.scope) != (aggregate.event, aggregate.scope):
        findings.error(
            "unknown-collection",
            f"no collection before this place is called '{aggregate.of}'",
            aggregate.span,
            f"write 'all {aggregate.event.type}(..) as {aggregate.of}' before it",
        )


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
    match site.role:
        case Role.ASSIGNMENT:
            where = "where"
        case Role.CONDITION:
            where = "a condition among the events"
        case _:
            where = "a comparison with an aggregate"
    example = f"'{next(iter(scope.events))}.{node.name}'"
    hint = f"write it with its event, such as {example}"
    if node.name in scope.binders:
        hint = f"did you mean '${node.name}'?"
    elif node.name.lower() in _NULLS:
        hint = _NULL_HINT
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
    if name == NOW and name not in scope.absent and name not in scope.aggregated:
        findings.error(
            "no-timer",
            f"'{NOW}' is the moment of a timer, which this rule does not have",
            span,
            f"begin with 'from 5 min after {scope.rule.pattern.terminator.type}(..)' or 'from every 10 min', "
            f"or refer to '{scope.rule.pattern.terminator.name}'",
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
    if name in scope.collected:
        values = f"count({name}), first({name}).{attribute or 'value'} or Avg({name}.{attribute or 'value'})"
        message = f"'{name}' is a collection: none of its members can be referred to alone"
        findings.error("not-selected", message, span, f"a collection has values: {values}")
        return
    called = next((known for known, event in scope.events.items() if event.event.type == name), None)
    close = (
        did_you_mean(name, scope.events) if called is None else f"the event of type '{name}' is called '{called}' here"
    )
    if attribute is not None:  # other languages write the parts of an object so
        hint = f"a name with a dot stands in backquotes: `{name}.{attribute}`" + (f"; {hint}" if hint else "")
    findings.error("unknown-event", f"no event of the pattern is called '{name}'", span, close or hint)


def _suggestion(scope: RuleScope, index: int, exclude: str) -> str | None:
    """List the events that can be referred to, a few of them if they are many."""
    usable = [name for name, event in scope.events.items() if event.index <= index and name != exclude]
    shown = ", ".join(usable[:5]) + (", .." if len(usable) > 5 else "")
    return f"events that can be referred to here: {shown}" if usable else None
