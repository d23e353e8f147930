"""How many arguments event types have, what they are called, and their types, as far as rules tell them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from cepheus.core.schema import Attribute, EventType
from cepheus.core.source import Span
from cepheus.core.values import Value, ValueType, type_of
from cepheus.formats.intervals import argument_name
from cepheus.rules.aggregates import aggregate_named
from cepheus.rules.check.findings import Findings, line_of
from cepheus.rules.check.known_types import KnownTypes
from cepheus.rules.expressions import Arithmetic, Call, Constant, Expression, Negative, Parameter
from cepheus.rules.functions import FUNCTIONS, TERMS, function_of
from cepheus.rules.interval.model import (
    Absence,
    Aggregated,
    Argument,
    Atom,
    Bind,
    Combined,
    Condition,
    Either,
    Fits,
    IntervalPattern,
    IntervalRule,
    Known,
    Lasting,
    ListPattern,
    Relation,
    TimePoint,
    Where,
)
from cepheus.rules.walk import walk


class Signatures:
    """The attributes of every event type that interval rules mention, in the order of arguments.

    A type has the attributes that a declaration, a rule of another family or the data's schema gives it. Any other has
    as many as where it is first mentioned, called arg1, arg2 and so on.
    """

    def __init__(self, rules: Sequence[IntervalRule], known: KnownTypes, findings: Findings) -> None:
        self.types: dict[str, EventType] = {}
        places: dict[str, Span | None] = {}
        for name, arity, span in _mentions(rules):
            given = known.get(name)
            if given is not None:
                self.types.setdefault(name, given)
            elif name not in self.types:
                attributes = tuple(Attribute(argument_name(place), None) for place in range(1, arity + 1))
                self.types[name] = EventType(name, attributes)
                places[name] = span
            expected = len(self.types[name].attributes)
            if arity != expected:
                self._clash(name, arity, span, given, places.get(name), findings)

    def _clash(
        self,
        name: str,
        arity: int,
        span: Span | None,
        given: EventType | None,
        first: Span | None,
        findings: Findings,
    ) -> None:
        known = self.types[name]
        if given is None:
            where = line_of(first, span)
            message = f"'{name}' has {arity} arguments here and {len(known.attributes)}" + (
                f" {where}" if where else " elsewhere"
            )
            hint = "write _ for arguments that do not matter"
        else:
            message = f"'{name}' has {len(known.attributes)} arguments, not {arity}: {known}"
            hint = "write one argument for each attribute, _ where it does not matter"
        findings.error("arity", message, span, hint)

    def named(self, rule: IntervalRule) -> IntervalRule:
        """Return a rule whose head has the attributes of its type."""
        known = self.types[rule.head.name]
        if len(known.attributes) != len(rule.values):
            return rule
        return replace(rule, head=replace(rule.head, attributes=known.attributes))


def _mentions(rules: Sequence[IntervalRule]) -> Iterator[tuple[str, int, Span | None]]:
    """Yield every mention of an event type; those of heads first, which are definitions."""
    for rule in rules:
        yield rule.head.name, len(rule.values), rule.head.span
    for rule in rules:
        for node in walk(rule.pattern):
            if isinstance(node, Atom):
                yield node.type, len(node.arguments), node.span


Kinds = dict[str, ValueType]


def with_types(rules: Sequence[IntervalRule], types: Mapping[str, EventType]) -> list[IntervalRule]:
    """Return the rules with the types of their heads' attributes, where constants, declarations and arithmetic tell.

    A type that different rules give differently stays open, unless both are numbers. A rule that feeds itself counts on
    the type that the other rules give, if what it makes then has that type, too.
    """
    heads = _Heads(rules, types)
    heads.learn()
    heads.assume()
    return [
        replace(rule, head=replace(rule.head, attributes=heads.known[rule.head.name].attributes))
        if len(heads.known[rule.head.name].attributes) == len(rule.values)
        else rule
        for rule in rules
    ]


Told = set[ValueType | None]
"""What rules tell of one argument."""


class _Heads:
    """What is known of the types that rules make.

    When that changes for a type, only the rules that read it are asked again, so that many rules take no longer than
    their number.
    """

    def __init__(self, rules: Sequence[IntervalRule], types: Mapping[str, EventType]) -> None:
        self.known = dict(types)
        self._rules = rules
        self._making: dict[str, list[int]] = {}
        for index, rule in enumerate(rules):
            self._making.setdefault(rule.head.name, []).append(index)
        self._reading: dict[str, list[int]] = {name: [] for name in self._making}
        for index, rule in enumerate(rules):
            for name in {node.type for node in walk(rule.pattern) if isinstance(node, Atom)} & self._reading.keys():
                self._reading[name].append(index)
        self._told: list[tuple[ValueType | None, ...]] = [()] * len(rules)

    def learn(self) -> None:
        """Give types to the attributes of which all rules tell one."""
        changed = self._ask(range(len(self._rules)))
        while changed:
            found = {name: {place: _common(told) for place, told in self._open(name)} for name in changed}
            changed = self._ask_readers(self._change(found))

    def assume(self) -> None:
        """Give types to attributes that are still open, such that they hold if they are assumed to hold."""
        open_places = {name: [place for place, _ in self._open(name)] for name in self._making}
        settled: set[tuple[str, int]] = set()
        changed: Iterable[str] = [name for name in self._making if open_places[name]]
        while changed:
            found: dict[str, dict[int, ValueType | None]] = {name: {} for name in changed}
            for name in changed:
                for place in open_places[name]:
                    kinds = self._kinds(name, place) - {None}
                    before = self.known[name].attributes[place].type
                    after = _common(kinds) if kinds else None
                    if (name, place) in settled or before is after:
                        continue
                    found[name][place] = after
                    if before is not None and (before, after) != (ValueType.INT, ValueType.FLOAT):
                        found[name][place] = None  # it is one thing here and another there, for good
                        settled.add((name, place))
            changed = self._ask_readers(self._change(found))
        self._withdraw(open_places)

    def _withdraw(self, assumed: Mapping[str, Sequence[int]]) -> None:
        """Take back what does not hold after all."""
        changed: Iterable[str] = list(assumed)
        while changed:
            wrong: dict[str, dict[int, ValueType | None]] = {name: {} for name in changed}
            for name in changed:
                for place in assumed[name]:
                    kind = self.known[name].attributes[place].type
                    if kind is not None and _common(self._kinds(name, place)) is not kind:
                        wrong[name][place] = None
            changed = self._ask_readers(self._change(wrong))

    def _open(self, name: str) -> list[tuple[int, Told]]:
        attributes = self.known[name].attributes
        return [(place, self._kinds(name, place)) for place, each in enumerate(attributes) if each.type is None]

    def _kinds(self, name: str, place: int) -> Told:
        told = (self._told[index] for index in self._making[name])
        return {kinds[place] if place < len(kinds) else None for kinds in told}

    def _ask(self, indices: Iterable[int]) -> list[str]:
        """Ask rules again; give the types that they make."""
        names: dict[str, None] = {}
        for index in indices:
            rule = self._rules[index]
            variables = variable_kinds(rule, self.known)
            self._told[index] = tuple(kind_of(value, variables) for value in rule.values)
            names[rule.head.name] = None
        return list(names)

    def _ask_readers(self, changed: Iterable[str]) -> list[str]:
        return self._ask(sorted({index for name in changed for index in self._reading[name]}))

    def _change(self, found: Mapping[str, Mapping[int, ValueType | None]]) -> list[str]:
        """Change the types of attributes; give the event types whose attributes have other types now."""
        changed = []
        for name, kinds in found.items():
            attributes = list(self.known[name].attributes)
            for place, kind in kinds.items():
                if attributes[place].type is not kind:
                    attributes[place] = replace(attributes[place], type=kind)
            if any(one is not other for one, other in zip(attributes, self.known[name].attributes, strict=True)):
                self.known[name] = replace(self.known[name], attributes=tuple(attributes))
                changed.append(name)
        return changed


def _common(kinds: Told) -> ValueType | None:
    if len(kinds) == 1:
        return next(iter(kinds))
    return ValueType.FLOAT if kinds == {ValueType.INT, ValueType.FLOAT} else None


def variable_kinds(rule: IntervalRule, known: Mapping[str, EventType]) -> Kinds:
    """The types of the variables of a rule's matches, as far as events and background knowledge tell them."""
    return pattern_kinds(rule.pattern, {relation.name: relation for relation in rule.relations}, known)


