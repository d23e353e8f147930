"""Who wants to hear of goals that are so far along, each goal once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cepheus.core.errors import OptionError
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.engine.assembly.registry import goals_of, goals_since
from cepheus.engine.base.interface import Engine

if TYPE_CHECKING:
    from cepheus.plan.interval.goal_texts import Goal

GoalCallback = Callable[["Goal"], object]
"""What is called with each goal that is far enough along; what it gives back is ignored."""


@dataclass(slots=True, eq=False)
class ProgressSubscription:
    """A wish to hear of goals of which at least ``fraction`` is there, of one rule or of all, until it is cancelled."""

    fraction: float
    rule: str | None
    callback: GoalCallback
    owner: ProgressWatch

    def cancel(self) -> None:
        """End the subscription; a second call does nothing."""
        self.owner.remove(self)


class ProgressWatch:
    """All such wishes of a session, and which goals were told of.

    New goals end at the present time of the engine or, where they are decided when an instant is over, at the one
    before. So it is enough to look at goals from the time of the last look on, and to remember which were there.
    """

    def __init__(self) -> None:
        self._wishes: list[ProgressSubscription] = []
        self._time = MIN_TIME
        self._seen: set[Hashable] = set()

    def __bool__(self) -> bool:
        return bool(self._wishes)

    def add(self, fraction: float, rule: str | None, callback: GoalCallback, engine: Engine) -> ProgressSubscription:
        """Tell of goals from now on; those that wait already are not told of."""
        wish = ProgressSubscription(require_fraction(fraction), rule, callback, self)
        goals_of(engine, rule)  # an engine that does not show its goals says so
        self._wishes.append(wish)
        self.begin(engine)
        return wish

    def remove(self, wish: ProgressSubscription) -> None:
        """End a subscription; nothing happens if it has ended already."""
        self._wishes = [other for other in self._wishes if other is not wish]

    def begin(self, engine: Engine) -> None:
        """Take all goals that wait for told."""
        self._time, _ = goals_since(engine, MAX_TIME, 1.0)
        self.told(engine)

    def told(self, engine: Engine) -> list[tuple[GoalCallback, Goal]]:
        """Find whoever is to be called with goals that are new since the last look."""
        return [
            (wish.callback, goal)
            for goal in self._new(engine)
            for wish in self._wishes
            if goal.fraction >= wish.fraction and wish.rule in (None, goal.rule)
        ]

    def _new(self, engine: Engine) -> list[Goal]:
        time, goals = goals_since(engine, self._time, min((wish.fraction for wish in self._wishes), default=0.0))
        keys = [_key(goal) for goal in goals]
        new = [goal for goal, key in zip(goals, keys, strict=True) if key not in self._seen]
        self._time = time
        self._seen = {key for goal, key in zip(goals, keys, strict=True) if goal.end >= time}
        return new


def require_fraction(fraction: float) -> float:
    """Refuse what is no share of a goal."""
    if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0 <= fraction <= 1:
        hint = "write a fraction from 0 to 1, as in 0.9 for 90%"
        raise OptionError.of("option", f"{fraction!r} is no share of a goal", hint=hint)
    return float(fraction)


def _key(goal: Goal) -> Hashable:
    """What makes a goal one and the same."""
    return goal.rule, goal.happened, goal.missing, goal.start, goal.end, tuple(goal.values.items()), goal.parts
