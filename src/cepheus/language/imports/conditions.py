"""Conditions on one event, as rules of other systems state them, and the TESLA text that says the same.

Logic is three-valued there as it is here: a comparison with a value that an event lacks is unknown, and only what is
true holds. Where another system asks that something is *not true*, which unknown is not either, ``not_true`` says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from cepheus.core.schema import RESERVED
from cepheus.language.common.literals import quoted
from cepheus.language.tesla.names import written_attribute
from cepheus.rules.regular_expressions import fault_in


@dataclass(frozen=True, slots=True)
class Field:
    """An attribute of the event, by the name that its data has."""

    name: str


@dataclass(frozen=True, slots=True)
class Text:
    """A text."""

    value: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number."""

    value: int | float


@dataclass(frozen=True, slots=True)
class Truth:
    """True or false, as a value."""

    value: bool


@dataclass(frozen=True, slots=True)
class Applied:
    """A function of TESLA, applied to operands."""

    function: str
    arguments: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Computed:
    """``left operator right`` with one of ``+ - *``."""

    operator: str
    left: Operand
    right: Operand


Operand = Field | Text | Number | Truth | Applied | Computed


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part holds; of no parts, always."""

    parts: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one part holds; of no parts, never."""

    parts: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Opposite:
    """The part is false."""

    part: Condition


@dataclass(frozen=True, slots=True)
class Compared:
    """``left operator right``, with an operator of TESLA."""

    left: Operand
    operator: str
    right: Operand


@dataclass(frozen=True, slots=True)
class OneOf:
    """The operand equals one of some constants."""

    operand: Operand
    options: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Absent:
    """The event has no value there."""

    operand: Operand


@dataclass(frozen=True, slots=True)
class Holds:
    """A function that is true or false by itself."""

    call: Applied


Condition = AllOf | AnyOf | Opposite | Compared | OneOf | Absent | Holds

ALWAYS, NEVER = AllOf(), AnyOf()


def all_of(*parts: Condition) -> Condition:
    """All parts at once, nested ones taken apart.

    >>> all_of(ALWAYS, Absent(Field("a"))), all_of(NEVER, Absent(Field("a")))
    (Absent(operand=Field(name='a')), AnyOf(parts=()))
    """
    flat: list[Condition] = []
    for part in parts:
        flat += part.parts if isinstance(part, AllOf) else [part]
    if NEVER in flat:
        return NEVER
    return flat[0] if len(flat) == 1 else AllOf(tuple(flat))


def any_of(*parts: Condition) -> Condition:
    """At least one part, nested ones taken apart."""
    flat: list[Condition] = []
    for part in parts:
        flat += part.parts if isinstance(part, AnyOf) else [part]
    if ALWAYS in flat:
        return ALWAYS
    return flat[0] if len(flat) == 1 else AnyOf(tuple(flat))


def opposite(part: Condition) -> Condition:
    """What is true where the part is false.

    >>> opposite(opposite(Absent(Field("a")))), opposite(ALWAYS) == NEVER
    (Absent(operand=Field(name='a')), True)
    """
    if isinstance(part, Opposite):
        return part.part
    if part in (ALWAYS, NEVER):
        return NEVER if part == ALWAYS else ALWAYS
    return Opposite(part)


def not_true(condition: Condition) -> Condition:
    """What is true where the condition is false or unknown.

    >>> written(not_true(Compared(Field("a"), "=", Number(1))))
    '(not (a=1) or a is null)'
    >>> written(not_true(Holds(Applied("cidr_match", (Field("a"), Text("10.0.0.0/8"))))))
    "(not (cidr_match(a, '10.0.0.0/8')) or cidr_match(a, '10.0.0.0/8') is null)"
    """
    match condition:
        case AllOf(parts=parts):
            return any_of(*map(not_true, parts))
        case AnyOf(parts=parts):
            return all_of(*map(not_true, parts))
        case Opposite(part=part):
            return _not_false(part)
        case Absent():
            return Opposite(condition)
        case Compared() | OneOf() | Holds():
            return any_of(opposite(condition), *_unknown(condition))
        case _:
            assert_never(condition)


def _not_false(condition: Condition) -> Condition:
    match condition:
        case AllOf(parts=parts):
            return all_of(*map(_not_false, parts))
        case AnyOf(parts=parts):
            return any_of(*map(_not_false, parts))
        case Opposite(part=part):
            return not_true(part)
        case Absent():
            return condition
        case Compared() | OneOf() | Holds():
            return any_of(condition, *_unknown(condition))
        case _:
            assert_never(condition)


_MAY_BE_UNDEFINED = frozenset({"cidr_match"})
"""The functions that may have no result though all their arguments have values: a text may be no address."""


def _unknown(condition: Compared | OneOf | Holds) -> list[Absent]:
    """Where a condition is neither true nor false."""
    return list(dict.fromkeys(_undefined_in(condition)))


def _undefined_in(thing: Compared | OneOf | Holds | Operand) -> Iterator[Absent]:
    match thing:
        case Field():
            yield Absent(thing)
        case Applied(function=function) if function in _MAY_BE_UNDEFINED:
            yield Absent(thing)
        case Text() | Number() | Truth():
            return
        case Applied(arguments=operands):
            for operand in operands:
                yield from _undefined_in(operand)
        case Computed(left=left, right=right) | Compared(left=left, right=right):
            yield from _undefined_in(left)
            yield from _undefined_in(right)
        case OneOf(operand=operand) | Holds(call=operand):
            yield from _undefined_in(operand)
        case _:
            assert_never(thing)


