"""Rules with networks at work: deployed, edited, scheduled, withdrawn, restored."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cepheus
from cepheus.core.time import HOUR
from cepheus.engine.assembly.registry import create
from cepheus.engine.assembly.weighted import WeightedEngine

RULE = "define Fire(t: double) from Smoke() and last Temp(value > 45) within 5 min from Smoke where t = Temp.value\n"
HALF = "{ YES: {YES: 1, NO: 0}  NO: {YES: .5, NO: .5} }"
NETWORK = f"""
network Fire {{
  node Jam {{HIGH: 0, LOW: 1}} from '07:00' to '09:00' {{HIGH: 1, LOW: 0}}
  node Temp given Fire {HALF}
  node Smoke given Fire, Jam {{
    YES, *: {{YES: 1, NO: 0}}  NO, HIGH: {{YES: 1, NO: 0}}  NO, LOW: {{YES: .5, NO: .5}}
  }}
}}
"""
ENGINES = ("reference", "columns", "automata")
QUIET, BUSY = 1 / 1.25, 1 / 1.5


def stream(hours: list[float]) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    for hour in sorted(hours):
        time = int(hour * HOUR)
        events += [{"type": "Temp", "time": time - 1, "value": 50.0}, {"type": "Smoke", "time": time}]
    return sorted(events, key=lambda event: int(event["time"]))


def expected(hour: float) -> float:
    return BUSY if 7 <= hour % 24 < 9 else QUIET


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=12)
@given(
    hours=st.lists(st.integers(0, 200).map(lambda quarter: quarter / 4), unique=True, min_size=1, max_size=8),
    data=st.data(),
)
def test_a_composite_event_has_the_factor_of_its_time_however_the_stream_is_cut(
    engine: str, hours: list[float], data: st.DataObject
) -> None:
    program = cepheus.compile(RULE + NETWORK)
    events = stream(hours)
    whole = program.detect(events, engine=engine)
    assert [event.time for event in whole.to_events()] == [int(hour * HOUR) for hour in sorted(hours)]
    assert [event.probability for event in whole.to_events()] == pytest.approx(
        [expected(hour) for hour in sorted(hours)]
    )
    session = program.start(engine=engine)
    pieces: list[cepheus.Event] = []
    place = 0
    while place < len(events):
        size = data.draw(st.integers(1, 5))
        if size == 1:
            pieces += session.feed(events[place])
        else:
            pieces += session.feed(events[place : place + size]).to_events()
        place += size
        if data.draw(st.booleans()):
            session = program.start(engine=engine, snapshot=session.snapshot())
    assert pieces == whole.to_events()


@pytest.mark.parametrize("engine", ENGINES)
def test_networks_are_edited_while_events_flow(engine: str) -> None:
    with cepheus.compile(RULE).start(engine=engine) as session:

        def worth(hour: float) -> list[float]:
            return [event.probability for each in stream([hour]) for event in session.feed(each)]

        assert worth(1) == [1.0]
        assert session.deploy(NETWORK) == ()
        assert worth(2) == [pytest.approx(QUIET)]
        assert worth(8) == [pytest.approx(BUSY)]
        edited = session.belief("Fire").set("Jam", {"HIGH": 0.5, "LOW": 0.5})
        assert session.set_belief(edited) == pytest.approx(1 / (1 + 0.5 * 0.75))
        assert worth(8.5) == [pytest.approx(BUSY)]
        assert worth(10) == [pytest.approx(1 / (1 + 0.5 * 0.75))]
        assert session.rules.beliefs == (edited.added,)
        session.deploy(f"network Fire {{ node Temp given Fire {HALF} }}")
        assert worth(11) == [1.0]
        assert session.deploy(f"rule Two define Two() from Smoke() network Two {{ node Smoke given Two {HALF} }}") == (
            "Two",
        )
        assert sorted(worth(12)) == [pytest.approx(2 / 3), 1.0]
        session.withdraw("Two")
        assert session.rules.beliefs[0].rule == "Fire"
        session.withdraw("Fire")
        assert not session.rules.beliefs
        session.deploy(RULE)
        assert worth(13) == [1.0]


def test_why_tells_what_the_network_adds() -> None:
    program = cepheus.compile(RULE + NETWORK)
    uncertain = {"value": 46.0, "error": "N(0, 1)"}
    events: list[dict[str, Any]] = [{"type": "Temp", "time": 0, "value": uncertain}, {"type": "Smoke", "time": 1}]
    (fire,) = program.detect(events, engine="reference").to_events()
    verdict = program.why(events, fire.id or "")
    assert fire.probability == pytest.approx(0.8413447460685429 * QUIET)
    told = str(verdict).splitlines()
    assert told[0].startswith("0.841345  constraint: ")
    assert told[1] == "0.800000  network: rule Fire"


@pytest.mark.parametrize("engine", ENGINES)
def test_min_probability_counts_the_network(engine: str) -> None:
    program = cepheus.compile(RULE + "min probability 0.7" + NETWORK)
    assert [event.time // HOUR for event in program.detect(stream([6, 8, 10]), engine=engine).to_events()] == [6, 10]


@pytest.mark.parametrize("engine", ENGINES)
def test_attributes_are_not_touched(engine: str) -> None:
    fire = cepheus.compile(RULE + NETWORK).detect(stream([8]), engine=engine).to_events()[0]
    assert (fire["t"], fire.errors) == (50.0, {})


@pytest.mark.parametrize("engine", ENGINES)
def test_a_wrong_network_changes_nothing(engine: str) -> None:
    impossible = "network Fire { node Temp given Fire { *: {YES: 0, NO: 1} } }"
    with cepheus.compile(RULE + NETWORK).start(engine=engine) as session:
        before = session.rules
        with pytest.raises(cepheus.RuleError, match="cannot be"):
            session.deploy(impossible)
        with pytest.raises(cepheus.RuleError, match="sum to"):
            session.deploy("network Fire { node Jam {HIGH: .5, LOW: .6} }")
        with pytest.raises(cepheus.RuleError, match="cannot be"):
            session.set_belief(session.belief("Fire").write("node Temp given Fire { *: {YES: 0, NO: 1} }"))
        other = cepheus.compile("define Fire() from Rain()").belief("Fire")
        with pytest.raises(cepheus.OptionError, match="another rule"):
            session.set_belief(other)
        assert session.rules == before


def test_programs_take_networks() -> None:
    program = cepheus.compile(RULE)
    edited = program.with_belief(program.belief("Fire").reverse("Smoke"))
    assert edited.belief("Fire").probability() == 1.0
    assert len(edited.rules.beliefs) == 1
    assert program.rules.beliefs == ()


def test_an_engine_that_cannot_weigh_rules_is_refused() -> None:
    class Plain:
        name = "plain"

    with pytest.raises(cepheus.UnsupportedError, match="plain does not weigh"):
        WeightedEngine(Plain(), {})  # type: ignore[arg-type]
    assert create("reference", beliefs={}).name == "reference"
