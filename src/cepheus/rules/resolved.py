"""A rule as the steps that decide it, which ``resolve`` makes of a rule as written and every engine starts from;
how far back these look, and which aggregates the rule cannot do without.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cepheus.core.schema import EventType
from cepheus.core.time import MAX_TIME
from cepheus.rules.expressions import (
    AttributeRef,
    Between,
    Call,
    Comparison,
    Constraint,
    Expression,
    Parameter,
    Scope,
    Within,
)
from cepheus.rules.functions import takes_undefined
from cepheus.rules.model import Assignment
from cepheus.rules.policies import Policy
from cepheus.rules.timers import NOW, After, Timer
from cepheus.rules.walk import children, walk


@dataclass(frozen=True, slots=True)
class Terminator:
    """The event that decides the rule: its name, type and the constraints it must satisfy alone.

    With a timer of the rule it decides at a moment after its time, or is itself a moment.
    """

    name: str
    type: str
    constraints: tuple[Constraint, ...]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Of the events that a choice takes, only the ``count`` with the greatest values, of equal ones the later.

    ``computes`` are the aggregates that the value needs and that must be computed for each event; they are the steps
    behind the choice, too.
    """

    count: int
    by: Expression
    computes: tuple[Compute, ...]


@dataclass(frozen=True, slots=True)
class Choose:
    """Choose events of a window by policy; the constraints may name this event, earlier ones and computed values.

    There is a choice for each value of the attributes in ``per``, which are this event's.
    """

    name: str
    type: str
    policy: Policy
    count: int | None
    window: Within
    constraints: tuple[Constraint, ...]
    per: tuple[AttributeRef, ...] = ()
    ranked: Ranked | None = None


@dataclass(frozen=True, slots=True)
class Compute:
    """Compute an aggregate and know it by ``name``; in its own constraints and value, event None is the member.

    One that is ``silent`` does not count whom its scope passes over: the count of the same collection does. The first
    or last member is taken ``even_undefined``, or else only those that have a value are members.
    """

    name: str
    function: str
    type: str
    constraints: tuple[Constraint, ...]
    value: Expression | None
    scope: Scope
    argument: float | None = None
    silent: bool = False
    even_undefined: bool = False


@dataclass(frozen=True, slots=True)
class Require:
    """Go on only if the constraint holds."""

    constraint: Constraint


Step = Choose | Compute | Require


@dataclass(frozen=True, slots=True)
class Absent:
    """No such event in the scope; in the constraints, event None is the event that must not be there."""

    type: str
    constraints: tuple[Constraint, ...]
    scope: Scope


@dataclass(frozen=True, slots=True)
class Gather:
    """Name the events of a scope among what a composite event is made of; in the constraints, event None is a member.

    They are the members of the collection ``name``, or those that the aggregate of that name ``counted``,
    for which they need a ``value``.
    """

    name: str
    type: str
    constraints: tuple[Constraint, ...]
    scope: Scope
    counted: bool = False
    value: Expression | None = None


@dataclass(frozen=True, slots=True)
class ResolvedRule:
    """A rule ready to be run: evaluate the steps in order, then the absences, then the assignments."""

    name: str
    composite: EventType
    terminator: Terminator
    steps: tuple[Step, ...]
    absences: tuple[Absent, ...]
    assignments: tuple[Assignment, ...]
    consuming: frozenset[str]
    min_probability: float
    gathers: tuple[Gather, ...] = ()
    ordered: bool = False
    timer: Timer | None = None

    @property
    def delay(self) -> int:
        """How many microseconds after its terminator the rule is evaluated; what it makes carries that time."""
        return self.timer.duration if isinstance(self.timer, After) else 0

    @property
    def positions(self) -> tuple[Terminator | Choose, ...]:
        """The events a composite event is made of: the terminator, then the chosen ones in text order."""
        return (self.terminator, *(step for step in self.steps if isinstance(step, Choose)))

    def called(self, aggregate: str) -> str:
        """What people call an aggregate: its parameter, or what it is if the rule does not give it one."""
        steps = {step.name: step for step in self.steps if isinstance(step, Compute)}
        return f"{steps[aggregate].function}({steps[aggregate].type})" if aggregate.startswith("#") else f"${aggregate}"


