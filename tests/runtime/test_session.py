from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheus
from cepheus import Event, EventBatch, EventError, LimitError, OptionError, RuleError, SnapshotError
from cepheus.engine.reference.engine import ReferenceEngine

FIRE = """
define Fire(area: string, temp: double)
from Smoke(area=$a) and last Temp(area=$a and value>45) within 5 min from Smoke
where area=Smoke.area and temp=Temp.value
"""
TEMP = {"type": "Temp", "time": 10, "area": "A1", "value": 50.0}
SMOKE = {"type": "Smoke", "time": 20, "area": "A1"}


def answers(batch: EventBatch) -> list[tuple[str, int, tuple[int | str, ...]]]:
    return [(event.type, event.time, event.made_of) for event in batch.to_events()]


def test_one_event_gives_a_list_many_give_a_batch() -> None:
    session = cepheus.compile(FIRE).start()
    assert session.feed(TEMP) == []
    (fire,) = session.feed(SMOKE)
    assert (fire.type, fire.time, dict(fire.attributes), fire.made_of) == (
        "Fire",
        20,
        {"area": "A1", "temp": 50.0},
        (1, 0),
    )
    batch = session.feed([{**SMOKE, "time": 30}, Event("Smoke", 40, {"area": "A1"})])
    assert answers(batch) == [("Fire", 30, (2, 0)), ("Fire", 40, (3, 0))]
    assert session.counts == cepheus.Counts(4, 0, {"Fire": 3})


@pytest.mark.parametrize("form", ["events", "batch", "arrow", "pandas", "generator"])
def test_every_form_of_input_gives_the_same(form: str) -> None:
    dicts = [TEMP, SMOKE]
    table = pa.Table.from_pylist([{**TEMP}, {**SMOKE, "value": None}])
    events = [Event("Temp", 10, {"area": "A1", "value": 50.0}), Event("Smoke", 20, {"area": "A1"})]
    session = cepheus.compile(FIRE).start()
    if form == "events":
        found = session.feed(events)
    elif form == "batch":
        found = session.feed(EventBatch.from_events(events))
    elif form == "arrow":
        found = session.feed(table)
    elif form == "pandas":
        found = session.feed(pd.DataFrame(table.to_pylist()))
    else:
        found = session.feed(event for event in dicts)
    assert answers(found) == [("Fire", 20, (1, 0))]
    assert session.counts.events == 2


def test_positions_count_over_all_calls_and_not_what_raised() -> None:
    session = cepheus.compile(FIRE).start()
    session.feed({"type": "Wind", "time": 1})
    with pytest.raises(EventError, match="no value for its attribute 'value'"):
        session.feed({"type": "Temp", "time": 5, "area": "A1"})
    with pytest.raises(EventError, match=r"Temp\.value"):
        session.feed([TEMP, {**TEMP, "value": "hot"}])
    session.feed(pa.table({"type": ["Temp"], "time": [10], "area": ["A1"], "value": [46.0]}))
    (fire,) = session.feed(SMOKE)
    assert fire.made_of == (2, 1)
    assert session.counts.events == 3


def test_an_event_keeps_its_own_id() -> None:
    session = cepheus.compile(FIRE).start()
    session.feed({**TEMP, "id": "t"})
    (fire,) = session.feed({**SMOKE, "id": 77})
    assert fire.made_of == (77, "t")


def test_the_time_unit_is_that_of_dicts_and_tables() -> None:
    session = cepheus.compile(FIRE).start(time_unit="s")
    session.feed(TEMP)
    assert session.feed({**SMOKE, "time": 310})[0].time == 310_000_000
    assert session.feed({**SMOKE, "time": 311}) == []
    session.feed(Event("Temp", 400_000_000, {"area": "A1", "value": 60.0}))
    moment = datetime(1970, 1, 1, 0, 7, tzinfo=UTC)
    assert session.feed({**SMOKE, "time": moment})[0].time == 420_000_000
    assert session.feed({**SMOKE, "time": "1970-01-01T00:07:30Z"})[0].time == 450_000_000


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"time": 1}, "no type"),
        ({"type": 5, "time": 1}, "5 is not the name of an event type"),
        ({"type": "Smoke", "area": "A1"}, "no time"),
        ({"type": "Smoke", "time": "noon", "area": "A1"}, "time: 'noon' is not a time"),
        ({"type": "Smoke", "time": 2**63, "area": "A1"}, "does not fit in 64 bits"),
        ({"type": "Smoke", "time": 1.5, "area": "A1"}, "not a whole number"),
        ({"type": "Smoke", "time": 1, "area": 7}, "Smoke.area: 7 is not a string"),
        ({"type": "Smoke", "time": 1, "area": None}, "no value for its attribute 'area'"),
        ({**TEMP, "value": float("nan")}, "not a finite number"),
        ({**TEMP, "value": 10**400}, "does not fit in 64 bits"),
        ({**TEMP, "probability": 1.5}, "not between 0 and 1"),
        ({**TEMP, "id": 1.5}, "is not an id"),
    ],
)
def test_a_bad_event_is_refused_and_the_session_goes_on(event: dict[str, object], message: str) -> None:
    session = cepheus.compile(FIRE).start()
    session.feed(TEMP)
    with pytest.raises(EventError, match=message):
        session.feed(event)
    with pytest.raises(EventError, match=message):
        session.feed([event])
    assert session.feed(SMOKE)[0].made_of == (1, 0)


