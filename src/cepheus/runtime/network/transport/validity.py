"""Whether events and messages are such as a network carries, before they are sent or written down.

A node writes down what it is told and is told it again after a crash: what a processor cannot bear must not get there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from cepheus.core.errors import CepheusError, EventError
from cepheus.core.event import Event
from cepheus.core.values import INT_MAX, INT_MIN
from cepheus.rules.check import check
from cepheus.rules.expressions import Aggregate, EventPattern, Parameter
from cepheus.rules.model import RuleSet
from cepheus.rules.walk import walk
from cepheus.runtime.network.protocol.event_columns import EventColumns
from cepheus.runtime.network.protocol.messages import AttachSink, DeployRules, Message, Publish
from cepheus.runtime.network.transport.security import RefusedError

SCALARS: dict[type, str] = {bool: "a bool", int: "an int", float: "a double", str: "a text"}
"""The types of values that a network carries, in words."""


def scalar_type(kind: type) -> type | None:
    """The type of values that a Python type holds, such as float for NumPy's double; None if there is none.

    >>> import numpy as np
    >>> scalar_type(bool), scalar_type(np.float64), scalar_type(tuple)
    (<class 'bool'>, <class 'float'>, None)
    """
    if kind in SCALARS:
        return kind
    return next((scalar for scalar in SCALARS if issubclass(kind, scalar)), None)


def check_carried(event: str, attribute: str, values: Sequence[Any]) -> set[type]:
    """Refuse values of an attribute of events that a network does not carry; gives the types of those that it does.

    >>> check_carried("Temp", "value", [50, 51.5, None]) == {int, float}
    True
    """
    found: set[type] = set()
    kinds = {*map(type, values)}
    for kind in kinds - {type(None)}:
        own: Sequence[Any] = values if len(kinds) == 1 else [value for value in values if type(value) is kind]
        scalar = scalar_type(kind)
        if scalar is None:
            raise no_lists(attribute) if issubclass(kind, tuple | list) else _no_value(event, attribute, own[0])
        if scalar is int and not INT_MIN <= min(own) <= max(own) <= INT_MAX:
            number = next(value for value in own if not INT_MIN <= value <= INT_MAX)
            raise EventError.of("integer", f"{event}.{attribute}: {number} does not fit in 64 bits")
        if scalar is float and not all(map(math.isfinite, own)):
            number = next(value for value in own if not math.isfinite(value))
            raise EventError.of("number", f"{event}.{attribute}: {number} is not a finite number")
        found.add(scalar)
    return found


def uncertain(events: EventColumns) -> int | None:
    """The row of the first event that may not have happened or has errors; None if all are certain.

    >>> from cepheus.core.event import Event
    >>> uncertain(EventColumns.of([Event("Temp", 1), Event("Temp", 2, probability=0.9)]))
    1
    """
    return next((row for row, rest in events.rests.items() if "errors" in rest or "probability" in rest), None)


def check_certain(events: EventColumns) -> None:
    """Refuse events that may not have happened or have errors: a network would take them for certain."""
    row = uncertain(events)
    if row is not None:
        raise EventError.of(
            "network-uncertain",
            f"the event of type '{events[row].type}' at {events.times[row]} is uncertain, which networks do not take",
            hint="leave out its probability and errors, or detect in one process or on Spark",
        )


def no_lists(attribute: str) -> EventError:
    """Say that an attribute has lists, which a network does not carry."""
    hint = "leave it out, or give its elements attributes of their own"
    return EventError.of("list", f"the attribute '{attribute}' has lists, which a network does not carry", hint=hint)


def _no_value(event: str, attribute: str, value: object) -> EventError:
    hint = "give it as a plain number, text or truth"
    return EventError.of("type", f"{event}.{attribute}: {value!r} is no value of an event", hint=hint)


_FARTHEST = 1 << 62
"""Microseconds from the epoch: farther, what is added to a time may not fit in 64 bits."""


def check_sense(message: Message, latest: int = _FARTHEST) -> None:
    """Refuse a message that no client of ours would send, or with a time later than ``latest``."""
    match message:
        case AttachSink(pattern=pattern):
            _check_pattern(pattern)
        case DeployRules(rules=rules, declarations=declarations):
            _check_rules(RuleSet(declarations, rules))
        case Publish(events=events, through=through):
            _check_times(_times(events), through, latest)
            _check_certain(events)


def _check_pattern(pattern: EventPattern) -> None:
    parts = [node for constraint in pattern.constraints for node in walk(constraint)]
    if any(isinstance(part, Parameter | Aggregate) for part in parts):
        raise RefusedError(f"a subscription such as that to '{pattern.type}' has neither parameters nor aggregates")


def _check_rules(rules: RuleSet) -> None:
    if any(rule.name is None for rule in rules.rules):
        raise RefusedError("a rule has no name")
    try:
        check(rules, closed=False)
    except CepheusError:
        return  # the processor answers with what is wrong
    except Exception:  # whatever a rule that was not made by our parser leads to
        raise RefusedError("a rule is none that Cepheus can check") from None


def _times(events: Sequence[Event]) -> Iterable[int]:
    return events.times if isinstance(events, EventColumns) else [event.time for event in events]


def _check_times(times: Iterable[int], through: int | None, latest: int) -> None:
    every = [*times] if through is None else [*times, through]
    if every and not -_FARTHEST < min(every) <= max(every) < _FARTHEST:
        raise RefusedError("times must be within 2**62 microseconds of the epoch: is it another unit?")
    if every and max(every) > latest:
        raise RefusedError(
            f"the time {max(every)} lies too far ahead of the node's clock, and would make what others publish late: "
            "is the clock of the source right, and the unit? [limits] ahead allows more"
        )


def _check_certain(events: Sequence[Event]) -> None:
    if uncertain(EventColumns.of(events)) is not None:
        raise RefusedError("events of a network are certain: they have no probabilities and no errors")
