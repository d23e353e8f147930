"""Sequences as EQL means them, written as TESLA rules.

For each value of the keys, EQL keeps at most one unfinished sequence in each state, the latest that came so far. An
event that is the next step moves the sequence that waits for it one state on, where it takes the place of an older one.
So the sequence that a step carries on is the last one that waits, unless an event of the same step has carried that on
already: ``last .. and not .. between``. From the third step on, what waits is itself a result, which a rule of its own
makes. Events of one time come in their order: ``ties ordered``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cepheus.core.source import Span
from cepheus.core.time import format_duration
from cepheus.language.imports.attribute_types import AttributeTypes
from cepheus.language.imports.conditions import (
    ALWAYS,
    AllOf,
    Condition,
    Field,
    attribute_of,
    not_true,
    operand_text,
    written,
)
from cepheus.language.imports.outcome import no_equivalent
from cepheus.language.tesla.names import written_attribute, written_name


@dataclass(frozen=True, slots=True)
class Step:
    """One item of a sequence: events of a type that satisfy a condition, and the attributes that must agree."""

    event: str
    condition: Condition
    keys: tuple[Field, ...]
    missing: bool = False
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class SequenceQuery:
    """Steps in order; ``maxspan`` in microseconds lies between the first and the last; ``until`` ends what waits."""

    steps: tuple[Step, ...]
    maxspan: int
    until: Step | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class _Stage:
    """A step that must happen, with the absences that stand before it."""

    step: Step
    absent: tuple[Step, ...] = ()


def sequence_rules(name: str, query: SequenceQuery, types: AttributeTypes) -> list[str]:
    """The rules that make an event called ``name`` for each sequence, helpers first."""
    for step in (*query.steps, *([query.until] if query.until else ())):
        types.use(step.event, step.condition)
    for keys in zip(*(step_keys(step) for step in query.steps), strict=True):
        types.joined([*keys])
    if query.until is not None:
        for first, last in zip(step_keys(query.steps[0]), step_keys(query.until), strict=True):
            types.joined([first, last])
    stages, after = _stages(query)
    return _Writer(name, query, stages, after, types).rules()


def step_keys(step: Step) -> list[tuple[str, str]]:
    """The keys of a step, as pairs of event type and attribute."""
    return [(step.event, key.name) for key in step.keys]


def _stages(query: SequenceQuery) -> tuple[list[_Stage], tuple[Step, ...]]:
    """Take steps and absences apart: each absence belongs to the step behind it, those at the end stand alone."""
    stages: list[_Stage] = []
    waiting: list[Step] = []
    for step in query.steps:
        if step.missing:
            waiting.append(step)
        else:
            stages.append(_Stage(step, tuple(waiting)))
            waiting = []
    if not stages:
        raise no_equivalent("a sequence of absences alone", "nothing would ever tell when it is over", query.span)
    _refuse_what_is_not_exact(query, stages, tuple(waiting))
    return stages, tuple(waiting)


def _refuse_what_is_not_exact(query: SequenceQuery, stages: list[_Stage], after: tuple[Step, ...]) -> None:
    before = stages[0].absent
    if before and len(stages) > 2:
        reason = "what must not have been before the first of three or more steps depends on when the last comes"
        raise no_equivalent("this missing event", reason, before[0].span)
    if before and after:
        raise no_equivalent("this missing event", "one at the beginning and one at the end do not fit", after[0].span)
    if after and query.until is not None:
        reason = "it is not said whether 'until' ends a sequence that only waits for nothing to happen"
        raise no_equivalent("'until' with a missing event at the end", reason, query.until.span)
    if len(stages) == 1 and not before and not after:
        raise no_equivalent("a sequence of one event", "Elasticsearch has none, either", query.span, "write the event")


_OWN = {"start_time": "timestamp", "unwanted": "int"}
"""What composite events carry besides the keys."""


class _Writer:
    """Writes the rules of one sequence."""

    def __init__(
        self, name: str, query: SequenceQuery, stages: list[_Stage], after: tuple[Step, ...], types: AttributeTypes
    ) -> None:
        self.name = name
        self.query = query
        self.stages = stages
        self.after = after
        self.span = format_duration(query.maxspan)
        first = stages[0].step
        self.keys = [f"{key.name}_" if key.name in _OWN else attribute_of(key.name) for key in first.keys]
        self.kinds = [types.type_of(first.event, key.name).value for key in first.keys]
        self.counts = any(stage.absent for stage in stages[1:-1])

    def rules(self) -> list[str]:
        """All rules, helpers first."""
        if len(self.stages) == 1:
            return [self._absence_at_end() if self.after else self._absence_at_beginning()]
        count = len(self.stages)
        made = [self._helper(number) for number in range(2, count)]
        if self.after:
            return [*made, self._stage(count, self._helper_name(count)), self._absence_at_end()]
        return [*made, self._stage(count, self.name)]

    def _helper_name(self, number: int) -> str:
        return f"{self.name}_{number}_of_{len(self.query.steps)}"

    def _helper(self, number: int) -> str:
        return self._stage(number, self._helper_name(number))

    def _stage(self, number: int, name: str) -> str:
        """The rule for one step and the sequence that waits for it."""
        stage, is_last = self.stages[number - 1], number == len(self.stages)
        step, previous = stage.step, self.stages[number - 2].step
        ending = ALWAYS if self.query.until is None else self._is_no_end(step)
        parts = [self.event(replace(step, condition=AllOf((step.condition, ending))), "Latest")]
        if number == 2:
            parts.append(f"last {self.event(previous, 'Before')} within {self.span} from Latest")
            start = "Before.time"
        else:
            helper = written_name(self._helper_name(number - 1))
            parts.append(f"last {helper}({self._same(self.keys)}) as Before within {self.span} from Latest")
            start = "Before.start_time"
        parts.append(f"not {self.event(step, 'Again')} between Before and Latest")
        if self.query.until is not None:
            parts.append(f"not {self.event(self.query.until, 'Ended')} between Before and Latest")
        values = self._key_values() | {"start_time": start}
        if is_last:
            parts += self._last_conditions(stage, number, start)
        elif self.counts:
            values["unwanted"], counted = self._counted(stage, number)
            parts += counted
        return self._rule(name, parts, values)

    def _last_conditions(self, stage: _Stage, number: int, start: str) -> list[str]:
        parts = [
            f"not {self.event(absent, f'Missing{place}')} between Before and Latest"
            for place, absent in enumerate(stage.absent, 1)
        ]
        if number > 2:
            parts.append(f"{start} >= Latest.time - {self.span}")
            if self.counts:
                parts.append("Before.unwanted = 0")
        for place, absent in enumerate(self.stages[0].absent, 1):
            parts += self._none_before(absent, place)
        return parts

    def _none_before(self, absent: Step, place: int) -> list[str]:
        """Nothing of a kind before the first of two steps, as far back as the sequence may reach."""
        first = self.stages[0].step
        in_all = f"$all{place} = Count({self.event(absent, f'Earlier{place}')} within {self.span} from Latest)"
        later = f"$later{place} = Count({self.event(absent, f'Later{place}')} between Before and Latest)"
        same = f"$all{place} = $later{place}"
        if absent.event == first.event:  # the first step itself is not before the first step
            itself = written(absent.condition, "Before")
            other = written(not_true(absent.condition), "Before")
            same = f"(({other} and {same}) or ({itself} and $all{place} = $later{place} + 1))"
        return [in_all, later, same]

    def _counted(self, stage: _Stage, number: int) -> tuple[str, list[str]]:
        """How many events came that must be missing: a sequence with some still takes the place of older ones."""
        parts = [
            f"$n{place} = Count({self.event(absent, f'Missing{place}')} between Before and Latest)"
            for place, absent in enumerate(stage.absent, 1)
        ]
        carried = ["Before.unwanted"] if number > 2 else []
        value = " + ".join([*carried, *(f"$n{place}" for place in range(1, len(parts) + 1))])
        return value or "0", parts

    def _absence_at_beginning(self) -> str:
        stage = self.stages[0]
        parts = [self.event(stage.step, "Latest")]
        parts += [
            f"not {self.event(absent, f'Missing{place}')} within {self.span} from Latest"
            for place, absent in enumerate(stage.absent, 1)
        ]
        return self._rule(self.name, parts, self._key_values() | {"start_time": "Latest.time"})

    def _absence_at_end(self) -> str:
        """The rule that fires when the time of a sequence is over; an event at its very end still counts."""
        first = self.stages[0].step
        over = format_duration(self.query.maxspan + 1)
        parts = [f"{over} after {self.event(first, 'Begin')}"]
        reference = "Begin"
        if len(self.stages) > 1:
            helper = written_name(self._helper_name(len(self.stages)))
            same = " and ".join(filter(None, [self._same(self.keys), "start_time=Begin.time"]))
            parts.append(f"last {helper}({same}) as Found within {over} from now")
            again = self.event(first, "Later", "time=Begin.time")
            parts.append(f"not {again} between Begin and now")
            reference = "Found"
        parts += [
            f"not {self.event(absent, f'Missing{place}')} between {reference} and now"
            for place, absent in enumerate(self.after, 1)
        ]
        return self._rule(self.name, parts, self._key_values() | {"start_time": "Begin.time"})

    def _is_no_end(self, step: Step) -> Condition:
        """What a step must satisfy so that it does not end the sequence which it would carry on."""
        until = self.query.until
        if until is None or until.event != step.event:
            return ALWAYS
        if until.keys != step.keys:
            reason = "an event that is a step and ends sequences of other keys"
            raise no_equivalent("'until' with other keys than a step of the same type", reason, until.span)
        return not_true(until.condition)

    def event(self, step: Step, alias: str, also: str = "") -> str:
        """A step's event with its condition and its keys."""
        keys = [f"{operand_text(key)}=$key{place}" for place, key in enumerate(step.keys, 1)]
        constraints = [text for text in (_constraints(step.condition), *keys, also) if text]
        return f"{written_name(step.event)}({' and '.join(constraints)}) as {alias}"

    def _same(self, names: list[str]) -> str:
        return " and ".join(f"{written_attribute(name)}=$key{place}" for place, name in enumerate(names, 1))

    def _key_values(self) -> dict[str, str]:
        return {name: f"$key{place}" for place, name in enumerate(self.keys, 1)}

    def _rule(self, name: str, parts: list[str], values: dict[str, str]) -> str:
        kinds = dict(zip(self.keys, self.kinds, strict=True)) | _OWN
        attributes = ", ".join(f"{written_attribute(value)}: {kinds[value]}" for value in values)
        assignments = " and ".join(f"{written_attribute(value)}={text}" for value, text in values.items())
        return f"define {written_name(name)}({attributes})\nfrom {' and '.join(parts)}\nwhere {assignments}"


def _constraints(condition: Condition) -> str:
    """Write a condition among the constraints of its event."""
    parts = [part for part in (condition.parts if isinstance(condition, AllOf) else (condition,)) if part != ALWAYS]
    flat: list[str] = []
    for part in parts:
        inner = _constraints(part) if isinstance(part, AllOf) else written(part)
        flat += [inner] if inner else []
    return " and ".join(flat)
