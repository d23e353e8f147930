"""How fields of a JSON form are read, strictly: every mistake is an error that names its path."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from enum import Enum
from typing import NoReturn, TypeVar

from cepheus.core.errors import RuleError

_MAX_DEPTH = 260  # levels of the JSON value; rule text nests at most 100 deep, and conditions 20, two of these each
_NAME = re.compile(r"[^\W\d]\w*")
_QUOTABLE = re.compile(r"[^`\n\ud800-\udfff]+")
T = TypeVar("T")
E = TypeVar("E", bound=Enum)


class JsonObject:
    """A JSON object at a path, and how its fields are taken."""

    def __init__(self, data: object, path: str) -> None:
        if not isinstance(data, dict):
            fail(path, f"expected an object, found {shown(data)}")
        self.fields: dict[object, object] = data
        self.path = path
        self.optional: Collection[str] = ()

    def only(self, *names: str, optional: Collection[str] = ()) -> None:
        """Refuse fields that are not named; lists that are optional may be missing, and are then empty."""
        for name in names:
            self.take(name)
        self.optional = optional
        for field in self.fields:
            if field not in names and field not in optional:
                fail(self.path, f"there is no field {shown(field)} here")

    def take(self, name: str) -> object:
        """Return a field that must be there."""
        if name not in self.fields:
            fail(self.path, f"the field '{name}' is missing")
        return self.fields[name]

    def read(self, name: str, read: Callable[[object, str], T]) -> T:
        """Read a field."""
        return read(self.take(name), f"{self.path}.{name}")

    def maybe(self, name: str, read: Callable[[object, str], T]) -> T | None:
        """Read a field that may be null."""
        return None if self.take(name) is None else self.read(name, read)

    def list(self, name: str, read: Callable[[object, str], T]) -> tuple[T, ...]:
        """Read a field that is a list."""
        if name in self.optional and name not in self.fields:
            return ()
        elements = self.take(name)
        path = f"{self.path}.{name}"
        if not isinstance(elements, list):
            fail(path, f"expected a list, found {shown(elements)}")
        return tuple([read(element, f"{path}[{place}]") for place, element in enumerate(elements)])

    def one_of(self, name: str, choices: Collection[str]) -> str:
        """Read a field that is one of some words."""
        text = self.read(name, read_text)
        if text not in choices:
            fail(f"{self.path}.{name}", f"expected one of {', '.join(choices)}, found {shown(text)}")
        return text

    def enum(self, name: str, choices: type[E]) -> E:
        """Read a field that is the value of an enumeration."""
        return choices(self.one_of(name, [choice.value for choice in choices]))


def fail(path: str, message: str) -> NoReturn:
    """Raise what is wrong at a path."""
    raise RuleError.of("json", f"{path}: {message}")


def shown(value: object) -> str:
    """Return a value as a message shows it."""
    match value:
        case dict():
            return "an object"
        case list():
            return "a list"
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f"'{value[:40]}'"
        case int() | float():
            return str(value) if not isinstance(value, int) or abs(value) < 10**40 else "a huge number"
        case _:
            return "something that is not JSON"


def check_depth(data: object) -> None:
    """Refuse a value that is nested so deep that reading it would run out of stack."""
    level: list[object] = [data]
    for _ in range(_MAX_DEPTH):
        below: list[object] = []
        for value in level:
            if isinstance(value, dict):
                below += value.values()
            elif isinstance(value, list):
                below += value
        if not below:
            return
        level = below
    fail("$", f"the value is nested more than {_MAX_DEPTH} deep")


def read_text(value: object, path: str) -> str:
    """Read any string."""
    if not isinstance(value, str):
        fail(path, f"expected a string, found {shown(value)}")
    if any("\ud800" <= character <= "\udfff" for character in value):
        fail(path, "half of a character: the string is not valid Unicode")
    return value


def read_name(value: object, path: str) -> str:
    """Read a string that rule text can have as a name."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        fail(path, f"expected a name, found {shown(value)}")
    return value


def read_any_name(value: object, path: str) -> str:
    """Read a string that rule text can have as a name in backquotes."""
    if not isinstance(value, str) or not _QUOTABLE.fullmatch(value):
        fail(path, f"expected a name, found {shown(value)}")
    return value


def integer_between(low: int, high: int) -> Callable[[object, str], int]:
    """Return a function that reads an integer within bounds, both included."""

    def read(value: object, path: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            fail(path, f"expected an integer, found {shown(value)}")
        if not low <= value <= high:
            fail(path, f"{shown(value)} is not between {low} and {high}")
        return value

    return read


def read_boolean(value: object, path: str) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        fail(path, f"expected true or false, found {shown(value)}")
    return value


def read_number(value: object, path: str) -> float:
    """Read a finite number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        fail(path, f"expected a number, found {shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        fail(path, f"expected a finite number, found {shown(value)}")
    return number


def read_probability(value: object, path: str) -> float:
    """Read a number from 0 to 1."""
    number = read_number(value, path)
    if not 0 <= number <= 1:
        fail(path, f"{number} is not a probability")
    return number
