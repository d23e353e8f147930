"""Reads TOML files whose tables are declared: which keys there are, what reads each of them, what is made of a table.

Everything that is wrong with a file is told at once, each finding with its line. Whoever has a file of settings
declares its tables, reads the file, and looks at what no key can tell alone:

>>> import tempfile
>>> path = Path(tempfile.mkdtemp()) / "door.toml"
>>> _ = path.write_text('width = -1\\nopne = true')
>>> file = TomlFile(path, "door")
>>> _ = file.read(Table("a door", dict, {"width": number(above=0), "open": boolean}))
>>> [(found.message, found.hint, found.place.line) for found in file.findings]
[("'width' must be more than 0", None, 1), ("a door has no key 'opne'", "did you mean 'open'?", 2)]
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

from cepheus.core.errors import CepheusError, Diagnostic, OptionError, Place, did_you_mean, similar_file
from cepheus.core.time import parse_duration

T = TypeVar("T")
E = TypeVar("E", bound=Enum)
Values = dict[str, Any]
"""What is made of a table of which nothing else is made: the values that are given, by key."""

Read = Callable[[object, str], T]
"""Takes a value and its key and gives what it stands for, or raises ``WrongValueError``."""

KeyPath = tuple[str | int, ...]
"""The way to a key: names of tables, places in lists of tables, the key."""


class WrongValueError(Exception):
    """A value that is not what it should be: a message and perhaps a hint."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint


# ---- What values may be --------------------------------------------------------------------------------------------


def text(value: object, key: str) -> str:
    """Read a text."""
    if not isinstance(value, str):
        raise _must_be(key, "a text", value)
    return value


def boolean(value: object, key: str) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise _must_be(key, "true or false", value)
    return value


