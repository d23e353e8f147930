"""What an engine or a host runs: constructs, policies and aggregates that it names. Whatever it does not is refused.

``require`` is the way to refuse: at compile time, with the construct, its place and the alternative. The same records
make the support matrix of the documentation and of ``cepheus doctor --support``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from cepheus.core.errors import UnsupportedError
from cepheus.core.source import Span
from cepheus.rules.aggregates import AggregateFunction
from cepheus.rules.interval.model import Operator
from cepheus.rules.policies import Policy

Thing = Enum | AggregateFunction
"""A construct in words, a selection policy, an operator of interval rules or an aggregate."""


class Arrival(Enum):
    """How events may come, in the words of the support matrix."""

    TOTAL_ORDER = "in total order"
    ANY_ORDER = "in any order, evaluated up to a promised time"
    WITHIN_WATERMARK = "in any order, in streams within the watermark"


@dataclass(frozen=True, slots=True)
class Support:
    """What an engine or a host runs.

    ``subject`` begins its refusals, ``the goals engine does``; ``elsewhere`` says where all else is run. ``instead``
    has the alternative to a construct that is missing. ``arrival`` is how events may come.
    """

    name: str
    subject: str
    elsewhere: str
    constructs: frozenset[Enum]
    runs_policy: Callable[[Policy], bool]
    runs_aggregate: Callable[[AggregateFunction], bool]
    instead: Mapping[Enum, str] = field(default_factory=lambda: MappingProxyType({}))
    arrival: Arrival = Arrival.TOTAL_ORDER

    def runs(self, thing: Thing) -> bool:
        """Whether it runs a construct, a policy or an aggregate."""
        if isinstance(thing, AggregateFunction):
            return self.runs_aggregate(thing)
        return self.runs_policy(thing) if isinstance(thing, Policy) else thing in self.constructs

    def refusal(self, thing: Thing, span: Span | None) -> UnsupportedError:
        """The refusal of what it does not name; it is a mistake of the program to refuse what it does."""
        assert not self.runs(thing), thing
        alternative = None if isinstance(thing, AggregateFunction) else self.instead.get(thing)
        return self._refusal(words_of(thing), alternative, span)

    def refusal_by_name(self, kind: str, name: str, span: Span | None) -> UnsupportedError:
        """The refusal of a record that rules know, a function say, and this has no code for."""
        return self._refusal(f"the {kind} '{name}'", None, span)

    def _refusal(self, what: str, alternative: str | None, span: Span | None) -> UnsupportedError:
        hint = self.elsewhere if alternative is None else f"{alternative}, or {self.elsewhere}"
        return UnsupportedError.of("unsupported", f"{self.subject} not support {what}", span=span, hint=hint)


def words_of(thing: Thing) -> str:
    """A construct, policy or aggregate as refusals and the support matrix call it.

    >>> words_of(Policy.LAST)
    "the policy 'last'"
    """
    if isinstance(thing, AggregateFunction):
        return f"the aggregate '{thing.name}'"
    if isinstance(thing, Operator):
        return f"the operator {thing.value}"
    return f"the policy '{thing.value}'" if isinstance(thing, Policy) else str(thing.value)


def require(support: Support, thing: Thing, span: Span | None) -> None:
    """Refuse a construct, policy or aggregate that an engine or host does not name."""
    if not support.runs(thing):
        raise support.refusal(thing, span)
