"""What rules answer to users' questions on random streams is what a few lines of Python answer."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from asked import ASKED, Answer, Asked

import cepheus
from cepheus.core.time import SECOND

SEEDS = range(6)
ENGINES: dict[str, dict[str, Any]] = {"reference": {"engine": "reference"}, "auto": {}, "threads": {"threads": 2}}


def answers(composites: Iterable[cepheus.Event]) -> list[Answer]:
    """Composite events as the answers by hand are, in any order."""
    found = []
    for event in composites:
        values: dict[str, Any] = dict(event.attributes)
        values |= {name: values[name] // SECOND for name in ("since", "latest") if name in values}
        found.append((event.type, event.time // SECOND, tuple(values.values())))
    return sorted(found, key=repr)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.name)
def test_rules_answer_as_python_does(asked: Asked, engine: str) -> None:
    program, total = cepheus.compile(asked.rules), 0
    for seed in SEEDS:
        events = asked.stream(seed)
        wanted = sorted(asked.answer(events, events[-1]["time"]), key=repr)
        options: dict[str, Any] = {"time_unit": "s", "sequence": "nr", "until": asked.until, **ENGINES[engine]}
        assert answers(program.detect(events, **options).to_events()) == wanted, f"seed {seed}"
        total += len(wanted)
    assert total > 5


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.name)
def test_a_session_answers_so_however_a_stream_comes(asked: Asked) -> None:
    """Out of order within the lateness, in pieces, saved and restored, with time that is promised here and there."""
    program = cepheus.compile(asked.rules)
    options: dict[str, Any] = {"time_unit": "s", "sequence": "nr", "lateness": "9 s"}
    for seed in SEEDS:
        random, events = Random(seed), asked.stream(seed)
        end = events[-1]["time"] + random.choice((0, 1, 100))
        wanted = [each for each in asked.answer(events, end) if each[1] <= end]
        coming = sorted(events, key=lambda event: (event["time"] + random.randrange(9), event["nr"]))
        session, found = program.start(**options), list[cepheus.Event]()
        while coming:
            size = random.randint(1, 12)
            found += session.feed(coming[:size]).to_events()
            coming = coming[size:]
            if coming and random.random() < 0.3:
                found += session.advance(min(event["time"] for event in coming)).to_events()
            if random.random() < 0.3:
                session = program.start(snapshot=session.snapshot(), **options)
        found += [*session.advance(end).to_events(), *session.close().to_events()]
        assert answers(found) == sorted(wanted, key=repr), f"seed {seed}"
