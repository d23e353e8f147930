"""Sequences against the engine of the ``eql`` package: the same alerts from the same events."""

from __future__ import annotations

import random
from typing import Any

import eql
import pytest
from eql.parser import allow_negation, allow_runs, elasticsearch_syntax

import cepheus
from cepheus.core.source import Source
from cepheus.language.imports.eql import EqlOptions, import_eql

A, B, C, D = (f'process where kind == "{letter}"' for letter in "abcd")
OTHER = 'file where kind in ("a", "b")'
A_OR_D = 'process where kind in ("a", "d")'
EITHER = 'process where kind == "a" or kind == "b"'

SEQUENCES = (
    f"sequence by user with maxspan=4s [{A}] [{B}]",
    f"sequence with maxspan=4s [{A}] [{B}]",
    f"sequence by user with maxspan=4s [{A}] [{OTHER}]",
    f"sequence by user with maxspan=6s [{A}] [{B}] [{C}]",
    f"sequence by user with maxspan=6s [{EITHER}] [{B}] [{C}]",
    f"sequence by user with maxspan=6s [{A}] [{EITHER}] [{B}]",
    f"sequence by user with maxspan=6s [{A}] [{A}]",
    f"sequence by user with maxspan=9s [{A}] [{B}] [{A}] [{C}]",
    f"sequence by user with maxspan=5s [{A}] with runs=3",
    f"sequence by user with maxspan=8s [{A}] with runs=2 [{B}]",
    f"sequence by user with maxspan=8s [{B}] [{A}] with runs=3",
    f"sequence by user with maxspan=6s [{A}] [{B}] until [{D}]",
    f"sequence by user with maxspan=6s [{A}] [{B}] [{C}] until [{D}]",
    f"sequence by user with maxspan=6s [{A}] [{B}] until [{A_OR_D}]",
    f"sequence by user with maxspan=6s [{A}] [{EITHER}] until [{B}]",
    f"sequence by user with maxspan=6s [{A}] [{B}] until [file where kind == null]",
    f"sequence with maxspan=6s [{A}] by user [{OTHER}] by owner until [{D}] by user",
    "sequence by user, kind with maxspan=6s [process where size > 3] [file where size <= 5]",
)

ABSENCES = (
    (A, f"!{D}", B),
    (A, f"!{OTHER}", f"!{D}", B),
    (A, f"!{D}", B, C),
    (A, B, f"!{D}", C),
    (A, f"!{D}", B, f"!{OTHER}", C),
    (f"!{D}", A, B),
    (f"!{OTHER}", A, B),
    (f"!{EITHER}", A, B),
    (f"!{B}", A),
    (A, B, f"!{C}"),
    (A, B, C, f"!{D}"),
    (A, f"!{B}"),
)

Events = list[dict[str, Any]]


def random_events(seed: int, count: int = 40, steps: tuple[int, ...] = (0, 0, 1, 1, 2)) -> Events:
    """Events of two types by two users, many of them at the same time."""
    draw = random.Random(seed)
    time, events = 0, []
    for _ in range(count):
        time += draw.choice(steps)
        event = {"user": draw.choice(("x", "y")), "kind": draw.choice("aabbcd"), "size": draw.randrange(8)}
        events.append({"type": draw.choice(("process", "process", "file")), "time": time, "owner": "x", **event})
    return events


def sequences_of(query: str, events: Events) -> list[Events]:
    """What the engine of the package finds, each as its events."""
    engine = eql.PythonEngine({"time_unit": 1})
    found: list[Events] = []
    engine.add_output_hook(lambda result: found.append([event.data["event"] for event in result.events]))
    with elasticsearch_syntax, allow_negation, allow_runs:
        engine.add_query(eql.parse_query(query))
    given = [
        event | {"event_type": event["type"], "timestamp": event["time"], "event": event | {"place": place}}
        for place, event in enumerate(events)
    ]
    engine.stream_events(given)
    return found


def alerts(rules: str, events: Events, engine: str, **options: Any) -> list[tuple[int, int]]:
    """When each alert of the imported rules comes, and when what it tells of began."""
    made = (
        cepheus.compile(rules, undeclared="allow")
        .detect(events, time_unit="s", engine=engine, **options)
        .to_dicts("us")
    )
    found = [one for one in made if one["type"] == "Query"]
    return sorted((one["time"] // 1_000_000, one["start_time"] // 1_000_000) for one in found)


def imported(query: str, *, ordered: bool = True) -> str:
    outcome = import_eql([Source("query.eql", query)], EqlOptions(ordered=ordered))
    assert not [finding for one in outcome.imported for finding in one.findings]
    return outcome.text()


@pytest.mark.parametrize("query", SEQUENCES)
def test_imported_sequences_find_what_the_package_finds(query: str) -> None:
    rules, total = imported(query), 0
    for seed in range(8):
        events = random_events(seed)
        expected = sorted((found[-1]["time"], found[0]["time"]) for found in sequences_of(query, events))
        total += len(expected)
        assert alerts(rules, events, "reference") == expected, f"seed {seed}\n{rules}"
    assert total > 0


@pytest.mark.parametrize("query", SEQUENCES)
def test_imported_sequences_run_on_columns(query: str) -> None:
    rules, events = imported(query), random_events(99, 300)
    expected = sorted((found[-1]["time"], found[0]["time"]) for found in sequences_of(query, events))
    assert alerts(rules, events, "auto") == expected


def absent_sequences(items: tuple[str, ...], events: Events, span: int) -> list[Events]:
    """Sequences of what must happen, as the package finds them, without those in which something of the rest does."""
    steps = [item for item in items if not item.startswith("!")]
    if len(steps) == 1:
        found = sequences_of(steps[0], events)
    else:
        found = sequences_of(f"sequence by user with maxspan={span}s {' '.join(f'[{step}]' for step in steps)}", events)
    unwanted = {item: [event for (event,) in sequences_of(item[1:], events)] for item in items if item.startswith("!")}
    return [sequence for sequence in found if not _has_any(unwanted, items, sequence, span)]


def _has_any(unwanted: dict[str, Events], items: tuple[str, ...], sequence: Events, span: int) -> bool:
    passed = 0
    for item in items:
        if item not in unwanted:
            passed += 1
            continue
        after = sequence[passed - 1]["place"] if passed else -1
        before = sequence[passed]["place"] if passed < len(sequence) else 10**9
        earliest, latest = sequence[-1]["time"] - span, sequence[0]["time"] + span
        for one in unwanted[item]:
            near = after < one["place"] < before and earliest <= one["time"] <= latest
            if near and one["user"] == sequence[0]["user"]:
                return True
    return False


@pytest.mark.parametrize("items", ABSENCES, ids=" ".join)
def test_missing_events_are_none_where_the_sequence_could_have_them(items: tuple[str, ...]) -> None:
    span, total = 6, 0
    written = " ".join(f"![{item[1:]}]" if item.startswith("!") else f"[{item}]" for item in items)
    at_end = items[-1].startswith("!")
    rules = imported(f"sequence by user with maxspan={span}s {written}")
    for seed in range(6):
        events = random_events(seed, 60 if at_end else 30)
        expected = sorted(
            (found[0]["time"] + span if at_end else found[-1]["time"], found[0]["time"])
            for found in absent_sequences(items, events, span)
        )
        total += len(expected)
        options = {"until": "end"} if at_end else {}
        assert alerts(rules, events, "reference", **options) == expected, f"seed {seed}\n{rules}"
    assert total > 0
