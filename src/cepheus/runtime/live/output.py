"""Composite events on their way out: as JSON, each with a key that names it for ever.

A composite event's id is made of its rule and its parts. Rules over intervals and timers may make several of the same
parts, so the key adds the time and, where even that is the same, a count: in the same stream the key is the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from cepheus.core.batch import EventBatch
from cepheus.core.time import TimeUnit
from cepheus.formats.write import json_line, written_records
from cepheus.runtime.live.contract import Output


class OutputKeys:
    """Gives composite events their keys; what it remembers is part of the run's state."""

    def __init__(self, repeats: Mapping[str, int] | None = None, at: int | None = None) -> None:
        self.repeats = dict(repeats or {})
        self.at = at

    def key(self, identity: str, time: int) -> str:
        """The key of the next composite event; they come in the order of time.

        >>> keys = OutputKeys()
        >>> keys.key("Fire:07", 5), keys.key("Fire:07", 5), keys.key("Fire:07", 6)
        ('Fire:07@5', 'Fire:07@5#1', 'Fire:07@6')
        """
        if self.at != time:
            self.repeats.clear()
            self.at = time
        count = self.repeats.get(identity, 0)
        self.repeats[identity] = count + 1
        return f"{identity}@{time}" + (f"#{count}" if count else "")


def output_of(
    composites: EventBatch, keys: OutputKeys, unit: TimeUnit, intervals: frozenset[str] = frozenset()
) -> Output:
    """Write composite events."""
    found: tuple[list[str], list[str], list[str]] = ([], [], [])
    for part in composites.parts:
        if not len(part):
            continue
        ids = part.id_list() or [""] * len(part)
        found[0].extend(keys.key(str(each), time) for each, time in zip(ids, part.times.tolist(), strict=True))
        found[1].extend(part.types[code] for code in part.codes.tolist())
        found[2].extend(json_line(record) for record in written_records(part, unit, intervals))
    return Output(*found)
