"""The numbers in a rule that can be set otherwise: thresholds, windows, what aggregates are compared with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cepheus.core.time import format_duration
from cepheus.core.values import ValueType
from cepheus.learning.history import Floats, History
from cepheus.learning.learners.windows import roundest_duration
from cepheus.learning.state import roundest
from cepheus.rules.expressions import Aggregate, AttributeRef, Comparison, Constant, EventPattern, Within
from cepheus.rules.model import Aggregation, Rule
from cepheus.rules.walk import Node, transform, walk

_ORDERED = ("<", "<=", ">", ">=")
_NUMBERS = (ValueType.INT, ValueType.FLOAT)


@dataclass(frozen=True, slots=True)
class Knob:
    """A number in a rule: the node that has it, what it is about, and values that it could have instead.

    ``types`` is the type and the attribute whose values it is compared with, if there is one.
    """

    node: Constant | Within
    words: str
    event_type: str
    attribute: str | None = None

    @property
    def value(self) -> float:
        """What it is set to."""
        return float(self.node.duration) if isinstance(self.node, Within) else _plain(self.node)

    @property
    def whole(self) -> bool:
        """Whether it is a whole number."""
        return isinstance(self.node, Within) or self.node.type is ValueType.INT

    def told(self, value: float) -> str:
        """A value as it is written.

        >>> Knob(Within(5_000_000, "A"), "the window of B", "B").told(2_000_000)
        '2 s'
        """
        return format_duration(round(value)) if isinstance(self.node, Within) else f"{value:g}"

    def turned(self, rule: Rule, value: float) -> Rule:
        """The rule with another number."""
        new: Constant | Within
        if isinstance(self.node, Within):
            new = replace(self.node, duration=max(round(value), 1))
        else:
            new = replace(self.node, value=round(value) if self.whole else float(value))

        def change(node: Node) -> Node:
            return new if node is self.node else node

        turned: Rule = transform(rule, change)
        return turned

    def values(self, history: History, near: tuple[float, float] | None, many: int = 24) -> Floats:
        """Other values worth a try: where the attribute has its values, or between two values that were tried."""
        if near is not None:
            low, high = near
            made = np.linspace(low, high, many + 2)[1:-1]
        elif isinstance(self.node, Within) or self.attribute is None:
            made = self.value * np.geomspace(0.2, 5.0, many)
        else:
            column = history.types[self.event_type].columns.get(self.attribute)
            known = np.empty(0) if column is None else column.values[~np.isnan(column.values)]
            made = np.quantile(known, np.linspace(0.005, 0.995, many)) if len(known) else np.empty(0)
        made = np.round(made) if self.whole else made
        return np.unique(made[made != self.value])

    def rounded(self, low: float, high: float) -> float:
        """The roundest value between two."""
        if isinstance(self.node, Within):
            return float(roundest_duration(max(round(low), 1), max(round(high), round(low) + 1)))
        return roundest(low, high, whole=self.whole, low_included=True) if low < high else low


def knobs(rule: Rule, history: History) -> list[Knob]:
    """All numbers in a rule that could be set otherwise.

    >>> from cepheus.core.batch import EventBatch
    >>> from cepheus.core.event import Event
    >>> from cepheus.language.tesla import parse
    >>> history = History.of(EventBatch.from_events([Event("A", 1, {"x": 1.5}), Event("B", 2, {"y": 1})]))
    >>> rule = parse("define C() from A(x > 2.0) and last B(3 < y and y = 4) within 5 s from A").rules[0]
    >>> [each.words for each in knobs(rule, history)]
    ['A.x > 2', '3 < B.y', 'the window of B']
    """
    found = [knob for node in walk(rule.pattern) if isinstance(node, EventPattern) for knob in _of_event(node)]
    for item in rule.pattern.items:
        if isinstance(item, Aggregation) and item.comparison is not None:
            found += _of_aggregate(item.aggregate, item.comparison)
        window = getattr(item, "window", None) or getattr(item, "scope", None)
        aggregate = getattr(item, "aggregate", None)
        event = getattr(item, "event", None) or (aggregate.event if aggregate is not None else None)
        window = window or (getattr(aggregate, "scope", None) or getattr(aggregate, "window", None))
        if isinstance(window, Within) and not window.since_start and event is not None:
            found.append(Knob(window, f"the window of {event.name}", event.type))
    once = {id(each.node): each for each in found}  # an aggregate stands beside what it is compared with, too
    return [each for each in once.values() if each.event_type in history.types]


def _of_event(event: EventPattern) -> Iterator[Knob]:
    for constraint in event.constraints:
        for comparison in (each for each in walk(constraint) if isinstance(each, Comparison)):
            for left, operator, right in comparison.links:
                if operator not in _ORDERED:
                    continue
                if isinstance(left, AttributeRef) and (number := _number(right)):
                    words = f"{event.name}.{left.name} {operator} {_plain(number):g}"
                    yield Knob(number, words, event.type, left.name)
                elif isinstance(right, AttributeRef) and (number := _number(left)):
                    words = f"{_plain(number):g} {operator} {event.name}.{right.name}"
                    yield Knob(number, words, event.type, right.name)


def _of_aggregate(aggregate: Aggregate, comparison: Comparison) -> Iterator[Knob]:
    words = f"{aggregate.function} of {aggregate.event.type}"
    for left, operator, right in comparison.links:
        if operator in _ORDERED and isinstance(left, Aggregate) and (number := _number(right)):
            yield Knob(number, f"{words} {operator} {_plain(number):g}", aggregate.event.type)
        elif operator in _ORDERED and isinstance(right, Aggregate) and (number := _number(left)):
            yield Knob(number, f"{_plain(number):g} {operator} {words}", aggregate.event.type)


def _number(node: object) -> Constant | None:
    """A constant that is a plain number, if it is one."""
    return node if isinstance(node, Constant) and node.type in _NUMBERS and not node.duration else None


def _plain(constant: Constant) -> float:
    return float(str(constant.value))


def best_value(tried: Sequence[tuple[float, float]], tolerance: float) -> tuple[float, float, float, float]:
    """Of values and how well each does, the best: in the middle of the longest run of those that do as well.

    Gives the value, how well it does, and the values on either side of the run.

    >>> best_value([(1.0, 0.5), (2.0, 0.9), (3.0, 0.9), (4.0, 0.2)], 0.0)
    (2.0, 0.9, 1.0, 4.0)
    """
    in_order = sorted(tried)
    most = max(score for _, score in in_order)
    good = [score >= most - tolerance for _, score in in_order]
    runs: list[tuple[int, int]] = []
    for place, is_good in enumerate(good):
        if is_good and (place == 0 or not good[place - 1]):
            runs.append((place, place))
        elif is_good:
            runs[-1] = runs[-1][0], place
    first, last = max(runs, key=lambda run: run[1] - run[0])
    middle = (first + last) // 2
    before, after = in_order[max(first - 1, 0)][0], in_order[min(last + 1, len(in_order) - 1)][0]
    return in_order[middle][0], in_order[middle][1], before, after
