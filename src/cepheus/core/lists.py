"""Lists as values: a tuple in normal form in Python, its text in columns and files.

The elements of a list are values of any types, lists included. In normal form a whole number is an int, so that lists
that are equal have the same text: ``[2.0]`` is ``[2]``. A time in a list is its microseconds, as everywhere in rules.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import pyarrow as pa

from cepheus.core.errors import EventError
from cepheus.core.values import INT_MAX, INT_MIN, Value

MAX_DEPTH = 64
"""How deep lists may be nested, so that no pass over one runs out of stack."""

MAX_ELEMENTS = 1_000_000
"""How many elements a list may have, those of lists in it included: lists that double would fill the memory."""

_LONG_TEXT = 1000
"""How many characters the text of a list may have to be remembered with its list."""

LIST_MARK = 0x5B5D
"""Tells a list from its text in the ids of complex events."""

ListValue = tuple[Value, ...]


def list_value(elements: Iterable[Value]) -> ListValue | None:
    """The list of some values; None, an undefined value, if it is too large.

    >>> list_value(["a", 2.0, 2.5, (1,)])
    ('a', 2, 2.5, (1,))
    """
    made = tuple(map(_element, elements))
    return made if excess_of(made) is None else None


def _element(value: Value) -> Value:
    whole = isinstance(value, float) and value.is_integer() and INT_MIN <= value <= INT_MAX
    return int(value) if whole and isinstance(value, float) else value


def excess_of(value: ListValue) -> str | None:
    """In what a list is too large; None if in nothing.

    >>> excess_of((1,) * (MAX_ELEMENTS + 1))
    'has more than 1,000,000 elements'
    """
    depth = count = 0
    level: list[ListValue] = [value]
    while level:
        depth += 1
        count += sum(map(len, level))
        if depth > MAX_DEPTH:
            return f"is nested more than {MAX_DEPTH} deep"
        if count > MAX_ELEMENTS:
            return f"has more than {MAX_ELEMENTS:,} elements"
        level = [element for each in level for element in each if isinstance(element, tuple)]
    return None


def list_text(value: ListValue) -> str:
    """The text of a list, which is JSON; equal lists have equal texts.

    >>> list_text((1, "a", True, ()))
    '[1, "a", true, []]'
    """
    return json.dumps(value, ensure_ascii=False)


def list_of_text(text: str) -> ListValue:
    """The list of a text; EventError if it is not one.

    >>> list_of_text('[1, "a", [2.0]]')
    (1, 'a', (2,))
    """
    return _read(text) if len(text) > _LONG_TEXT else _remembered(text)


def _read(text: str) -> ListValue:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise EventError.of("list", f"{text[:40]!r} is not a list", hint=HINT)
    return checked_list(found)


_remembered = lru_cache(maxsize=4096)(_read)

HINT = 'a list is written as in JSON: [1, "a", [2, 3]]'


def checked_list(given: Iterable[object]) -> ListValue:
    """Return a list of Python objects as a value; EventError if one of them can be no element.

    >>> checked_list([1, [2.0, "a"]])
    (1, (2, 'a'))
    """
    made = _checked(given, 1)
    excess = excess_of(made)
    if excess is not None:
        raise EventError.of("list", f"a list {excess}")
    return made


def _checked(given: Iterable[object], depth: int) -> ListValue:
    if depth > MAX_DEPTH:
        raise EventError.of("list", f"a list is nested more than {MAX_DEPTH} deep")
    return tuple(_checked_element(each, depth) for each in given)


def _checked_element(given: object, depth: int) -> Value:
    if isinstance(given, np.ndarray | np.generic):
        given = given.tolist()
    if isinstance(given, list | tuple):
        return _checked(given, depth + 1)
    if isinstance(given, str):
        if not given.isascii() and any("\ud800" <= character <= "\udfff" for character in given):
            raise EventError.of("utf-8", f"{given[:40]!r} has half a surrogate pair, which is no character")
        return given
    if isinstance(given, bool):
        return given
    if isinstance(given, int):
        if not INT_MIN <= given <= INT_MAX:
            raise EventError.of("integer", "a list holds an integer that does not fit in 64 bits")
        return given
    if isinstance(given, float) and math.isfinite(given):
        return _element(given)
    what = "null" if given is None else "an object" if isinstance(given, dict) else str(given)
    raise EventError.of("list", f"a list holds {what}", hint="elements are numbers, texts, truths and lists")


def list_column(column: pa.Array) -> list[Value | None]:
    """Return a column of lists, or of their texts, as values."""
    return [
        None if cell is None else list_of_text(cell) if isinstance(cell, str) else checked_list(cell)
        for cell in column.to_pylist()
    ]


def text_column(values: Iterable[Value | None]) -> pa.Array:
    """Put lists into the column that holds them."""
    return pa.array([list_text(value) if isinstance(value, tuple) else None for value in values], pa.string())


Key = tuple[object, ...]
"""What tells two things apart: equal for equal values, so that 2 and 2.0 are one, and 1 and true are not."""


def value_key(value: Value | None) -> Key:
    """The key of a value.

    >>> value_key(2) == value_key(2.0), value_key(1) == value_key(True)
    (True, False)
    """
    if isinstance(value, tuple):
        return False, tuple(map(value_key, value))
    return isinstance(value, bool), value


def distinct(values: Iterable[Value]) -> list[Value]:
    """Keep each value once, the first of those that are equal.

    >>> distinct([1, 1.0, True, "a", "a"])
    [1, True, 'a']
    """
    found: dict[Key, Value] = {}
    for value in values:
        found.setdefault(value_key(value), value)
    return list(found.values())


LISTS_HINT = "let a rule of ETALIS take the list apart, and read what that makes"
"""What to do about a list where rules of TESLA read."""


def list_refused(event_type: str, attribute: str) -> EventError:
    """The error for a list where rules of TESLA read."""
    message = f"{event_type}.{attribute} is a list, which rules of TESLA cannot read"
    return EventError.of("list", message, hint=LISTS_HINT)
