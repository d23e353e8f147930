"""Running interval rules in tests, with small notations for streams and answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from minimal_model import minimal_model

from cepheus.core.batch import EventBatch
from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.core.time import MAX_TIME, SECOND, TimeUnit
from cepheus.core.values import Value
from cepheus.engine.base.interface import Engine
from cepheus.engine.reference.interval_engine import IntervalReferenceEngine
from cepheus.formats.intervals import argument_name
from cepheus.language.etalis import parse
from cepheus.rules.check import Checked, check
from cepheus.rules.interval.matches import Instance

Found = tuple[str, tuple[Value | None, ...], int, int]
"""A complex event: type, arguments, start and end in seconds."""

AS_RECORDED = {
    "recent": "recent, once, renewing, onesided",
    "chronological": "chronological, renewing, onesided",
    "unrestricted": "unrestricted",
}
"""The policies of the ETALIS system in our words."""


def checked(text: str, policy: str = "unrestricted") -> Checked:
    """Check rules whose numbers are seconds."""
    return check(parse(f"policy {policy}.\n{text}", unit=TimeUnit.S))


def event(name: str, arguments: Sequence[Value], start: int, end: int, identity: int | None = None) -> Event:
    """Make an event with times in seconds."""
    attributes = {argument_name(place): value for place, value in enumerate(arguments, 1)}
    return Event(name, end * SECOND, attributes, start=start * SECOND, id=identity)


def stream(text: str) -> list[Event]:
    """Read ``a@1 b(2,x)@3 c@[4,6]``: events with arguments, at times or in intervals of seconds."""
    events = []
    for place, match in enumerate(re.finditer(r"(\w+)(?:\(([^)]*)\))?@(?:(\d+)|\[(\d+),(\d+)\])", text)):
        name, arguments, time, start, end = match.groups()
        values = [int(word) if word.isdecimal() else word for word in (arguments or "").split(",") if word]
        events.append(event(name, values, int(time or start), int(time or end), place))
    return events


def deployed(program: Checked, engine: Engine | None = None) -> Engine:
    """Make an engine, the reference if none is given, and deploy the rules in it."""
    running: Engine = IntervalReferenceEngine() if engine is None else engine
    running.deploy(program.rules.interval_rules, Schema({**program.composites, **program.inputs}.values()))
    return running


def run(program: Checked, events: Iterable[Event], engine: Engine | None = None) -> list[Found]:
    """Give the complex events in the order in which they are found."""
    running = deployed(program, engine)
    made = [composite for each in events for composite in running.feed_event(each)]
    return [found(composite) for composite in [*made, *running.advance(MAX_TIME).to_events()]]


def run_batches(program: Checked, batches: Iterable[Sequence[Event]], engine: Engine | None = None) -> list[Found]:
    """Give the complex events of a stream that is fed in batches."""
    running = deployed(program, engine)
    made = [composite for batch in batches for composite in running.feed(EventBatch.from_events(batch)).to_events()]
    return [found(composite) for composite in [*made, *running.advance(MAX_TIME).to_events()]]


def found(composite: Event) -> Found:
    """Give a complex event in the notation of the tests."""
    assert composite.start is not None
    return composite.type, tuple(composite.attributes.values()), composite.start // SECOND, composite.time // SECOND


def model(program: Checked, events: Iterable[Event]) -> list[Found]:
    """Give the minimal model of Figure 2."""
    given = [
        Instance(e.type, tuple(e.attributes.values()), e.time if e.start is None else e.start, e.time) for e in events
    ]
    derived = minimal_model(program.rules.interval_rules, given)
    return [(i.type, i.values, i.start // SECOND, i.end // SECOND) for i in derived]


def in_order(answers: Iterable[Any]) -> list[Found]:
    """Sort answers, so that they compare as multisets."""
    plain = [(name, tuple(arguments), start, end) for name, arguments, start, end in answers]
    return sorted(plain, key=lambda each: (each[3], each[2], each[0], str(each[1])))
