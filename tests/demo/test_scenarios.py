"""The generated streams: deterministic, in order, and the story that their rules should find."""

import pytest

from cepheus.core.batch import EventBatch
from cepheus.core.errors import OptionError
from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.demo import SCENARIOS, Scenario, Stream
from cepheus.engine.reference.engine import ReferenceEngine
from cepheus.language.tesla import parse
from cepheus.rules.check import check


def found_in(scenario: Scenario, stream: Stream) -> list[Event]:
    checked = check(parse(scenario.rules, scenario.rules_name))
    assert checked.warnings == ()
    engine = ReferenceEngine()
    engine.deploy(checked.rules.rules, Schema([*checked.inputs.values(), *checked.composites.values()]))
    return engine.feed(EventBatch.from_events(stream.events)).to_events()


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_seed_gives_the_same_stream_and_another_seed_another(name: str) -> None:
    generate = SCENARIOS[name].generate
    assert generate(7, 5_000) == generate(7, 5_000)
    assert generate(7, 5_000) != generate(8, 5_000)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_stream_has_the_events_asked_for_in_order_of_time(name: str) -> None:
    stream = SCENARIOS[name].generate(1, 6_000)
    times = [event.time for event in stream.events]
    assert len(times) == 6_000
    assert times == sorted(times)
    assert {lane.type for lane in SCENARIOS[name].lanes} == {event.type for event in stream.events}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", SCENARIOS)
def test_each_incident_is_found_and_nothing_else(name: str, seed: int) -> None:
    scenario = SCENARIOS[name]
    stream = scenario.generate(seed, 5_000)
    found = found_in(scenario, stream)
    for incident in stream.incidents:
        types = {event.type for event in found if incident.start <= event.time <= incident.end}
        assert types == set(incident.finds), incident.title
    assert all(any(i.start <= event.time <= i.end for i in stream.incidents) for event in found)


def test_too_short_a_stream_is_refused() -> None:
    with pytest.raises(OptionError, match="100 events are too few for the demo"):
        SCENARIOS["tunnel"].generate(1, 100)
