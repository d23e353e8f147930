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
    return sorted(one["time"] for one in made if one["type"] == "Alert")


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


OWN_FIELD = {FAILED: "User", GOOD: "Host"}
OWN_ALIASES = "  aliases: {user: {failed: User, good: Host}}\n"


def own_field_events(seed: int, count: int = 40) -> Events:
    draw = random.Random(seed)
    time, events = 0, []
    for _ in range(count):
        time += draw.choice((0, 0, 1, 1, 2))
        event: dict[str, Any] = {
            "type": "w_security",
            "EventID": draw.choice((1, 1, 2, 3)),
            "Who": draw.choice(("a", "b$")),
        }
        event |= {name: draw.choice(("x", "y", "z", None)) for name in OWN_FIELD.values()}
        events.append({key: value for key, value in event.items() if value is not None} | {"time": time})
    return events


def in_group(event: dict[str, Any], name: str, key: str) -> bool:
    return fits(name, event) and event.get(OWN_FIELD[name]) == key


@pytest.mark.parametrize(("kind", "condition"), [("event_count", "{gte: 3}"), ("temporal", "")])
def test_base_rules_on_one_log_source_have_their_group_in_fields_of_their_own(kind: str, condition: str) -> None:
    total = 0
    text = correlation(kind, [FAILED, GOOD], condition)
    start = text.index("  aliases")
    text = text[:start] + OWN_ALIASES + text[text.index("\n", start) + 1 :]
    for seed in range(6):
        events = own_field_events(seed)
        wanted = []
        for place, event in enumerate(events):
            for key in ("x", "y", "z"):
                if not any(in_group(event, name, key) for name in OWN_FIELD):
                    continue
                window = [one for one in events[: place + 1] if one["time"] >= event["time"] - SPAN]
                matched = [[in_group(one, name, key) for name in OWN_FIELD] for one in window]
                if kind == "event_count":
                    holds = sum(map(any, matched)) >= 3
                else:
                    holds = all(map(any, zip(*matched, strict=True)))
                wanted += [event["time"]] if holds else []
        total += len(wanted)
        assert found(text, events) == wanted, f"seed {seed}"
    assert total > 0


@pytest.mark.parametrize("kind", ["value_count", "value_sum", "value_avg"])
def test_values_of_events_with_groups_in_different_fields_are_refused(kind: str) -> None:
    text = correlation(kind, [FAILED, GOOD], "{gte: 2, field: Bytes}").replace("good: User", "good: Host")
    imported = import_sigma([Source("rules.yml", BASES + text)]).imported
    told = [finding.message for one in imported for finding in one.findings]
    assert ["different aliases" in message for message in told] == [True]


@pytest.mark.parametrize(
    ("condition", "times"),
    [
        ("inside", [1]),
        ("not inside", [0, 2, 3]),
        ("named and not inside", [0, 2, 3]),
        ("not (named and inside)", [0, 2, 3]),
        ("not (not inside)", [1]),
    ],
)
def test_a_text_that_is_no_address_lies_in_no_network(condition: str, times: list[int]) -> None:
    rule = f"""
title: Outside
logsource: {{product: w}}
detection: {{named: {{Name: a}}, inside: {{Ip|cidr: 10.0.0.0/8}}, condition: {condition}}}
"""
    addresses = ("-", "10.1.2.3", "192.168.1.7", None)
    events = [{"type": "w", "time": n, "Name": "a", "Ip": one} for n, one in enumerate(addresses)]
    program = cepheus.compile(import_sigma([Source("rules.yml", rule)]).text())
    assert [event.time for event in program.detect(events, engine="reference").to_events()] == times