def test_an_unknown_type_is_refused_where_types_are_declared() -> None:
    session = cepheus.compile("event Smoke(); define Fire() from Smoke()").start()
    with pytest.raises(EventError, match=r"no event type 'Smok'\s+hint: did you mean 'Smoke'"):
        session.feed({"type": "Smok", "time": 1})


def test_what_is_no_event_at_all_is_refused() -> None:
    session = cepheus.compile(FIRE).start()
    wrong: list[Any] = ["Smoke", 5]
    for events in wrong:
        with pytest.raises(OptionError, match="these are no events"):
            session.feed(events)
    with pytest.raises(EventError, match="5 is not an event"):
        session.feed(wrong[1:])


def test_the_first_value_settles_a_type_that_nothing_declares() -> None:
    session = cepheus.compile("define C() from A(k=$k) and each B(k=$k) within 9 s from A").start()
    session.feed({"type": "B", "time": 1, "k": 5})
    with pytest.raises(EventError, match="earlier values made it int"):
        session.feed({"type": "B", "time": 2, "k": "five"})
    assert [event.made_of for event in session.feed({"type": "A", "time": 3, "k": 5})] == [(1, 0)]


@pytest.mark.parametrize("alone", [True, False])
def test_attributes_that_rules_compare_must_be_of_one_type(alone: bool) -> None:
    session = cepheus.compile("define C() from A(k=$k) and each B(k=$k) within 9 s from A").start()
    session.feed({"type": "B", "time": 1, "k": 5})
    table = pa.table({"type": ["A"], "time": [2], "k": ["5"]})
    feed = (lambda: session.feed({"type": "A", "time": 2, "k": "5"})) if alone else (lambda: session.feed(table))
    with pytest.raises(EventError, match=r"A\.k is string in the data and B\.k is int, but rules compare the two"):
        feed()
    assert [event.made_of for event in session.feed({"type": "A", "time": 3, "k": 5.0})] == [(1, 0)]


def test_what_only_a_withdrawn_rule_read_is_no_longer_needed() -> None:
    session = cepheus.compile("rule One define C() from A(x > 1); rule Two define D() from A()").start()
    with pytest.raises(EventError, match="'x'"):
        session.feed({"type": "A", "time": 1})
    session.withdraw("One")
    assert [event.type for event in session.feed({"type": "A", "time": 2})] == ["D"]


def test_disorder_within_the_lateness_is_put_right_and_beyond_it_is_late() -> None:
    late: list[Event] = []
    session = cepheus.compile(FIRE).start(lateness="10s", time_unit="s", on_late=late.append)
    assert session.feed({**SMOKE, "time": 20}) == []
    assert session.feed({**TEMP, "time": 15}) == []
    assert session.feed({**TEMP, "time": 9}) == []
    assert answers(session.feed([{**TEMP, "time": 30}])) == [("Fire", 20_000_000, (0, 1))]
    assert [event.time for event in late] == [9_000_000]
    assert session.counts == cepheus.Counts(4, 1, {"Fire": 1})
    session.feed([{**TEMP, "time": 1}])
    assert [event.time for event in late] == [9_000_000, 1_000_000]


def test_advance_flush_and_close() -> None:
    session = cepheus.compile(FIRE).start(lateness="1 h", time_unit="s")
    session.feed([TEMP, SMOKE, {**SMOKE, "time": 25}, {**SMOKE, "time": 30}])
    assert answers(session.advance(20)) == [("Fire", 20_000_000, (1, 0))]
    assert answers(session.flush()) == [("Fire", 25_000_000, (2, 0)), ("Fire", 30_000_000, (3, 0))]
    session.feed({**SMOKE, "time": 40})
    assert answers(session.close()) == [("Fire", 40_000_000, (4, 0))]
    assert len(session.close()) == 0
    with pytest.raises(OptionError, match="the session is closed"):
        session.feed(SMOKE)


