"""What the Python API tells of simultaneous events."""

from __future__ import annotations

from pathlib import Path

import cepheus
from cepheus import TieCounts

RULE = "define Fire(temp: double) from Smoke() and last Temp() within 5 min from Smoke where temp = Temp.value"
EVENTS = [
    {"type": "Temp", "time": 1, "value": 1.5},
    {"type": "Temp", "time": 1, "value": 2.5},
    {"type": "Smoke", "time": 2},
    {"type": "Temp", "time": 3, "value": 3.5},
    {"type": "Smoke", "time": 3},
]


def test_what_detect_gives_has_the_counts(tmp_path: Path) -> None:
    program = cepheus.compile(RULE)
    found = program.detect(EVENTS)
    assert [fire["temp"] for fire in found.to_events()] == [2.5, 2.5]
    assert found.ties == TieCounts(decided=2, passed_over=1)
    lines = [f"1,Temp,{value}" for value in (1.5, 2.5)] + ["2,Smoke,", "3,Temp,3.5", "3,Smoke,"]
    (tmp_path / "e.csv").write_text("\n".join(["time,type,value", *lines]) + "\n")
    assert program.detect(tmp_path / "e.csv").ties == found.ties
    assert program.detect(EVENTS, threads=2).ties == found.ties


def test_a_restored_session_goes_on_counting() -> None:
    program = cepheus.compile(RULE)
    session = program.start()
    session.feed(EVENTS[:3])
    assert session.counts.ties == TieCounts(1, 0)
    restored = program.start(snapshot=session.snapshot())
    assert restored.counts.ties == TieCounts(1, 0)
    for event in EVENTS[3:]:
        restored.feed(event)
    assert restored.counts.ties == TieCounts(2, 1)


def test_rules_over_intervals_are_not_counted() -> None:
    rules = "both(X) <- a(X) SEQ b(X)."
    with cepheus.compile(rules).start() as session:
        session.feed([{"type": "a", "time": 1, "args": [7]}, {"type": "b", "time": 1, "args": [7]}])
    assert session.counts.ties == TieCounts(None, None, uncounted=("goals",))
