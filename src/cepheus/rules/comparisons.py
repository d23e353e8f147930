"""What a comparison of two values says: true, false, or nothing if one of them is undefined."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from cepheus.core.lists import value_key
from cepheus.core.values import Value


def compare(symbol: str, left: Value | None, right: Value | None) -> bool:
    """Compare two values; an integer and a float are compared as floats. Lists are equal or not, but have no order.

    >>> compare("<=", 2, 2.0), compare("=", "2", 2), compare("!=", None, 2)
    (True, False, False)
    """
    if left is None or right is None:
        return False
    kind, other = type(left), type(right)
    if isinstance(left, tuple) or isinstance(right, tuple):
        return kind is other and symbol in ("=", "!=") and (value_key(left) == value_key(right)) is (symbol == "=")
    if kind is not other:
        if {kind, other} != {int, float}:
            return False
        left, right = float(left), float(right)
    return _COMPARE[symbol](left, right)


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def truth(symbol: str, left: Value | None, right: Value | None) -> bool | None:
    """Compare two values as part of a larger condition: None, unknown, if one of them is undefined.

    >>> truth("<", 1, 2), truth("!=", 2, None)
    (True, None)
    """
    return None if left is None or right is None else compare(symbol, left, right)
