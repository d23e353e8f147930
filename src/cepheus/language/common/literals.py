"""The literals of rule text: what numbers, strings, times and durations are worth, and how a string is written."""

from __future__ import annotations

import math
import re

from cepheus.core.errors import OptionError, did_you_mean
from cepheus.core.time import MAX_TIME, MIN_TIME, UNITS, duration_of, parse_time
from cepheus.core.values import INT_MAX, INT_MIN, Value, ValueType


class LiteralError(ValueError):
    """A literal without a value: what is wrong with it and what to try."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"} | {same: same for same in "\\'\"\u201c\u201d\u2018\u2019"}
_MICROSECONDS = re.compile(r"(-?\d{1,19}) us")
_MAX_DIGITS = 40


def read_number(text: str, *, negative: bool = False) -> tuple[Value, ValueType]:
    """Read an integer, a float or a percentage, optionally with a minus in front of it.

    >>> read_number("18%"), read_number("1.5e3", negative=True)
    ((18, <ValueType.INT: 'int'>), (-1500.0, <ValueType.FLOAT: 'double'>))
    """
    digits = text.rstrip("% \t")
    if digits.isdecimal():
        return _read_integer(digits, negative), ValueType.INT
    number = float(digits)
    if math.isinf(number):
        raise LiteralError("number", f"{_short(digits)} is too large for a double", "at most about 1.8e308")
    return -number if negative else number, ValueType.FLOAT


def _read_integer(digits: str, negative: bool) -> int:
    stripped = digits.lstrip("0") or "0"
    number = int(stripped) if len(stripped) <= _MAX_DIGITS else INT_MAX + 2
    number = -number if negative else number
    if not INT_MIN <= number <= INT_MAX:
        sign = "-" if negative else ""
        raise LiteralError(
            "number", f"{sign}{_short(digits)} does not fit in 64 bits", f"write {sign}{_short(digits)}.0 for a double"
        )
    return number


def read_count(text: str) -> int:
    """Read how many events a selection takes.

    >>> read_count("3")
    3
    """
    count = _read_integer(text, negative=False)
    if count < 1:
        raise LiteralError("count", "a selection takes at least one event", "write 1 or more")
    return count


def read_members(text: str) -> int:
    """Read how many members a collection must have at least, or may have at most.

    >>> read_members("0")
    0
    """
    return _read_integer(text, negative=False)


def read_string(text: str) -> str:
    r"""Read a quoted string with its escapes.

    >>> read_string(r"'it\'s'"), read_string('“A1”')
    ("it's", 'A1')
    """
    return _ESCAPE.sub(_unescape, text[1:-1])


def _unescape(match: re.Match[str]) -> str:
    escape = match[1]
    if len(escape) > 1:
        code = int(escape[1:], 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise LiteralError("string", f"\\{escape} is not a character")
        return chr(code)
    if escape not in _ESCAPES:
        hint = (
            f"write \\\\{escape} for a backslash and {escape}" if escape.isprintable() else "write \\\\ for a backslash"
        )
        raise LiteralError("string", f"\\{escape} is not an escape", hint)
    return _ESCAPES[escape]


def read_time(text: str) -> int:
    """Read the text of a timestamp: ISO 8601, or microseconds since the epoch where the calendar does not reach.

    >>> read_time("1970-01-01T00:00:01Z"), read_time("-9000000000000000000 us")
    (1000000, -9000000000000000000)
    """
    number = _MICROSECONDS.fullmatch(text)
    try:
        time = int(number[1]) if number else parse_time(text)
    except (ValueError, OverflowError):
        time = MAX_TIME + 1
    if not MIN_TIME <= time <= MAX_TIME:
        raise LiteralError(
            "timestamp", f"'{_short(text)}' is not a time", "write it as in timestamp '2026-01-31T10:00:00Z'"
        )
    return time


def read_duration(number: str, unit: str) -> int:
    """Read a duration and give its microseconds.

    >>> read_duration("1.5", "min")
    90000000
    """
    length = UNITS.get(unit.lower())
    if length is None:
        hint = did_you_mean(unit.lower(), UNITS) or "write one of us, ms, s, min, h, day, week"
        if any(letter.isdigit() for letter in unit):
            hint = "write one number and one unit, such as 90 min"
        raise LiteralError("unit", f"there is no unit of time '{_short(unit)}'", hint)
    if "e" in number.lower():
        raise LiteralError("duration", f"{_short(number)} is not a length of time", "write it without an exponent")
    if len(number) > _MAX_DIGITS:
        raise LiteralError("duration", f"{_short(number)} {unit} is longer than time itself", "write fewer digits")
    try:
        return duration_of(number, length)
    except OptionError as error:
        finding = error.diagnostics[0]
        raise LiteralError("duration", finding.message, finding.hint) from None


def _short(text: str) -> str:
    return text if len(text) <= _MAX_DIGITS else f"{text[:12]}..{text[-4:]}"


_WRITTEN = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quoted(text: str) -> str:
    """Write a string as a literal, with escapes where they are needed."""
    return f"'{''.join(map(_escape, text))}'"


def _escape(character: str) -> str:
    if character in _WRITTEN:
        return _WRITTEN[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
