"""Settings of the calculus: how precise against what it costs, and how negations are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

from cepheus.core.errors import OptionError, did_you_mean

NegationFormula = Literal["independent", "as-printed"]
"""How the probabilities of matches of a negated event combine: prod(1 - p), or 1 - prod(p) as the paper prints."""

ChoiceReading = Literal["possible-worlds", "as-printed"]
"""What the last (first) of uncertain events is: each one, as likely as none after (before) it fits, or the nearest
whose own probability exceeds the least one of the rule, as the paper has it.
"""


@dataclass(frozen=True, slots=True)
class Calculus:
    """Settings of the calculus.

    ``draws`` is how many times a situation without closed form is simulated, from ``seed``; the standard error is at
    most half of one over the square root of it. ``exact_members`` is how many members of uncertain membership an
    aggregate weighs subset by subset; beyond that an approximation that may be off by more than ``precision`` gives way
    to simulation. A member of probability up to ``ignore`` or from ``accept`` on is taken for absent or present, and a
    composite event of probability up to ``ignore`` is not made. With ``posterior``, the errors of what a composite
    event carries are those of values that passed its rule.
    """

    draws: int = 10_000
    seed: int = 1
    exact_members: int = 10
    precision: float = 0.01
    ignore: float = 1e-6
    accept: float = 1.0
    negation: NegationFormula = "independent"
    choice: ChoiceReading = "possible-worlds"
    posterior: bool = False

    def __post_init__(self) -> None:
        _require(self.draws >= 1, f"{self.draws} draws decide nothing", "draws at least 1")
        _require(0 <= self.exact_members <= 16, f"{self.exact_members} members have too many subsets", "take 0 to 16")
        _require(
            0.0 <= self.ignore <= self.accept <= 1.0,
            f"the thresholds {self.ignore} and {self.accept} are not probabilities in order",
            "give 0 <= ignore <= accept <= 1",
        )
        _require(
            self.negation in ("independent", "as-printed"),
            f"'{self.negation}' is not a reading of negations",
            "choose independent or as-printed",
        )
        _require(
            self.choice in ("possible-worlds", "as-printed"),
            f"'{self.choice}' is not a reading of choices",
            "choose possible-worlds or as-printed",
        )
        _require(
            0.0 < self.precision <= 1.0, f"a precision of {self.precision} says nothing", "give 0 < precision <= 1"
        )


def _require(condition: bool, message: str, hint: str) -> None:
    if not condition:
        raise OptionError.of("calculus", message, hint=hint)


DEFAULT_CALCULUS = Calculus()
_SETTINGS = {each.name: type(each.default) for each in fields(Calculus)}


def calculus_of(settings: object) -> Calculus:
    """Make a calculus of settings by name, as a file or a command line has them.

    >>> calculus_of({"draws": 1000, "ignore": 0}).ignore
    0.0
    """
    if not isinstance(settings, Mapping):
        raise OptionError.of("calculus", "a calculus is a table of settings", hint="write calculus = { draws = 1000 }")
    given = {}
    for name, value in settings.items():
        if name not in _SETTINGS:
            hint = did_you_mean(name, _SETTINGS) or f"its settings are {', '.join(_SETTINGS)}"
            raise OptionError.of("calculus", f"a calculus has no setting '{name}'", hint=hint)
        kind = _SETTINGS[name]
        if type(value) is not kind and not (kind is float and type(value) is int):
            example = getattr(DEFAULT_CALCULUS, name)
            raise OptionError.of("calculus", f"'{name}' cannot be {value!r}", hint=f"it is like {example!r}")
        given[name] = kind(value)
    return Calculus(**given)
