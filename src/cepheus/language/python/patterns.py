"""What the function of a rule says: choices of events, absences, collections, conditions, consumption."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from cepheus.core.errors import RuleError
from cepheus.language.python.draft import (
    EventInRule,
    Length,
    between,
    constraints_of,
    draft,
    free_expression,
    name_of,
    own_expression,
    pattern_of,
    window,
)
from cepheus.language.python.events import Event
from cepheus.language.python.parts import PartOfRule, WithoutWindow
from cepheus.language.python.places import Site, here, site
from cepheus.language.python.values import Symbol, expression_of, parameter
from cepheus.rules.expressions import Aggregate, AttributeRef, Comparison, Constraint, EventPattern, Scope, Within
from cepheus.rules.model import Aggregation, Collection, FreeCondition, Negation, PatternItem, Ranking, Selection
from cepheus.rules.policies import Policy
from cepheus.rules.walk import walk

E = TypeVar("E", bound=Event)
R = TypeVar("R")
V = TypeVar("V")


class Choosing(WithoutWindow, Generic[R]):
    """A choice of an event that still needs its window: ``last(Temp, ..).within("5 min", of=smoke)``."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[Within, Site], R]) -> None:
        super().__init__()
        self._make = make
        draft().windowed.append(self)

    def within(self, length: Length, of: Event | None = None) -> R:
        """Look at events up to so long before an event, by default before the terminator."""
        place = site()
        made = self._make(window(length, of, place), place)
        self.placed = True
        return made


class Placing(Choosing[R]):
    """What needs a window, or the time between two events."""

    __slots__ = ("_place",)

    ENDS = (*Choosing.ENDS, "between(smoke, temp)")

    def __init__(self, place: Callable[[Scope, Site], R]) -> None:
        super().__init__(place)
        self._place = place

    def between(self, first: Event, second: Event) -> R:
        """Look at what lies strictly between two events."""
        place = site()
        made = self._place(between(first, second, place), place)
        self.placed = True
        return made


# ---- Choices -----------------------------------------------------------------------------------------------------


def each(kind: type[E], *where: bool, name: str | None = None) -> Choosing[E]:
    """Every event of a type that satisfies all the conditions, each for a composite event of its own."""
    return _choice(Policy.EACH, kind, where, name, None, ())


def last(kind: type[E], *where: bool, n: int | None = None, per: object = (), name: str | None = None) -> Choosing[E]:
    """The latest event that satisfies all the conditions, or the ``n`` latest; ``per`` room, a choice for each room."""
    return _choice(Policy.LAST, kind, where, name, n, per)


def first(kind: type[E], *where: bool, n: int | None = None, per: object = (), name: str | None = None) -> Choosing[E]:
    """The earliest event that satisfies all the conditions, or the ``n`` earliest, for each group if so asked."""
    return _choice(Policy.FIRST, kind, where, name, n, per)


def word_of_policy(word: str, module: str) -> Callable[..., Choosing[Any]]:
    """What says a policy that has no function of its own above; an AttributeError of the module for other words."""
    if word not in (policy.value for policy in Policy):
        raise AttributeError(f"module '{module}' has no attribute '{word}'")

    def choose(
        kind: type[E], *where: bool, n: int | None = None, per: object = (), name: str | None = None
    ) -> Choosing[E]:
        return _choice(Policy(word), kind, where, name, n, per)

    return choose


if not TYPE_CHECKING:

    def __getattr__(word: str) -> Callable[..., Choosing[Any]]:
        return word_of_policy(word, __name__)


def top(count: int, kind: type[E], *where: bool, by: object, per: object = (), name: str | None = None) -> Choosing[E]:
    """The ``count`` events with the greatest values, of each event or of the last of each group."""
    place = site()
    event = pattern_of(kind, where, None, place)
    ranking = Ranking(count, own_expression(event.type, by, place))
    policy = Policy.LAST if _given(per) else Policy.EACH
    return _chosen(policy, kind, event, name, None, _groups(event, per, place), ranking)


def _choice(
    policy: Policy, kind: type[E], where: tuple[bool, ...], name: str | None, count: int | None, per: object
) -> Choosing[E]:
    place = site()
    event = pattern_of(kind, where, None, place)
    return _chosen(policy, kind, event, name, count, _groups(event, per, place), None)


def _chosen(
    policy: Policy,
    kind: type[E],
    event: EventPattern,
    name: str | None,
    count: int | None,
    per: tuple[AttributeRef, ...],
    ranking: Ranking | None,
) -> Choosing[E]:
    def make(window: Within, place: Site) -> E:
        known = _introduced(event, name)
        draft().items.append(Selection(policy, known, window, count, per, ranking, place.span))
        return cast("E", EventInRule(kind, known.name))

    return Choosing(make)


def _given(per: object) -> bool:
    return not (isinstance(per, tuple) and not per)


