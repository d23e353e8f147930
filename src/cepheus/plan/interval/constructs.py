"""What an interval rule may be built of, as far as engines differ in what they run; and what the goals engine has."""

from __future__ import annotations

from enum import Enum
from types import MappingProxyType

from cepheus.core.errors import UnsupportedError
from cepheus.core.source import Span
from cepheus.kernel.instructions import MAX_STACK
from cepheus.plan.interval.layout import ANSWER_ARGUMENTS
from cepheus.plan.interval.program import OperatorCode
from cepheus.plan.support import Support
from cepheus.rules.aggregates import AggregateFunction, Form
from cepheus.rules.interval.model import Operator


class IntervalConstruct(Enum):
    """A construct, in the words of the support matrix and of refusals."""

    WINDOWS = "windows, alternatives, negation, points in time, recursion"
    POLICIES = "all policies, once, renewing, onesided, with every preference"
    CONDITIONS = "conditions of WHERE, background knowledge, aggregates over sliding windows"
    AGGREGATES_INSIDE = "aggregates inside OR and NOT of conditions"
    PARTLY_BOUND = "conditions that may bind a variable which one side of an OR binds already"
    MANY_VARIABLES = f"conditions and functions of more than {ANSWER_ARGUMENTS} values"
    DEEP_EXPRESSIONS = f"expressions that hold {MAX_STACK} values or more at once"


def _has_code(record: AggregateFunction) -> bool:
    from cepheus.plan.aggregate_codes import code_of  # it knows the kernels, which take a while to import

    if record.form is Form.OVER_WORDS or not record.is_of_values_alone:  # values are of many types here
        return False
    return code_of(record) is not None


GOALS = Support(
    "goals",
    "the goals engine does",
    "choose the engine interval-reference",
    frozenset(
        {
            *(operator for operator in Operator if operator.name in OperatorCode.__members__),
            IntervalConstruct.WINDOWS,
            IntervalConstruct.POLICIES,
            IntervalConstruct.CONDITIONS,
        }
    ),
    lambda _: False,
    _has_code,
    MappingProxyType(
        {
            IntervalConstruct.AGGREGATES_INSIDE: "bind the aggregate in a condition before",
            IntervalConstruct.PARTLY_BOUND: "bind the variable on both sides",
            IntervalConstruct.MANY_VARIABLES: "split the rule",
            IntervalConstruct.DEEP_EXPRESSIONS: "split the expression over several rules",
        }
    ),
)
"""What the kernel of the goals engine has."""


def unsupported(construct: IntervalConstruct, span: Span | None) -> UnsupportedError:
    """The refusal of a construct that the goals engine does not run.

    >>> print(unsupported(IntervalConstruct.PARTLY_BOUND, None))
    error[unsupported]: the goals engine does not support conditions that may bind a variable which one side of an OR
    binds already
      hint: bind the variable on both sides, or choose the engine interval-reference
    """
    return GOALS.refusal(construct, span)
