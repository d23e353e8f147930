"""Correlations as Sigma means them, written as TESLA rules.

A correlation is asked at each event that one of its base rules matches, about the timespan that ends there: both ends
count, and so does the event itself. Events that lack a field of ``group-by`` belong to no group. Events of one time
come in their order: ``ties ordered``. An event that several base rules match counts once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from cepheus.core.source import Span
from cepheus.core.time import format_duration
from cepheus.language.imports.attribute_types import AttributeTypes
from cepheus.language.imports.conditions import (
    Absent,
    AllOf,
    Compared,
    Condition,
    Field,
    all_of,
    any_of,
    attribute_of,
    not_true,
    operand_text,
    opposite,
    written,
)
from cepheus.language.imports.outcome import no_equivalent
from cepheus.language.tesla.names import written_attribute, written_name


@dataclass(frozen=True, slots=True)
class Base:
    """Events of a type that satisfy a condition, and those of their attributes that stand for ``group-by``."""

    name: str
    event: str
    condition: Condition
    keys: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Threshold:
    """What a number is compared with: ``operator`` is one of TESLA's."""

    operator: str
    number: int | float


@dataclass(frozen=True, slots=True)
class Correlation:
    """What all kinds of correlations have; ``group`` are the names of the keys, ``timespan`` is in microseconds."""

    name: str
    bases: tuple[Base, ...]
    group: tuple[str, ...]
    timespan: int
    span: Span | None = None


def _grouped(bases: tuple[Base, ...]) -> list[Base]:
    """The base rules put together by type of event and fields for ``group-by``.

    An event that is in the same group by two choices of fields belongs to the first of them, so that it counts once.
    """
    whole: list[Base] = []
    found: list[Base] = []
    for event, keys in dict.fromkeys((base.event, base.keys) for base in bases):
        mine = any_of(*(base.condition for base in bases if (base.event, base.keys) == (event, keys)))
        base = Base("", event, mine, keys)
        before = [all_of(one.condition, _same_keys(one, base)) for one in whole if one.event == event]
        whole.append(base)
        found.append(_also(base, *map(not_true, before)))
    return found


def _same_keys(one: Base, other: Base) -> Condition:
    """Whether an event is in the same group by the fields of both."""
    pairs = zip(one.keys, other.keys, strict=True)
    return all_of(*(Compared(left, "=", right) for left, right in pairs if left != right))


def _also(base: Base, *conditions: Condition) -> Base:
    return replace(base, condition=all_of(base.condition, *conditions))


_SWITCHED = "a number below a threshold is known only when the timespan is over, and it has no end of its own"


def prepare(correlation: Correlation, types: AttributeTypes, made: frozenset[str]) -> None:
    """Learn the types of what a correlation reads; ``made`` are the events that other correlations make."""
    for base in correlation.bases:
        if base.event not in made:
            types.use(base.event, base.condition)
    for keys in zip(*(base.keys for base in correlation.bases), strict=True):
        types.joined((base.event, key.name) for base, key in zip(correlation.bases, keys, strict=True))


