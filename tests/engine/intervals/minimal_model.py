"""Figure 2 of the ETALIS paper, word for word: what a pattern denotes, and the minimal model of a rule set.

Everything here is a definition to be read next to the paper. It looks at a whole finite stream at once and knows
nothing of policies; the engine ``interval-reference`` works on streams, and under the unrestricted policy it must find
the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from cepheus.core.lists import Key
from cepheus.core.values import Value
from cepheus.rules.interval.conditions import Conditions
from cepheus.rules.interval.matches import Binding, Instance, Match, agree, binding_key, fits, relate
from cepheus.rules.interval.model import (
    Absence,
    Atom,
    Combined,
    Either,
    IntervalPattern,
    IntervalRule,
    Lasting,
    Operator,
    Relation,
    TimePoint,
    Where,
)

Model = dict[Key, Instance]
"""An interpretation: the instances that are so, each only once."""


def minimal_model(rules: Sequence[IntervalRule], stream: Iterable[Instance]) -> list[Instance]:
    """Give the complex events that follow from a finite stream: the minimal model, less the stream itself.

    Conditions C1 and C2 of section 4 say what a model is; the minimal one is preferred on shorter intervals first
    (``I|q``). So instances are derived by the length of their intervals: a NOT looks at strictly shorter intervals
    only, everything else never at longer ones, so that each length is a fixpoint of rules without negation. Rules
    with aggregates look at the whole of a window; ``decided_late`` orders them behind what they aggregate.
    """
    model: Model = {instance.key: instance for instance in stream}  # C1
    given = set(model)
    for stratum in sorted({rule.decided_late for rule in rules}):
        _complete(model, [rule for rule in rules if rule.decided_late == stratum])
    return [instance for key, instance in model.items() if key not in given]


def _complete(model: Model, rules: Sequence[IntervalRule]) -> None:
    times = {time for instance in model.values() for time in (instance.start, instance.end)}
    times |= {time for rule in rules for time in _points(rule.pattern)}
    for length in sorted({end - start for start in times for end in times if start <= end}):
        found = True
        while found:  # C2, until nothing new follows
            found = False
            for rule in rules:
                for instance in _consequences(rule, model):
                    if instance.end - instance.start == length and instance.key not in model:
                        model[instance.key] = instance
                        found = True


def _points(pattern: IntervalPattern) -> set[int]:
    match pattern:
        case TimePoint(time=time):
            return {time}
        case Lasting(pattern=inner) | Where(pattern=inner):
            return _points(inner)
        case Combined(left=left, right=right) | Either(left=left, right=right):
            return _points(left) | _points(right)
        case Absence(negated=negated, first=first, second=second):
            return _points(negated) | _points(first) | _points(second)
        case Atom():
            return set()
        case _:
            assert_never(pattern)


def _consequences(rule: IntervalRule, model: Model) -> Iterable[Instance]:
    figure = Figure2(model, rule.relations)
    for match in figure.interpret(rule.pattern):
        values = [figure.conditions.value(value, match.binding) for value in rule.values]
        if None not in values:
            yield Instance(rule.head.name, tuple(values), match.start, match.end)


class Figure2:
    """The interpretation of patterns in a model: one method call per line of the figure."""

    def __init__(self, model: Model, relations: Sequence[Relation] = ()) -> None:
        self._instances = list(model.values())
        self.conditions = Conditions(relations, self._history)

    def interpret(self, pattern: IntervalPattern) -> list[Match]:
        """Give the matches of a pattern: intervals, and values of the variables for which they are its."""
        match pattern:
            case Atom():
                return self._atom(pattern)
            case TimePoint(time=time):
                return [Match(time, time, {})]
            case Lasting(pattern=inner, duration=duration, exact=exact):
                return [
                    match
                    for match in self.interpret(inner)
                    if match.end - match.start == duration or (match.end - match.start < duration and not exact)
                ]
            case Where(pattern=inner, conditions=conditions):
                return [
                    extended
                    for match in self.interpret(inner)
                    for extended in self.conditions.satisfy(conditions, match)
                ]
            case Combined(operator=operator, left=left, right=right):
                return _combine(operator, self.interpret(left), self.interpret(right))
            case Either(left=left, right=right):
                return [*self.interpret(left), *self.interpret(right)]
            case Absence():
                return self._absence(pattern)
            case _:
                assert_never(pattern)

    def _atom(self, atom: Atom) -> list[Match]:
        found = ((instance, fits(atom, instance, {})) for instance in self._instances)
        return [Match(instance.start, instance.end, binding) for instance, binding in found if binding is not None]

    def _absence(self, pattern: Absence) -> list[Match]:
        """NOT(p1).[p2, p3] = I(p2 SEQ p3) less I(p2 SEQ p1 SEQ p3)."""
        first, second = self.interpret(pattern.first), self.interpret(pattern.second)
        delimited = _combine(Operator.SEQ, first, second)
        between = _combine(Operator.SEQ, _combine(Operator.SEQ, first, self.interpret(pattern.negated)), second)
        # A variable of the negated pattern alone stands for any value, so that it is left out of the comparison.
        names = {name for match in (*first, *second) for name in match.binding}
        taken = {_without_others(match, names) for match in between}
        return [match for match in delimited if _without_others(match, names) not in taken]

    def _history(self, event_type: str, start: int, end: int) -> list[Instance]:
        inside = [i for i in self._instances if i.type == event_type and start <= i.start and i.end <= end]
        return sorted(inside, key=lambda instance: (instance.end, instance.start))


def _combine(operator: Operator, left: Sequence[Match], right: Sequence[Match]) -> list[Match]:
    found = []
    for one in left:
        for other in right:
            interval = relate(operator, one.start, one.end, other.start, other.end)
            binding = None if interval is None else agree(one.binding, other.binding)
            if interval is not None and binding is not None:
                found.append(Match(*interval, binding))
    return found


def _without_others(match: Match, names: set[str]) -> Key:
    kept: dict[str, Value] = {name: value for name, value in match.binding.items() if name in names}
    binding: Binding = kept
    return match.start, match.end, binding_key(binding)
