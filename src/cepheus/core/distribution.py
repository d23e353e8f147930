"""Error distributions of uncertain attributes: what they are and how they are written.

Only the description lives here; the calculus over distributions is another layer's work.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from cepheus.core.errors import EventError


@dataclass(frozen=True, slots=True)
class Normal:
    """A Gaussian error: mean and variance (not standard deviation), as the papers write it."""

    mean: float
    variance: float

    def __post_init__(self) -> None:
        _require(self.variance >= 0, f"N({_num(self.mean)}, {_num(self.variance)}) has a negative variance")

    def __str__(self) -> str:
        return f"N({_num(self.mean)}, {_num(self.variance)})"


@dataclass(frozen=True, slots=True)
class Uniform:
    """An error equally likely anywhere between two bounds."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _require(
            self.low <= self.high, f"U({_num(self.low)}, {_num(self.high)}) has its lower bound above its upper bound"
        )

    def __str__(self) -> str:
        return f"U({_num(self.low)}, {_num(self.high)})"


@dataclass(frozen=True, slots=True)
class Discrete:
    """An error that takes one of several values, each with its probability."""

    outcomes: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        _weights(tuple(weight for _, weight in self.outcomes), "the probabilities of a discrete error")

    def __str__(self) -> str:
        return f"D({', '.join(f'{_num(value)}: {_num(weight)}' for value, weight in self.outcomes)})"


@dataclass(frozen=True, slots=True)
class Mixture:
    """An error drawn from one of several distributions, each with its weight."""

    parts: tuple[tuple[float, Distribution], ...]

    def __post_init__(self) -> None:
        _weights(tuple(weight for weight, _ in self.parts), "the weights of a mixture")

    def __str__(self) -> str:
        return f"M({', '.join(f'{_num(weight)}: {part}' for weight, part in self.parts)})"


Distribution = Normal | Uniform | Discrete | Mixture


def parse_distribution(text: str) -> Distribution:
    """Read a distribution in the papers' notation, with ``D`` for discrete errors and ``M`` for mixtures.

    >>> parse_distribution("N(0, 1)")
    Normal(mean=0.0, variance=1.0)
    >>> str(parse_distribution("M(0.9: N(0,1), 0.1: U(-5,5))"))
    'M(0.9: N(0, 1), 0.1: U(-5, 5))'
    """
    reader = _Reader(text)
    distribution = reader.distribution()
    reader.end()
    return distribution


_TOKEN = re.compile(r"\s*([A-Za-z]+|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[(),:]|\S)")
_EXPECTED = "write N(mean, variance), U(low, high), D(value: probability, ..) or M(weight: distribution, ..)"


class _Reader:
    """Reads one distribution from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _TOKEN.findall(text)
        self._next = 0
        self._depth = 0

    def distribution(self) -> Distribution:
        """Read a name and its arguments in parentheses."""
        self._depth += 1
        if self._depth > 16:
            raise self._error()
        name = self._take().upper()
        self._expect("(")
        result: Distribution
        if name == "N":
            result = Normal(*self._pair())
        elif name == "U":
            result = Uniform(*self._pair())
        elif name == "D":
            result = Discrete(tuple(self._outcomes()))
        elif name == "M":
            result = Mixture(tuple(self._parts()))
        else:
            raise self._error()
        self._expect(")")
        self._depth -= 1
        return result

    def end(self) -> None:
        """Make sure that nothing is left."""
        if self._next < len(self._tokens):
            raise self._error()

    def _pair(self) -> tuple[float, float]:
        first = self._number()
        self._expect(",")
        return first, self._number()

    def _outcomes(self) -> list[tuple[float, float]]:
        outcomes = []
        while True:
            value = self._number()
            self._expect(":")
            outcomes.append((value, self._number()))
            if self._peek() != ",":
                return outcomes
            self._take()

    def _parts(self) -> list[tuple[float, Distribution]]:
        parts = []
        while True:
            weight = self._number()
            self._expect(":")
            parts.append((weight, self.distribution()))
            if self._peek() != ",":
                return parts
            self._take()

    def _number(self) -> float:
        token = self._take()
        try:
            number = float(token)
        except ValueError:
            raise self._error() from None
        if not math.isfinite(number):
            raise self._error()
        return number

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._next += 1
        return token

    def _expect(self, token: str) -> None:
        if self._take() != token:
            raise self._error()

    def _error(self) -> EventError:
        return _error(f"'{self._text}' is not a distribution", _EXPECTED)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise _error(message, None)


def _weights(weights: tuple[float, ...], what: str) -> None:
    _require(all(weight >= 0 for weight in weights), f"{what} must not be negative")
    _require(abs(math.fsum(weights) - 1.0) <= 1e-9, f"{what} sum to {_num(math.fsum(weights))}, not to 1")


def _error(message: str, hint: str | None) -> EventError:
    return EventError.of("distribution", message, hint=hint)


def _num(number: float) -> str:
    return repr(int(number)) if abs(number) < 1e15 and number == int(number) else repr(number)
