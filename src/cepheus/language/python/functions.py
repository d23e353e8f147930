"""The functions of rules in Python: ``fn.lower(log.user)``, ``fn.hour(now.time)``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from cepheus.core.errors import RuleError, did_you_mean
from cepheus.language.python.places import here
from cepheus.language.python.values import called
from cepheus.rules.functions import FUNCTIONS

V = TypeVar("V")
R_co = TypeVar("R_co", covariant=True)
Number = TypeVar("Number", int, float)


class OfNumbers(Protocol):
    """A function of numbers, of one type with them."""

    def __call__(self, *numbers: Number) -> Number:
        """Apply it."""


class OfTexts(Protocol[R_co]):
    """A function of texts."""

    def __call__(self, *texts: str) -> R_co:
        """Apply it."""


class FirstDefined(Protocol):
    """The first value that is defined."""

    def __call__(self, value: V | None, *others: V) -> V:
        """Apply it."""


class Functions:
    """The functions of rules, by their names; ``if_`` is ``if``, which Python keeps for itself."""

    # What type checkers know of each; they are made from their records when they are asked for.
    abs: Callable[[Number], Number]
    min: OfNumbers
    max: OfNumbers
    floor: Callable[[float], int]
    ceil: Callable[[float], int]
    round: Callable[[float], int]
    sqrt: Callable[[float], float]
    mod: Callable[[Number, Number], Number]
    exp: Callable[[float], float]
    ln: Callable[[float], float]
    log10: Callable[[float], float]
    pow: Callable[[float, float], float]
    sign: Callable[[float], int]
    length: Callable[[str], int]
    lower: Callable[[str], str]
    upper: Callable[[str], str]
    trim: Callable[[str], str]
    concat: OfTexts[str]
    contains: Callable[[str, str], bool]
    starts_with: Callable[[str, str], bool]
    ends_with: Callable[[str, str], bool]
    matches: Callable[[str, str], bool]
    split: Callable[[str, str, int], str]
    cidr_match: OfTexts[bool]
    distance: Callable[[float, float, float, float], float]
    if_: Callable[[bool, V, V], V]
    coalesce: FirstDefined
    year: Callable[[datetime], int]
    month: Callable[[datetime], int]
    day: Callable[[datetime], int]
    weekday: Callable[[datetime], int]
    hour: Callable[[datetime], int]
    minute: Callable[[datetime], int]
    second: Callable[[datetime], int]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            function = tesla_function(name)
            if function not in FUNCTIONS:
                if name.startswith("__"):
                    raise AttributeError(name)
                hint = did_you_mean(name, map(python_function, FUNCTIONS))
                raise RuleError.of("function", f"there is no function '{name}'", span=here(), hint=hint)
            return lambda *arguments: called(function, list(arguments))


def python_function(name: str) -> str:
    """What Python calls a function of rules.

    >>> python_function("abs"), python_function("if")
    ('abs', 'if_')
    """
    return "if_" if name == "if" else name


def tesla_function(name: str) -> str:
    """What rules call a function that Python calls by a name."""
    return "if" if name == "if_" else name


fn = Functions()
"""The functions: ``fn.abs``, ``fn.lower``, ``fn.distance`` and so on."""
