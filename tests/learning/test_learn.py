"""Learning from beginning to end: what is found, what is refused, and that nothing is found where nothing is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hidden_rules import batch, labelled, stream

import cepheus
from cepheus.core.batch import EventBatch
from cepheus.core.event import Event
from cepheus.core.time import SECOND
from cepheus.learning.hints import Hints
from cepheus.learning.history import History, Ints
from cepheus.learning.learn import Learning, Settings
from cepheus.learning.occurrences import Occurrences
from cepheus.learning.past import MemoryPast

RULE = """define Incident(room: string)
from A(room=$r and value > 60) and last B(room=$r and value < 70) within 12 s from A where room=A.room"""


def test_a_rule_is_found_and_finds_the_same_in_a_fresh_stream() -> None:
    learned = cepheus.learn(batch(labelled(stream(1, 8_000), RULE)), "Incident")
    assert learned.f1 > 0.95
    assert learned.p_value < 0.01
    fresh = stream(2, 6_000)
    truth = {(event.time, event.attributes["room"]) for event in cepheus.compile(RULE).detect(fresh).to_events()}
    told = {(event.time, event.attributes["room"]) for event in cepheus.compile(learned.text).detect(fresh).to_events()}
    assert len(truth & told) / len(truth | told) > 0.9


def test_the_file_has_the_evidence_and_the_same_seed_gives_the_same_file() -> None:
    events = batch(labelled(stream(1), "define Incident() from A(value > 70)"))
    learned, again = cepheus.learn(events, "Incident", seed=3), cepheus.learn(events, "Incident", seed=3)
    assert learned.text == again.text
    assert "precision 1.000, recall 1.000, F1 1.000" in learned.text
    assert "without it precision falls from 1.00 to" in learned.text
    assert learned.svg().startswith("<svg")
    assert learned.to_json()["rules"][0]["missed"] == []


def test_two_causes_give_two_rules() -> None:
    first = labelled(stream(5, 3_000), "define Incident() from A(value > 85)")
    second = [
        event
        for event in labelled(stream(5, 3_000), "define Incident() from B(value < 15)")
        if event.type == "Incident"
    ]
    learned = cepheus.learn(batch(sorted(first + second, key=lambda event: event.time)), "Incident")
    assert {each.rule.pattern.terminator.type for each in learned.found} == {"A", "B"}
    assert learned.f1 > 0.97


def test_occurrences_may_be_a_table_with_keys_that_is_late() -> None:
    events = labelled(stream(7, 8_000), RULE, late=SECOND)
    labels = [{"time": event.time, "room": event.attributes["room"]} for event in events if event.type == "Incident"]
    others = [event for event in events if event.type != "Incident"]
    learned = cepheus.learn(batch(others), "Incident", occurrences=labels, slack="1s", time_unit="us")
    assert learned.f1 > 0.8
    assert [attribute.name for attribute in learned.found[0].rule.composite.attributes] == ["room"]


def test_occurrences_in_a_file_may_be_intervals(tmp_path: Path) -> None:
    events = labelled(stream(7), "define Incident() from A(value > 70)")
    lines = [f"{event.time - 300},{event.time + 500},x" for event in events if event.type == "Incident"]
    file = tmp_path / "incidents.csv"
    file.write_text("\n".join(["start,time,by", *lines]))
    others = [event for event in events if event.type != "Incident"]
    learned = cepheus.learn(batch(others), "Incident", occurrences=file, time_unit="us")
    assert learned.slack == 0
    assert learned.f1 == 1.0
    assert set(learned.outcome.occurrences.columns) == {"by"}
    early = [f"{event.time - 900},y" for event in events if event.type == "Incident"]
    file.write_text("\n".join(["time,by", *early]))
    learned = cepheus.learn(batch(others), "Incident", occurrences=file, time_unit="us", slack="1ms")
    assert learned.f1 == 1.0
    assert "labels may be off by 1 ms in either direction" in learned.text


def test_occurrences_of_another_time_are_refused() -> None:
    events = labelled(stream(7), "define Incident() from A(value > 70)")
    others = [event for event in events if event.type != "Incident"]
    labels = [{"time": 1000 * event.time} for event in events if event.type == "Incident"]
    with pytest.raises(cepheus.OptionError, match="within the history"):
        cepheus.learn(batch(others), "Incident", occurrences=labels, time_unit="us")


def test_conditions_tell_where_labels_are_so_far_off_that_every_type_is_near() -> None:
    events = labelled(stream(7, 8_000), "define Incident() from A(value > 90)")
    rng = np.random.default_rng(1)
    labels = [
        {"time": event.time + int(rng.integers(-8 * SECOND, 8 * SECOND))}
        for event in events
        if event.type == "Incident"
    ]
    others = [event for event in events if event.type != "Incident"]
    learned = cepheus.learn(batch(others), "Incident", occurrences=labels, slack="8s", time_unit="us", budget=60)
    assert "A(value>" in learned.text.replace(" ", "")
    assert learned.f1 > 0.7


def test_the_terminator_that_an_expert_names_decides_though_others_come_closer() -> None:
    events = labelled(stream(1, 8_000), "define Incident() from A(value > 90)")
    near = [
        Event(f"Near{number}", event.time, {"x": 1.0})
        for event in events
        if event.type == "Incident"
        for number in range(6)
    ]
    every = sorted([*events, *near], key=lambda event: (event.time, event.type == "Incident"))
    learned = cepheus.learn(batch(every), "Incident", terminator="A", types=["A"])
    assert learned.f1 > 0.97
    assert learned.found[0].rule.pattern.terminator.type == "A"
    assert cepheus.learn(batch(every), "Incident", terminator="A", longest="1 ms").f1 > 0.97


def test_events_that_come_into_memory_with_the_occurrences_are_looked_at() -> None:
    events = History.of(batch(labelled(stream(1), "define Incident() from A(value > 70)")))
    whole = MemoryPast(events.only(set(events.types) - {"Incident"}))
    early = Occurrences.among(events, "Incident")

    class Loading:
        """A past that has nothing in memory before it is asked for occurrences."""

        now = MemoryPast(whole.history.only([]))

        def look_at(self, _: Occurrences, numbers: Ints) -> Ints:
            self.now = whole
            return numbers

        def __getattr__(self, name: str) -> object:
            return getattr(self.now, name)

    learning = Learning(Loading(), early, Hints(), Settings())  # type: ignore[arg-type]
    made = learning._one_rule(early, np.arange(len(early)), whole.span, float("inf"), 0)
    assert made is not None
    assert made.trained.f1 == 1.0


def test_hints_are_followed() -> None:
    events = batch(labelled(stream(1), "define Incident() from A(value > 70 and level > 3)"))
    learned = cepheus.learn(events, "Incident", ignore=["A.level"])
    assert "level" not in learned.text
    with pytest.raises(cepheus.OptionError, match=r"no attribute is called 'A\.lvl'"):
        cepheus.learn(events, "Incident", ignore=["A.lvl"])
    with pytest.raises(cepheus.OptionError, match="no event of type 'Z'"):
        cepheus.learn(events, "Incident", terminator="Z")


def test_hints_may_name_what_is_not_in_memory() -> None:
    history = History.of(batch(stream(1, 50)))
    hints = Hints.of(types=["A", "Rare"], terminator="Rare", ignore=["Rare.x"])
    hints.check(history, {"A", "B", "C", "D", "Rare"})
    with pytest.raises(cepheus.OptionError, match="no event of type 'Rare'"):
        hints.check(history)
    with pytest.raises(cepheus.OptionError, match="no event of type 'Rare'"):
        hints.check(history, {"A", "B", "C", "D", "Rarer"})


def test_shuffled_labels_find_nothing() -> None:
    found = 0
    for seed in range(4):
        events = stream(seed, 1_500)
        rng = np.random.default_rng(seed)
        own = [event for event in events if event.type == "A"]
        marked = [own[place] for place in rng.choice(len(own), 60, replace=False).tolist()]
        labels = [Event("Incident", event.time) for event in marked]
        every = sorted([*events, *labels], key=lambda event: event.time)
        found += bool(cepheus.learn(batch(every), "Incident", seed=seed, budget=20))
    assert found <= 1


def refused(events: EventBatch | list[Event], code: str, **options: object) -> None:
    """Learning is refused with a code."""
    with pytest.raises(cepheus.OptionError) as error:
        cepheus.learn(events, "Incident", **options)  # type: ignore[arg-type]
    assert error.value.diagnostics[0].code == code


def test_what_cannot_be_learned_from_is_refused_by_name() -> None:
    events = stream(1, 300)
    refused(batch(events), "learn-target")
    refused(batch([*events, Event("Incident", events[-1].time)]), "learn-few")
    refused(batch([Event("Incident", time) for time in range(9)]), "learn-target")
    refused(EventBatch.empty(), "learn-target")
    labels = [Event("Incident", events[9].time)] * 9
    refused(batch(sorted(events + labels, key=lambda event: event.time)), "learn-few")
    for options in ({"held_out": 0.0}, {"seed": -1}, {"budget": float("nan")}, {"alarm_cost": float("nan")}):
        refused(batch(events), "learn-option", **options)


def test_a_search_that_had_no_time_does_not_say_that_there_is_nothing() -> None:
    learned = cepheus.learn(batch(labelled(stream(1), "define Incident() from A(value > 70)")), "Incident", budget=1e-6)
    assert not learned
    assert "the time budget ended the search" in str(learned)


def test_a_leaking_column_is_named() -> None:
    events = labelled(stream(1), "define Incident() from A(value > 70)")
    leaking = [
        Event(event.type, event.time, {**event.attributes, "checked": float(str(event.attributes["value"])) > 70})
        if event.type == "A"
        else event
        for event in events
    ]
    with pytest.raises(cepheus.OptionError, match=r"'A\.checked' alone tells every occurrence"):
        cepheus.learn(batch(leaking), "Incident")
    counted = [
        Event(event.type, event.time, {**event.attributes, "checked": int(bool(event.attributes.get("checked")))})
        for event in leaking
    ]
    with pytest.raises(cepheus.OptionError, match=r"'A\.checked' alone tells every occurrence"):
        cepheus.learn(batch(counted), "Incident")
    assert "A.value alone tells it" in cepheus.learn(batch(leaking), "Incident", ignore=["A.checked"]).text
    assert "checked" in cepheus.learn(batch(leaking), "Incident", trust=["A.checked"], ignore=["A.value"]).text
    assert "value>70" in cepheus.learn(batch(leaking), "Incident", ignore=["A.checked"]).text


def test_constants_nulls_and_many_types_do_no_harm() -> None:
    rng = np.random.default_rng(1)
    events = labelled(stream(1, 4_000), "define Incident() from A(value > 70)")
    made = []
    for event in events:
        values = {**event.attributes, "same": 1.0} if event.type == "A" else dict(event.attributes)
        if rng.random() < 0.2 and event.type == "B":
            values.pop("value")
        made.append(Event(event.type, event.time, values))
    made += [Event(f"T{number}", int(made[-1].time) - number, {"x": 1.0}) for number in range(1_000)]
    made.sort(key=lambda event: event.time)
    assert cepheus.learn(batch(made), "Incident").f1 > 0.97


def test_a_file_runs_on_events_that_lack_what_its_rules_use() -> None:
    rows: list[dict[str, Any]] = [
        {"type": "AB"[n % 2], "time": n, "room": "xyz"[n % 3], **({"value": n * 37 % 100} if n % 5 else {})}
        for n in range(2_000)
    ]
    marks = [
        {"type": "Incident", "time": row["time"]} for row in rows if row["type"] == "A" and row.get("value", 0) > 60
    ]
    learned = cepheus.learn([*rows, *marks], "Incident", time_unit="s")
    assert "event A(room: string, value: int?)" in learned.text
    assert len(cepheus.compile(learned.text).detect(rows, time_unit="s").to_events()) == len(marks)


def test_attributes_that_rules_cannot_read_take_no_part() -> None:
    events = [Event("A", n, {"from": n % 10, "value": float(n * 37 % 100)}) for n in range(2_000)]
    labels = [Event("Incident", event.time, {"from": 1}) for event in events if event.attributes["from"] == 3]
    learned = cepheus.learn(events + labels, "Incident")
    assert "from=" not in learned.text
    cepheus.compile(learned.text)


def test_what_a_run_refuses_is_not_learned_from() -> None:
    events = [Event("A", n, {"value": float("inf") if n == 7 else 1.0}) for n in range(20)]
    with pytest.raises(cepheus.EventError, match=r"A\.value: inf is not a finite number"):
        cepheus.learn(events + [Event("Incident", n) for n in range(6)], "Incident")


def test_a_few_hits_in_a_short_history_are_not_called_more_than_chance() -> None:
    events = [Event("AB"[n % 2], n, {"value": float(n * 37 % 100)}) for n in range(60)]
    labels = [Event("Incident", n) for n in range(0, 60, 2) if n * 37 % 100 > 60]
    assert not cepheus.learn(events + labels, "Incident", held_out=0.2)
