"""What a session has counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cepheus.engine.base.ties import TieCounts


@dataclass(frozen=True, slots=True)
class Counts:
    """What a session has seen: events fed, events that came too late, composite events by type, what simultaneous
    events decided, and how many bad events this process has skipped.
    """

    events: int
    late: int
    composite: Mapping[str, int]
    ties: TieCounts = field(default_factory=TieCounts)
    skipped: int = 0
