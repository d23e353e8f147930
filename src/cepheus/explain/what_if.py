"""What other numbers in a rule would have found: its constants and windows as knobs, and a sweep over one of them.

A knob is a number of a rule by its place; turning it gives rules that are alike but for that number. A sweep runs them
over the same events, once for each value, and counts; where it is known what should have been found, it also tells how
much of that was found and how much of what was found should have been.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from cepheus.core.batch import EventBatch, IntArray
from cepheus.core.errors import OptionError, did_you_mean
from cepheus.core.source import Span
from cepheus.core.time import MAX_TIME, MIN_TIME, SECOND, format_duration
from cepheus.core.values import ValueType
from cepheus.language.tesla.print import format_expression
from cepheus.rules.expressions import Aggregate, Comparison, Constant, Expression, Within
from cepheus.rules.model import Aggregation, Rule, RuleSet
from cepheus.rules.timers import After, Every
from cepheus.rules.walk import transform

Number = int | float
Path = tuple[str | int, ...]
"""The way from a rule to one of its numbers: names of fields and places in tuples."""


class KnobKind(Enum):
    """What a knob turns."""

    CONSTANT = "constant"
    WINDOW = "window"
    TIMER = "timer"
    PROBABILITY = "min probability"


@dataclass(frozen=True, slots=True)
class Knob:
    """A number of a rule that can be turned: windows and timers are in microseconds.

    ``name`` tells it apart from the other knobs of all rules: the rule and what the number stands in.
    """

    rule: str
    name: str
    kind: KnobKind
    value: Number
    path: Path
    text: str
    span: Span | None = None
    whole: bool = False

    @property
    def bounds(self) -> tuple[float, float]:
        """Between what a slider may move it: around its value, and for lengths of time never below nothing."""
        value = float(self.value)
        if self.kind is KnobKind.PROBABILITY:
            return 0.0, 1.0
        if self.kind is not KnobKind.CONSTANT:
            return 0.0, max(4.0 * value, float(SECOND))
        reach = max(abs(value) / 2, 1.0)
        low, high = value - reach, value + reach
        return (float(math.floor(low)), float(math.ceil(high))) if self.whole else (low, high)

    def shown(self, value: Number | None = None) -> str:
        """A value of it as people read it.

        >>> Knob("R", "R: window", KnobKind.WINDOW, 300_000_000, (), "5 min").shown()
        '5 min'
        """
        number = self.value if value is None else value
        if self.kind in (KnobKind.WINDOW, KnobKind.TIMER):
            return format_duration(int(number))
        return f"{number:.10g}"

    def to_json(self) -> dict[str, Any]:
        """The knob as a JSON object."""
        low, high = self.bounds
        return {
            "rule": self.rule,
            "name": self.name,
            "kind": self.kind.value,
            "value": self.value,
            "low": low,
            "high": high,
            "whole": self.whole,
            "text": self.text,
            "span": None if self.span is None else [self.span.start, self.span.end],
        }


def knobs(rules: RuleSet) -> list[Knob]:
    """All numbers of the rules in TESLA that can be turned, in text order.

    >>> from cepheus.language.tesla import parse
    >>> from cepheus.rules.check.check import name_rules
    >>> text = "define F() from Smoke() and last Temp(value > 45) within 5 min from Smoke"
    >>> [(knob.name, knob.value) for knob in knobs(name_rules(parse(text)))]
    [('F: value > 45', 45), ('F: within 5 min from Smoke', 300000000)]
    """
    found: list[Knob] = []
    for rule in rules.rules:
        for knob in _knobs_of(rule):
            same = sum(other.name == knob.name or other.name.startswith(f"{knob.name} (") for other in found)
            found.append(knob if not same else replace(knob, name=f"{knob.name} ({same + 1})"))
    return found


def knob_named(rules: RuleSet, name: str) -> Knob:
    """The knob of that name; OptionError if there is none."""
    found = knobs(rules)
    for knob in found:
        if knob.name == name:
            return knob
    names = [knob.name for knob in found]
    hint = did_you_mean(name, names) or f"the knobs are {'; '.join(names[:10])}"
    raise OptionError.of("knob", f"there is no knob '{name}'", hint=hint if names else "these rules have no numbers")


def turned(rules: RuleSet, knob: Knob, value: Number) -> RuleSet:
    """The rules with another number in the place of a knob; they are to be checked again.

    >>> from cepheus.language.tesla import parse
    >>> from cepheus.language.tesla.print import format_rules
    >>> from cepheus.rules.check.check import name_rules
    >>> rules = name_rules(parse("define F() from Temp(value > 45)"))
    >>> print(format_rules(turned(rules, knobs(rules)[0], 50)), end="")
    rule F
    define F()
    from   Temp(value>50)
    """
    number = _allowed(knob, value)
    changed = tuple(_put(rule, knob.path, number) if rule.name == knob.rule else rule for rule in rules.rules)
    return replace(rules, rules=changed)


def _allowed(knob: Knob, value: Number) -> Number:
    if not np.isfinite(value):
        raise OptionError.of("knob", f"{value!r} is no value for '{knob.name}'", hint="give a finite number")
    number: Number = round(value) if knob.whole else float(value)
    lengths = knob.kind in (KnobKind.WINDOW, KnobKind.TIMER)
    least = 1 if knob.kind is KnobKind.TIMER else 0
    if lengths and not least <= number <= MAX_TIME:
        raise OptionError.of("knob", f"{value!r} is no value for '{knob.name}'", hint="give a length of time")
    if knob.kind is KnobKind.PROBABILITY and not 0.0 <= number <= 1.0:
        raise OptionError.of("knob", f"{value!r} is no probability", hint="give a number from 0 to 1")
    return number


def _knobs_of(rule: Rule) -> Iterator[Knob]:
    name = str(rule.name)
    for path, node, around in _walk(rule, (), None):
        match node:
            case Constant(value=bool()) | Constant(type=ValueType.TIMESTAMP):
                continue
            case Constant(value=int() | float() as number, type=kind, span=span, duration=duration):
                if around is None:
                    continue
                text = _around(around)
                role = KnobKind.WINDOW if duration else KnobKind.CONSTANT
                whole = kind is ValueType.INT
                yield Knob(name, f"{name}: {text}", role, number, (*path, "value"), text, span, whole)
            case Within(duration=length, reference=reference, span=span, since_start=False):
                text = f"within {format_duration(length)} from {reference}"
                way = (*path, "duration")
                yield Knob(name, f"{name}: {text}", KnobKind.WINDOW, length, way, text, span, whole=True)
            case After(duration=length, span=span):
                text = f"{format_duration(length)} after"
                way = (*path, "duration")
                yield Knob(name, f"{name}: {text}", KnobKind.TIMER, length, way, text, span, whole=True)
            case Every():
                continue  # its period is part of a type of moments
            case _:
                continue
    if rule.min_probability is not None:
        text = f"min probability {rule.min_probability:g}"
        yield Knob(name, f"{name}: {text}", KnobKind.PROBABILITY, rule.min_probability, ("min_probability",), text)


def _around(condition: Expression) -> str:
    """A condition in one line; of an aggregate in it, its name alone."""
    if isinstance(condition, Comparison):
        words = [_operand(condition.operands[0])]
        for symbol, operand in zip(condition.operators, condition.operands[1:], strict=True):
            words += [symbol, _operand(operand)]
        return " ".join(words)
    return format_expression(condition)


def _operand(operand: Expression) -> str:
    return f"{operand.function}({operand.event.type})" if isinstance(operand, Aggregate) else format_expression(operand)


def _walk(node: Any, path: Path, around: Expression | None) -> Iterator[tuple[Path, Any, Expression | None]]:
    """Every node below a node, with the way to it and the nearest condition that it stands in."""
    if isinstance(node, tuple):
        for place, child in enumerate(node):
            yield from _walk(child, (*path, place), around)
        return
    if not is_dataclass(node):
        return
    yield path, node, around
    inner = node if isinstance(node, Comparison) else around
    for each in fields(node):
        if isinstance(node, Aggregation) and each.name == "comparison":  # in which the aggregate stands again
            yield from (one for one in _walk(node.comparison, (*path, "comparison"), inner) if _beside(one, node))
        elif each.compare:
            yield from _walk(getattr(node, each.name), (*path, each.name), inner)


def _beside(one: tuple[Path, Any, Expression | None], item: Aggregation) -> bool:
    """Whether a node of the comparison around an aggregate does not belong to the aggregate itself."""
    path = one[0][one[0].index("comparison") + 1 :]
    node: Any = item.comparison
    for step in path:
        node = node[step] if isinstance(step, int) else getattr(node, step)
        if node == item.aggregate:
            return False
    return True


def _put(node: Any, path: Path, value: Number) -> Any:
    """A node with a value in the place that a way leads to."""
    if not path:
        return value
    step, *rest = path
    if isinstance(step, int):
        return (*node[:step], _put(node[step], tuple(rest), value), *node[step + 1 :])
    changed = replace(node, **{step: _put(getattr(node, step), tuple(rest), value)})
    if isinstance(node, Aggregation) and step == "aggregate" and node.comparison is not None:
        old, new = node.aggregate, changed.aggregate
        return replace(changed, comparison=transform(node.comparison, lambda each: new if each == old else each))
    return changed


@dataclass(frozen=True, slots=True)
class Score:
    """How what was found compares with what should have been: by time, within a tolerance.

    A label is found if a composite event lies at most the tolerance from it, which then is right.
    """

    labels: int
    found_labels: int
    found: int
    right: int

    @property
    def precision(self) -> float | None:
        """The share of what was found that is right, None if nothing was found."""
        return self.right / self.found if self.found else None

    @property
    def recall(self) -> float | None:
        """The share of the labels that were found, None if there are none."""
        return self.found_labels / self.labels if self.labels else None


def score(found: IntArray, labels: IntArray, tolerance: int) -> Score:
    """Compare the times of what was found with those of what should have been, all in microseconds.

    A label is a time, or a row of two: the first and the last time of a stretch.

    >>> scored = score(np.array([10, 50, 90]), np.array([12, 91, 200]), 5)
    >>> scored.right, scored.found_labels, scored.precision
    (2, 2, 0.6666666666666666)
    >>> score(np.array([10, 50, 90]), np.array([[0, 40], [95, 96]]), 5).right
    2
    """
    found = np.sort(found)
    firsts, lasts = (labels[:, 0], labels[:, 1]) if labels.ndim == 2 else (labels, labels)
    starts = np.maximum(firsts, MIN_TIME + tolerance) - tolerance
    ends = np.minimum(lasts, MAX_TIME - tolerance) + tolerance
    hit = np.searchsorted(found, ends, side="right") > np.searchsorted(found, starts, side="left")
    begun = np.searchsorted(np.sort(starts), found, side="right")
    over = np.searchsorted(np.sort(ends), found, side="left")
    return Score(len(labels), int(np.count_nonzero(hit)), len(found), int(np.count_nonzero(begun > over)))


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """What one value of a knob finds: how many composite events of each type, and how good that is."""

    value: Number
    counts: dict[str, int]
    score: Score | None = None


@dataclass(frozen=True, slots=True)
class Sweep:
    """What the values of a knob find, one after the other."""

    knob: Knob
    composite: str
    points: tuple[SweepPoint, ...]

    def __str__(self) -> str:
        head = f"{self.knob.name} now {self.knob.shown()}"
        scored = any(point.score is not None for point in self.points)
        lines = [head, f"{'value':>12} {self.composite:>12}" + ("  precision  recall" if scored else "")]
        for point in self.points:
            line = f"{self.knob.shown(point.value):>12} {point.counts.get(self.composite, 0):>12}"
            if point.score is not None:
                line += f"  {_share(point.score.precision):>9}  {_share(point.score.recall):>6}"
            lines.append(line)
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The sweep as a JSON object."""
        points = []
        for point in self.points:
            data: dict[str, Any] = {
                "value": point.value,
                "shown": self.knob.shown(point.value),
                "count": point.counts.get(self.composite, 0),
                "counts": point.counts,
            }
            if point.score is not None:
                data |= {"precision": point.score.precision, "recall": point.score.recall}
            points.append(data)
        return {"knob": self.knob.to_json(), "composite": self.composite, "points": points}


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.3f}"


