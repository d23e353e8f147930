"""Chains and trees of selections on busy streams: where sequences are settled and deleted early, most is at stake."""

from __future__ import annotations

from random import Random

import pytest
from agreement import normal

from cepheus.core.batch import EventBatch
from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.interface import Engine
from cepheus.language.tesla import parse
from cepheus.rules.check import check

_POLICIES = ("each", "last", "last", "first", "2 last", "2 first")
_CONSTRAINTS = (
    *("", "", "k={other}.k", "k={other}.k", "v <= {other}.v", "v != {other}.v", "0 < v < {other}.v", "v > 0"),
    *("k={other}.k and v > {other}.v", "k=e0.k", "v < e0.v"),
)


def random_rules(random: Random) -> str:
    """Give two rules, each a chain or a tree of up to five selections."""
    text = "".join(f"event {name}(k: int, v: double)\n" for name in "ABC")
    for number in range(2):
        items = [f"{random.choice('ABC')}() as e0"]
        for at in range(1, random.randint(2, 5)):
            reference = f"e{random.choice((at - 1, at - 1, random.randrange(at)))}"
            constraint = random.choice(_CONSTRAINTS).format(other=reference)
            window = random.choice((1, 3, 6, 20))
            event = f"{random.choice('ABC')}({constraint}) as e{at}"
            items.append(f"{random.choice(_POLICIES)} {event} within {window} us from {reference}")
        consuming = f" consuming e{random.randrange(1, len(items))}" if random.random() < 0.2 else ""
        text += f"rule R{number} define P{number}(v: double) from {' and '.join(items)} where v=e0.v{consuming};\n"
    return text


def random_stream(random: Random, count: int) -> list[Event]:
    """Give a stream with many ties and few values."""
    time, events = 0, []
    for number in range(count):
        time += random.choice((0, 0, 1, 1, 2, 5))
        attributes = {"k": random.randrange(2), "v": random.choice((0.0, -0.0, 1.0, 2.0))}
        events.append(Event(random.choice("ABC"), time, attributes, id=number))
    return events


def run(engine: Engine, events: list[Event], random: Random) -> list[Event]:
    """Feed events in batches of any size, some of them after a snapshot was taken and restored."""
    found: list[Event] = []
    while events:
        size = random.choice((1, 2, 5, 40))
        found += engine.feed(EventBatch.from_events(events[:size])).to_events()
        events = events[size:]
        if random.random() < 0.2:
            saved = engine.snapshot()
            engine = create(engine.name)
            engine.restore(saved)
    return found


def compare(seed: int) -> int:
    """Compare one case with the reference; give how many composite events there were."""
    random = Random(seed)
    text = random_rules(random)
    events = random_stream(random, 60)
    checked = check(parse(text))
    schema = Schema({**checked.inputs, **checked.composites}.values())
    reference = create("reference", checked.rules.rules, schema)
    expected = [made for event in events for made in reference.feed_event(event)]
    found = run(create("automata", checked.rules.rules, schema), events, random)
    assert normal(found) == normal(expected), f"seed {seed}: {text}"
    return len(found)


@pytest.mark.parametrize("block", range(6))
def test_busy_sequences_agree_with_the_reference(block: int) -> None:
    assert sum(compare(seed) for seed in range(60 * block, 60 * block + 60)) > 400
