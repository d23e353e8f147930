"""How far from home events matter, when rules feed one another: distances add up along the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Demand:
    """What one rule asks for, per event type: how far from its terminator it looks for events of that type.

    ``makes`` is the composite type, if rules look at it; ``shift`` is how far it may lie from the terminator.
    """

    rule: str
    terminator: str
    needs: tuple[tuple[str, float], ...]
    makes: str | None = None
    shift: float = 0


def margins(demands: Sequence[Demand]) -> dict[str, float] | str:
    """Compute how far from home the events of each type matter; the name of a rule if that has no end.

    >>> margins([Demand("Fire", "Smoke", (("Temp", 10),), "Fire"), Demand("Alarm", "Alert", (("Fire", 5),))])
    {'Smoke': 5, 'Temp': 15, 'Alert': 0, 'Fire': 5}
    """
    found: dict[str, float] = {}
    for demand in demands:
        for name in (demand.terminator, *(name for name, _ in demand.needs)):
            found[name] = 0
    # A composite event belongs to the shard of its first terminator, from which it may have been shifted away.
    for passes in range(len(demands) + 1):
        moved = [d for d in demands if d.makes and _raise(found, d.makes, found[d.terminator] + d.shift)]
        if not moved:
            break
        if passes == len(demands):
            return moved[0].rule
    for _ in range(2 * len(demands) + 2):
        grown = ""
        for demand in demands:
            if demand.makes and _raise(found, demand.terminator, found[demand.makes] + demand.shift):
                grown = demand.rule
            for name, distance in demand.needs:
                if _raise(found, name, found[demand.terminator] + distance):
                    grown = demand.rule
        if not grown:
            return found
    return grown


def _raise(found: dict[str, float], name: str, distance: float) -> bool:
    if found.get(name, 0) >= distance:
        return False
    found[name] = distance
    return True
