"""Whether a client's message makes sense, before it is written down: what a processor cannot bear must not get there.

A node writes down what it is told and is told it again after a crash; a message that it fails on would be there still.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cepheus.core.errors import CepheusError
from cepheus.core.event import Event
from cepheus.rules.check import check
from cepheus.rules.expressions import Aggregate, EventPattern, Parameter
from cepheus.rules.model import RuleSet
from cepheus.rules.walk import walk
from cepheus.runtime.network.protocol.event_columns import EventColumns
from cepheus.runtime.network.protocol.messages import AttachSink, DeployRules, Message, Publish
from cepheus.runtime.network.transport.carried import uncertain
from cepheus.runtime.network.transport.security import RefusedError

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