def needs(node: object) -> Iterator[str]:
    """What a resolved expression reads: names of events, and ``$name`` for computed values."""
    for child in walk(node):
        if isinstance(child, AttributeRef) and child.event is not None:
            yield child.event
        elif isinstance(child, Parameter):
            yield f"${child.name}"


def since_start(rule: ResolvedRule) -> bool:
    """Whether a rule aggregates all that there was since its start."""
    scopes = [step.scope for step in rule.steps if isinstance(step, Compute)]
    return any(isinstance(scope, Within) and scope.since_start for scope in scopes)


def reach(rule: ResolvedRule) -> int:
    """The longest time, in microseconds, between the evaluation of a rule and an event it may look at then.

    Windows hang from other events, so their lengths add up along the way to the terminator, which comes when the rule
    is evaluated, or so long before as a timer says.
    """
    back = {NOW: 0, rule.terminator.name: rule.delay}
    longest = rule.delay
    for step in rule.steps:
        if isinstance(step, Choose):
            back[step.name] = min(back[step.window.reference] + step.window.duration, MAX_TIME)
            longest = max(longest, back[step.name])
        elif isinstance(step, Compute):
            longest = max(longest, _scope_reach(step.scope, back))
    scopes = [*(absent.scope for absent in rule.absences), *(gather.scope for gather in rule.gathers)]
    return max([longest, *(_scope_reach(scope, back) for scope in scopes)])


def _scope_reach(scope: Scope, back: dict[str, int]) -> int:
    match scope:
        case Within(duration=duration, reference=reference):
            return min(back[reference] + duration, MAX_TIME)
        case Between(first=first, second=second):
            return max(back[first], back[second])


def needed_aggregates(rule: ResolvedRule) -> tuple[str, ...]:
    """The aggregates without which the rule does not fire: not those that only optional attributes read.

    What ``coalesce``, ``is null`` or one side of an ``or`` reads the rule can do without, too.
    """
    computed = [step.name for step in rule.steps if isinstance(step, Compute)]
    needed: set[str] = set()
    for step in rule.steps:
        match step:
            case Require(constraint=constraint):
                needed |= needed_to_hold(constraint)
            case Choose(constraints=constraints):
                needed |= {name for constraint in constraints for name in needed_to_hold(constraint)}
            case Compute():
                pass
    for assignment in rule.assignments:
        declared = rule.composite.attribute(assignment.attribute)
        if declared is not None and not declared.optional:
            needed |= needed_to_be_defined(assignment.value)
    return tuple(name for name in computed if name in needed)


def needed_to_hold(condition: Constraint) -> frozenset[str]:
    """The computed values without which a condition cannot be true."""
    match condition:
        case Call(function="and", arguments=parts):
            return frozenset().union(*map(needed_to_hold, parts))
        case Call(function="or", arguments=parts):
            return frozenset.intersection(*map(needed_to_hold, parts))
        case Call(function="not", arguments=(Call(function="is null", arguments=(value,)),)):
            return needed_to_be_defined(value)
        case Comparison(operands=operands):
            return frozenset().union(*map(needed_to_be_defined, operands))
        case _:
            return needed_to_be_defined(condition)


def needed_to_be_defined(expression: Expression) -> frozenset[str]:
    """The computed values without which an expression has no value."""
    match expression:
        case Parameter(name=name):
            return frozenset((name,))
        case Call(function="in", arguments=(value, *_)):
            return needed_to_be_defined(value)
        case Comparison(links=links):  # false, not undefined, as soon as one link is
            return frozenset.intersection(
                *(needed_to_be_defined(left) | needed_to_be_defined(right) for left, _, right in links)
            )
        case Call(function="if", arguments=(_, *values)):
            return frozenset.intersection(*map(needed_to_be_defined, values))
        case Call(function="is null"):
            return frozenset()
        case Call(function=function, arguments=parts) if takes_undefined(function):
            return frozenset.intersection(*map(needed_to_be_defined, parts))
        case _:
            return frozenset().union(*map(needed_to_be_defined, children(expression)))
