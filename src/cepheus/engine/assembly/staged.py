"""Rules and queries over rows in one program: stages, each of which looks at what earlier ones make.

A match has the time of its last row and is decided later. So what reads matches, or is read by queries, waits until no
earlier stage can make anything of an earlier time; it then sees one stream in order of time, of one time the events
from outside first and then what the stages made, in their order. What reads events from outside alone never waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.errors import OptionError, did_you_mean
from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.engine.assembly.mixed import in_time_order
from cepheus.engine.assembly.row_rules import RowRulesEngine
from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.batch_bytes import batch_from_bytes, batch_to_bytes
from cepheus.engine.base.capabilities import STAGED
from cepheus.engine.base.declared_types import Kinds, batch_as_taken, kinds_of
from cepheus.engine.base.interface import Engine
from cepheus.engine.base.snapshot import pack, restoring, unpack
from cepheus.engine.base.ties import TieCounts
from cepheus.plan.pattern.constructs import require_rules
from cepheus.rules.check.rows import types_read
from cepheus.rules.model import AnyRule, RuleSet
from cepheus.rules.rows.model import RowRule

_KIND = "staged"
_RULE = form.row(form.text, form.text, form.maybe(form.listing(form.text)))
_STAGE = form.record(
    {},
    engine=form.text,
    rows=form.boolean,
    rules=form.listing(_RULE),
    bound=form.time,
    waiting=form.listing(form.row(form.count, lambda value, _: value)),
    kinds=form.by_name(form.by_name(form.value_type)),
)
_HEADER = form.record(stages=form.listing(_STAGE), time=form.time, fed=form.count)
_OUTSIDE = 0

Make = Callable[[str, Sequence[AnyRule], Schema], Engine]
"""Makes an engine for rules that are no queries, by name, with rules deployed."""


def stage_of_each(rules: Sequence[AnyRule], running: Mapping[str, int] | None = None) -> dict[str, int]:
    """The number of the stage of every rule, by its name: queries have the odd ones, other rules the even ones.

    ``running`` are the stages of rules that run already, by the types that they make.
    """
    makers: dict[str, list[AnyRule]] = {}
    for rule in rules:
        makers.setdefault(rule.composite.name, []).append(rule)
    found = {str(rule.name): int(isinstance(rule, RowRule)) for rule in rules}
    for _ in range(len(rules) + 1):  # the checks have seen to it that there are no cycles through queries
        before = dict(found)
        for rule in rules:
            stages = [found[str(maker.name)] for name in types_read(rule) for maker in makers.get(name, ())]
            stages += [running[name] for name in types_read(rule) if running and name in running]
            for stage in stages:
                same = isinstance(rule, RowRule) == bool(stage % 2)
                later = stage + (1 if not same else 2 * int(isinstance(rule, RowRule)))
                found[str(rule.name)] = max(found[str(rule.name)], later)
        if found == before:
            break
    return found


@dataclass(slots=True)
class _Stage:
    """One engine and the rules that it runs; ``reads`` has the types that each reads, None for all from outside.

    ``waiting`` has, by where they come from (0: outside, else one more than the number of a stage), the events that
    cannot be processed yet. All before ``bound`` has been processed.
    """

    number: int
    engine: Engine
    makes: dict[str, str] = field(default_factory=dict)
    reads: dict[str, frozenset[str] | None] = field(default_factory=dict)
    kinds: dict[str, Kinds] = field(default_factory=dict)
    waiting: dict[int, EventBatch] = field(default_factory=dict)
    bound: int = MIN_TIME

    @property
    def is_rows(self) -> bool:
        return self.number % 2 == 1

    @property
    def floor(self) -> int:
        """No composite event of before this time will be made here."""
        if self.bound >= MAX_TIME:  # the end: rows that no match has got wait for nothing any more
            return self.bound
        since = self.engine.undecided if isinstance(self.engine, RowRulesEngine) else None
        return self.bound if since is None else min(self.bound, since)

    def looks_at(self, types: frozenset[str]) -> bool:
        return any(reads is not None and not reads.isdisjoint(types) for reads in self.reads.values())

    def wanted(self, batch: EventBatch, *, outside: bool) -> EventBatch:
        """What the rules of the stage read of a batch."""
        if outside and None in self.reads.values():
            return batch
        types = frozenset[str]().union(*(reads for reads in self.reads.values() if reads is not None))
        codes = [code for code, name in enumerate(batch.types) if name in types]
        if len(codes) < len(batch.types):
            batch = batch.take(np.flatnonzero(np.isin(batch.codes, codes)))
        return batch if outside else batch_as_taken(batch, {name: self.kinds.get(name, {}) for name in batch.types})

    def add(self, rules: Sequence[AnyRule], schema: Schema) -> None:
        for rule in rules:
            everything = isinstance(rule, RowRule) and rule.source is None
            self.reads[str(rule.name)] = None if everything else types_read(rule)
            self.makes[str(rule.name)] = rule.composite.name
        if not self.is_rows:
            self.kinds |= {each.name: kinds_of(each) for each in schema.values()}


class StagedEngine:
    """Runs queries over rows, and rules of other families before and after them."""

    def __init__(self, other: str, make: Make, limit: int) -> None:
        self._other, self._make, self._limit = other, make, limit
        self._stages: list[_Stage] = []
        self._time = MIN_TIME
        self._fed = 0

    @property
    def name(self) -> str:
        """The name of the engine of other rules, if there are any, and ``rows``."""
        others = [stage.engine.name for stage in self._stages if not stage.is_rows]
        return "+".join([*others[:1], "rows"])

    @property
    def ties(self) -> TieCounts:
        """What all stages have counted of simultaneous events."""
        return sum((stage.engine.ties for stage in self._stages), TieCounts.none())

    def next_deadline(self) -> int | None:
        """When time alone will next decide something in a query; None if nothing waits for that."""
        found = [stage.engine.next_deadline() for stage in self._stages if isinstance(stage.engine, RowRulesEngine)]
        return min((due for due in found if due is not None), default=None)

    def deploy(self, rules: Sequence[AnyRule], schema: Schema) -> None:
        """Add rules of any family, all or none."""
        require_rules(STAGED, RuleSet.of(rules))
        self._refuse_late_makers(rules)
        running = {made: stage.number for stage in self._stages for made in stage.makes.values()}
        numbers = stage_of_each(rules, running)
        added: dict[int, list[AnyRule]] = {}
        for rule in rules:
            added.setdefault(numbers[str(rule.name)], []).append(rule)
        stages = {stage.number: stage for stage in self._stages}
        done: list[tuple[_Stage, list[AnyRule]]] = []
        try:
            for number, own in sorted(added.items()):
                if number in stages:
                    stages[number].engine.deploy(own, schema)
                else:
                    stages[number] = _Stage(number, self._engine(number, own, schema), bound=self._time)
                done.append((stages[number], own))
        except Exception:
            for stage, own in done:
                if stage in self._stages:
                    for rule in own:
                        stage.engine.withdraw(str(rule.name))
            raise
        for stage, own in done:
            stage.add(own, schema)
        self._stages = [stages[number] for number in sorted(stages)]

    def _engine(self, number: int, rules: Sequence[AnyRule], schema: Schema) -> Engine:
        if number % 2 == 0:
            return self._make(self._other, rules, schema)
        engine = RowRulesEngine(self._limit)
        engine.deploy(rules, schema)
        return engine

    def _refuse_late_makers(self, rules: Sequence[AnyRule]) -> None:
        """Refuse to make what rules at work read where a query lies between them: they did not wait for it so far."""
        for rule in rules:
            made = frozenset({rule.composite.name})
            for stage in self._stages:
                if stage.looks_at(made) and (isinstance(rule, RowRule) or stage.is_rows):
                    reader = next(name for name, reads in stage.reads.items() if reads and not reads.isdisjoint(made))
                    raise OptionError.of(
                        "deploy",
                        f"rule '{reader}' reads '{rule.composite.name}' and runs already, without waiting for it",
                        span=rule.span,
                        hint=f"withdraw '{reader}', and deploy both together",
                    )

    def withdraw(self, name: str) -> None:
        """Remove a rule."""
        stage = self._stage_of(name, "withdraw")
        stage.engine.withdraw(name)
        del stage.reads[name], stage.makes[name]

    def set_factor(self, rule: str, factor: float) -> None:
        """Set what the probabilities of a rule's events are multiplied by."""
        self._stage_of(rule, "factor").engine.set_factor(rule, factor)

    def _stage_of(self, name: str, code: str) -> _Stage:
        for stage in self._stages:
            if name in stage.makes:
                return stage
        hint = did_you_mean(name, [rule for stage in self._stages for rule in stage.makes])
        raise OptionError.of(code, f"no rule named '{name}' is deployed", hint=hint)

    # ---- Events

    def feed(self, batch: EventBatch) -> EventBatch:
        """Process events in total order; what waits for queries comes later."""
        if not len(batch):
            return batch
        if batch.ids is None:
            batch = replace(batch, ids=range(self._fed, self._fed + len(batch)))
        self._fed += len(batch)
        self._time = int(batch.times[-1])
        return self._run(batch, advance=False)

    def feed_event(self, event: Event) -> list[Event]:
        """Process the next event."""
        return self.feed(EventBatch.from_events([event])).to_events()

    def advance(self, time: int) -> EventBatch:
        """Return what time alone completes in all stages; the greatest time is the end of the input."""
        self._time = max(self._time, time)
        return self._run(EventBatch.empty(), advance=True)

    def _run(self, batch: EventBatch, *, advance: bool) -> EventBatch:
        """Bring events to all stages, one after the other; time goes on to the present, or only up to it."""
        made: dict[int, EventBatch] = {}
        for stage in self._stages:
            feeders = [other for other in self._stages if other.number < stage.number and self._feeds(other, stage)]
            if not feeders:
                found = [stage.engine.feed(own)] if len(own := stage.wanted(batch, outside=True)) else []
                stage.bound = self._time
            else:
                self._hold(stage, batch, made, feeders)
                bound = min(self._time, *(feeder.floor for feeder in feeders))
                ready = self._release(stage, bound, last=bound >= MAX_TIME)
                found = [stage.engine.feed(ready)] if len(ready) else []
                stage.bound = bound
            if (advance or feeders) and stage.bound > MIN_TIME:
                found.append(stage.engine.advance(stage.bound))
            made[stage.number] = EventBatch.concat(found)
        return EventBatch.concat([made[stage.number] for stage in self._stages])

    def _feeds(self, other: _Stage, stage: _Stage) -> bool:
        """Whether a stage looks at what another makes; what was made before a rule was withdrawn is still there."""
        return other.number + 1 in stage.waiting or stage.looks_at(frozenset(other.makes.values()))

    def _hold(
        self, stage: _Stage, batch: EventBatch, made: Mapping[int, EventBatch], feeders: Sequence[_Stage]
    ) -> None:
        given = {_OUTSIDE: stage.wanted(batch, outside=True)}
        given |= {each.number + 1: stage.wanted(made[each.number], outside=False) for each in feeders}
        for origin, events in given.items():
            held = in_time_order([stage.waiting.get(origin, EventBatch.empty()), events])
            stage.waiting[origin] = held

    def _release(self, stage: _Stage, bound: int, *, last: bool) -> EventBatch:
        """Take what lies before a time, or all of it, in the order of the stream."""
        ready = []
        for origin in sorted(stage.waiting):
            held = stage.waiting[origin]
            count = len(held) if last else int(np.searchsorted(held.times, bound))
            ready.append(held.slice(0, count))
            stage.waiting[origin] = held.slice(count, len(held))
        return in_time_order(ready)

    # ---- Snapshots

    def snapshot(self) -> bytes:
        """The snapshots of all stages, and what waits between them."""
        blobs: dict[str, bytes] = {}
        stages: list[dict[str, Any]] = []
        for stage in self._stages:
            blobs[str(stage.number)] = stage.engine.snapshot()
            waiting = []
            for origin, held in stage.waiting.items():
                header, blobs[f"{stage.number} {origin}"] = batch_to_bytes(held)
                waiting.append([origin, header])
            rules = [
                [name, made, None if (reads := stage.reads[name]) is None else sorted(reads)]
                for name, made in stage.makes.items()
            ]
            kinds = {name: {key: kind.value for key, kind in own.items()} for name, own in stage.kinds.items()}
            stages.append(
                {
                    "engine": stage.engine.name,
                    "rows": stage.is_rows,
                    "rules": rules,
                    "bound": stage.bound,
                    "waiting": waiting,
                    "kinds": kinds,
                }
            )
        numbers = [stage.number for stage in self._stages]
        header = {"stages": stages, "numbers": numbers, "time": self._time, "fed": self._fed}
        return pack(_KIND, header, blobs)

    def restore(self, data: bytes) -> None:
        """Take over the snapshots of all stages."""
        with restoring(self):
            header, blobs = unpack(_KIND, data)
            numbers = form.listing(form.count)(header.pop("numbers", None), "$.numbers")
            found = _HEADER(header, "$")
            form.require(numbers == sorted(set(numbers)), "$.numbers", "stages are not in order")
            form.require(len(numbers) == len(found["stages"]), "$.numbers", "there are more or fewer stages")
            stages = []
            for number, saved in zip(numbers, found["stages"], strict=True):
                form.require(saved["rows"] == bool(number % 2), "$.stages", "a stage is of another kind")
                engine: Engine
                engine = RowRulesEngine(self._limit) if number % 2 else self._make(saved["engine"], (), Schema())
                engine.restore(blobs[str(number)])
                stage = _Stage(number, engine, kinds=saved["kinds"], bound=saved["bound"])
                stage.makes = {name: made for name, made, _ in saved["rules"]}
                stage.reads = {name: None if reads is None else frozenset(reads) for name, _, reads in saved["rules"]}
                for origin, each in saved["waiting"]:
                    stage.waiting[origin] = batch_from_bytes(each, blobs[f"{number} {origin}"])
                stages.append(stage)
            self._stages, self._time, self._fed = stages, found["time"], found["fed"]
