"""What is under way in an engine, wherever in it the goals are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cepheus.core.errors import UnsupportedError
from cepheus.engine.assembly.mixed import MixedEngine
from cepheus.engine.assembly.weighted import WeightedEngine
from cepheus.engine.base.interface import Engine

if TYPE_CHECKING:
    from cepheus.plan.interval.progress import Goal


def goals_of(engine: Engine, rule: str | None = None) -> list[Goal]:
    """List the goals that wait in an engine, of one rule or of all; rules of TESLA have none.

    An engine of interval rules that does not show its goals is an UnsupportedError.
    """
    if isinstance(engine, WeightedEngine):
        return goals_of(engine.engine, rule)
    if not isinstance(engine, MixedEngine) or engine.intervals is None:
        return []
    goals = getattr(engine.intervals, "goals", None)
    if goals is None:
        name = engine.intervals.name
        raise UnsupportedError.of(
            "unsupported", f"the engine {name} does not show what is under way", hint="choose the engine goals"
        )
    found: list[Goal] = goals(rule)
    return found