class CorrelationWriter:
    """Writes the rules of one correlation, one for each type of event that may complete it, and for each choice of the
    fields that its base rules have for ``group-by``.
    """

    def __init__(self, correlation: Correlation, types: AttributeTypes) -> None:
        self.correlation = correlation
        self.timespan = format_duration(correlation.timespan)
        self.types = types
        self.grouped = _grouped(correlation.bases)

    def event_count(self, threshold: Threshold) -> list[str]:
        """``event_count``: how many events."""
        self._only_upwards(threshold)
        rules = []
        for latest in self.grouped:
            parts, counts = [self._event(latest, "Latest")], []
            for place, other in enumerate(self.grouped, 1):
                parts.append(
                    f"$n{place} = Count({self._event(other, f'Earlier{place}')} within {self.timespan} from Latest)"
                )
                counts.append(f"$n{place}")
            number = f"{' + '.join(counts)} + 1"
            parts.append(f"{number} {threshold.operator} {threshold.number}")
            rules.append(self._rule(parts, {"number": ("int", number)}))
        return rules

    def value_count(self, field: str, threshold: Threshold) -> list[str]:
        """``value_count``: how many different values of a field."""
        self._only_upwards(threshold)
        base, value = self._single("value_count"), Field(field)
        self.types.use(base.event, Absent(value))
        there = _also(base, opposite(Absent(value)))
        name = operand_text(value)
        if threshold.operator == "=" and threshold.number < 1:
            raise no_equivalent(
                f"'= {threshold.number}'", "at an event there is at least one value", self.correlation.span
            )
        if threshold.number < 1 or (threshold.number == 1 and threshold.operator != ">"):
            # one value, which is there: a number of different values of no earlier events is undefined
            parts = [self._event(there, "Latest")]
            if threshold.operator == "=":
                others = self._event(there, "Other", f"{name} != Latest.{name}")
                parts.append(f"Count({others} within {self.timespan} from Latest) = 0")
            return [self._rule(parts, {})]
        earlier = self._event(there, "Earlier")
        same = self._event(there, "Same", f"{name}=Latest.{name}")
        parts = [
            self._event(there, "Latest"),
            f"$values = CountDistinct({earlier}.{name} within {self.timespan} from Latest)",
            f"$known = Count({same} within {self.timespan} from Latest)",
            f"(($known > 0 and $values {threshold.operator} {threshold.number}) or "
            f"($known = 0 and $values + 1 {threshold.operator} {threshold.number}))",
        ]
        return [self._rule(parts, {})]

    def value_sum(self, field: str, threshold: Threshold) -> list[str]:
        """``value_sum``: the sum of a field."""
        self._only_upwards(threshold)
        base, value = self._single("value_sum"), Field(field)
        self.types.as_number(base.event, field)
        there = _also(base, opposite(Absent(value)))
        earlier = self._event(there, "Earlier")
        parts = [
            self._event(there, "Latest"),
            f"$sum = Sum({earlier}.{operand_text(value)} within {self.timespan} from Latest)",
            f"$sum + Latest.{operand_text(value)} {threshold.operator} {threshold.number}",
        ]
        return [self._rule(parts, {"total": ("double", f"$sum + Latest.{operand_text(value)}")})]

    def value_avg(self, field: str, threshold: Threshold) -> list[str]:
        """``value_avg``: the mean of a field."""
        base, value = self._single("value_avg"), Field(field)
        self.types.as_number(base.event, field)
        there = _also(base, opposite(Absent(value)))
        added = self._event(there, "Added")
        mean = f"($sum + Latest.{operand_text(value)}) / ($n + 1)"
        parts = [
            self._event(there, "Latest"),
            f"$sum = Sum({added}.{operand_text(value)} within {self.timespan} from Latest)",
            f"$n = Count({self._event(there, 'Counted')} within {self.timespan} from Latest)",
            f"{mean} {threshold.operator} {threshold.number}",
        ]
        return [self._rule(parts, {"mean": ("double", mean)})]

    def temporal(self, combined: Callable[[dict[str, str]], str] | None = None) -> list[str]:
        """``temporal``: all base rules in any order, or what ``combined`` makes of whether each has matched."""
        rules = []
        for latest in self.grouped:
            parts = [self._event(latest, "Latest")]
            happened: dict[str, str] = {}
            for place, base in enumerate(self.correlation.bases, 1):
                other = self._event(base, f"Other{place}")
                parts.append(f"$n{place} = Count({other} within {self.timespan} from Latest)")
                happened[base.name] = f"$n{place} >= 1"
                if base.event == latest.event:
                    same = all_of(base.condition, _same_keys(base, latest))
                    happened[base.name] = f"($n{place} >= 1 or {written(same, 'Latest')})"
            parts.append(" and ".join(happened.values()) if combined is None else combined(happened))
            rules.append(self._rule(parts, {}))
        return rules

    def temporal_ordered(self) -> list[str]:
        """``temporal_ordered``: all base rules one after the other; the latest way to have them is looked for."""
        *earlier, last = self.correlation.bases
        parts, reference = [self._event(last, "Latest")], "Latest"
        for place, base in reversed(list(enumerate(earlier, 1))):
            also = f"time >= Latest.time - {self.timespan}" if reference != "Latest" else ""
            parts.append(f"last {self._event(base, f'Step{place}', also=also)} within {self.timespan} from {reference}")
            reference = f"Step{place}"
        return [self._rule(parts, {"start_time": ("timestamp", f"{reference}.time")})]

    def _only_upwards(self, threshold: Threshold) -> None:
        if threshold.operator not in (">=", ">", "="):
            raise no_equivalent(f"'{threshold.operator} {threshold.number}'", _SWITCHED, self.correlation.span)

    def _single(self, kind: str) -> Base:
        if len({base.event for base in self.grouped}) > 1:
            reason = "an aggregate reads events of one type"
            raise no_equivalent(f"{kind} over several types of events", reason, self.correlation.span)
        if len(self.grouped) > 1:
            reason = "an aggregate reads events whose group is in the same fields"
            raise no_equivalent(f"{kind} over events with different aliases", reason, self.correlation.span)
        return self.grouped[0]

    def _event(self, base: Base, alias: str, also: str = "") -> str:
        parts = base.condition.parts if isinstance(base.condition, AllOf) else (base.condition,)
        keys = [f"{operand_text(key)}=$key{place}" for place, key in enumerate(base.keys, 1)]
        constraints = [*map(written, parts), *keys, *([also] if also else [])]
        return f"{written_name(base.event)}({' and '.join(constraints)}) as {alias}"

    def _rule(self, parts: list[str], values: dict[str, tuple[str, str]]) -> str:
        kinds = {}
        for place, name in enumerate(self.correlation.group):
            base = self.correlation.bases[0]
            kinds[attribute_of(name)] = self.types.type_of(base.event, base.keys[place].name)
        given = {name: f"$key{place}" for place, name in enumerate(kinds, 1)}
        attributes = [f"{written_attribute(name)}: {kind.value}" for name, kind in kinds.items()]
        attributes += [f"{name}: {kind}" for name, (kind, _) in values.items() if name not in kinds]
        given |= {name: text for name, (_, text) in values.items() if name not in kinds}
        assigned = " and ".join(f"{written_attribute(name)}={text}" for name, text in given.items())
        where = f"\nwhere {assigned}" if assigned else ""
        head = f"define {written_name(self.correlation.name)}({', '.join(attributes)})"
        return f"{head}\nfrom {' and '.join(parts)}{where}"
