"""Rules: the model that every language compiles to and every engine runs.

A node says what it is; passes elsewhere say what happens to it. ``span`` is where a node stands in the rule text
and is ignored by equality.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from cepheus.core.distribution import Distribution
from cepheus.core.schema import EventType
from cepheus.core.source import Span
from cepheus.rules.belief.model import Belief
from cepheus.rules.expressions import (
    Aggregate,
    AttributeRef,
    Comparison,
    Constraint,
    EventPattern,
    Expression,
    Scope,
    Within,
)
from cepheus.rules.interval.model import IntervalRule, Knowledge
from cepheus.rules.policies import Policy
from cepheus.rules.rows.model import RowRule
from cepheus.rules.timers import NOW, Every, Timer


@dataclass(frozen=True, slots=True)
class Ranking:
    """``count top EVENT by EXPRESSION``: of the events that would be taken, those with the greatest values."""

    count: int
    by: Expression


@dataclass(frozen=True, slots=True)
class Selection:
    """``each|last|first|n last|n first EVENT per ATTRIBUTES within x from REFERENCE``.

    ``count`` is n, None for plain policies. With ``per``, attributes of the event itself, there is a choice of its own
    for each of their values. A ``ranking`` takes the greatest of ``each`` event, or of the ``last`` of each group.
    """

    policy: Policy
    event: EventPattern
    window: Within
    count: int | None = None
    per: tuple[AttributeRef, ...] = ()
    ranking: Ranking | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Negation:
    """``not EVENT within x from REFERENCE`` or ``not EVENT between A and B``."""

    event: EventPattern
    scope: Scope
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Aggregation:
    """An aggregate in the pattern: ``30 < $t = Avg(..)``.

    ``parameter`` is the name it is bound to, if any. ``comparison`` is the chain around it, in which the aggregate
    itself is one operand; None when it is only bound.
    """

    aggregate: Aggregate
    parameter: str | None = None
    comparison: Comparison | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Collection:
    """``all EVENT within x from REFERENCE``: every matching event of a scope, all of them as one choice.

    There must be at least ``least`` of them and at most ``most``, None for any number.
    """

    event: EventPattern
    scope: Scope
    least: int = 1
    most: int | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FreeCondition:
    """A condition that stands among the parts of the pattern: ``$s < $l - 15``, ``(Avg(..) > 3 or $x is null)``.

    It may name any event that takes part, parameters and aggregates, and is checked once all of these are known: after
    the choices, in which it has no say.
    """

    constraint: Constraint
    span: Span | None = field(default=None, compare=False, repr=False)


PatternItem = Selection | Negation | Aggregation | FreeCondition | Collection


@dataclass(frozen=True, slots=True)
class Pattern:
    """What must have happened: a terminator and, in text order, everything that hangs from it.

    With a ``timer`` the pattern is looked for not when the terminator comes but at a moment of its own. Moments of
    ``every`` are terminators themselves: they have a type, and the name ``now``.
    """

    terminator: EventPattern
    items: tuple[PatternItem, ...] = ()
    timer: Timer | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


def moments_of(timer: Every) -> EventPattern:
    """The moments of ``every`` as a terminator.

    >>> moments_of(Every(600_000_000)).type
    'every 10 min'
    """
    return EventPattern(timer.type, (), NOW, timer.span)


@dataclass(frozen=True, slots=True)
class Assignment:
    """``attribute = value``: how one attribute of the composite event is computed."""

    attribute: str
    value: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Rule:
    """``define COMPOSITE from PATTERN where ASSIGNMENTS consuming NAMES min probability P``.

    ``name`` is None until given, by the author or by ``name_rules``. To an ``ordered`` rule (``ties ordered``)
    simultaneous events come one after the other, in their order in the stream.
    """

    composite: EventType
    pattern: Pattern
    assignments: tuple[Assignment, ...] = ()
    consuming: tuple[str, ...] = ()
    min_probability: float | None = None
    name: str | None = None
    ordered: bool = False
    full_provenance: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)
    consuming_spans: tuple[Span, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ErrorDeclaration:
    """``error Temp.value ~ N(0, 1)``: what the values of sources that send no error of their own are off by."""

    event: str
    attribute: str
    error: Distribution
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Ties:
    """``ties ordered`` or ``ties apart``: what all rules of a file make of simultaneous events."""

    ordered: bool
    span: Span | None = field(default=None, compare=False, repr=False)


AnyRule = Rule | IntervalRule | RowRule
"""A rule of any family: instants hanging from a terminator (TESLA), logic over intervals (ETALIS), patterns of rows."""


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Declared event types, rules of all families, networks, background knowledge and errors, each in text order.

    ``ties`` is where a file says what it makes of simultaneous events; what it says is in every rule.
    """

    declarations: tuple[EventType, ...] = ()
    rules: tuple[Rule, ...] = ()
    beliefs: tuple[Belief, ...] = ()
    interval_rules: tuple[IntervalRule, ...] = ()
    knowledge: Knowledge = field(default_factory=Knowledge)
    errors: tuple[ErrorDeclaration, ...] = ()
    ties: Ties | None = field(default=None, compare=False, repr=False)
    row_rules: tuple[RowRule, ...] = ()

    @property
    def all_rules(self) -> tuple[AnyRule, ...]:
        """The rules of all families, in the order in which they are deployed."""
        return (*self.rules, *self.interval_rules, *self.row_rules)

    @classmethod
    def of(cls, rules: Iterable[AnyRule], beliefs: tuple[Belief, ...] = ()) -> RuleSet:
        """A set of rules of any family."""
        rules = tuple(rules)
        return cls(
            rules=tuple(rule for rule in rules if isinstance(rule, Rule)),
            beliefs=beliefs,
            interval_rules=tuple(rule for rule in rules if isinstance(rule, IntervalRule)),
            row_rules=tuple(rule for rule in rules if isinstance(rule, RowRule)),
        )

    def __add__(self, other: RuleSet) -> RuleSet:
        return RuleSet(
            self.declarations + other.declarations,
            self.rules + other.rules,
            self.beliefs + other.beliefs,
            self.interval_rules + other.interval_rules,
            self.knowledge + other.knowledge,
            self.errors + other.errors,
            self.ties or other.ties,
            self.row_rules + other.row_rules,
        )
