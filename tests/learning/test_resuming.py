"""A search that was stopped goes on where it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hidden_rules import batch, labelled, stream

import cepheus
from cepheus.learning import learn as learning

RULE = """define Incident(room: string)
from A(room=$r and value > 40) and last B(room=$r and room='r3') within 9 s from A
where room=A.room"""


def test_what_was_done_is_not_done_again_and_the_answer_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events, kept = batch(labelled(stream(1), RULE)), tmp_path / "progress.json"
    whole = cepheus.learn(events, "Incident", ignore=["A.level"])
    first = cepheus.learn(events, "Incident", ignore=["A.level"], resume=kept)
    assert first.text == whole.text
    assert json.loads(kept.read_text())["done"]

    def never(*_: object) -> None:
        raise AssertionError("an attempt was made again")

    monkeypatch.setattr(learning.Learning, "_attempt", never)
    again = cepheus.learn(events, "Incident", ignore=["A.level"], resume=kept)
    assert again.text == whole.text


def test_a_budget_that_ends_a_search_leaves_it_to_go_on(tmp_path: Path) -> None:
    events, kept = batch(labelled(stream(1, 3_000), "define Incident() from A(value > 70)")), tmp_path / "p.json"
    stopped = cepheus.learn(events, "Incident", budget=1e-6, resume=kept)
    assert stopped.outcome.out_of_time
    assert cepheus.learn(events, "Incident", resume=kept).text == cepheus.learn(events, "Incident").text


def test_a_file_of_another_search_or_none_at_all_is_refused(tmp_path: Path) -> None:
    events, kept = batch(labelled(stream(1, 2_000), "define Incident() from A(value > 70)")), tmp_path / "p.json"
    cepheus.learn(events, "Incident", resume=kept)
    with pytest.raises(cepheus.OptionError, match="progress of another search"):
        cepheus.learn(events, "Incident", resume=kept, seed=2)
    done = json.loads(kept.read_text())
    done["done"] = {place: {"terminator": "A"} for place in done["done"]}
    kept.write_text(json.dumps(done))
    with pytest.raises(cepheus.OptionError, match="is damaged"):
        cepheus.learn(events, "Incident", resume=kept)
    kept.write_text("{")
    with pytest.raises(cepheus.OptionError, match="cannot be read"):
        cepheus.learn(events, "Incident", resume=kept)


def test_a_file_of_other_values_is_refused_though_there_are_as_many(tmp_path: Path) -> None:
    events, kept = labelled(stream(1, 2_000), "define Incident() from A(value > 70)"), tmp_path / "p.json"
    cepheus.learn(batch(events), "Incident", resume=kept)
    place = next(place for place, event in enumerate(events) if event.type == "A")
    values = {**events[place].attributes, "value": 12.25}
    events[place] = replace(events[place], attributes=values)
    with pytest.raises(cepheus.OptionError, match="progress of another search"):
        cepheus.learn(batch(events), "Incident", resume=kept)


def test_another_process_knows_the_file_whatever_order_its_sets_have() -> None:
    script = """
import sys
from cepheus.learning.hints import Hints
from cepheus.learning.history import History
from cepheus.learning.learn import Learning, Settings
from cepheus.learning.occurrences import Occurrences
from cepheus.learning.past import MemoryPast
from cepheus.core.batch import EventBatch
from cepheus.core.event import Event
history = History.of(EventBatch.from_events([Event("X", n, {"v": 1.0}) for n in range(9)]))
hints = Hints.of(types=["A", "B", "C", "D", "E"], keys=["room", "sensor", "plant"])
print(Learning(MemoryPast(history), Occurrences.among(history, "X"), hints, Settings())._search())
"""
    told = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in (1, 2, 3)
    }
    assert len(told) == 1