def _groups(event: EventPattern, per: object, place: Site) -> tuple[AttributeRef, ...]:
    found = []
    for each_one in per if isinstance(per, tuple | list) else (per,):
        node = own_expression(event.type, each_one, place)
        if not (isinstance(node, AttributeRef) and node.event is None):
            hint = f"write per={event.type}.room, or a tuple of such attributes"
            raise RuleError.of("python-event", "groups are made by attributes of the event", span=node.span, hint=hint)
        found.append(node)
    return tuple(found)


def _introduced(event: EventPattern, name: str | None) -> EventPattern:
    """An event with the name that the rest of the rule has for it."""
    known = name
    if name is None:
        free = draft().free_name(event.type)
        known = None if free == event.type else free
    else:
        draft().names.add(name)
    return EventPattern(event.type, event.constraints, known, event.span)


def no(kind: type[Event], *where: bool, name: str | None = None) -> Placing[None]:
    """That no event of a type satisfies all the conditions: ``no(Rain).within("1 h", of=temp)``."""
    event = pattern_of(kind, where, name, site())

    def make(scope: Scope, place: Site) -> None:
        draft().items.append(Negation(event, scope, place.span))

    return Placing(make)


# ---- Collections -------------------------------------------------------------------------------------------------


class Members(PartOfRule, Generic[E]):
    """All events that a collection took; aggregates may be asked ``over`` it."""

    __slots__ = ("_kind", "collection")

    def __init__(self, kind: type[E], collection: Collection) -> None:
        self._kind = kind
        self.collection = collection

    @property
    def first(self) -> E:
        """The earliest member."""
        return cast("E", _Member(self._kind, self.collection, "First"))

    @property
    def last(self) -> E:
        """The latest member."""
        return cast("E", _Member(self._kind, self.collection, "Last"))


class _Member(PartOfRule):
    """The earliest or latest member of a collection, whose attributes are values of the collection."""

    __slots__ = ("_collection", "_function", "_kind")

    def __init__(self, kind: type[Event], collection: Collection, function: str) -> None:
        self._kind, self._collection, self._function = kind, collection, function

    def __getattr__(self, key: str) -> Symbol:
        value = getattr(self._kind, key).node
        taken = self._collection
        node = Aggregate(
            self._function, taken.event, value, taken.scope, span=here(), of=taken.event.name, even_undefined=True
        )
        return Symbol(node)


def collect(
    kind: type[E], *where: bool, least: int = 1, most: int | None = None, name: str | None = None
) -> Placing[Members[E]]:
    """All events of a type that satisfy all the conditions, as one choice; at least ``least`` of them."""
    event = pattern_of(kind, where, None, site())

    def make(scope: Scope, place: Site) -> Members[E]:
        taken = Collection(_introduced(event, name), scope, least, most, place.span)
        draft().items.append(taken)
        return Members(kind, taken)

    return Placing(make)


# ---- Conditions and clauses --------------------------------------------------------------------------------------


def when(*conditions: bool) -> None:
    """Conditions on the terminator, the event that the rule's function takes."""
    place = site()
    rule = draft()
    if rule.items:
        hint = "write it first, or require(..) for what must hold in the end"
        raise RuleError.of("python-rule", "the terminator has been looked at already", span=place.span, hint=hint)
    rule.constraints += constraints_of(rule.terminator, conditions, place)


def require(*conditions: bool) -> None:
    """Conditions over what was chosen and computed, which have no say in the choices."""
    place = site()
    for condition in conditions:
        draft().items.append(condition_item(free_expression(condition, place)))


def condition_item(node: Constraint) -> PatternItem:
    """A condition as a part of a pattern: a comparison with one aggregate is a part of its own kind."""
    if isinstance(node, Comparison):
        whole = [operand for operand in node.operands if isinstance(operand, Aggregate)]
        count = sum(isinstance(inner, Aggregate) for operand in node.operands for inner in walk(operand))
        if len(whole) == 1 and count == sum(isinstance(inner, Aggregate) for inner in walk(whole[0])):
            return Aggregation(whole[0], None, node, node.span)
    return FreeCondition(node, node.span)


def let(value: V, name: str, *conditions: bool) -> V:
    """Give an aggregate a name, and state one condition in which it takes part: ``let(mean, "m", mean > 30)``."""
    place = site()
    aggregate = expression_of(value, place)
    if not isinstance(aggregate, Aggregate):
        hint = "name what an aggregate of agg gives: let(agg.avg(Temp.value).within('5 min'), 'm')"
        raise RuleError.of("aggregate", "only an aggregate can be given a name", span=place.argument(0), hint=hint)
    comparison: Comparison | None = None
    for condition in conditions:
        node = free_expression(condition, place)
        if comparison is not None or not isinstance(node, Comparison) or aggregate not in node.operands:
            hint = "give one comparison in which the aggregate takes part, and state others by require(..)"
            raise RuleError.of("aggregate", "this is no condition on the aggregate", span=node.span, hint=hint)
        comparison = node
    draft().items.append(Aggregation(aggregate, name, comparison, place.span))
    return parameter(name)


def consume(*events: Event) -> None:
    """Events that took part in a firing are gone for the rule."""
    place = site()
    draft().consuming.extend((name_of(event, place), place.argument(at)) for at, event in enumerate(events))