def pattern_kinds(pattern: IntervalPattern, relations: Mapping[str, Relation], known: Mapping[str, EventType]) -> Kinds:
    """The types of the variables of a pattern's matches; of an OR, those in which both operands agree."""
    match pattern:
        case Atom():
            return _of_atom(pattern, known)
        case TimePoint():
            return {}
        case Lasting(pattern=inner):
            return pattern_kinds(inner, relations, known)
        case Where(pattern=inner, conditions=conditions):
            return _narrowed(pattern_kinds(inner, relations, known), conditions, relations, known)
        case Either(left=left, right=right):
            one, other = pattern_kinds(left, relations, known), pattern_kinds(right, relations, known)
            both = {name: _common({one[name], other[name]}) for name in one if name in other}
            return {name: kind for name, kind in both.items() if kind is not None}
        case Combined(left=left, right=right):
            return {**pattern_kinds(right, relations, known), **pattern_kinds(left, relations, known)}
        case Absence(negated=negated, first=first, second=second):
            parts = (negated, second, first)
            return {name: kind for part in parts for name, kind in pattern_kinds(part, relations, known).items()}
        case _:
            assert_never(pattern)


def _of_atom(atom: Atom, known: Mapping[str, EventType]) -> Kinds:
    found: Kinds = {}
    attributes = known[atom.type].attributes if atom.type in known else ()
    for argument, attribute in zip(atom.arguments, attributes, strict=False):
        if isinstance(argument, Parameter):
            _settle(found, argument.name, attribute.type)
        _settle_lists(found, argument)
    return found


