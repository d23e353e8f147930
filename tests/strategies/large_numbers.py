"""Generated programs and streams with numbers that doubles cannot tell apart, integers and doubles mixed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from cepheus.core.event import Event

LARGE = 2**53
"""Above this, two integers may be the same as doubles."""

NUMBERS = (LARGE - 1, LARGE, LARGE + 1, LARGE + 2, float(LARGE), float(LARGE + 2), 2**63 - 1, float(2**63))
_NEAR = NUMBERS[1:5]  # all but the last are the same as doubles


def with_large_numbers(program: str, seed: int) -> str:
    """Put large numbers in the place of a generated program's constants, other aggregates in that of its counts."""
    random = Random(seed)

    def number(found: re.Match[str]) -> str:
        return f"{found[1]}{written(random.choice(NUMBERS))}"

    def aggregate(found: re.Match[str]) -> str:
        function = random.choice(("MIN", "MAX", "SUM", "AVG", "STDDEV"))
        return f"{function}(N, {found[1]}(N) WITHIN {found[2]}) {random.choice(('=', '<=', '>'))} X"

    program = re.sub(r"COUNT\((\w)\(X\) WITHIN (\d+)\) > 1", aggregate, program)
    return re.sub(r"((?:good|fine|bad)\(|X (?:>|<|!=) )\d\b", number, program)


def written(number: float) -> str:
    """Write a number as a constant of the language."""
    return str(number) if isinstance(number, int) else f"{number:.1f}"


def among_large_numbers(events: Sequence[Event], seed: int) -> list[Event]:
    """Put large numbers in the place of the arguments of events."""
    random = Random(seed)
    pool = NUMBERS if random.random() < 0.3 else _NEAR
    return [
        Event(
            event.type,
            event.time,
            {name: random.choice(pool) for name in event.attributes},
            id=event.id,
            start=event.start,
        )
        for event in events
    ]
