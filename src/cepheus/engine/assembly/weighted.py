"""An engine whose rules have Bayesian networks: it weighs what each rule makes by what its network is worth then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.errors import UnsupportedError
from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.engine.base.interface import Engine
from cepheus.engine.base.snapshot import restoring
from cepheus.engine.base.ties import TieCounts
from cepheus.rules.model import AnyRule
from cepheus.uncertainty.belief.belief import probabilities_at, verify

if TYPE_CHECKING:
    from cepheus.uncertainty.belief.belief import RuleBelief


class WeightedEngine:
    """Runs another engine and sets the factors of its rules, at deployment, at each edit and as their tables change.

    A composite event has the factor of its time, so events are fed in pieces between one change and the next; how a
    stream is cut into batches still makes no difference.
    """

    def __init__(self, engine: Engine, beliefs: Mapping[str, RuleBelief]) -> None:
        if not hasattr(engine, "set_factor"):
            raise UnsupportedError.of(
                "unsupported",
                f"the engine {engine.name} does not weigh rules by networks",
                hint="choose the engine reference",
            )
        self._engine = engine
        self._beliefs: dict[str, RuleBelief] = {}
        self._until = MIN_TIME  # factors hold for events before this time
        for belief in beliefs.values():
            self.set_belief(belief)

    @classmethod
    def around(cls, engine: Engine) -> WeightedEngine:
        """Return an engine that can be told of networks: the given one, if it is such an engine already."""
        return engine if isinstance(engine, WeightedEngine) else cls(engine, {})

    @property
    def name(self) -> str:
        """The name of the engine that does the work."""
        return self._engine.name

    @property
    def ties(self) -> TieCounts:
        """What that engine has counted of simultaneous events."""
        return self._engine.ties

    @property
    def engine(self) -> Engine:
        """The engine that does the work."""
        return self._engine

    def set_belief(self, belief: RuleBelief) -> None:
        """Set the network of a deployed rule, or replace it; RuleError if what is observed in it cannot be."""
        verify(belief)
        name = str(belief.rule.name)
        self._engine.set_factor(name, belief.probability())
        self._beliefs[name] = belief
        self._until = MIN_TIME

    def set_factor(self, rule: str, factor: float) -> None:
        """Set a rule's factor, in place of its network."""
        self._engine.set_factor(rule, factor)
        self._beliefs.pop(rule, None)

    def deploy(self, rules: Sequence[AnyRule], schema: Schema) -> None:
        """Add rules, without networks."""
        self._engine.deploy(rules, schema)

    def withdraw(self, name: str) -> None:
        """Remove a rule and its network."""
        self._engine.withdraw(name)
        self._beliefs.pop(name, None)

    def feed(self, batch: EventBatch) -> EventBatch:
        """Process events in total order."""
        made = []
        start = 0
        while start < len(batch):
            self._turn(int(batch.times[start]))
            end = int(np.searchsorted(batch.times, self._until)) if self._until < MAX_TIME else len(batch)
            made.append(self._engine.feed(batch if end - start == len(batch) else batch.slice(start, end)))
            start = end
        return made[0] if len(made) == 1 else EventBatch.concat(made)

    def feed_event(self, event: Event) -> list[Event]:
        """Process one event."""
        if event.time >= self._until:
            self._turn(event.time)
        return self._engine.feed_event(event)

    def advance(self, time: int) -> EventBatch:
        """Promise that no event before a time will come."""
        return self._engine.advance(time)

    def snapshot(self) -> bytes:
        """The state of the engine, as bytes; whoever restores it sets its networks."""
        return self._engine.snapshot()

    def restore(self, data: bytes) -> None:
        """Take over the state of an engine; the networks stay, and weigh its rules in place of those of then."""
        with restoring(self):
            self._engine.restore(data)
            for belief in list(self._beliefs.values()):
                self.set_belief(belief)

    def _turn(self, time: int) -> None:
        """Set the factors that hold at a time, unless those that are set do."""
        if time < self._until:
            return
        scheduled = [belief for belief in self._beliefs.values() if belief.is_scheduled]
        factors, change = probabilities_at(scheduled, time)
        for rule, factor in factors.items():
            self._engine.set_factor(rule, factor)
        self._until = MAX_TIME if change is None else change