def fields_of(thing: Condition | Operand) -> Iterator[Field]:
    """All attributes that a condition or an operand reads, in text order, as often as it does."""
    match thing:
        case Field():
            yield thing
        case Text() | Number() | Truth():
            return
        case Applied(arguments=children) | AllOf(parts=children) | AnyOf(parts=children):
            for child in children:
                yield from fields_of(child)
        case Computed(left=left, right=right) | Compared(left=left, right=right):
            yield from fields_of(left)
            yield from fields_of(right)
        case Opposite(part=child) | Absent(operand=child) | OneOf(operand=child) | Holds(call=child):
            yield from fields_of(child)
        case _:
            assert_never(thing)


_QUOTED_NAME = re.compile(r"[^`\n\\]+")


def attribute_of(name: str) -> str:
    """What rules call an attribute of the data; names that an event has for itself get an underscore.

    >>> attribute_of("user.name"), attribute_of("time")
    ('user.name', 'time_')
    """
    return f"{name}_" if name in RESERVED else name


def can_be_named(name: str) -> bool:
    """Whether rules can write a name at all, in backquotes if need be."""
    return bool(_QUOTED_NAME.fullmatch(name))


def written(condition: Condition, event: str | None = None) -> str:
    """The condition as one constraint of TESLA, in parentheses where an ``and`` beside it would tear it apart.

    ``event`` names the event whose attributes are meant, outside of its own constraints.

    >>> written(any_of(Compared(Field("host.id"), "=", Text("a")), Absent(Field("user"))), "Now")
    "(Now.`host.id`='a' or Now.user is null)"
    """
    match condition:
        case AllOf(parts=()):
            return "1=1"
        case AnyOf(parts=()):
            return "1=0"
        case AllOf(parts=parts):
            return f"({' and '.join(written(part, event) for part in parts)})"
        case AnyOf(parts=parts):
            return f"({' or '.join(written(part, event) for part in parts)})"
        case Opposite(part=Absent(operand=operand)):
            return f"{operand_text(operand, event)} is not null"
        case Opposite(part=OneOf(operand=operand, options=options)):
            return f"{operand_text(operand, event)} not in ({', '.join(map(operand_text, options))})"
        case Opposite(part=part):
            inner = written(part, event)
            return f"not {inner}" if inner.startswith("(") else f"not ({inner})"
        case Compared(left=left, operator=operator, right=right):
            return f"{operand_text(left, event)}{operator}{operand_text(right, event)}"
        case OneOf(operand=operand, options=options):
            return f"{operand_text(operand, event)} in ({', '.join(map(operand_text, options))})"
        case Absent(operand=operand):
            return f"{operand_text(operand, event)} is null"
        case Holds(call=call):
            return operand_text(call, event)
        case _:
            assert_never(condition)


def operand_text(operand: Operand, event: str | None = None) -> str:
    """One operand as TESLA writes it."""
    match operand:
        case Field(name=name):
            own = written_attribute(attribute_of(name))
            return own if event is None else f"{event}.{own}"
        case Text(value=text):
            return quoted(text)
        case Number(value=number):
            return repr(number)
        case Truth(value=truth):
            return "true" if truth else "false"
        case Applied(function=function, arguments=arguments):
            return f"{function}({', '.join(operand_text(argument, event) for argument in arguments)})"
        case Computed(operator=operator, left=left, right=right):
            return f"({operand_text(left, event)} {operator} {operand_text(right, event)})"
        case _:
            assert_never(operand)


ANY_TEXT, ANY_LETTER = object(), object()
"""What ``*`` and ``?`` stand for in a pattern with wildcards."""


def fits_wildcards(operand: Operand, parts: list[str | object], *, folded: bool) -> Condition:
    """A text against a pattern of texts and wildcards; ``folded`` means that capital letters do not matter.

    >>> written(fits_wildcards(Field("name"), ["CMD", ANY_TEXT], folded=True))
    "starts_with(lower(name), 'cmd')"
    >>> written(fits_wildcards(Field("name"), ["a", ANY_LETTER, "b"], folded=False))
    "matches(name, '(?s)a.b')"
    """
    if folded:
        operand = Applied("lower", (operand,))
        parts = [part.lower() if isinstance(part, str) else part for part in parts]
    match parts:
        case []:
            return Compared(operand, "=", Text(""))
        case [str(text)]:
            return Compared(operand, "=", Text(text))
        case [only] if only is ANY_TEXT:
            return Opposite(Absent(operand.arguments[0] if folded and isinstance(operand, Applied) else operand))
        case [str(text), after] if after is ANY_TEXT:
            return Holds(Applied("starts_with", (operand, Text(text))))
        case [before, str(text)] if before is ANY_TEXT:
            return Holds(Applied("ends_with", (operand, Text(text))))
        case [before, str(text), after] if before is ANY_TEXT and after is ANY_TEXT:
            return Holds(Applied("contains", (operand, Text(text))))
    pattern = "".join(re.escape(part) if isinstance(part, str) else ".*" if part is ANY_TEXT else "." for part in parts)
    return Holds(Applied("matches", (operand, Text(f"(?s){pattern}"))))


def fits_pattern(operand: Operand, pattern: str, flags: str = "") -> Condition | str:
    """A whole text against a regular expression, or why that cannot be said."""
    whole = f"(?{flags}){pattern}" if flags else pattern
    fault = fault_in(whole)
    if fault is not None:
        return fault.message
    return Holds(Applied("matches", (operand, Text(whole))))