def sweep(
    rules: RuleSet,
    knob: Knob,
    values: Iterable[Number],
    run: Callable[[RuleSet], EventBatch],
    *,
    labels: Sequence[int] | Sequence[tuple[int, int]] | IntArray | None = None,
    tolerance: int = 0,
    progress: Callable[[int], object] = lambda _: None,
) -> Sweep:
    """Run the rules with one value of a knob after the other.

    ``run`` finds the composite events of changed rules. ``labels`` are the times, in microseconds, at which the rule of
    the knob should have fired, or the stretches of time, each from its first to its last; ``tolerance`` is how far from
    one a composite event may lie. ``progress`` is told how many values are done.
    """
    composite = next(rule.composite.name for rule in rules.rules if rule.name == knob.rule)
    expected = None if labels is None else np.asarray(labels, np.int64)
    points = []
    for done, value in enumerate(values, 1):
        found = run(turned(rules, knob, value))
        counts = np.bincount(found.codes, minlength=len(found.types)).tolist() if len(found) else []
        by_type = dict(zip(found.types, counts, strict=True)) if len(found) else {}
        scored = None
        if expected is not None:
            code = found.types.index(composite) if composite in found.types else -1
            scored = score(found.times[found.codes == code], expected, tolerance)
        points.append(SweepPoint(value, {name: count for name, count in by_type.items() if count}, scored))
        progress(done)
    return Sweep(knob, composite, tuple(points))
