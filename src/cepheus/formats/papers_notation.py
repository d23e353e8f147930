"""The papers' notation for events: ``Temp@10 %1 (km=<16.2, U(-1,1)>, value=24.5)``, one event a line.

After the type stand the time (an integer in the time unit or an ISO 8601 time), the probability (1 if left away) and
the attributes. Strings are quoted with ' or "; an event's own id, and the ids that it was made of, stand among the
attributes: ``Fire@12 (area='A1', id='f7', from=[3, 1])``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from cepheus.core.errors import EventError
from cepheus.formats.problems import shown
from cepheus.formats.records import Record

_SPACE = re.compile(r"[ \t\r]*")
_NAME = re.compile(r"[^\W\d][\w.:-]*")
_NUMBER = re.compile(r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?(?![\w:.-])")
_MOMENT = re.compile(r"[0-9]{4}-?[0-9T:.,Z+-]+(?: [0-9]{2}:[0-9:.,Z+-]+)?")
_STRING = re.compile(r"'([^'\\]*(?:\\.[^'\\]*)*)'|\"([^\"\\]*(?:\\.[^\"\\]*)*)\"")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_DISTRIBUTION = re.compile(r"[^<>]*")
_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_OWN_PLACE = frozenset({"type", "time", "probability"})
_WORDS: dict[str, object] = {"true": True, "false": False, "null": None}
_HINT = "write an event as Temp@10 %1 (km=<16.2, U(-1,1)>, value=24.5)"


def parse_notation_line(text: str) -> Record | None:
    """Read the event of a line; a blank line has none.

    >>> parse_notation_line("Temp@10 %0.9 (km=<16.2, U(-1,1)>, area='A1')")
    {'type': 'Temp', 'time': 10, 'probability': 0.9, 'km': {'value': 16.2, 'error': 'U(-1,1)'}, 'area': 'A1'}
    """
    if not text.strip():
        return None
    try:
        return _Line(text).event()
    except RecursionError:
        raise EventError.of("notation", "a list is nested too deeply") from None


def format_notation_line(record: Mapping[str, object]) -> str:
    """Write an event, given as JSON lines have it, in the papers' notation.

    >>> format_notation_line({"type": "Temp", "time": 10, "value": {"value": 24.5, "error": "N(0, 1)"}, "ok": True})
    'Temp@10 (value=<24.5, N(0, 1)>, ok=true)'
    """
    probability = record.get("probability", 1.0)
    head = f"{_name(str(record['type']))}@{_value(record['time'])}"
    if probability != 1.0:
        head += f" %{probability!r}"
    attributes = [f"{_name(name)}={_value(value)}" for name, value in record.items() if name not in _OWN_PLACE]
    return f"{head} ({', '.join(attributes)})" if attributes else head


class _Line:
    """Reads one line from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._space()

    def event(self) -> Record:
        """Read the whole line."""
        record: Record = {"type": self._name("the event's type")}
        self._expect("@")
        record["time"] = self._time()
        if self._accept("%"):
            record["probability"] = self._number("a probability")
        if self._accept("(") and not self._accept(")"):
            self._attributes(record)
        if self._at < len(self._text):
            raise self._error("the end of the event")
        return record

    def _attributes(self, record: Record) -> None:
        while True:
            name = self._name("an attribute")
            if name in _OWN_PLACE:
                raise EventError.of("notation", f"'{name}' may not be an attribute", hint=_HINT)
            if name in record:
                raise EventError.of("notation", f"'{name}' appears twice")
            self._expect("=")
            record[name] = self._value()
            if self._accept(")"):
                return
            self._expect(",")

    def _value(self) -> object:
        if self._accept("<"):
            number = self._number("a number")
            self._expect(",")
            error = self._match(_DISTRIBUTION)
            self._expect(">")
            return {"value": number, "error": (error or "").strip()}
        if self._accept("["):
            return self._list()
        return self._simple()

    def _list(self) -> list[object]:
        values: list[object] = []
        if self._accept("]"):
            return values
        while True:
            values.append(self._list() if self._accept("[") else self._simple())
            if self._accept("]"):
                return values
            self._expect(",")

    def _simple(self) -> object:
        string = self._string()
        if string is not None:
            return string
        number = self._match(_NUMBER)
        if number is not None:
            return _as_number(number)
        moment = self._match(_MOMENT)
        if moment is not None:
            return moment
        start = self._at
        word = self._match(_NAME)
        if word is None:
            raise self._error("a value")
        if word.lower() not in _WORDS:
            self._at = start
            if word.lower() in ("nan", "inf", "infinity"):
                raise EventError.of("number", f"{word} at column {start + 1} is not a finite number")
            message = f"{shown(word)} at column {start + 1} is not a value"
            raise EventError.of("notation", message, hint="strings are quoted")
        return _WORDS[word.lower()]

    def _time(self) -> object:
        string = self._string()
        if string is not None:
            return string
        number = self._match(_NUMBER)
        if number is not None:
            return _as_number(number)
        moment = self._match(_MOMENT)
        if moment is None:
            raise self._error("a time")
        return moment

    def _name(self, what: str) -> str:
        name = self._string() or self._match(_NAME)
        if not name:
            raise self._error(what)
        return name

    def _number(self, what: str) -> int | float:
        number = self._match(_NUMBER)
        if number is None:
            raise self._error(what)
        return _as_number(number)

    def _string(self) -> str | None:
        match = _STRING.match(self._text, self._at)
        if match is None:
            return None
        self._at = match.end()
        self._space()
        return _ESCAPE.sub(_unescape, match[1] if match[1] is not None else match[2])

    def _match(self, pattern: re.Pattern[str]) -> str | None:
        match = pattern.match(self._text, self._at)
        if match is None:
            return None
        self._at = match.end()
        self._space()
        return match[0]

    def _accept(self, mark: str) -> bool:
        if not self._text.startswith(mark, self._at):
            return False
        self._at += len(mark)
        self._space()
        return True

    def _expect(self, mark: str) -> None:
        if not self._accept(mark):
            raise self._error(f"'{mark}'")

    def _space(self) -> None:
        match = _SPACE.match(self._text, self._at)
        assert match is not None  # no space at all is a match too
        self._at = match.end()

    def _error(self, expected: str) -> EventError:
        found = shown(self._text[self._at :], 20) if self._at < len(self._text) else "the end of the line"
        message = f"expected {expected} at column {self._at + 1}, found {found}"
        return EventError.of("notation", message, hint=_HINT)


def _as_number(text: str) -> int | float:
    if text.lstrip("+-").isdigit():
        if len(text) > 100:
            raise EventError.of("integer", f"{shown(text, 20)} does not fit in 64 bits")
        return int(text)
    return float(text)


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if len(code) == 5 else _ESCAPED.get(code, code)


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else _quoted(name)


def _value(value: object) -> str:
    match value:
        case str():
            return _quoted(value)
        case {"value": number, "error": error}:
            return f"<{number!r}, {error}>"
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case _:
            return json.dumps(value)


def _quoted(text: str) -> str:
    for mark, escape in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(mark, escape)
    return f"'{text}'"