def _narrowed(
    given: Kinds,
    conditions: Sequence[Condition],
    relations: Mapping[str, Relation],
    known: Mapping[str, EventType],
) -> Kinds:
    """Add what conditions that hold together tell; what holds in an alternative only tells nothing."""
    found = dict(given)
    for node in conditions:
        match node:
            case Known(relation=name, arguments=arguments) if name in relations:
                for place, argument in enumerate(arguments):
                    if isinstance(argument, Parameter):
                        _settle(found, argument.name, _of_column(relations[name], place))
                    _settle_lists(found, argument)
            case Bind(variable=variable, value=value):
                _settle(found, variable, kind_of(value, found))
            case Fits(value=value, pattern=pattern):
                if isinstance(value, Parameter):
                    _settle(found, value.name, ValueType.LIST)
                _settle_lists(found, pattern)
            case Aggregated(variable=variable, function=function, value=value, atom=atom):
                _settle(found, variable, _of_aggregate(function, value, member_kinds(atom, found, known)))
            case _:
                pass
    return found


def member_kinds(atom: Atom, given: Kinds, known: Mapping[str, EventType]) -> Kinds:
    """The types of variables inside an aggregate over an atom; those of its own mean nothing outside."""
    return {**_of_atom(atom, known), **given}


def _settle_lists(found: Kinds, argument: Argument) -> None:
    """Note that what stands behind the bar of a list is a list."""
    for node in walk(argument):
        if isinstance(node, ListPattern) and isinstance(node.rest, Parameter):
            _settle(found, node.rest.name, ValueType.LIST)


def _settle(found: Kinds, variable: str, kind: ValueType | None) -> None:
    if kind is not None:
        found.setdefault(variable, kind)


def _of_aggregate(function: str, value: Expression | None, found: Kinds) -> ValueType | None:
    result = aggregate_named(function).result
    return result if result is not None or value is None else kind_of(value, found)


def _of_column(relation: Relation, place: int) -> ValueType | None:
    samples: dict[type, Value] = {type(row[place]): row[place] for row in relation.rows if place < len(row)}
    return _common({type_of(value) for value in samples.values()})


def kind_of(expression: Expression, found: Kinds) -> ValueType | None:
    """The type of an expression over variables, None if it is not known."""
    match expression:
        case Constant(type=kind):
            return kind
        case Parameter(name=name):
            return found.get(name)
        case Negative(operand=operand):
            return kind_of(operand, found)
        case Arithmetic(operator="/"):
            return ValueType.FLOAT
        case Arithmetic(left=left, right=right):
            kinds = {kind_of(left, found), kind_of(right, found)}
            return ValueType.FLOAT if ValueType.FLOAT in kinds and None not in kinds else _common(kinds)
        case Call(function=function, arguments=arguments) if function in FUNCTIONS | TERMS:
            result = function_of(function).result
            return result if result is not None else _common({kind_of(argument, found) for argument in arguments})
        case _:
            return None