def test_leaving_the_session_processes_what_waits_unless_an_exception_leads_out() -> None:
    program = cepheus.compile(FIRE)
    heard: list[Event] = []
    with program.start(lateness="1 h") as session:
        session.subscribe("Fire()", heard.append)
        session.feed([TEMP, SMOKE])
    assert [event.type for event in heard] == ["Fire"]

    def fail() -> None:
        with program.start(lateness="1 h") as session:
            session.subscribe("Fire()", heard.append)
            session.feed([TEMP, SMOKE])
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert len(heard) == 1


def test_rules_come_and_go_while_events_flow() -> None:
    session = cepheus.compile("rule One define C() from A() and last B() within 1 min from A").start(time_unit="s")
    session.feed({"type": "B", "time": 1})
    assert session.deploy("rule Two define D() from A() and last B() within 1 min from A") == ("Two",)
    assert [event.rule for event in session.feed({"type": "A", "time": 2})] == ["One"]
    session.feed({"type": "B", "time": 3})
    assert [event.rule for event in session.feed({"type": "A", "time": 4})] == ["One", "Two"]
    session.withdraw("One")
    assert [event.rule for event in session.feed({"type": "A", "time": 5})] == ["Two"]
    assert [rule.name for rule in session.rules.rules] == ["Two"]
    with pytest.raises(OptionError, match=r"no rule named 'Tow' is deployed\s+hint: did you mean 'Two'"):
        session.withdraw("Tow")


def test_rules_deployed_later_are_checked_with_those_present() -> None:
    session = cepheus.compile("rule One define C() from A()").start()
    with pytest.raises(RuleError, match="One"):
        session.deploy("rule One define D() from A()")
    with pytest.raises(RuleError, match="C"):
        session.deploy("rule Back define A() from C()")
    assert session.deploy("define D() from C()") == ("D",)
    assert [event.type for event in session.feed({"type": "A", "time": 1})] == ["C", "D"]


def test_a_rule_whose_source_is_withdrawn_stays_deployed() -> None:
    text = "event A(); event B(); rule One define C() from A(); rule Two define D() from C()"
    session = cepheus.compile(text).start()
    session.withdraw("One")
    assert session.feed({"type": "A", "time": 1}) == []
    assert session.deploy("define E() from B()") == ("E",)
    assert [event.type for event in session.feed({"type": "B", "time": 2})] == ["E"]


def test_an_engine_that_fails_stops_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    session = cepheus.compile("define C() from A() and each B() within 1 h from A").start(engine="reference")
    saved = session.snapshot()

    def limited(*_: object) -> list[Event]:
        raise LimitError.of("too-many-composite-events", "too many")

    with monkeypatch.context() as patch:
        patch.setattr(ReferenceEngine, "feed_event", limited)
        with pytest.raises(LimitError, match="too many"):
            session.feed({"type": "A", "time": 1})
    with pytest.raises(OptionError, match="stopped when its engine failed"):
        session.feed({"type": "A", "time": 2})
    session.restore(saved)
    assert session.feed({"type": "A", "time": 2}) == []


def test_a_snapshot_holds_everything() -> None:
    first = cepheus.compile(FIRE).start(lateness="10s", time_unit="s")
    first.deploy("rule Later define Wet() from Rain(mm > 3)")
    first.feed([TEMP, SMOKE, {"type": "Rain", "time": 21, "mm": 5}])
    data = first.snapshot()
    second = cepheus.compile("define Other() from Thing()").start(snapshot=data)
    assert second.counts == first.counts
    assert second.rules == first.rules
    for session in (first, second):
        found = session.feed([{**SMOKE, "time": 40}])
        assert answers(found) == [("Fire", 20_000_000, (1, 0)), ("Wet", 21_000_000, (2,))]
        assert answers(session.close()) == [("Fire", 40_000_000, (3, 0))]


