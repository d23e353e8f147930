"""What callers write in Python for the parts of a network: tables, bands and periods."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from cepheus.core.distribution import Distribution, as_distribution
from cepheus.core.errors import OptionError
from cepheus.rules.belief.model import Bands, Chances, Row
from cepheus.rules.belief.periods import Period, read_period

Table = Mapping[Any, Any] | Distribution | str
"""What is said of a node: how likely each state is, or how a number is distributed (``N(20, 4)``, or of SciPy).

Where the node depends on others, a mapping of their states (``*`` for any), one alone or several in a tuple, to that.
"""

_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_NAME = re.compile(r"[^\W\d]\w*")


def rows_of(table: Table, parents: Iterable[str]) -> tuple[Row, ...]:
    """The rows of a table.

    >>> rows_of({("YES", "*"): {"YES": 1.0, "NO": 0.0}}, ["Fire", "Jam"])
    (Row(value=(('YES', 1.0), ('NO', 0.0)), given=('YES', None)),)
    """
    if not tuple(parents):
        return (Row(_value(table)),)
    if not isinstance(table, Mapping):
        raise _wrong("a node that depends on others needs a row for each case", "write {('YES', 'HIGH'): {..}, ..}")
    rows = []
    for key, value in table.items():
        states = (key,) if isinstance(key, str) else key
        if not isinstance(states, tuple) or not all(isinstance(state, str) for state in states):
            raise _wrong(f"{key!r} does not name states", "write ('YES', 'HIGH'), or '*' for any state")
        rows.append(Row(_value(value), tuple(None if state == "*" else state for state in states)))
    return tuple(rows)


def bands_of(bands: Bands | str) -> Bands:
    """Read the bands of a number.

    >>> bands_of("COLD < 5 < MILD < 25 < HOT")
    Bands(states=('COLD', 'MILD', 'HOT'), cuts=(5.0, 25.0))
    """
    if isinstance(bands, Bands):
        return bands
    words = [word.strip() for word in bands.split("<")]
    states, cuts = words[::2], words[1::2]
    if len(words) % 2 == 0 or not all(map(_NAME.fullmatch, states)) or not all(map(_NUMBER.fullmatch, cuts)):
        raise _wrong(f"'{bands}' does not name bands", "write them as in 'COLD < 5 < MILD < 25 < HOT'")
    return Bands(tuple(states), tuple(map(float, cuts)))


def period_of(start: str, end: str) -> Period:
    """Read the two ends of a period; OptionError if they make none."""
    try:
        return read_period(start, end)
    except ValueError as error:
        hint = "write '07:00', 'Mon 07:00', '12-01' or '2026-12-01T00:00:00Z' on both sides; times are UTC"
        raise OptionError.of("period", str(error), hint=hint) from None


def _value(value: object) -> Chances | Distribution:
    if not isinstance(value, Mapping):
        return as_distribution(value)
    chances = []
    for state, chance in value.items():
        if not isinstance(state, str) or not _is_name(state):
            raise _wrong(f"{state!r} is not the name of a state", "write {'HIGH': 0.1, 'LOW': 0.9}")
        if type(chance) is not float and (isinstance(chance, bool) or not isinstance(chance, int | float)):
            raise _wrong(f"the probability of '{state}' is {chance!r}", "write a number from 0 to 1")
        chances.append((state, float(chance)))
    return tuple(chances)


@lru_cache(maxsize=1024)
def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def _wrong(message: str, hint: str) -> OptionError:
    return OptionError.of("table", message, hint=hint)
