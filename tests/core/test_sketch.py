"""Counting distinct values nearly: as good as it says, and the same in Python and compiled."""

from __future__ import annotations

from random import Random

import cepheus
from cepheus.core.sketch import estimate, value_word
from cepheus.core.values import Value


def test_the_error_is_within_what_is_said() -> None:
    random = Random(1)
    for count in (1, 10, 100, 1000, 5000, 20_000, 100_000):
        found = estimate(random.getrandbits(64) for _ in range(count))
        assert abs(found - count) <= 0.05 * count


def test_equal_values_count_once() -> None:
    values: list[Value] = [1, 1.0, 1, 2.5, 2.5, -0.0, 0, "a", "a"]
    assert estimate(map(value_word, values)) == 4


def test_engines_estimate_the_same() -> None:
    random = Random(2)
    rules = (
        "event V(x: int, y: double, s: string) event Ask() define N(x: int, y: int, s: int) from Ask() where "
        + ", ".join(f"{name}=CountDistinct(V().{name} within 1 h from Ask, approximate)" for name in "xys")
    )
    events: list[dict[str, object]] = []
    for n in range(4000):
        number = random.randrange(3000)
        events.append({"type": "V", "time": n, "x": number, "y": number / 4, "s": f"user {number}"})
    events.append({"type": "Ask", "time": 4001})
    program = cepheus.compile(rules)
    found = [program.detect(events, engine=name, time_unit="ms").to_dicts() for name in ("reference", "columns")]
    assert found[0] == found[1]
    exact = len({event["x"] for event in events if "x" in event})
    assert all(abs(found[0][0][name] - exact) < 0.06 * exact for name in "xys")
