"""Rules that are in use, looked at again: do they hold, what has moved."""

from __future__ import annotations

import numpy as np
import pytest
from hidden_rules import batch, labelled, stream

import cepheus
from cepheus.core.batch import EventBatch
from cepheus.core.event import Event
from cepheus.language.tesla import parse
from cepheus.learning.history import History
from cepheus.learning.knobs import best_value, knobs
from cepheus.learning.review import ReviewedRule, Stretch

RULE = "define Incident() from A(value > {}) and last B(value < 70) within {} s from A"


def drifting(first: tuple[int, int], second: tuple[int, int], length: int = 5_000) -> EventBatch:
    """A history in which a rule has some numbers, and others from the middle on."""
    early = labelled(stream(1, length), RULE.format(*first))
    late = labelled(stream(2, length), RULE.format(*second))
    at = early[-1].time
    return batch(early + [Event(event.type, event.time + at, event.attributes) for event in late])


def test_a_rule_that_holds_is_left_as_it_is() -> None:
    review = cepheus.review("rule R " + RULE.format(60, 12), drifting((60, 12), (60, 12)))
    assert review.holds
    (reviewed,) = review.reviewed
    assert {each.f1 for each in reviewed.stretches} == {1.0}
    assert not reviewed.moved
    assert reviewed.changed == reviewed.rule
    assert "holds: F1 1.000" in str(review)


@pytest.mark.parametrize(
    ("second", "words", "new"), [((75, 12), "A.value > 60", 75.0), ((60, 5), "the window of B", 5.0)]
)
def test_a_number_that_moved_is_found(second: tuple[int, int], words: str, new: float) -> None:
    review = cepheus.review("rule R " + RULE.format(60, 12), drifting((60, 12), second))
    assert not review.holds
    (moved,) = review.reviewed[0].moved
    assert moved.words == words
    assert abs(float(moved.new.removesuffix(" s")) - new) < 0.1 * new
    assert moved.after > 0.97 > moved.before
    assert "no longer holds" in str(review)
    again = cepheus.review(review.text, batch(labelled(stream(3), RULE.format(*second))))
    assert all(each.f1 > 0.95 for each in again.reviewed[0].stretches)


def test_two_numbers_that_moved_are_both_found() -> None:
    review = cepheus.review("rule R " + RULE.format(60, 12), drifting((60, 12), (75, 5), 8_000))
    assert {each.words for each in review.reviewed[0].moved} == {"A.value > 60", "the window of B"}
    assert review.reviewed[0].moved[-1].after > 0.97


def test_rules_that_feed_the_reviewed_one_run_beside_it() -> None:
    text = """define Hot() from B(value > 40)
    define Incident() from A(value > 60) and last Hot() within 8 s from A"""
    plain = "define Incident() from A(value > 60) and last B(value > 40) within 8 s from A"
    review = cepheus.review(text, batch(labelled(stream(4), plain)), "Incident")
    assert review.reviewed[0].stretches[0].f1 == 1.0
    assert len(review.changed.rules) == 2


def test_numbers_of_aggregates_can_be_turned_too() -> None:
    history = History.of(batch(stream(1, 100)))
    text = "define C() from A(1 < level) and 3 <= Count(B(value > 5) within 4 s from A) and not D() within 2 s from A"
    found = knobs(parse(text).rules[0], history)
    assert [each.words for each in found] == [
        "1 < A.level",
        "B.value > 5",
        "3 <= Count of B",
        "the window of B",
        "the window of D",
    ]
    turned = found[2].turned(parse(text).rules[0], 4.0)
    assert turned == parse(text).rules[0]  # a number of another rule is not there to be turned
    rule = parse(text).rules[0]
    assert knobs(knobs(rule, history)[2].turned(rule, 4.0), history)[2].value == 4.0


def test_the_middle_of_the_longest_run_is_taken() -> None:
    assert best_value([(1.0, 0.9), (2.0, 0.1), (3.0, 0.9), (4.0, 0.9), (5.0, 0.9)], 0.0)[0] == 4.0


def refused(rules: str, message: str, target: str | None = None) -> None:
    """A review is refused with a message."""
    events = batch(labelled(stream(1, 600), "define Incident() from A(value > 70)"))
    with pytest.raises(cepheus.OptionError, match=message):
        cepheus.review(rules, events, target)


def test_what_cannot_be_reviewed_is_refused() -> None:
    refused("define Other() from A()", "no event of type 'Other'")
    refused("define Other() from A()", "no rule of TESLA defines 'Incident'", "Incident")
    refused("define Incident() from every 5 s and last A() within 2 s from now", "is decided by a timer")
    refused("define Incident() from Z()", "is decided by 'Z', of which there are no events")
    refused("define Incident() from A() min probability 0.5", "has a minimal probability")
    refused("define Incident() from A() define Other() from B()", "do not define one type")


@pytest.mark.parametrize("share", [0.95, 0.8])
def test_what_goes_up_and_down_by_chance_still_holds(share: float) -> None:
    """A rule that is as good as ever, in stretches of ten occurrences each."""
    rng, rule, told = np.random.default_rng(5), parse("define C() from A()").rules[0], 0
    for _ in range(300):
        f1 = rng.binomial(10, share, 8) / 10
        stretches = tuple(Stretch(place, place + 1, 10, one, one, one) for place, one in enumerate(f1.tolist()))
        told += not ReviewedRule(rule, stretches, (), rule).holds
    assert told < 30
    worse = tuple(Stretch(place, place + 1, 100, one, one, one) for place, one in enumerate([share] * 6 + [0.6] * 2))
    assert "no longer holds" in ReviewedRule(rule, worse, (), rule).verdict


def test_a_rule_that_tells_nothing_does_not_hold() -> None:
    review = cepheus.review(
        "define Incident() from A(value > 1000)",
        batch(labelled(stream(1, 600), "define Incident() from A(value > 60)")),
    )
    assert not review.holds
    assert "it tells none of the occurrences" in str(review)


def test_totals_since_the_start_see_all_that_came_before() -> None:
    rule = "define Incident() from A(value > 60) and Count(B() since start) > 3"
    review = cepheus.review(rule, batch(labelled(stream(1, 600), rule)))
    assert {each.f1 for each in review.reviewed[0].stretches} == {1.0}
