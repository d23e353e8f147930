"""What a rule may be built of, as far as engines differ in what they run; and the refusal of the rest."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from cepheus.core.errors import UnsupportedError
from cepheus.core.source import Span
from cepheus.kernel.instructions import MAX_STACK
from cepheus.kernel.program import MAX_POSITIONS


class Construct(Enum):
    """A construct, in the words of the support matrix and of refusals."""

    SELECTION = "each, last, first, n last and n first, in windows from any earlier event"
    PARAMETERS = "parameters, also ahead of the event that binds them"
    NEGATION = "negation in a window or between two events"
    AGGREGATES = "aggregates of numbers in a window or between two events"
    CONSUMPTION = "consumption"
    HIERARCHIES = "hierarchies and recursion"
    TEXT_FUNCTIONS = "functions of one string attribute"
    FUNCTIONS_OF_TWO_TEXTS = "functions of two string attributes"
    ORDER_OF_TWO_TEXTS = "the order (<, <=, >, >=) of two string attributes"
    EXTREMES_OF_TEXTS = "Min and Max of strings"
    LONG_PATTERNS = f"patterns of more than {MAX_POSITIONS} events"
    DEEP_EXPRESSIONS = f"expressions that hold {MAX_STACK} values or more at once"
    UNTOLD_TYPES = "comparing attributes whose types only the data tells, other than for equality of two events"
    OTHER_TYPE = "an attribute as another type than rules deployed before read it as"
    UNCERTAIN_FORMS = (
        "uncertain attributes in other than closed forms: linear, one form for each of them, Normal sums, no Stddev"
    )


NOT_COMPILED: Mapping[Construct, str] = MappingProxyType(
    {
        Construct.FUNCTIONS_OF_TWO_TEXTS: "give all arguments but one as constants",
        Construct.ORDER_OF_TWO_TEXTS: "compare with a constant",
        Construct.EXTREMES_OF_TEXTS: "use First or Last",
        Construct.LONG_PATTERNS: "split the rule",
        Construct.DEEP_EXPRESSIONS: "split the expression over several rules",
        Construct.UNTOLD_TYPES: "declare the event types",
        Construct.OTHER_TYPE: "declare the event type in the same way everywhere",
        Construct.UNCERTAIN_FORMS: "the reference takes over by itself",
    }
)
"""What has no form in the flat program, with the alternative to offer."""


def unsupported(construct: Construct, span: Span | None) -> UnsupportedError:
    """Give the refusal of a construct that has no form in the flat program.

    >>> print(unsupported(Construct.EXTREMES_OF_TEXTS, None))
    error[unsupported]: the fast engines do not support Min and Max of strings
      hint: use First or Last, or choose the engine reference
    """
    return UnsupportedError.of(
        "unsupported",
        f"the fast engines do not support {construct.value}",
        span=span,
        hint=f"{NOT_COMPILED[construct]}, or choose the engine reference",
    )


def not_lowered(kind: str, name: str, span: Span | None) -> UnsupportedError:
    """Give the refusal of a function, an aggregate or a policy that rules know and the flat program has no code for.

    >>> print(not_lowered("function", "cube", None))
    error[unsupported]: the fast engines do not support the function 'cube'
      hint: choose the engine reference
    """
    return UnsupportedError.of(
        "unsupported",
        f"the fast engines do not support the {kind} '{name}'",
        span=span,
        hint="choose the engine reference",
    )