def integer(least: int | None = None) -> Read[int]:
    """Read a whole number that is at least so large."""

    def read(value: object, key: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise _must_be(key, "an integer", value)
        if least is not None and value < least:
            raise WrongValueError(f"'{key}' must not be negative" if not least else f"'{key}' must be at least {least}")
        return value

    return read


def number(*, above: float | None = None) -> Read[float]:
    """Read a number that is not negative or, if said so, ``above`` another."""

    def read(value: object, key: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise _must_be(key, "a number", value)
        if above is not None and value <= above:
            raise WrongValueError(f"'{key}' must be more than {above:g}")
        if value < 0:
            raise WrongValueError(f"'{key}' must not be negative")
        return float(value)

    return read


def share(*, whole: bool) -> Read[float]:
    """Read a number from 0 to 1; only where it may be the ``whole``, 1 itself."""

    def read(value: object, key: str) -> float:
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1 and (value < 1 or whole):
            return float(value)
        hint = "write a number from 0 to 1" if whole else "write a number from 0 to below 1"
        raise WrongValueError(f"'{key}' is not a probability", hint)

    return read


def duration(*, positive: bool = False) -> Read[int]:
    """Read a time such as ``5 s``, in microseconds."""

    def read(value: object, key: str) -> int:
        found = parsed(parse_duration)(value, key)
        if positive and found <= 0:
            raise WrongValueError(f"'{key}' is {value!r}, which is no time", "write, say, 10 s")
        return found

    return read


def parsed(parse: Callable[[str], T]) -> Read[T]:
    """Read a text in a way that has errors of its own."""

    def read(value: object, key: str) -> T:
        del key
        try:
            return parse(str(value))
        except CepheusError as error:
            found = error.diagnostics[0]
            raise WrongValueError(found.message, found.hint) from None

    return read


def one_of(*choices: str) -> Read[str]:
    """Read one of some words."""

    def read(value: object, key: str) -> str:
        if value not in choices:
            hint = did_you_mean(str(value), choices) or f"choose one of {', '.join(choices)}"
            raise WrongValueError(f"'{value}' is not a choice for {key}", hint)
        return str(value)

    return read


def member_of(kind: type[E]) -> Read[E]:
    """Read a member of an enumeration by its value."""
    members = {str(member.value): member for member in kind}
    read = one_of(*members)
    return lambda value, key: members[read(value, key)]


def texts(value: object, key: str) -> tuple[str, ...]:
    """Read a list of texts; one text stands for a list of one."""
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise WrongValueError(f"'{key}' must be a list of texts", f'such as {key} = ["one", "other"]')
    return tuple(found)


def rows(words: str, *reads: Read[Any]) -> Read[list[tuple[Any, ...]]]:
    """Read a list of lists of a fixed length, each place in its own way; ``words`` tell what they are like."""

    def read(value: object, key: str) -> list[tuple[Any, ...]]:
        if not isinstance(value, list) or not all(isinstance(row, list) and len(row) == len(reads) for row in value):
            raise WrongValueError(f"'{key}' is not a list of lists of {len(reads)}", f"its entries are {words}")
        return [tuple([one(each, key) for one, each in zip(reads, row, strict=True)]) for row in value]

    return read


def path_from(folder: Path) -> Read[Path]:
    """Read a path that is relative to a folder."""
    return lambda value, key: folder / text(value, key)


def _must_be(key: str, what: str, value: object) -> WrongValueError:
    return WrongValueError(f"'{key}' must be {what}, not {value!r}")


# ---- Tables --------------------------------------------------------------------------------------------------------


Keys = Mapping[str, "Read[Any] | Table[Any] | Chosen[Any] | Tables[Any] | ByName[Any]"]
"""What reads the value of each key."""


@dataclass(frozen=True, slots=True)
class Table(Generic[T]):
    """A table: what messages call it, what is made of the values that are given, and what reads each key.

    ``needed`` are the keys that must be there, each with a hint; ``renamed`` those that it had once, with what to write
    now.
    """

    name: str
    make: Callable[..., T]
    keys: Keys
    needed: Mapping[str, str] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chosen(Generic[T]):
    """One of several tables: the key ``by`` says which; ``hint`` shows one."""

    name: str
    by: str
    among: Mapping[str, Table[T]]
    hint: str


@dataclass(frozen=True, slots=True)
class Tables(Generic[T]):
    """A list of tables, [[so]], which becomes a tuple; those that do not say which they are are left out."""

    each: Table[T] | Chosen[T]


@dataclass(frozen=True, slots=True)
class ByName(Generic[T]):
    """A table whose keys may have any name, all read in the same way, which becomes a dict; ``hint`` shows one."""

    each: Read[T]
    hint: str


class TomlFile:
    """A file: its values, the lines of its keys, and what was found to be wrong; ``code`` is that of the errors."""

    def __init__(self, path: Path, code: str) -> None:
        self.path = path
        self._code = code
        self.findings: list[Diagnostic] = []
        content = _text_of(path)
        try:
            self.values: dict[str, Any] = tomllib.loads(content)
        except tomllib.TOMLDecodeError as error:
            raise OptionError.of(code, f"the file is not TOML: {error}", place=Place(str(path))) from None
        self._lines = key_lines(content)

    def read(self, table: Table[T]) -> T:
        """Read the whole file as a table, and note what is wrong with it."""
        return self._table(table, self.values, ())

    def note(self, at: KeyPath, message: str, hint: str | None = None) -> None:
        """Note what is wrong at a key."""
        self.findings.append(Diagnostic(self._code, message, hint=hint, place=self.place(at)))

    def fail(self, at: KeyPath, message: str, hint: str | None = None) -> NoReturn:
        """Give up because of what is wrong at a key."""
        self.note(at, message, hint)
        raise OptionError(self.findings)

    def raise_findings(self) -> None:
        """Raise an OptionError with all that was noted, if anything was, in the order of the lines."""
        if self.findings:
            raise OptionError(sorted(self.findings, key=lambda f: (f.place.line or 0) if f.place else 0))

    def place(self, at: KeyPath) -> Place:
        """The line of a key, of the table it would stand in, or of the first table of a list."""
        ways = [*(at[:end] for end in range(len(at), 0, -1)), (*at[:1], 0)]
        return Place(str(self.path), next((self._lines[way] for way in ways if way in self._lines), None))

    def _table(self, table: Table[T], data: object, at: KeyPath) -> T:
        if not isinstance(data, dict):
            self.note(at, f"'{at[0]}' is a table", f"write [{at[0]}] and its keys below")
            data = {}
        else:
            for key, hint in table.needed.items():
                if data.get(key, "") == "":
                    self.note(at, f"{table.name} has no {key}", hint)
        given: dict[str, Any] = {}
        for key, value in data.items():
            read = table.keys.get(key)
            try:
                if read is None:
                    known = table.renamed.get(key) or did_you_mean(key, table.keys) or f"it has {', '.join(table.keys)}"
                    raise WrongValueError(f"{table.name} has no key '{key}'", known)
                given[key] = self._value(read, value, key, (*at, key))
            except WrongValueError as wrong:
                self.note((*at, key), wrong.message, wrong.hint)
        return table.make(**given)

    def _value(
        self,
        read: Read[Any] | Table[Any] | Chosen[Any] | Tables[Any] | ByName[Any],
        value: object,
        key: str,
        at: KeyPath,
    ) -> Any:
        match read:
            case Table():
                return self._table(read, value, at)
            case Chosen():
                return self._chosen(read, value, key, at)
            case Tables(each=each):
                if not isinstance(value, list):
                    raise WrongValueError(f"'{key}' is a list of tables", f"write [[{key}]] and its keys below")
                found = [self._value(each, one, key, (*at, place)) for place, one in enumerate(value)]
                return tuple([one for one in found if one is not None])
            case ByName(each=each_value, hint=hint):
                if not isinstance(value, dict):
                    raise WrongValueError(f"'{key}' is a table", hint)
                return self._by_name(each_value, value, at)
            case _:
                return read(value, key)

    def _chosen(self, chosen: Chosen[T], value: object, key: str, at: KeyPath) -> T | None:
        """Read one of several tables; None, with a finding, if it does not say which."""
        if not isinstance(value, dict):
            raise WrongValueError(f"'{key}' is a table", f"write [{key}] and its keys below")
        which = value.get(chosen.by)
        if which is None:
            self.note(at, f"{chosen.name} has no {chosen.by}", chosen.hint)
            return None
        try:
            table = chosen.among[one_of(*chosen.among)(which, chosen.by)]
        except WrongValueError as wrong:
            self.note((*at, chosen.by), wrong.message, wrong.hint)
            return None
        return self._table(table, {name: each for name, each in value.items() if name != chosen.by}, at)

    def _by_name(self, read: Read[Any], values: Mapping[str, object], at: KeyPath) -> dict[str, Any]:
        found = {}
        for name, value in values.items():
            try:
                found[name] = read(value, name)
            except WrongValueError as wrong:
                self.note((*at, name), wrong.message, wrong.hint)
        return found


# ---- Lines ---------------------------------------------------------------------------------------------------------

_TABLE = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?$")
_LIST = re.compile(r"\s*\[\[\s*([^\[\]]+?)\s*\]\]\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*("[^"]*"|'[^']*'|[\w.-]+)\s*=""")


def key_lines(content: str) -> Mapping[KeyPath, int]:
    """The line, counted from 1, of every table and key of a TOML text: its parser tells values only.

    >>> key_lines('rules = "a"\\n[[sources]]\\nformat = "csv"')
    {('rules',): 1, ('sources', 0): 2, ('sources', 0, 'format'): 3}
    """
    found: dict[KeyPath, int] = {}
    counts: dict[str, int] = {}
    table: KeyPath = ()
    for number, line in enumerate(content.splitlines(), 1):
        if match := _LIST.match(line):
            name = match[1]
            counts[name] = counts.get(name, -1) + 1
            table = (name, counts[name])
            found[table] = number
        elif match := _TABLE.match(line):
            table = _inside(match[1].split("."), counts)
            found[table] = number
        elif match := _KEY.match(line):
            found.setdefault((*table, match[1].strip("\"'")), number)
    return found


def _inside(names: list[str], counts: Mapping[str, int]) -> KeyPath:
    """The way to a table; one below a list of tables belongs to the last of the list."""
    path: list[str | int] = []
    for name in names:
        path.append(name.strip().strip("\"'"))
        if len(path) == 1 and path[0] in counts:
            path.append(counts[str(path[0])])
    return tuple(path)


def _text_of(path: Path) -> str:
    """The text of a file, which must be UTF-8."""
    if path.is_dir():
        raise OptionError.of("file", f"'{path}' is a folder", hint="name a file in it that ends in .toml")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise OptionError.of("file", f"there is no file '{path}'", hint=similar_file(path)) from None
    except OSError as error:
        raise OptionError.of("file", f"cannot read '{path}': {error.strerror or error}") from None
    try:
        return data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        message = f"byte 0x{data[error.start]:02x} is not UTF-8 text"
        place = Place(str(path), data.count(b"\n", 0, error.start) + 1)
        hint = "save the file as UTF-8, and make sure that it is a file in TOML"
        raise OptionError.of("utf-8", message, place=place, hint=hint) from None
