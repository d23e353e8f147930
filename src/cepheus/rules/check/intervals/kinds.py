"""Types of attributes, as far as rules tell them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cepheus.core.schema import EventType
from cepheus.core.values import Value, ValueType, type_of
from cepheus.rules.expressions import Arithmetic, Call, Constant, Expression, Negative, Parameter
from cepheus.rules.functions import FUNCTIONS
from cepheus.rules.interval.model import Aggregated, Atom, Bind, IntervalRule, Known, Relation
from cepheus.rules.walk import walk

Kinds = dict[str, ValueType]


def with_types(rules: Sequence[IntervalRule], types: Mapping[str, EventType]) -> list[IntervalRule]:
    """Give the rules with the types of their heads' attributes, where constants, declarations and arithmetic tell.

    A type that different rules give differently stays open, unless both are numbers. A rule that feeds itself counts on
    the type that the other rules give, if what it makes then has that type, too.
    """
    known = dict(types)
    for _ in range(len(rules) + 1):  # what one rule tells may tell more in another; each round settles one at least
        settled = {name: _merged([rule for rule in rules if rule.head.name == name], known) for name in _heads(rules)}
        if all(known.get(name) == event_type for name, event_type in settled.items()):
            break
        known |= settled
    known |= _assumed(rules, known)
    return [
        replace(rule, head=replace(rule.head, attributes=known[rule.head.name].attributes))
        if len(known[rule.head.name].attributes) == len(rule.values)
        else rule
        for rule in rules
    ]


def _heads(rules: Sequence[IntervalRule]) -> list[str]:
    return list(dict.fromkeys(rule.head.name for rule in rules))


def _assumed(rules: Sequence[IntervalRule], known: Mapping[str, EventType]) -> dict[str, EventType]:
    """Give the heads whose types are open with types that hold if they are assumed to hold."""
    heads = {name: [rule for rule in rules if rule.head.name == name] for name in _heads(rules)}
    places = [(name, n) for name in heads for n, a in enumerate(known[name].attributes) if a.type is None]
    trial = dict(known)
    for _ in range(2 * len(places) + 2):  # each place goes from open to a type, and perhaps from int to double
        for name, place in places:
            kinds = {_kind(rule, place, trial) for rule in heads[name]} - {None}
            trial[name] = _with_kind(trial[name], place, _common(kinds) if kinds else None)
    while True:
        wrong = [
            (name, place)
            for name, place in places
            if (assumed := trial[name].attributes[place].type) is not None
            and _common({_kind(rule, place, trial) for rule in heads[name]}) is not assumed
        ]
        if not wrong:
            return {name: trial[name] for name in heads}
        for name, place in wrong:
            trial[name] = _with_kind(trial[name], place, None)


def _with_kind(event_type: EventType, place: int, kind: ValueType | None) -> EventType:
    attributes = list(event_type.attributes)
    attributes[place] = replace(attributes[place], type=kind)
    return replace(event_type, attributes=tuple(attributes))


def _merged(rules: Sequence[IntervalRule], known: Mapping[str, EventType]) -> EventType:
    event_type = known[rules[0].head.name]
    attributes = list(event_type.attributes)
    for place, attribute in enumerate(attributes):
        if attribute.type is None:
            kinds = {_kind(rule, place, known) for rule in rules}
            attributes[place] = replace(attribute, type=_common(kinds))
    return replace(event_type, attributes=tuple(attributes))


def _common(kinds: set[ValueType | None]) -> ValueType | None:
    if len(kinds) == 1:
        return next(iter(kinds))
    return ValueType.FLOAT if kinds == {ValueType.INT, ValueType.FLOAT} else None


def _kind(rule: IntervalRule, place: int, known: Mapping[str, EventType]) -> ValueType | None:
    return kind_of(rule.values[place], variable_kinds(rule, known)) if place < len(rule.values) else None


def variable_kinds(rule: IntervalRule, known: Mapping[str, EventType]) -> Kinds:
    """Give the types of a rule's variables, as far as the types of events and background knowledge tell them."""
    found: Kinds = {}
    relations = {relation.name: relation for relation in rule.relations}
    for node in walk(rule.pattern):
        match node:
            case Atom(type=name, arguments=arguments):
                attributes = known[name].attributes if name in known else ()
                for argument, attribute in zip(arguments, attributes, strict=False):
                    if isinstance(argument, Parameter) and attribute.type is not None:
                        found.setdefault(argument.name, attribute.type)
            case Known(relation=name, arguments=arguments) if name in relations:
                for place, argument in enumerate(arguments):
                    kind = _of_column(relations[name], place)
                    if isinstance(argument, Parameter) and kind is not None:
                        found.setdefault(argument.name, kind)
            case _:
                pass
    for node in walk(rule.pattern):
        match node:
            case Bind(variable=variable, value=value):
                _settle(found, variable, kind_of(value, found))
            case Aggregated(variable=variable, function=function, value=value):
                _settle(found, variable, _of_aggregate(function, value, found))
            case _:
                pass
    return found


def _settle(found: Kinds, variable: str, kind: ValueType | None) -> None:
    if kind is not None:
        found.setdefault(variable, kind)


def _of_aggregate(function: str, value: Expression | None, found: Kinds) -> ValueType | None:
    if function == "Count":
        return ValueType.INT
    if function in ("Avg", "Stddev"):
        return ValueType.FLOAT
    return None if value is None else kind_of(value, found)


def _of_column(relation: Relation, place: int) -> ValueType | None:
    samples: dict[type, Value] = {type(row[place]): row[place] for row in relation.rows if place < len(row)}
    return _common({type_of(value) for value in samples.values()})


def kind_of(expression: Expression, found: Kinds) -> ValueType | None:
    """Give the type of an expression over variables, None if it is not known."""
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
        case Call(function=function, arguments=arguments) if function in FUNCTIONS:
            result = FUNCTIONS[function].result
            return result if result is not None else _common({kind_of(argument, found) for argument in arguments})
        case _:
            return None
