"""Awakenings that are passed on, and in which order they are answered."""

from __future__ import annotations

import pytest

import cepheus
from cepheus.core.event import Event
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.engine.matching.matcher import Matcher
from cepheus.engine.matching.store import Record
from cepheus.language.tesla import parse, parse_event_pattern
from cepheus.plan.partial.shape import Span
from cepheus.rules.check import check
from cepheus.runtime.network.processor.pulling import Pulling, Request, Slave, _Master
from cepheus.runtime.network.protocol.messages import (
    AttachSink,
    AttachSource,
    Awaken,
    DeployRules,
    DetachSource,
    Message,
    Publish,
)
from cepheus.runtime.network.protocol.strategy import Masters, Options, Strategy
from cepheus.runtime.network.simulation.simulator import Network


def passing_on() -> Pulling:
    """A processor between a father, who asks for ``p``, and two children, who have it."""
    return Pulling(forwards={"p": [Slave("p", ("left", "right"), Span(0, 0), ())]})


def asked(number: int, first: int, last: int) -> Awaken:
    return Awaken("t", number, "p", first, last)


def answers(found: list[Request]) -> list[int]:
    """The father's numbers of the awakenings that can be answered now."""
    return [request.answers[0] for request in found if request.answers is not None]


def test_awakenings_of_the_father_are_answered_in_the_order_in_which_they_came() -> None:
    pulling = passing_on()
    first = [message.number for _, message in pulling.forward("t", asked(1, 0, 10))]
    second = [message.number for _, message in pulling.forward("t", asked(2, 5, 20))]
    third = pulling.forward("t", asked(3, 2, 8))
    assert third == [], "all of it was asked for before"
    assert pulling.holds == MIN_TIME
    assert answers(pulling.answered(second[0])) == answers(pulling.answered(second[1])) == []
    assert answers(pulling.answered(first[0])) == []
    assert answers(pulling.answered(first[1])) == [1, 2, 3]
    assert pulling.holds == MAX_TIME
    assert not pulling.requests
    assert not pulling.for_father


def test_what_was_asked_for_and_answered_before_is_answered_at_once() -> None:
    pulling = passing_on()
    for _, message in pulling.forward("t", asked(1, 0, 10)):
        pulling.answered(message.number)
    assert pulling.forward("t", asked(2, 0, 10)) == []
    assert not pulling.for_father, "nobody is waited for"


def test_requests_that_a_snapshot_held_go_on() -> None:
    pulling, later = passing_on(), passing_on()
    numbers = [
        message.number
        for number, first, last in ((1, 0, 10), (2, 11, 20))
        for _, message in pulling.forward("t", asked(number, first, last))
    ]
    for request in pulling.requests.values():
        later.restore(request)
    found = [answers(later.answered(number)) for number in reversed(numbers)]
    assert found == [[], [], [], [1, 2]]


def test_a_master_holds_up_what_was_asked_for_on_behalf_of_a_later_event() -> None:
    rule = "define X() from A() and last B() within 10 us from A"
    (master,) = check(parse(rule)).rules.rules
    matcher = Matcher(master)
    slave = Slave("b", ("left",), Span(10, 0), ())
    pulling = Pulling(masters={"A": [_Master(matcher, [slave])]})

    def wake(time: int) -> list[tuple[int, int]]:
        return [(m.first, m.last) for _, m in pulling.wake("t", Record(Event("A", time, id=time), "s", time))]

    assert wake(30) == [(20, 30)]
    assert pulling.holds == 30
    assert wake(25) == [(15, 19)], "the rest was asked for"
    assert pulling.holds == 25
    assert [request.holds for request in pulling.requests.values()] == [25, 25]


@pytest.mark.parametrize("strategy", [Strategy.ST_PP, Strategy.MT_PP], ids=lambda strategy: strategy.value)
@pytest.mark.parametrize("left", [0, 1000], ids=["before", "after"])
def test_what_a_source_has_left_behind_is_asked_for(strategy: Strategy, left: int) -> None:
    """The processor in between has nobody left to wait for, and is asked for what the last one has."""
    network = Network({("p1", "p2"): 5, ("p2", "p3"): 40}, Options(strategy, masters=Masters.TOP))

    def tell(time: int, name: str, message: Message) -> None:
        network.post(time, name, message, "client")

    network.start()
    network.run()
    rules = cepheus.compile("define X() from A() and last B() within 20 us from A").rules.rules
    tell(network.now, "p1", AttachSource("near", ("A",)))
    tell(network.now, "p3", AttachSource("far", ("B",)))
    tell(network.now, "p1", DeployRules("r", tuple(rules)))
    tell(network.now, "p1", AttachSink("k", parse_event_pattern("X()")))
    network.run()
    tell(1000, "p3", Publish("far", (Event("B", 1000, {}),)))
    tell(1200 + left, "p3", DetachSource("far"))
    tell(1500, "p1", Publish("near", (Event("A", 1010, {}),)))
    tell(1500 + left, "p1", DetachSource("near"))
    network.run()
    assert [receipt.event.time for receipt in network.receipts] == [1010]
