"""Interval rules: ``head <- pattern``, the model of the ETALIS language for events.

A pattern denotes a set of *matches*: an interval ``[start, end]`` (microseconds, ``start <= end``) and an assignment of
values to its variables. The docstring of each node is its line of Figure 2 of the ETALIS paper: ``[q1, q2]`` is a match
of the first operand, ``[q3, q4]`` one of the second, and both agree on the variables they share. Numbers are equal if
they are equal as numbers (2 and 2.0 are), values of different kinds never are. Lists are equal if they have as many
elements, and these are equal; lists have no order.

The order in which things happen matters to restricting policies only. Events come in total order; the points in time
of ``TimePoint`` come before all events of their time. Each event goes to the rules in the order of their deployment. A
complex event takes its place right where it is made: it goes to all rules before the event that completed it goes to
the next one (depth first, as calls in Prolog do); complex events that one event makes in one rule follow each other in
the order in which they arise. In a rule an event is brought to all atoms that it fits at once, and what this makes goes
up the pattern: an operator gets the new matches of both operands together, first looks for partners of those of its
left operand, then of its right one, and only then lets wait what is to wait.

Variables are ``Parameter`` nodes, so that conditions are ordinary expressions (see ``rules.evaluate``). Every node has
its ``span`` in the text, which equality ignores.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from cepheus.core.schema import EventType
from cepheus.core.source import Span
from cepheus.core.values import Value
from cepheus.rules.expressions import Call, Constant, Constraint, Expression, Parameter
from cepheus.rules.functions import LIST_BEFORE, LIST_OF


class Operator(Enum):
    """How two matches must lie in time, and the interval of the combination.

    ========  =================================  ==============================
    operator  condition                          interval
    ========  =================================  ==============================
    SEQ       q2 < q3                            [q1, q4]
    AND       none                               [min(q1, q3), max(q2, q4)]
    PAR       max(q1, q3) < min(q2, q4)          [min(q1, q3), max(q2, q4)]
    EQUALS    q1 = q3 and q2 = q4                [q1, q2]
    MEETS     q2 = q3                            [q1, q4]
    DURING    q3 < q1 < q2 < q4                  [q3, q4]
    STARTS    q1 = q3 and q2 < q4                [q3, q4]
    FINISHES  q2 = q4 and q3 < q1                [q3, q4]
    OVERLAPS  q1 < q3 < q2 < q4                  [q1, q4]
    ========  =================================  ==============================

    OVERLAPS is the one relation of Allen that the nine operators of the paper do not name. The inverse relations are
    sugar of the language: the parser swaps the operands.
    """

    SEQ = "SEQ"
    AND = "AND"
    PAR = "PAR"
    EQUALS = "EQUALS"
    MEETS = "MEETS"
    DURING = "DURING"
    STARTS = "STARTS"
    FINISHES = "FINISHES"
    OVERLAPS = "OVERLAPS"


@dataclass(frozen=True, slots=True)
class Anything:
    """``_``: an argument of any value, each occurrence on its own."""

    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ListPattern:
    """``[H|T]``, ``[X, 2, _]``: a list whose elements fit the items, in order.

    ``rest`` fits the list of all further elements; None means that there are none. A list of constants alone is a
    ``Constant``.
    """

    items: tuple[Argument, ...]
    rest: Parameter | Anything | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    def built(self) -> Expression:
        """The expression of the list itself; nothing in it may be ``_``."""
        items = tuple(item.built() if isinstance(item, ListPattern) else item for item in self.items)
        parts = [item for item in items if not isinstance(item, Anything)]
        if self.rest is None:
            return Call(LIST_OF, tuple(parts), self.span)
        assert isinstance(self.rest, Parameter)
        return Call(LIST_BEFORE, (*parts, self.rest), self.span)


Argument = Constant | Parameter | Anything | ListPattern
"""What stands in an argument place of an atom."""


@dataclass(frozen=True, slots=True)
class Atom:
    """``type(t1, .., tn)``: an event of that type with exactly n arguments, each equal to its term.

    Arguments are the attributes of the event type in declared order. The interval is that of the event; an event
    from outside without a start is the point [time, time].
    """

    type: str
    arguments: tuple[Argument, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TimePoint:
    """``q``: the point [time, time], microseconds since the epoch; it happens once, whether or not events do.

    Among all that happens at that time it comes first.
    """

    time: int
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Lasting:
    """``(p).q``: the matches of p with ``end - start <= duration``; with ``exact``, ``(p).=q``, exactly so long."""

    pattern: IntervalPattern
    duration: int
    exact: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Where:
    """``p WHERE c1, .., cn``: the matches of p for which every condition holds, taken in text order.

    Conditions may bind variables that p does not have (``Bind``, ``Known``, ``Aggregated``); a match is then continued
    with each way to bind them.
    """

    pattern: IntervalPattern
    conditions: tuple[Condition, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Combined:
    """``left operator right``: see ``Operator``."""

    operator: Operator
    left: IntervalPattern
    right: IntervalPattern
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Either:
    """``left OR right``: the matches of both; a head variable must be bound by both."""

    left: IntervalPattern
    right: IntervalPattern
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Absence:
    """``NOT(negated).[first, second]``: ``first SEQ second`` less ``first SEQ negated SEQ second``.

    Figure 2 subtracts intervals: [q1, q4] is no match if *any* pair of delimiters with these values and this outer
    interval has a match of ``negated`` strictly between them. A variable that occurs in ``negated`` alone stands for
    any value.

    Under a restricting policy ``first`` waits for ``second``, and a match of ``negated`` ends the wait of every first
    delimiter that agrees with it and ended strictly before it began. The negated match counts from the instant after
    its end: a second delimiter that is complete at the very time at which the negated match ends does not see it.
    """

    negated: IntervalPattern
    first: IntervalPattern
    second: IntervalPattern
    span: Span | None = field(default=None, compare=False, repr=False)


IntervalPattern = Atom | TimePoint | Lasting | Where | Combined | Either | Absence


# ---- Conditions of WHERE -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Holds:
    """A comparison or a boolean expression over bound variables; it does not hold where it is undefined."""

    constraint: Constraint
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Bind:
    """``N is K+1``: binds a variable to the value of an expression; no match if that is undefined.

    If the variable is bound already, its value must equal that of the expression.
    """

    variable: str
    value: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Known:
    """``located(X, Hall)``: each row of the relation that fits, binding what is not bound yet."""

    relation: str
    arguments: tuple[Argument, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unknown:
    """``NOT located(X, _)``: no row of the relation fits; its variables are bound before."""

    relation: str
    arguments: tuple[Argument, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Member:
    """``X in [1, 2, 5]``: the value equals one of the expressions; a variable without a value gets each in turn."""

    value: Expression
    options: tuple[Expression, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def gives(self) -> str | None:
        """The variable that may get its values from the list, which must be one of constants; None if there is none."""
        constant = all(isinstance(option, Constant) for option in self.options)
        return self.value.name if constant and isinstance(self.value, Parameter) else None


@dataclass(frozen=True, slots=True)
class Element:
    """``X in L``: the value equals an element of a list; a variable without a value gets each in turn, once."""

    value: Expression
    elements: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Fits:
    """``L = [H|T]``: the value is a list that fits the pattern, binding what is not bound yet.

    A variable without a value gets the list instead, of which all variables are bound then.
    """

    value: Expression
    pattern: ListPattern
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AllOf:
    """``c1, c2``: a conjunction inside AnyOf."""

    conditions: tuple[Condition, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """``c1 OR c2``: one of the alternatives holds. They bind nothing outside."""

    alternatives: tuple[AllOf, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NoneOf:
    """``NOT (c1, c2)``: the conjunction does not hold. It binds nothing outside."""

    conditions: tuple[Condition, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Aggregated:
    """``A = AVG(P, stock(X, P, _) WITHIN 10 s)``: binds ``variable`` to an aggregate over a sliding window.

    The members are the distinct events that fit ``atom`` and lie in the window ``[end - window, end]`` of the match
    (``end`` is that of the match; whatever happens at that very time counts, however it is ordered there). Variables
    of the atom that are bound before join, all others are free for every member. ``value`` is an expression over
    both; None only for Count. Functions are those of ``rules.aggregates``: Count and Sum of nothing are 0, the others
    of nothing are undefined, and then there is no match. Members are taken by (end, start, order of arrival).
    """

    variable: str
    function: str
    value: Expression | None
    atom: Atom
    window: int
    span: Span | None = field(default=None, compare=False, repr=False)


Condition = Holds | Bind | Known | Unknown | Member | Element | Fits | AnyOf | NoneOf | Aggregated


# ---- Policies ------------------------------------------------------------------------------------------------------


class Choice(Enum):
    """Which of the possible partners an event is combined with (section 6 of the paper)."""

    UNRESTRICTED = "unrestricted"
    RECENT = "recent"
    CHRONOLOGICAL = "chronological"


class Preference(Enum):
    """Which of two partners goes first that end together (recent) or start together (chronological).

    ARRIVAL leaves it to the order in which they arrived.
    """

    ARRIVAL = "arrival"
    SHORTER = "shorter"
    LONGER = "longer"
    GREATEST = "greatest"
    LEAST = "least"


@dataclass(frozen=True, slots=True)
class ConsumptionPolicy:
    """The consumption policy of a rule; it governs every binary operator and NOT of the rule's pattern.

    UNRESTRICTED is exactly Figure 2: every combination, a set, nothing is used up.

    Under the others operators work as events arrive. Each operator keeps the matches of its operands that wait for a
    partner. A new match looks for *one* partner among those that wait at the other operand (matches that the same event
    brings to the other operand included, but no pair twice). A partner must agree on shared variables and satisfy the
    operator's relation and everything that stands directly around the operator: windows (``Lasting``) and conditions
    (``Where``). Among several,

    - RECENT takes the one with the latest end; of equal ends as ``preference`` says; then the one that arrived last
      (without a preference that is simply the last to arrive);
    - CHRONOLOGICAL without a preference takes the one that arrived first; with one, that with the earliest start, of
      equal starts as ``preference`` says, and then the first to arrive.

    SHORTER and LONGER compare the lengths of the intervals; GREATEST and LEAST the value of the variable ``attribute``
    (a match that does not bind it to a number comes last).

    What happens to the pair is ``once``: both are used up, so that neither waits at this operator any longer. Without
    ``once`` they stay and wait for further partners. RECENT alone has both forms: section 6.1 uses a(3) again for b(5)
    (not once), the ETALIS system does not (once). CHRONOLOGICAL is always once.

    With ``renewing`` a new match takes the place of one that waits at the same operand with equal values of all
    variables, as in the ETALIS system: the older is dropped.

    With ``onesided`` a new match waits only if nothing waits for it: no match at the other operand that agrees with it
    and stands in the operator's relation to it, whatever the windows and conditions around the operator say of the two
    (rules 7 and 9 of Algorithm 5.2, as in the ETALIS system; those of the left operand before those of the right). What
    has left a window still keeps others from waiting, so that windows do not limit what is kept where both operands
    wait; where only the left one does, they do.

    UNRESTRICTED is neither once nor renewing nor onesided.

    The left delimiter of NOT and the left operand of SEQ, DURING, STARTS and OVERLAPS wait also after they were used as
    a right one: waiting is by operand. The right operand of these never waits.
    """

    choice: Choice = Choice.UNRESTRICTED
    once: bool = False
    renewing: bool = False
    onesided: bool = False
    preference: Preference = Preference.ARRIVAL
    attribute: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


# ---- Rules and background knowledge --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of the background knowledge, computed: every row that facts and rules give, without repetition."""

    name: str
    arity: int
    rows: tuple[tuple[Value, ...], ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class IntervalRule:
    """``LABEL name: head(e1, .., en) <- pattern POLICY ..``.

    ``head`` is the type of complex event with the names of its attributes, ``values`` their expressions over the
    pattern's variables; a match in which one is undefined makes no event. Each match makes the event ``head`` with
    the interval of the match. One event is made per distinct instance, that is type, values and interval, however
    often it is derived and under every policy.

    ``relations`` is what ``check`` attaches: the background knowledge that the conditions read. ``decided_late`` is
    set by ``check``, too: the rule looks at all that happens at the end of its matches (an aggregate, or under the
    unrestricted policy a NOT whose second delimiter can be an interval), so that it is run when that instant is over.
    Rules with a higher number run after those with a lower; 0 runs at once.
    """

    head: EventType
    values: tuple[Expression, ...]
    pattern: IntervalPattern
    policy: ConsumptionPolicy | None = None
    name: str | None = None
    relations: tuple[Relation, ...] = field(default=(), repr=False)
    decided_late: int = 0
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def composite(self) -> EventType:
        """The type of event that the rule makes, by the name that all rules have for it."""
        return self.head


@dataclass(frozen=True, slots=True)
class Fact:
    """``located(t1, "hall").``: one row of a relation."""

    relation: str
    values: tuple[Constant, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Deduction:
    """``near(X, Y) :- road(X, Y), NOT closed(X).``: a rule of the background knowledge.

    The body is a conjunction of conditions in text order, none of them ``Aggregated``; recursion is allowed, negation
    must be stratified.
    """

    relation: str
    arguments: tuple[Expression, ...]
    body: tuple[Condition, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


DEFAULT_MOST_FACTS = 1_000_000
"""How many facts the rules of the background knowledge may derive if nobody says otherwise."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The background knowledge of a rule set: facts and rules as written, and tables from elsewhere.

    ``most_facts`` is how many facts the rules may derive, None for what is usual.
    """

    facts: tuple[Fact, ...] = ()
    deductions: tuple[Deduction, ...] = ()
    tables: tuple[Relation, ...] = ()
    most_facts: int | None = None

    def __add__(self, other: Knowledge) -> Knowledge:
        limits = [limit for limit in (self.most_facts, other.most_facts) if limit is not None]
        return Knowledge(
            self.facts + other.facts,
            self.deductions + other.deductions,
            self.tables + other.tables,
            max(limits, default=None),
        )
