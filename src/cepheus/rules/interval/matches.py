"""Matches of patterns: an interval and values of variables; and the events that they are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cepheus.core.event import DIGEST_MASK, EventId, composite_digest, text_digest
from cepheus.core.lists import LIST_MARK, Key, list_text, value_key
from cepheus.core.values import Value
from cepheus.rules.comparisons import compare
from cepheus.rules.expressions import Constant, Parameter
from cepheus.rules.interval.model import Anything, Argument, Atom, ListPattern, Operator
from cepheus.rules.interval.operators import OPERATORS

Binding = Mapping[str, Value]
"""The values of variables by name."""


@dataclass(frozen=True, slots=True)
class Instance:
    """An event as interval rules see it: a type, its arguments, an interval. ``id`` names it in provenance."""

    type: str
    values: tuple[Value | None, ...]
    start: int
    end: int
    id: EventId | None = None

    @property
    def key(self) -> Key:
        """What makes two instances one and the same."""
        return self.type, tuple(map(value_key, self.values)), self.start, self.end


@dataclass(frozen=True, slots=True)
class Match:
    """An interval in which a pattern holds for some values; ``parts`` are the events it was found in."""

    start: int
    end: int
    binding: Binding
    parts: tuple[EventId, ...] = ()

    @property
    def key(self) -> Key:
        """What makes two matches of one pattern the same; conditions may tell 2 and 2.0 apart, so these differ."""
        return self.start, self.end, binding_key(self.binding), *(type(self.binding[n]) for n in sorted(self.binding))


def binding_key(binding: Binding) -> Key:
    """The key of the values of all variables."""
    return tuple((name, *value_key(binding[name])) for name in sorted(binding))


def unify(arguments: tuple[Argument, ...], values: tuple[Value | None, ...], binding: Binding) -> Binding | None:
    """Bind the variables of arguments to values; None if they do not fit, or not what is bound already.

    A variable that occurs several times has the value of its first place; places in lists come after all others.

    >>> unify((Parameter("X"), Anything(), Parameter("X")), (1, "a", 1), {})
    {'X': 1}
    >>> unify((ListPattern((Parameter("H"),), Parameter("T")),), ((1, 2, 3),), {})
    {'H': 1, 'T': (2, 3)}
    """
    if len(arguments) != len(values):
        return None
    bound = dict(binding)
    lists: list[tuple[ListPattern, Value | None]] = []
    for argument, value in zip(arguments, values, strict=True):
        match argument:
            case Anything():
                pass
            case Constant(value=constant):
                if not compare("=", constant, value):
                    return None
            case Parameter(name=name):
                if value is None or (name in bound and not compare("=", bound[name], value)):
                    return None
                bound.setdefault(name, value)
            case ListPattern():
                lists.append((argument, value))
    for pattern, value in lists:
        inside = _take_apart(pattern, value, bound)
        if inside is None:
            return None
        bound.update(inside)
    return bound


def _take_apart(pattern: ListPattern, value: Value | None, binding: Binding) -> Binding | None:
    """Bind the variables of a list's pattern; None if the value is no such list."""
    count = len(pattern.items)
    if not isinstance(value, tuple) or len(value) < count:
        return None
    if pattern.rest is None:
        return unify(pattern.items, value, binding)
    return unify((*pattern.items, pattern.rest), (*value[:count], value[count:]), binding)


def fits(atom: Atom, instance: Instance, binding: Binding) -> Binding | None:
    """The values of variables under which an instance is one that the atom asks for, or None."""
    return unify(atom.arguments, instance.values, binding) if atom.type == instance.type else None


def agree(one: Binding, other: Binding) -> Binding | None:
    """Join two bindings; None if they differ on a variable that they share."""
    for name in one.keys() & other.keys():
        if not compare("=", one[name], other[name]):
            return None
    return {**other, **one}


def relate(operator: Operator, q1: int, q2: int, q3: int, q4: int) -> tuple[int, int] | None:
    """The interval of ``[q1, q2] operator [q3, q4]``, or None if they are not so related: Figure 2.

    >>> relate(Operator.SEQ, 1, 2, 3, 4), relate(Operator.DURING, 1, 2, 1, 4)
    ((1, 4), None)
    """
    return OPERATORS[operator].relation(q1, q2, q3, q4)


def instance_id(event_type: str, values: tuple[Value | None, ...], start: int, end: int) -> str:
    """The id of a complex event, which depends on nothing but the event itself.

    >>> instance_id("rise", ("GO", 2), 1, 5) == instance_id("rise", ("GO", 2.0), 1, 5)
    True
    """
    words = [start & _MASK, end & _MASK, *map(_word, values)]
    return f"{event_type}:{composite_digest(text_digest(event_type), words) & DIGEST_MASK:016x}"


_MASK = 2**64 - 1


def _word(value: Value | None) -> int:
    """The 64 bits of a value; numbers that are equal have the same."""
    if value is None or isinstance(value, bool | str):
        return text_digest(repr(value))
    if isinstance(value, tuple):
        return text_digest(repr(list_text(value))) ^ LIST_MARK
    if isinstance(value, int) or value.is_integer():
        return int(value) & _MASK
    return text_digest(value.hex())
