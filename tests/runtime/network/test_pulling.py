"""Awakenings that are passed on, and in which order they are answered."""

from __future__ import annotations

from cepheus.core.event import Event
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.engine.matching.matcher import Matcher
from cepheus.engine.matching.store import Record
from cepheus.language.tesla import parse
from cepheus.plan.partial.shape import Span
from cepheus.rules.check import check
from cepheus.runtime.network.processor.pulling import Pulling, Request, Slave, _Master
from cepheus.runtime.network.protocol.messages import Awaken


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
