"""Correlations against their meaning, asked of every event in turn."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import cepheus
from cepheus.core.source import Source
from cepheus.language.imports.sigma import import_sigma

Events = list[dict[str, Any]]
SPAN = 5
FAILED, GOOD, SUDO = "failed", "good", "sudo"

BASES = """
title: Failed
name: failed
logsource: {product: w, service: security}
detection:
  selection: {EventID: 1}
  filter: {Who|endswith: $}
  condition: selection and not filter
---
title: Good
name: good
logsource: {product: w, service: security}
detection: {selection: {EventID|lte: 2}, condition: selection}
---
title: Sudo
name: sudo
logsource: {product: linux}
detection: {selection: {Image|contains: sudo}, condition: selection}
---
title: Alert
correlation:
"""


def random_events(seed: int, count: int = 40) -> Events:
    """Events of two log sources; some lack an attribute, many have the same time."""
    draw = random.Random(seed)
    time, events = 0, []
    for _ in range(count):
        time += draw.choice((0, 0, 1, 1, 2))
        user = draw.choice(("x", "y", None))
        if draw.random() < 0.7:
            event: dict[str, Any] = {"type": "w_security", "EventID": draw.choice((1, 1, 2, 3)), "User": user}
            event |= {"Who": draw.choice(("a", "b$", None)), "Bytes": draw.choice((1.0, 2.5, None))}
        else:
            event = {"type": "linux", "Image": draw.choice(("/bin/SUDO", "/bin/ls")), "Account": user}
        events.append({key: value for key, value in event.items() if value is not None} | {"time": time})
    return events


def fits(name: str, event: dict[str, Any]) -> bool:
    """Whether a base rule matches an event."""
    match name:
        case "failed":
            return event.get("EventID") == 1 and not str(event.get("Who", "")).endswith("$")
        case "good":
            return bool(event.get("EventID", 9) <= 2)
        case _:
            return "sudo" in event.get("Image", "").lower()


def group_of(event: dict[str, Any]) -> str | None:
    return event.get("User", event.get("Account"))


def expected(events: Events, names: list[str], holds: Callable[[Events], bool], value: str | None = None) -> list[int]:
    """The times of all events at which a correlation holds of the timespan that ends there."""
    times = []
    for place, event in enumerate(events):
        asked = any(fits(name, event) for name in names) and (value is None or value in event)
        if asked and group_of(event) is not None:
            window = [
                one
                for one in events[: place + 1]
                if one["time"] >= event["time"] - SPAN
                and group_of(one) == group_of(event)
                and any(fits(name, one) for name in names)
                and (value is None or value in one)
            ]
            times += [event["time"]] if holds(window) else []
    return times


def found(correlation: str, events: Events) -> list[int]:
    rules = import_sigma([Source("rules.yml", BASES + correlation)])
    assert not [finding for one in rules.imported for finding in one.findings]
    program = cepheus.compile(rules.text(), undeclared="allow")
    made = program.detect(events, time_unit="s", engine="reference").to_dicts()
    return sorted(one["time"] // 1_000_000 for one in made if one["type"] == "Alert")


def correlation(kind: str, names: list[str], condition: str = "") -> str:
    aliases = "  aliases: {user: {failed: User, good: User, sudo: Account}}\n"
    given = f"  type: {kind}\n  rules: [{', '.join(names)}]\n  group-by: [user]\n  timespan: {SPAN}s\n{aliases}"
    return given + (f"  condition: {condition}\n" if condition else "")


def all_in_order(names: list[str]) -> Callable[[Events], bool]:
    def holds(window: Events) -> bool:
        if not fits(names[-1], window[-1]):
            return False
        waiting = [*names[:-1]]
        for event in window[:-1]:
            if waiting and fits(waiting[0], event):
                waiting.pop(0)
        return not waiting

    return holds


def distinct(window: Events) -> int:
    return len({one["Who"] for one in window})


CASES: tuple[tuple[str, list[str], str, Callable[[Events], bool], str | None], ...] = (
    ("event_count", [FAILED], "{gte: 3}", lambda window: len(window) >= 3, None),
    ("event_count", [FAILED, GOOD], "{gt: 3}", lambda window: len(window) > 3, None),
    ("event_count", [FAILED, SUDO], "{eq: 2}", lambda window: len(window) == 2, None),
    ("value_count", [GOOD], "{gte: 2, field: Who}", lambda window: distinct(window) >= 2, "Who"),
    ("value_count", [GOOD], "{eq: 1, field: Who}", lambda window: distinct(window) == 1, "Who"),
    ("value_sum", [GOOD], "{gt: 4, field: Bytes}", lambda window: sum(one["Bytes"] for one in window) > 4, "Bytes"),
    (
        "value_avg",
        [GOOD],
        "{lt: 2, field: Bytes}",
        lambda window: sum(one["Bytes"] for one in window) / len(window) < 2,
        "Bytes",
    ),
    (
        "temporal",
        [FAILED, GOOD],
        "",
        lambda window: all(any(fits(name, one) for one in window) for name in (FAILED, GOOD)),
        None,
    ),
    (
        "temporal",
        [FAILED, GOOD, SUDO],
        "",
        lambda window: all(any(fits(name, one) for one in window) for name in (FAILED, GOOD, SUDO)),
        None,
    ),
    (
        "temporal",
        [FAILED, GOOD, SUDO],
        "sudo and (failed or good)",
        lambda window: any(fits(SUDO, one) for one in window) and any(not fits(SUDO, one) for one in window),
        None,
    ),
    ("temporal_ordered", [FAILED, GOOD], "", all_in_order([FAILED, GOOD]), None),
    ("temporal_ordered", [GOOD, SUDO], "", all_in_order([GOOD, SUDO]), None),
    ("temporal_ordered", [FAILED, SUDO, GOOD], "", all_in_order([FAILED, SUDO, GOOD]), None),
)


@pytest.mark.parametrize(
    ("kind", "names", "condition", "holds", "value"), CASES, ids=lambda part: part if isinstance(part, str) else ""
)
def test_a_correlation_holds_where_its_meaning_does(
    kind: str, names: list[str], condition: str, holds: Callable[[Events], bool], value: str | None
) -> None:
    total = 0
    for seed in range(6):
        events = random_events(seed)
        wanted = expected(events, names, holds, value)
        total += len(wanted)
        assert found(correlation(kind, names, condition), events) == wanted, f"seed {seed}"
    assert total > 0
