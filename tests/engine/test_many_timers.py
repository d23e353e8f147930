"""Dozens of timers at once, which stand in a heap: the same moments in the same order as in the reference engine."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

import cepheus
from cepheus.runtime.embedded.session import Session

DECLARED = "event A(k: int); event B(k: int)"


def rule(random: Random, number: int) -> str:
    """A rule with a timer: after few or all events of a type, after what another rule makes, or at regular times."""
    delay, k = random.choice([1, 2, 3, 5, 8, 13, 40]), random.randrange(4)
    after = f"{delay} s after"
    pattern = random.choice(
        [
            f"from {after} A(k={k})",
            f"from {after} A()",
            f"from {after} B(k>{k})",
            f"from {after} A(k={k}) and last B(k>={k}) within 9 s from now consuming B",
            f"from A(k={k}) and not B() within {delay} s after A",
            f"from every {delay + 6} s and last A(k={k}) within 20 s from now",
            f"from {after} Made{random.randrange(number)}()" if number else f"from {after} B()",
        ]
    )
    return f"rule R{number} define Made{number}() {pattern}"


def calls(random: Random) -> Iterator[tuple[str, Any]]:
    """What is done with a session, one after the other."""
    now, deployed, count = 0, list(range(40)), 40
    for _ in range(60):
        match random.randrange(12):
            case 0:
                now += random.randrange(30)
                yield "advance", now
            case 1:
                yield "snapshot", None
            case 2:
                yield "deploy", rule(random, count)
                deployed.append(count)
                count += 1
            case 3:
                yield "withdraw", f"R{deployed.pop(random.randrange(len(deployed)))}"
            case 4 | 5 | 6:
                now += random.randrange(6)
                yield "feed", {"type": random.choice("AB"), "time": now, "k": random.randrange(4)}
            case _:
                times = sorted(now + random.randrange(25) for _ in range(random.randrange(1, 30)))
                now = times[-1]
                yield "feed", [{"type": random.choice("AB"), "time": each, "k": random.randrange(4)} for each in times]


def found(seed: int, engine: Any) -> list[Any]:
    random = Random(seed)
    program = cepheus.compile("; ".join([DECLARED, *(rule(random, number) for number in range(40))]))
    session: Session = program.start(engine=engine, time_unit="s")
    made: list[Any] = []
    for name, given in calls(random):
        if name == "snapshot":
            data = session.snapshot()
            session = program.start(engine=engine, time_unit="s")
            session.restore(data)
        else:
            told = getattr(session, name)(given)
            events = told.to_events() if isinstance(told, cepheus.EventBatch) else told or []
            made += [
                (each.type, each.time, each.id, each.made_of) for each in events if isinstance(each, cepheus.Event)
            ]
    return made


@pytest.mark.parametrize("seed", range(6))
def test_many_timers_have_their_moments_in_order(seed: int) -> None:
    expected = found(seed, "reference")
    assert len(expected) > 100
    assert found(seed, "columns") == expected
