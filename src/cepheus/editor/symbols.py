"""The names of rule text: which thing each of them means, where it is defined and where it is used."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from lark import Token

from cepheus.core.schema import EventType
from cepheus.core.source import Source, Span
from cepheus.language.common.tokens import span_of, start_of
from cepheus.rules.belief.model import Belief
from cepheus.rules.expressions import Aggregate, AttributeRef, Between, EventPattern, Parameter, Within
from cepheus.rules.interval.model import Atom, Deduction, Fact, IntervalRule, Known, Unknown
from cepheus.rules.model import Assignment, Rule, RuleSet
from cepheus.rules.timers import NOW, Every
from cepheus.rules.walk import children, walk


class SymbolKind(Enum):
    """What a name can mean."""

    EVENT_TYPE = "type of event"
    ATTRIBUTE = "attribute"
    ALIAS = "event of a rule"
    PARAMETER = "parameter"
    RULE = "rule"
    RELATION = "relation"
    VARIABLE = "variable of a pattern"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A thing that has a name.

    ``within`` is what the name belongs to: the type of an attribute, the place in the text of the rule of an alias or a
    parameter, the number of the query of a variable; empty where the name holds everywhere.
    """

    kind: SymbolKind
    name: str
    within: str = ""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A place where a symbol is named; ``defines`` tells a definition from a use."""

    symbol: Symbol
    span: Span
    defines: bool = False


def tesla_occurrences(rules: RuleSet, source: Source, tokens: Sequence[Token]) -> list[Occurrence]:
    """Where names stand in TESLA, in text order."""
    words = _Words(source, tokens)
    found: list[Occurrence] = []
    for declared in rules.declarations:
        found += _event_type(declared, declared.span)
    for rule in rules.rules:
        found += _RuleNames(rule, words).occurrences()
    for error in rules.errors:
        event, attribute = words.ends(error.span)
        found.append(Occurrence(Symbol(SymbolKind.EVENT_TYPE, error.event), event))
        found.append(Occurrence(Symbol(SymbolKind.ATTRIBUTE, error.attribute, error.event), attribute))
    for belief in rules.beliefs:
        found += _belief(belief, rules, words)
    return _in_order(found)


def etalis_occurrences(rules: RuleSet, source: Source, statements: Sequence[Sequence[Token]]) -> list[Occurrence]:
    """Where names stand in rules of the ETALIS language, in text order."""
    words = _Words(source, [token for statement in statements for token in statement])
    found: list[Occurrence] = []
    relations = {fact.relation for fact in rules.knowledge.facts} | {
        each.relation for each in rules.knowledge.deductions
    }
    for declared in rules.declarations:
        found += _event_type(declared, words.named(declared.name, declared.span))
    statements_read: tuple[IntervalRule | Fact | Deduction, ...] = (
        *rules.interval_rules,
        *rules.knowledge.facts,
        *rules.knowledge.deductions,
    )
    for node in statements_read:
        found += _interval_names(node, words, relations)
    for number, statement in enumerate(statements):
        for token in statement:
            if token.type == "NAME" and token[:1].isupper():
                variable = Symbol(SymbolKind.PARAMETER, str(token), str(number))
                found.append(Occurrence(variable, span_of(source, token)))
    return _in_order(found)


def _in_order(found: Iterable[Occurrence]) -> list[Occurrence]:
    """Occurrences in text order, each place once; the first mention of a parameter defines it."""
    by_place: dict[tuple[int, int], Occurrence] = {}
    for occurrence in found:
        place = (occurrence.span.start, occurrence.span.end)
        if place not in by_place or occurrence.defines:
            by_place[place] = occurrence
    ordered = [by_place[place] for place in sorted(by_place)]
    bound: set[Symbol] = set()
    for index, occurrence in enumerate(ordered):
        symbol = occurrence.symbol
        if symbol.kind is SymbolKind.PARAMETER and symbol not in bound:
            ordered[index] = Occurrence(symbol, occurrence.span, defines=True)
            bound.add(symbol)
    return ordered


class _Words:
    """The tokens of a text, found by their places."""

    def __init__(self, source: Source, tokens: Sequence[Token]) -> None:
        self.source = source
        self.tokens = sorted(tokens, key=start_of)
        self._starts = [start_of(token) for token in self.tokens]

    def index_at(self, offset: int) -> int:
        """The index of the first token at or behind an offset."""
        return bisect_left(self._starts, offset)

    def span(self, index: int) -> Span:
        """The place of a token."""
        return span_of(self.source, self.tokens[index])

    def ends(self, span: Span | None) -> tuple[Span, Span]:
        """The first and the last token of a range, parentheses aside: the two names of ``(Temp.value)``."""
        assert span is not None
        first, last = self.index_at(span.start), self.index_at(span.end) - 1
        while self.tokens[first].type == "LPAR" and self.tokens[last].type == "RPAR":
            first, last = first + 1, last - 1
        return self.span(first), self.span(last)

    def behind(self, start: int, end: int, text: str) -> Span | None:
        """The token behind the first one of that text, in lower case, in a range."""
        for index in range(self.index_at(start), self.index_at(end)):
            if self.tokens[index].lower() == text and index + 1 < len(self.tokens):
                return self.span(index + 1)
        return None

    def named(self, text: str, span: Span | None) -> Span | None:
        """The first token of that text in a range."""
        if span is None:
            return None
        for index in range(self.index_at(span.start), self.index_at(span.end)):
            if self.tokens[index] == text:
                return self.span(index)
        return None

    def alias(self, event: Span) -> Span | None:
        """The name behind ``as``, if the event at a place has one."""
        index = self.index_at(event.end)
        depth = 0
        while index < len(self.tokens):
            kind = self.tokens[index].type
            depth += (kind == "LPAR") - (kind == "RPAR")
            if depth == 0 and kind != "RPAR":
                break
            index += 1
        if index + 1 < len(self.tokens) and self.tokens[index].type == "AS":
            return self.span(index + 1)
        return None


def _event_type(event_type: EventType, span: Span | None) -> Iterator[Occurrence]:
    if span is not None:
        yield Occurrence(Symbol(SymbolKind.EVENT_TYPE, event_type.name), span, defines=True)
    for attribute in event_type.attributes:
        if attribute.span is not None:
            symbol = Symbol(SymbolKind.ATTRIBUTE, attribute.name, event_type.name)
            yield Occurrence(symbol, attribute.span, defines=True)


class _RuleNames:
    """The names of one rule of TESLA."""

    def __init__(self, rule: Rule, words: _Words) -> None:
        assert rule.span is not None
        self.rule = rule
        self.words = words
        self.within = str(rule.span.start)
        self.events = rule_events(rule)

    def occurrences(self) -> Iterator[Occurrence]:
        """All names of the rule."""
        rule, span = self.rule, self.rule.span
        assert span is not None
        composite = rule.composite
        if rule.name is not None:
            name = self.words.behind(span.start, span.end, "rule")
            if name is not None:
                yield Occurrence(Symbol(SymbolKind.RULE, rule.name), name, defines=True)
        yield from _event_type(composite, composite.span)
        terminator = () if isinstance(rule.pattern.timer, Every) else (rule.pattern.terminator,)
        for item in (*terminator, *rule.pattern.items):
            yield from self._node(item, None)
        for assignment in rule.assignments:
            yield from self._assignment(assignment)
        for consumed, place in zip(rule.consuming, rule.consuming_spans, strict=True):
            yield from self._event(consumed, place)

    def _assignment(self, assignment: Assignment) -> Iterator[Occurrence]:
        owner, name = self.words.ends(assignment.span)
        composite = self.rule.composite.name
        yield Occurrence(Symbol(SymbolKind.ATTRIBUTE, assignment.attribute, composite), name)
        if owner != name:
            yield Occurrence(Symbol(SymbolKind.EVENT_TYPE, composite), owner)
        yield from self._node(assignment.value, None)

    def _event(self, name: str, span: Span) -> Iterator[Occurrence]:
        """The mention of an event by the name it has in the rule."""
        symbol = self.symbol(name)
        if symbol is not None:
            yield Occurrence(symbol, span)

    def symbol(self, name: str) -> Symbol | None:
        """What an event of the rule is called after: its alias or its type; None for the moment ``now``."""
        if name not in self.events or (name == NOW and self.rule.pattern.timer is not None):
            return None
        if self.events[name] != name or name in self.aliases():
            return Symbol(SymbolKind.ALIAS, name, self.within)
        return Symbol(SymbolKind.EVENT_TYPE, name)

    def aliases(self) -> set[str]:
        """The names that stand behind ``as``."""
        return {node.alias for node in walk(self.rule.pattern) if isinstance(node, EventPattern) and node.alias}

    def _node(self, node: Any, owner: str | None) -> Iterator[Occurrence]:
        """The names in a part of the rule; ``owner`` is the type whose attributes need no name in front."""
        match node:
            case AttributeRef(event=None, name=name):
                if owner is not None and node.span is not None:
                    yield Occurrence(Symbol(SymbolKind.ATTRIBUTE, name, owner), self.words.ends(node.span)[0])
            case AttributeRef(event=str() as event, name=name):
                qualifier, attribute = self.words.ends(node.span)
                yield from self._event(event, qualifier)
                if event in self.events:
                    yield Occurrence(Symbol(SymbolKind.ATTRIBUTE, name, self.events[event]), attribute)
            case Parameter(name=name):
                if node.span is not None:
                    yield Occurrence(Symbol(SymbolKind.PARAMETER, name, self.within), self.words.ends(node.span)[0])
            case EventPattern():
                yield from self._pattern(node)
            case Within(since_start=True):
                pass
            case Within(reference=reference):
                yield from self._event(reference, self.words.ends(node.span)[1])
            case Between(first=first, second=second):
                yield from self._between(node, first, second)
            case Aggregate():
                yield from self._aggregate(node)
            case _:
                inner = node.event.type if isinstance(getattr(node, "event", None), EventPattern) else owner
                for child in children(node):
                    yield from self._node(child, inner)

    def _pattern(self, event: EventPattern) -> Iterator[Occurrence]:
        if event.span is not None:
            yield Occurrence(Symbol(SymbolKind.EVENT_TYPE, event.type), event.span)
            alias = self.words.alias(event.span)
            if alias is not None and event.alias is not None:
                yield Occurrence(Symbol(SymbolKind.ALIAS, event.alias, self.within), alias, defines=True)
        for constraint in event.constraints:
            yield from self._node(constraint, event.type)

    def _between(self, node: Between, first: str, second: str) -> Iterator[Occurrence]:
        if node.span is None:
            return
        one, other = self.words.behind(node.span.start, node.span.end, "between"), self.words.ends(node.span)[1]
        if one is not None:
            yield from self._event(first, one)
            yield from self._event(second, other)
        else:  # `within 5 min after A`
            yield from self._event(first, other)

    def _aggregate(self, node: Aggregate) -> Iterator[Occurrence]:
        if node.of is not None and node.span is not None:
            collection = self.words.behind(node.span.start, node.span.end, "(")
            if collection is not None:
                yield from self._event(node.of, collection)
        else:
            yield from self._node(node.event, None)
            yield from self._node(node.scope, None)
        if node.value is not None:
            yield from self._node(node.value, node.event.type)


def rule_events(rule: Rule) -> dict[str, str]:
    """By the name that it has in a rule, the type of each event."""
    return {node.name: node.type for node in walk(rule.pattern) if isinstance(node, EventPattern)}


def _belief(belief: Belief, rules: RuleSet, words: _Words) -> Iterator[Occurrence]:
    """The names in a network: of its rule, and of the rule's events where nodes are called after them."""
    rule = next((rule for rule in rules.rules if belief.rule in (rule.name, rule.composite.name)), None)
    if rule is None or belief.span is None:
        return
    names = _RuleNames(rule, words)
    named = Symbol(SymbolKind.RULE, belief.rule) if rule.name == belief.rule else None
    yield Occurrence(named or Symbol(SymbolKind.EVENT_TYPE, belief.rule), belief.span)
    for node in belief.nodes:
        places = ((node.name, node.span), *zip(node.parents, node.parent_spans, strict=True))
        for name, span in places:
            composite = Symbol(SymbolKind.EVENT_TYPE, name) if name == rule.composite.name else None
            symbol = names.symbol(name) or composite
            if symbol is not None and span is not None:
                yield Occurrence(symbol, span)


def _interval_names(node: IntervalRule | Fact | Deduction, words: _Words, relations: set[str]) -> Iterator[Occurrence]:
    for part in walk(node):
        match part:
            case IntervalRule(head=head):
                span = words.named(head.name, part.span)
                if span is not None:
                    yield Occurrence(Symbol(SymbolKind.EVENT_TYPE, head.name), span, defines=True)
                if part.name is not None and part.span is not None:
                    label = words.behind(part.span.start, part.span.end, "label")
                    if label is not None:
                        yield Occurrence(Symbol(SymbolKind.RULE, part.name), label, defines=True)
            case Fact(relation=relation) | Deduction(relation=relation):
                span = words.named(relation, part.span)
                if span is not None:
                    yield Occurrence(Symbol(SymbolKind.RELATION, relation), span, defines=True)
            case Atom(type=name) | Known(relation=name) | Unknown(relation=name):
                span = words.named(name, part.span)
                kind = SymbolKind.RELATION if name in relations else SymbolKind.EVENT_TYPE
                if span is not None:
                    yield Occurrence(Symbol(kind, name), span)
            case _:
                pass
