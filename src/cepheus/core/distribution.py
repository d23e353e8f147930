"""Error distributions of uncertain attributes: what they are and how they are written.

Only the description lives here; the calculus over distributions is another layer's work. SciPy is asked only when a
distribution of its own is named.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from cepheus.core.errors import EventError
from cepheus.core.extras import how_to_install


@dataclass(frozen=True, slots=True)
class Normal:
    """A Gaussian error: mean and variance (not standard deviation), as the papers write it."""

    mean: float
    variance: float

    def __post_init__(self) -> None:
        _finite(self, self.mean, self.variance)
        _require(self.variance >= 0, f"N({_num(self.mean)}, {_num(self.variance)}) has a negative variance")

    def __str__(self) -> str:
        return f"N({_num(self.mean)}, {_num(self.variance)})"


@dataclass(frozen=True, slots=True)
class Uniform:
    """An error equally likely anywhere between two bounds."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _finite(self, self.low, self.high)
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
        _finite(self, *(number for outcome in self.outcomes for number in outcome))
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


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of independent errors, such as the error of a difference of two measurements."""

    parts: tuple[Distribution, ...]

    def __post_init__(self) -> None:
        _require(bool(self.parts), "a sum of errors needs at least one of them")

    def __str__(self) -> str:
        return f"S({', '.join(map(str, self.parts))})"


@dataclass(frozen=True, slots=True)
class Samples:
    """An error known only by examples of it, each as likely as the others."""

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        _require(bool(self.values), "an error given by samples needs at least one of them")
        _finite(self, *self.values)

    def __str__(self) -> str:
        return f"E({', '.join(map(_num, self.values))})"


@dataclass(frozen=True, slots=True)
class Frozen:
    """A distribution of SciPy by its name there and its parameters: ``F(gamma, 2, scale=0.5)``."""

    name: str
    arguments: tuple[float, ...] = ()
    options: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        _finite(self, *self.arguments, *(value for _, value in self.options))
        self.scipy()

    def __str__(self) -> str:
        options = [f"{name}={_num(value)}" for name, value in self.options]
        return f"F({', '.join([self.name, *map(_num, self.arguments), *options])})"

    def scipy(self) -> Any:
        """The frozen distribution that this describes."""
        try:
            from scipy import stats
        except ModuleNotFoundError:
            raise _error(f"{self} needs SciPy", how_to_install("uncertainty")) from None
        family = getattr(stats, self.name, None) if self.name.isidentifier() else None
        if not isinstance(family, stats.rv_continuous | stats.rv_discrete):
            raise _error(f"SciPy has no distribution '{self.name}'", "name one of scipy.stats, such as gamma or t")
        try:
            frozen = family(*self.arguments, **dict(self.options))
            valid = math.isfinite(float(frozen.mean())) and math.isfinite(float(frozen.cdf(0.0)))
        except (TypeError, ValueError):
            valid = False
        _require(valid, f"{self} is not a distribution with a mean: SciPy refuses these parameters")
        return frozen


@dataclass(frozen=True, slots=True, eq=False)
class Custom:
    """A distribution that is none of SciPy's by name: an object with the methods of one, which are what is asked.

    Written as text it is a table: uniform pieces, by which no probability is off by more than 10^-6.
    """

    given: Any
    table: Mixture = field(repr=False)

    def __str__(self) -> str:
        return str(self.table)

    def scipy(self) -> Any:
        """The object itself."""
        return self.given


@dataclass(frozen=True, slots=True)
class Biased:
    """An error of which a part is common to all values of a source: those that are equal in the attributes ``per``.

    ``B(N(0, 1), N(0, 4), sensor)``: readings of one sensor are all off by the same N(0, 4), each by an N(0, 1) more.
    """

    own: Distribution
    bias: Distribution
    per: tuple[str, ...]

    def __post_init__(self) -> None:
        nested = isinstance(self.own, Biased) or isinstance(self.bias, Biased)
        _require(bool(self.per) and not nested, "a shared error has one bias, and names the attributes of its source")

    def __str__(self) -> str:
        return f"B({self.own}, {self.bias}, {', '.join(self.per)})"


Distribution = Normal | Uniform | Discrete | Mixture | Sum | Samples | Frozen | Custom | Biased


def as_distribution(given: object) -> Distribution:
    """What a caller means: a distribution, its text, a frozen distribution of SciPy, or samples.

    >>> as_distribution([0.5, -0.5])
    Samples(values=(0.5, -0.5))
    """
    if isinstance(given, Distribution):
        return given
    if isinstance(given, str):
        return parse_distribution(given)
    if hasattr(given, "cdf") or hasattr(given, "covariance_factor"):
        from cepheus.core.scipy_objects import of_scipy  # it needs SciPy, which whoever made the object has

        return of_scipy(given)
    if isinstance(given, Iterable):
        try:
            return Samples(tuple(float(value) for value in given))
        except (TypeError, ValueError):
            pass
    raise _error(f"{given!r} is not a distribution", _EXPECTED)


def parse_distribution(text: str) -> Distribution:
    """Read a distribution in the papers' notation.

    ``NOTATIONS`` has them all.

    >>> parse_distribution("N(0, 1)")
    Normal(mean=0.0, variance=1.0)
    >>> str(parse_distribution("M(0.9: N(0,1), 0.1: U(-5,5))"))
    'M(0.9: N(0, 1), 0.1: U(-5, 5))'
    """
    reader = _Reader(text)
    distribution = reader.distribution()
    reader.end()
    return distribution


_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z_0-9]*|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[(),:=]|\S)")
T = TypeVar("T")


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
        notation = NOTATIONS.get(self._take().upper())
        self._expect("(")
        if notation is None:
            raise self._error()
        result = notation.read(self)
        self._expect(")")
        self._depth -= 1
        return result

    def end(self) -> None:
        """Make sure that nothing is left."""
        if self._next < len(self._tokens):
            raise self._error()

    def pair(self) -> tuple[float, float]:
        """Read two numbers."""
        first = self.number()
        self._expect(",")
        return first, self.number()

    def several(self, read: Callable[[], T]) -> tuple[T, ...]:
        """Read one or more of a kind, with commas between them."""
        found = [read()]
        while self._peek() == ",":
            self._take()
            found.append(read())
        return tuple(found)

    def pairs(self, read: Callable[[], T]) -> tuple[tuple[float, T], ...]:
        """Read one or more numbers, each with a colon and something behind it."""

        def pair() -> tuple[float, T]:
            first = self.number()
            self._expect(":")
            return first, read()

        return self.several(pair)

    def biased(self) -> Biased:
        """Read two distributions and the names of attributes."""
        own = self.distribution()
        self._expect(",")
        bias = self.distribution()
        self._expect(",")
        return Biased(own, bias, self.several(self._take))

    def frozen(self) -> Frozen:
        """Read the name of a distribution of SciPy and its parameters."""
        name = self._take()
        arguments: list[float] = []
        options: list[tuple[str, float]] = []
        while self._peek() == ",":
            self._take()
            if self._peek().isidentifier():
                option = self._take()
                self._expect("=")
                options.append((option, self.number()))
            else:
                arguments.append(self.number())
        return Frozen(name, tuple(arguments), tuple(options))

    def number(self) -> float:
        """Read a finite number."""
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


@dataclass(frozen=True, slots=True)
class Notation:
    """How a distribution is written: a letter and, in parentheses, its parameters; ``summary`` is its line in the docs.

    The class that it is read as checks the parameters.
    """

    letter: str
    parameters: str
    read: Callable[[_Reader], Distribution]
    summary: str

    def __str__(self) -> str:
        return f"{self.letter}({self.parameters})"


NOTATIONS: dict[str, Notation] = {
    notation.letter: notation
    for notation in (
        Notation("N", "mean, variance", lambda r: Normal(*r.pair()), "Gaussian; the variance is not negative"),
        Notation("U", "low, high", lambda r: Uniform(*r.pair()), "equally likely between two bounds"),
        Notation(
            "D",
            "value: probability, ..",
            lambda r: Discrete(r.pairs(r.number)),
            "one of several values; the probabilities sum to 1",
        ),
        Notation(
            "M",
            "weight: distribution, ..",
            lambda r: Mixture(r.pairs(r.distribution)),
            "drawn from one of several distributions; the weights sum to 1",
        ),
        Notation(
            "S", "distribution, ..", lambda r: Sum(r.several(r.distribution)), "the sum of independent distributions"
        ),
        Notation("E", "value, ..", lambda r: Samples(r.several(r.number)), "examples, each as likely as the others"),
        Notation(
            "F",
            "name, parameter, .., option=value, ..",
            lambda r: r.frozen(),
            "a distribution of SciPy with a mean, by its name there",
        ),
        Notation(
            "B",
            "distribution, bias, attribute, ..",
            lambda r: r.biased(),
            "a distribution, and one that all values with the same attributes share",
        ),
    )
}
"""All distributions by their letters. What each means as a law of true values says ``uncertainty/laws.py``."""

_EXPECTED = f"write {', '.join(map(str, [*NOTATIONS.values()][:3]))} or {NOTATIONS['M']}"


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise _error(message, None)


def _finite(distribution: object, *numbers: float) -> None:
    _require(all(map(math.isfinite, numbers)), f"{distribution} has a parameter that is not a finite number")


def _weights(weights: tuple[float, ...], what: str) -> None:
    _require(all(weight >= 0 for weight in weights), f"{what} must not be negative")
    _require(abs(math.fsum(weights) - 1.0) <= 1e-9, f"{what} sum to {_num(math.fsum(weights))}, not to 1")


def _error(message: str, hint: str | None) -> EventError:
    return EventError.of("distribution", message, hint=hint)


def _num(number: float) -> str:
    number = float(number)  # a number of NumPy prints otherwise
    return repr(int(number)) if abs(number) < 1e15 and number == int(number) else repr(number)