def test_a_damaged_snapshot_is_refused() -> None:
    session = cepheus.compile(FIRE).start()
    data = session.snapshot()
    with pytest.raises(SnapshotError, match="damaged"):
        session.restore(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(SnapshotError, match="not a snapshot"):
        session.restore(b"nonsense")


EVENTS = st.lists(
    st.tuples(st.sampled_from(["Smoke", "Temp"]), st.integers(0, 400), st.sampled_from("ab"), st.integers(30, 60)),
    max_size=25,
)


def as_dicts(rows: list[tuple[str, int, str, int]]) -> list[dict[str, object]]:
    return [
        {"type": kind, "time": time, "area": area, "value": float(value), "id": f"e{row}"}
        for row, (kind, time, area, value) in enumerate(rows)
    ]


@given(EVENTS, st.integers(0, 2**32 - 1))
def test_any_shuffle_within_the_lateness_gives_the_answer_in_order(
    rows: list[tuple[str, int, str, int]], seed: int
) -> None:
    lateness = 60
    # Distinct times: what a tie means depends on arrival, which a shuffle changes.
    rows = [(kind, 3 * row + time % 3, area, value) for row, (kind, time, area, value) in enumerate(rows)]
    events = as_dicts(rows)
    program = cepheus.compile(FIRE)
    expected = answers(program.detect(events, time_unit="s"))
    jitter = random.Random(seed)
    shuffled = sorted(events, key=lambda event: int(str(event["time"])) + jitter.uniform(0, lateness))
    found = program.detect(shuffled, time_unit="s", lateness=f"{lateness}s")
    assert answers(found) == expected


@given(EVENTS, st.lists(st.integers(1, 6), max_size=25), st.integers(0, 100))
def test_any_cutting_and_any_kill_gives_the_same(
    rows: list[tuple[str, int, str, int]], cuts: list[int], lateness: int
) -> None:
    events = as_dicts(rows)
    program = cepheus.compile(FIRE)
    whole = program.start(lateness=f"{lateness}s", time_unit="s")
    expected = answers(whole.feed(events)) + answers(whole.flush())
    session = program.start(lateness=f"{lateness}s", time_unit="s")
    found = []
    rest = events
    for cut in [*cuts, len(events)]:
        part, rest = rest[:cut], rest[cut:]
        if len(part) == 1:
            found += answers(EventBatch.from_events(session.feed(part[0])))
        elif part:
            found += answers(session.feed(part))
        session = program.start(snapshot=session.snapshot())
    found += answers(session.flush())
    assert found == expected
    assert session.counts == whole.counts


def test_every_late_event_is_handed_over_even_if_the_callback_fails() -> None:
    late: list[int] = []
    heard: list[int] = []

    def on_late(event: Event) -> None:
        late.append(event.time)
        raise ValueError(f"cannot take {event.time}")

    session = cepheus.compile("define Alarm() from Smoke()").start(on_late=on_late)
    session.subscribe("Alarm", lambda event: heard.append(event.time))
    session.feed([Event("Smoke", 10)])
    with pytest.raises(ValueError, match="cannot take 1") as failure:
        session.feed([Event("Smoke", 1), Event("Smoke", 2), Event("Smoke", 12)])
    assert (late, heard) == ([1, 2], [10, 12])
    assert "cannot take 2" in failure.value.__notes__[0]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_session_in_threads_finds_the_same(threads: int) -> None:
    events = [Event("Temp", n, {"area": f"A{n % 5}", "value": 40.0 + n % 9}) for n in range(60)]
    events += [Event("Smoke", 60 + n, {"area": f"A{n}"}) for n in range(5)]
    rule = (
        "define Fire(area: string) from Smoke(area=$a) and each Temp(area=$a and value>45) within 5 s from Smoke "
        "where area=Smoke.area"
    )
    program = cepheus.compile(rule)
    session = program.start(threads=threads)
    found = session.feed(events[:62]).to_events()
    again = program.start(threads=3 - threads, snapshot=session.snapshot())
    found += again.feed(events[62:]).to_events()
    assert found == program.detect(events, engine="reference").to_events()


def test_what_was_skipped_still_counts_after_a_restore() -> None:
    program = cepheus.compile("event A(x: double) define R(x: double) from A() where x=A.x")
    first = program.start(engine="reference", time_unit="s", on_bad_event="skip")
    first.feed([{"type": "A", "time": 1, "x": "no number"}, {"type": "A", "time": 2, "x": 1.0}])
    second = program.start(snapshot=first.snapshot(), on_bad_event="skip")
    assert first.counts.skipped == second.counts.skipped == 1


def test_an_event_without_a_time_is_no_set_of_files() -> None:
    program = cepheus.compile("event T(v: double) define R() from T()")
    with pytest.raises(EventError):
        program.detect({"type": "T", "v": "x"})
