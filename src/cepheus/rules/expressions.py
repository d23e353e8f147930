"""Expressions: what a constraint compares and an assignment computes."""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheus.core.source import Span
from cepheus.core.values import Value, ValueType

FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Each comparison as it reads from the other side."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal; ``type`` tells a timestamp from an integer and 3.0 from 3.

    ``parts`` are the literals that a list was written with, if it was: a time is a number in the list's value.
    ``duration`` tells that a number of microseconds is written as a length of time, ``5 min``.
    """

    value: Value
    type: ValueType
    span: Span | None = field(default=None, compare=False, repr=False)
    parts: tuple[Constant, ...] = field(default=(), compare=False, repr=False)
    duration: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AttributeRef:
    """An attribute of the event that the constraint belongs to, or of the event named in front of it."""

    event: str | None
    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Parameter:
    """``$name``: bound to a value at one place of the pattern, compared with it everywhere else."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """``left operator right`` with one of ``+ - * /``."""

    operator: str
    left: Expression
    right: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Negative:
    """``-operand``."""

    operand: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A built-in function applied to arguments; the name is in lower case.

    What joins conditions (``or``, ``not``, ``in``, ``is null``) is a function of truths and values with a name that
    stands between its arguments: ``x in (1, 2)`` is ``Call("in", (x, 1, 2))``. ``gives_double`` is what checks have
    found out about a choice between an int and a double.
    """

    function: str
    arguments: tuple[Expression, ...]
    span: Span | None = field(default=None, compare=False, repr=False)
    gives_double: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A chain of comparisons, ``operands[0] operators[0] operands[1] operators[1] ..``.

    The chain is one joint condition. Operators are ``= != < <= > >=``. As part of a larger expression it is what
    ``and`` says of its links: false where one of them is, or else undefined where an operand is.
    """

    operands: tuple[Expression, ...]
    operators: tuple[str, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def links(self) -> list[tuple[Expression, str, Expression]]:
        """Every two operands that stand side by side, and the operator between them."""
        return list(zip(self.operands, self.operators, self.operands[1:], strict=False))


@dataclass(frozen=True, slots=True)
class EventPattern:
    """An event of a type whose content satisfies all the constraints, known in the rule by its alias or type."""

    type: str
    constraints: tuple[Constraint, ...] = ()
    alias: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """What the rest of the rule calls this event."""
        return self.alias or self.type


@dataclass(frozen=True, slots=True)
class Within:
    """The window ``[reference.time - duration, reference.time)``; the duration is in microseconds.

    ``since_start`` is for aggregates alone: the window has no beginning but that of the rule, the duration is all time,
    and the reference is the moment of the rule.
    """

    duration: int
    reference: str
    span: Span | None = field(default=None, compare=False, repr=False)
    since_start: bool = False


@dataclass(frozen=True, slots=True)
class Between:
    """The open interval between the times of two events, whichever comes first."""

    first: str
    second: str
    span: Span | None = field(default=None, compare=False, repr=False)


Scope = Within | Between


def scope_events(scope: Scope) -> tuple[str, ...]:
    """The events that a scope hangs from."""
    match scope:
        case Within(reference=reference):
            return (reference,)
        case Between(first=first, second=second):
            return (first, second)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A function (``Avg``, ``Sum``, ``Count``, ..) over one value of every matching event of a scope.

    ``value`` is an expression over the aggregated event; only ``Count`` may go without. ``argument`` is the number that
    functions such as ``Percentile`` ask for behind the scope. ``of`` names the collection whose members the events are,
    if the aggregate is one of its values: ``Avg(Bs.v)``. Aggregates leave out events whose value is undefined; only
    ``first(Bs).v`` and ``last(Bs).v`` are the value of that very event, ``even_undefined``.
    """

    function: str
    event: EventPattern
    value: Expression | None
    scope: Scope
    argument: float | None = None
    span: Span | None = field(default=None, compare=False, repr=False)
    of: str | None = None
    even_undefined: bool = False


Expression = Constant | AttributeRef | Parameter | Arithmetic | Negative | Call | Aggregate | Comparison
Constraint = Expression
"""An expression that is true, false or undefined: a comparison, conditions joined, a truth. Only true holds."""


def joined_by(word: str, condition: Constraint) -> tuple[Constraint, ...]:
    """The conditions that a word joins; a condition of any other kind is the only one."""
    return condition.arguments if isinstance(condition, Call) and condition.function == word else (condition,)
