from __future__ import annotations

import pytest

import cepheus
from cepheus import Event, RuleError

FIRE = """
define Fire(area: string) from Smoke(area=$a) and last Temp(area=$a and value>45) within 5 min from Smoke
where area=Smoke.area
"""
EVENTS: list[dict[str, object]] = [
    {"type": "Temp", "time": 1, "area": "A1", "value": 50.0},
    {"type": "Temp", "time": 2, "area": "A2", "value": 11.0},
    {"type": "Smoke", "time": 3, "area": "A1"},
    {"type": "Temp", "time": 4, "area": "A1", "value": 12.0},
]


def told(event: Event) -> tuple[str, int]:
    return event.type, event.time


@pytest.mark.parametrize("alone", [True, False])
def test_primitive_and_composite_events_are_told_by_content(alone: bool) -> None:
    heard: list[Event] = []
    with cepheus.compile(FIRE).start() as session:
        session.subscribe("Temp(area='A1', value>=12)", heard.append)
        session.subscribe("Fire(area='A1')", heard.append)
        session.subscribe("Fire(area='A2')", heard.append)
        if alone:
            for event in EVENTS:
                session.feed(event)
        else:
            session.feed(EVENTS)
    assert [told(event) for event in heard] == [("Temp", 1), ("Fire", 3), ("Temp", 4)]
    assert heard[0].attributes == {"area": "A1", "value": 50.0}
    assert heard[1].made_of == (2, 0)


def test_a_subscription_may_name_what_no_rule_reads() -> None:
    heard: list[Event] = []
    session = cepheus.compile(FIRE).start()
    session.subscribe("Wind(speed > 10)", heard.append)
    session.feed([{"type": "Wind", "time": 1, "speed": 9}, {"type": "Wind", "time": 2, "speed": 11}])
    assert [(event.time, event["speed"]) for event in heard] == [(2, 11.0)]


def test_a_cancelled_subscription_is_silent() -> None:
    heard: list[Event] = []
    session = cepheus.compile(FIRE).start()
    subscription = session.subscribe("Smoke", heard.append)
    session.feed({"type": "Smoke", "time": 1, "area": "A1"})
    subscription.cancel()
    subscription.cancel()
    session.feed({"type": "Smoke", "time": 2, "area": "A1"})
    assert [event.time for event in heard] == [1]


def test_late_events_are_not_told_to_subscribers() -> None:
    heard: list[Event] = []
    session = cepheus.compile(FIRE).start()
    session.subscribe("Smoke", heard.append)
    session.feed([{"type": "Smoke", "time": 5, "area": "A1"}, {"type": "Smoke", "time": 4, "area": "A1"}])
    assert [event.time for event in heard] == [5]
    assert session.counts.late == 1


@pytest.mark.parametrize("alone", [True, False])
def test_a_callback_that_raises_does_not_harm_the_session(alone: bool) -> None:
    heard: list[Event] = []

    def fail(event: Event) -> None:
        raise ZeroDivisionError(f"at {event.time}")

    session = cepheus.compile(FIRE).start()
    session.subscribe("Smoke", fail)
    session.subscribe("Fire", heard.append)
    session.feed(EVENTS[:2])
    feed = (lambda: session.feed(EVENTS[2])) if alone else (lambda: session.feed(EVENTS[2:3]))
    with pytest.raises(ZeroDivisionError, match="at 3"):
        feed()
    assert [told(event) for event in heard] == [("Fire", 3)]
    assert session.counts == cepheus.Counts(3, 0, {"Fire": 1})
    session.feed(EVENTS[3])
    assert session.counts.events == 4


def test_several_failures_are_all_told() -> None:
    def fail(event: Event) -> None:
        raise ZeroDivisionError(f"at {event.time}")

    session = cepheus.compile(FIRE).start()
    session.subscribe("Smoke", fail)
    smoke = [{"type": "Smoke", "time": time, "area": "A1"} for time in (1, 2)]
    with pytest.raises(ZeroDivisionError, match="at 1") as failure:
        session.feed(smoke)
    assert failure.value.__notes__ == ["another callback of the same call raised ZeroDivisionError('at 2')"]


@pytest.mark.parametrize(
    ("pattern", "code", "text"),
    [
        ("Temp(value = $v)", "subscription", "$v"),
        ("Temp(value > Smoke.value)", "subscription", "Smoke.value"),
        ("Fire(aera = 'A1')", "unknown-attribute", "aera"),
        ("Temp(value >", "syntax", ""),
        ("Temp(value > 5 and value < 3)", "never", "value < 3"),
        ("Temp(value = 'high')", "type-mismatch", "value"),
    ],
)
def test_a_subscription_that_makes_no_sense_is_refused(pattern: str, code: str, text: str) -> None:
    session = cepheus.compile(FIRE).start()
    with pytest.raises(RuleError) as refused:
        session.subscribe(pattern, print)
    finding = refused.value.diagnostics[0]
    assert finding.code == code
    assert finding.span is not None
    assert finding.span.text == text


def test_an_unknown_type_is_refused_where_types_are_declared() -> None:
    session = cepheus.compile("event Smoke(); define Fire() from Smoke()").start()
    with pytest.raises(RuleError, match="did you mean 'Smoke'"):
        session.subscribe("Smoek()", print)


def test_subscriptions_stay_when_a_snapshot_is_restored() -> None:
    heard: list[Event] = []
    session = cepheus.compile(FIRE).start()
    session.subscribe("Wind(speed > 10)", heard.append)
    session.restore(cepheus.compile("define Gust() from Storm()").start().snapshot())
    session.feed({"type": "Wind", "time": 1, "speed": 20.0})
    assert [event.time for event in heard] == [1]
