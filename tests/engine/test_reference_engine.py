from __future__ import annotations

import pytest

from cepheus.core.batch import EventBatch
from cepheus.core.errors import LimitError, OptionError, SnapshotError
from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.engine.reference.engine import ReferenceEngine
from cepheus.language.tesla import parse
from cepheus.rules.check import check


def deployed(text: str, limit: int = 1000) -> ReferenceEngine:
    engine = ReferenceEngine(limit)
    checked = check(parse(text))
    engine.deploy(checked.rules.rules, Schema({**checked.inputs, **checked.composites}.values()))
    return engine


PAIR = "define C() from A() and each B() within 10 us from A"
STREAM = [Event("B", 1), Event("B", 4), Event("A", 5), Event("B", 5), Event("A", 12)]


def test_one_by_one_and_all_at_once_agree() -> None:
    one, all_at_once = deployed(PAIR), deployed(PAIR)
    single = [made for event in STREAM for made in one.feed_event(event)]
    assert [event.made_of for event in single] == [(2, 0), (2, 1), (4, 1), (4, 3)]
    assert all_at_once.feed(EventBatch.from_events(STREAM)).to_events() == single


def test_composite_events_carry_the_interval_of_their_parts() -> None:
    fired = deployed(PAIR).feed(EventBatch.from_events(STREAM)).to_events()
    assert [(event.start, event.time) for event in fired] == [(1, 5), (4, 5), (4, 12), (5, 12)]


def test_composite_events_come_in_the_order_of_rules_then_of_choices() -> None:
    engine = deployed("rule Two define D() from A(); rule One define C() from A() and each B() within 9 us from A")
    fired = engine.feed(EventBatch.from_events([Event("B", 1), Event("B", 2), Event("A", 3)])).to_events()
    assert [(event.rule, event.made_of) for event in fired] == [("Two", (2,)), ("One", (2, 0)), ("One", (2, 1))]


def test_a_rule_that_makes_too_many_stops_with_its_name() -> None:
    engine = deployed(PAIR, limit=2)
    with pytest.raises(LimitError, match="rule 'C' would make more than 2 composite events"):
        engine.feed(EventBatch.from_events([*(Event("B", time) for time in (1, 2, 3)), Event("A", 4)]))


def test_a_name_can_be_deployed_once_and_withdrawn_once() -> None:
    engine = deployed(PAIR)
    with pytest.raises(OptionError, match="'C' is already deployed"):
        engine.deploy(check(parse(PAIR)).rules.rules, Schema())
    engine.withdraw("C")
    with pytest.raises(OptionError, match="no rule named 'C'"):
        engine.withdraw("C")
    assert len(engine.feed(EventBatch.from_events(STREAM))) == 0


def test_withdrawing_forgets_what_was_consumed() -> None:
    text = "define C() from A() and last B() within 10 us from A consuming B"
    engine = deployed(text)
    engine.feed(EventBatch.from_events([Event("B", 1), Event("A", 2)]))
    engine.withdraw("C")
    engine.deploy(check(parse(text)).rules.rules, Schema())
    assert engine.feed_event(Event("A", 3)) == []  # deployed anew, it sees no event from before
    engine.feed_event(Event("B", 4))
    assert [event.made_of for event in engine.feed_event(Event("A", 5))] == [(4, 3)]


def test_advance_gives_nothing_and_changes_no_answer() -> None:
    engine = deployed(PAIR)
    engine.feed_event(Event("B", 1))
    assert len(engine.advance(11)) == 0
    assert [event.made_of for event in engine.feed_event(Event("A", 11))] == [(1, 0)]
    engine.advance(12)
    assert engine.feed_event(Event("A", 12)) == []


@pytest.mark.parametrize("cut", range(len(STREAM) + 1))
def test_a_snapshot_at_any_point_changes_no_answer(cut: int) -> None:
    text = PAIR + " consuming B"
    whole = [made for engine in [deployed(text)] for event in STREAM for made in engine.feed_event(event)]
    first, second = deployed(text), ReferenceEngine()
    found = [made for event in STREAM[:cut] for made in first.feed_event(event)]
    second.restore(first.snapshot())
    found += [made for event in STREAM[cut:] for made in second.feed_event(event)]
    assert found == whole


def test_a_snapshot_of_another_kind_is_refused() -> None:
    with pytest.raises(SnapshotError):
        ReferenceEngine().restore(b"CEPHSNAP")
