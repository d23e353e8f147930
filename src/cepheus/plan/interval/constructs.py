"""What an interval rule may be built of, as far as engines differ in what they run; and the refusal of the rest."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from cepheus.core.errors import UnsupportedError
from cepheus.core.source import Span
from cepheus.kernel.instructions import MAX_STACK
from cepheus.plan.interval.layout import ANSWER_ARGUMENTS


class IntervalConstruct(Enum):
    """A construct, in the words of the support matrix and of refusals."""

    OPERATORS = "all operators, windows, points in time, recursion"
    POLICIES = "all policies, once, renewing, onesided, with every preference"
    CONDITIONS = "conditions of WHERE, background knowledge, aggregates over sliding windows"
    AGGREGATES_INSIDE = "aggregates inside OR and NOT of conditions"
    PARTLY_BOUND = "conditions that may bind a variable which one side of an OR binds already"
    MANY_VARIABLES = f"conditions and functions of more than {ANSWER_ARGUMENTS} values"
    DEEP_EXPRESSIONS = f"expressions that hold {MAX_STACK} values or more at once"


NOT_IN_GOALS: Mapping[IntervalConstruct, str] = MappingProxyType(
    {
        IntervalConstruct.AGGREGATES_INSIDE: "bind the aggregate in a condition before",
        IntervalConstruct.PARTLY_BOUND: "bind the variable on both sides",
        IntervalConstruct.MANY_VARIABLES: "split the rule",
        IntervalConstruct.DEEP_EXPRESSIONS: "split the expression over several rules",
    }
)
"""What the kernel of the goals engine lacks, with the alternative to offer."""


def unsupported(construct: IntervalConstruct, span: Span | None) -> UnsupportedError:
    """Give the refusal of a construct that the goals engine does not run.

    >>> print(unsupported(IntervalConstruct.PARTLY_BOUND, None))
    error[unsupported]: the goals engine does not support conditions that may bind a variable which one side of an OR
    binds already
      hint: bind the variable on both sides, or choose the engine interval-reference
    """
    return UnsupportedError.of(
        "unsupported",
        f"the goals engine does not support {construct.value}",
        span=span,
        hint=f"{NOT_IN_GOALS[construct]}, or choose the engine interval-reference",
    )


def not_in_kernel(function: str, span: Span | None) -> UnsupportedError:
    """Give the refusal of an aggregate that rules know and the kernel has no code for.

    >>> print(not_in_kernel("Range", None))
    error[unsupported]: the goals engine does not support the aggregate 'Range'
      hint: choose the engine interval-reference
    """
    message = f"the goals engine does not support the aggregate '{function}'"
    return UnsupportedError.of("unsupported", message, span=span, hint="choose the engine interval-reference")
