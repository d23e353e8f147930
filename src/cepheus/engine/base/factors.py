"""The factor of a rule: how far it is to be trusted, by its Bayesian network or its author."""

from __future__ import annotations

from collections.abc import Collection

from cepheus.core.errors import OptionError, did_you_mean


def require_factor(factor: float) -> float:
    """Return the factor if it is a probability, else raise an OptionError.

    >>> require_factor(0.987)
    0.987
    """
    if not 0.0 <= factor <= 1.0:
        raise OptionError.of("factor", f"the factor {factor} is not a probability", hint="give a number from 0 to 1")
    return float(factor)


def no_such_rule(rule: str, deployed: Collection[str]) -> OptionError:
    """The error for the factor of a rule that is not deployed."""
    return OptionError.of("factor", f"no rule named '{rule}' is deployed", hint=did_you_mean(rule, deployed))
