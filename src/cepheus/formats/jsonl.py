"""JSON lines: one event a line, an object with its type, its time and its attributes."""

from __future__ import annotations

import json
import re

from cepheus.core.errors import EventError
from cepheus.formats.records import Record


def parse_json_line(text: str) -> Record | None:
    """Read the event of a line; a blank line has none.

    >>> parse_json_line('{"type": "Temp", "time": 10, "value": 24.5}')
    {'type': 'Temp', 'time': 10, 'value': 24.5}
    """
    text = text.strip(" \t\r")
    if not text:
        return None
    try:
        value, end = _DECODER.raw_decode(text)
        # every name has a colon, so as many colons as names means that no name is there twice
        if text.count(":") != len(value) and len(_SEPARATOR.findall(text)) != len(value):
            _CAREFUL.raw_decode(text)
    except TypeError:  # a number or a word has no length
        raise _no_object() from None
    except json.JSONDecodeError as error:
        raise EventError.of("json", f"the line is not JSON: {_lower(error.msg)} at column {error.pos + 1}") from None
    except RecursionError:
        raise EventError.of("json", "the line is not an event: it is nested too deeply") from None
    except ValueError:  # Python refuses to read integers of thousands of digits
        raise EventError.of("integer", "the line holds an integer that does not fit in 64 bits") from None
    if end != len(text):
        raise EventError.of(
            "json",
            f"there is more after the event, at column {end + 1}",
            hint="every event stands on a line of its own",
        )
    if not isinstance(value, dict):
        raise _no_object()
    return value


def _no_object() -> EventError:
    return EventError.of("json", "the line is not a JSON object", hint='an event is {"type": .., "time": .., ..}')


def _object(pairs: list[tuple[str, object]]) -> Record:
    record = dict(pairs)
    if len(record) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise EventError.of("json", f"'{twice}' appears twice in one object")
    return record


def _no_constant(word: str) -> float:
    raise EventError.of("number", f"{word} is not a finite number")


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]


_SEPARATOR = re.compile(r'"[ \t]*:')
_CAREFUL = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant)
_DECODER = json.JSONDecoder(parse_constant=_no_constant)
