"""The matching engine beyond what all engines have in common: insertion in any order, and what it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from agreement import normal, run
from random_cases import make_case

import cepheus
from cepheus.core.distribution import Normal
from cepheus.core.errors import EventError, LimitError, RuleError, UnsupportedError
from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.engine.assembly.registry import create, names
from cepheus.engine.base.capabilities import CAPABILITIES
from cepheus.engine.base.interface import OutOfOrderEngine
from cepheus.engine.matching.engine import MatchingEngine
from cepheus.language.tesla import parse
from cepheus.plan.support import Arrival
from cepheus.rules.check import check

FIRE = "define Fire(area: string) from Smoke(area=$a) and last Temp(area=$a) within 5 s from Smoke where area=$a"


def engine_for(text: str, limit: int = 1000) -> MatchingEngine:
    checked = check(parse(text))
    engine = MatchingEngine(limit)
    engine.deploy(checked.rules.rules, Schema([*checked.inputs.values(), *checked.composites.values()]))
    return engine


def test_it_alone_takes_events_in_any_order() -> None:
    engines = {support.name: support.arrival for support in CAPABILITIES if support.name in names()}
    assert [name for name, arrival in engines.items() if arrival is Arrival.ANY_ORDER] == ["matching"]
    for name, arrival in engines.items():
        assert hasattr(create(name), "insert") == (arrival is Arrival.ANY_ORDER)


@pytest.mark.parametrize("block", range(4))
def test_the_order_of_insertion_does_not_matter(block: int) -> None:
    """Shuffled events, promised bit by bit, with snapshots between: what the reference makes of them in order."""
    ran = 0
    for seed in range(3_000_000 + 40 * block, 3_000_000 + 40 * (block + 1)):
        try:
            case = make_case(seed, coarse=1 + 2 * (block % 2))
            wanted, _ = run(case, "reference", "single")
        except (RuleError, LimitError):
            continue
        if not case.events:
            continue
        schema = Schema([*case.checked.inputs.values(), *case.checked.composites.values()])
        engine: OutOfOrderEngine = MatchingEngine(2000)
        try:
            engine.deploy(case.checked.rules.rules, schema)
        except UnsupportedError:
            continue
        ran += 1
        assert normal(shuffled(engine, case.events, Random(seed))) == normal(wanted), f"seed {seed}\n{case.text}"
    assert ran > 15


def shuffled(engine: OutOfOrderEngine, events: Sequence[Event], random: Random) -> list[Event]:
    numbered = [
        Event(e.type, e.time, e.attributes, id=n if e.id is None else e.id, sequence=n) for n, e in enumerate(events)
    ]
    cuts = sorted({random.choice(numbered).time for _ in range(3)} | {max(e.time for e in numbered) + 1})
    order = random.sample(numbered, len(numbered))
    found: list[Event] = []
    for cut in cuts:
        early = [event for event in order if event.time < cut or random.random() < 0.3]
        order = [event for event in order if event not in early]
        while early:
            size = random.randint(1, 5)
            engine.insert(early[:size])
            early = early[size:]
        found += engine.advance(cut).to_events()
        saved = engine.snapshot()
        engine = MatchingEngine(2000)
        engine.restore(saved)
    return found


def test_an_event_before_what_was_promised_is_refused() -> None:
    engine = engine_for(FIRE)
    engine.insert([Event("Temp", 3_000_000, {"area": "A"})])
    engine.advance(4_000_000)
    with pytest.raises(EventError, match="was promised") as raised:
        engine.insert([Event("Temp", 3_999_999, {"area": "A"})])
    assert raised.value.diagnostics[0].hint


def test_what_was_inserted_comes_before_later_events_that_are_fed() -> None:
    engine = engine_for(FIRE)
    engine.insert([Event("Temp", 3_000_000, {"area": "A"}, id="t"), Event("Smoke", 9_000_000, {"area": "A"}, id="u")])
    (fire,) = engine.feed_event(Event("Smoke", 4_000_000, {"area": "A"}, id="s"))
    assert fire.made_of == ("s", "t")
    assert engine.advance(9_000_001).to_events() == []  # the Temp is too old for the Smoke that was inserted


def test_a_rule_sees_no_event_of_the_moment_before_its_deployment() -> None:
    late = check(parse(f"rule R2 {FIRE.replace('Fire', 'Late').replace('last', 'first')}"))
    engine = engine_for(FIRE)
    engine.feed_event(Event("Temp", 3_000_000, {"area": "A"}, id="before"))
    engine.deploy(late.rules.rules, late.inputs)
    engine.feed_event(Event("Temp", 3_000_000, {"area": "A"}, id="after"))
    saved = engine.snapshot()
    engine = MatchingEngine()
    engine.restore(saved)
    found = {made.rule: made.made_of for made in engine.feed_event(Event("Smoke", 4_000_000, {"area": "A"}, id="s"))}
    assert found == {"Fire": ("s", "after"), "R2": ("s", "after")}
    engine.withdraw("R2")
    assert [made.rule for made in engine.feed_event(Event("Smoke", 4_000_001, {"area": "A"}, id="u"))] == ["Fire"]


@pytest.mark.parametrize(
    "event",
    [
        Event("Temp", 1, {"area": "A"}, probability=0.5),
        Event("Temp", 1, {"area": "A", "value": 3.0}, errors={"value": Normal(0.0, 1.0)}),
    ],
    ids=["that may not have happened", "with an error"],
)
def test_uncertain_events_are_refused(event: Event) -> None:
    engine = engine_for(FIRE)
    with pytest.raises(EventError, match="takes events as certain") as raised:
        engine.feed_event(event)
    assert raised.value.diagnostics[0].hint == "choose the engine auto or reference"


def test_declared_errors_and_networks_of_rules_are_refused_with_their_place() -> None:
    program = cepheus.compile("define Hot() from Temp(value > 30); error Temp.value ~ N(0, 1)")
    with pytest.raises(UnsupportedError, match="errors of measurement") as raised:
        program.start(engine="matching")
    assert raised.value.diagnostics[0].span is not None
    engine = engine_for(FIRE)
    engine.set_factor("Fire", 1.0)
    with pytest.raises(UnsupportedError, match="Bayesian network") as raised:
        engine.set_factor("Fire", 0.5)
    assert raised.value.diagnostics[0].span is not None


def test_interval_rules_are_refused_with_their_place() -> None:
    from cepheus.language.etalis import parse as parse_etalis

    rules = check(parse_etalis("p(X) <- a(X) SEQ b(X).")).rules
    with pytest.raises(UnsupportedError, match="does not run interval rules") as raised:
        MatchingEngine().deploy(rules.interval_rules, Schema())
    assert raised.value.diagnostics[0].span is not None


def test_the_limit_holds() -> None:
    engine = engine_for("define Pair() from B() and each A() within 1 h from B", limit=9)
    for number in range(10):
        engine.feed_event(Event("A", number, {}, id=number))
    with pytest.raises(LimitError):
        engine.feed_event(Event("B", 100, {}, id="b"))


def test_it_forgets_what_no_window_reaches() -> None:
    engine = engine_for(FIRE)
    for second in range(2000):
        engine.feed_event(Event("Temp", second * 1_000_000, {"area": "A"}))
    assert len(engine._store.column("Temp").records) < 100
    assert engine.snapshot().count(b'"Temp"') < 20
