"""An engine for certain events that gives way to one for uncertain events as soon as there is something uncertain.

Certain events, which are nearly all that most streams have, run exactly as they would without uncertainty. The first
event with an error or a probability of its own, the first declared error and the first rule that is not fully trusted
move everything that is remembered to an engine that works out probabilities: the compiled one for the rules that it can
run, the reference for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from cepheus.core.batch import EventBatch
from cepheus.core.calculus import DEFAULT_CALCULUS, Calculus
from cepheus.core.distribution_column import ErrorColumn
from cepheus.core.errors import UnsupportedError
from cepheus.core.event import Event
from cepheus.core.options import DEFAULT_LIMIT
from cepheus.core.schema import Schema
from cepheus.engine.assembly.divided import DividedEngine
from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.interface import Engine, Past
from cepheus.engine.base.refusals import no_such_rule, require_factor
from cepheus.engine.base.snapshot import pack, restoring, unpack
from cepheus.engine.base.ties import TieCounts
from cepheus.engine.columns.engine import ColumnsEngine
from cepheus.engine.parallel.engine import ParallelEngine
from cepheus.engine.parallel.slices import SlicedEngine
from cepheus.engine.parallel.snapshot import is_parallel
from cepheus.engine.reference.engine import ReferenceEngine
from cepheus.engine.uncertain.engine import UncertainEngine
from cepheus.engine.uncertain.hand_over import past_of
from cepheus.kernel.strings import StringTable
from cepheus.rules.model import AnyRule

T = TypeVar("T")

_AT_WORK: dict[str, type[UncertainEngine | ReferenceEngine | DividedEngine]] = {
    kind.name: kind for kind in (UncertainEngine, ReferenceEngine, DividedEngine)
}
_HEADER = form.record(at_work=form.one_of(*_AT_WORK))


class CertainFirstEngine:
    """Runs a fast engine and, from the first uncertainty on, one that knows what that means."""

    def __init__(
        self,
        engine: ColumnsEngine | ParallelEngine,
        limit: int = DEFAULT_LIMIT,
        calculus: Calculus = DEFAULT_CALCULUS,
        threads: int = 1,
    ) -> None:
        self._fast = engine
        self._threads = threads
        self._limit = limit
        self._calculus = calculus
        self._deployed: set[str] | None = set()
        self._earlier = TieCounts.none()
        self._certain = True
        self._engine = cast(Engine, engine)
        self._use(self._engine, certain=True)  # but for factors, which it is never given

    def _use(self, engine: Engine, *, certain: bool = False, earlier: TieCounts | None = None) -> None:
        """Let an engine do the work from here; ``earlier`` is what the one before it counted, unless it is inside."""
        if self._engine is not engine and not self._certain:
            self._earlier += self._engine.ties if earlier is None else earlier
        self._engine = engine
        self._certain = certain
        if certain:
            self._feed_one = engine.feed_event
        else:
            self._feed_one = self._feed_closed if isinstance(engine, UncertainEngine) else self._feed_uncertain

    @property
    def name(self) -> str:
        """The name of the engine that was asked for."""
        return self._fast.name

    @property
    def ties(self) -> TieCounts:
        """What all engines that were at work have counted of simultaneous events."""
        counts = self._earlier + self._fast.ties
        return counts if self._certain else counts + self._engine.ties

    @property
    def at_work(self) -> Engine:
        """The engine that does the work at present."""
        return self._engine

    def deploy(self, rules: Sequence[AnyRule], schema: Schema) -> None:
        """Add rules; a declared error is an uncertainty."""
        if self._certain and any(a.error is not None for event_type in schema.values() for a in event_type.attributes):
            ColumnsEngine(self._limit).deploy(rules, schema)  # what the fast engine cannot run, this one refuses
            self._give_way()
        self._or_refer(lambda engine: engine.deploy(rules, schema))
        if self._deployed is not None:
            self._deployed |= {str(rule.name) for rule in rules}

    def withdraw(self, name: str) -> None:
        """Remove a rule."""
        self._engine.withdraw(name)
        if self._deployed is not None:
            self._deployed.discard(name)

    def set_factor(self, rule: str, factor: float) -> None:
        """Set how far a rule is to be trusted; a rule that is fully trusted is nothing uncertain."""
        if self._certain:
            if self._deployed is not None and rule not in self._deployed:
                raise no_such_rule(rule, self._deployed)
            if require_factor(factor) == 1.0:
                return
            self._give_way()
        self._engine.set_factor(rule, factor)

    def feed(self, batch: EventBatch) -> EventBatch:
        """Process events in total order."""
        if not self._certain:
            return self._or_refer(lambda engine: engine.feed(batch))
        if (batch.errors or batch.probabilities is not None) and _is_uncertain(batch):
            self._give_way()
            return self.feed(batch)
        return self._engine.feed(batch)

    def feed_event(self, event: Event) -> list[Event]:
        """Process one event."""
        if (event.errors or event.probability != 1.0) and self._certain and not _counts_as_certain(event):
            self._give_way()
        return self._feed_one(event)

    def _feed_closed(self, event: Event) -> list[Event]:
        """Process one event by closed forms; nothing has changed where that is beyond them."""
        try:
            return self._engine.feed_event(event)
        except UnsupportedError:
            self._divide()
            return self._feed_uncertain(event)

    def _feed_uncertain(self, event: Event) -> list[Event]:
        return self._or_refer(lambda engine: engine.feed_event(event))

    def advance(self, time: int) -> EventBatch:
        """Forget what no window can reach any more."""
        return self._engine.advance(time)

    def snapshot(self) -> bytes:
        """Write down everything that later answers depend on."""
        if self._certain:
            return self._fast.snapshot()
        return pack(self._fast.kept_as, {"at_work": self._engine.name}, {"engine": self._engine.snapshot()})

    def restore(self, data: bytes) -> None:
        """Take over a snapshot, of certain or uncertain events."""
        with restoring(self):
            header, blobs = unpack(self._fast.kept_as, data)
            self._deployed = None  # a snapshot does not tell
            if "at_work" not in header:
                if is_parallel(header) != isinstance(self._fast, ParallelEngine):
                    self._use(cast(Engine, self._fast), certain=True)
                    self._earlier += self._fast.ties
                    kind: type[ParallelEngine | SlicedEngine] = ParallelEngine if is_parallel(header) else SlicedEngine
                    self._fast = kind(self._limit, self._threads)
                    self._engine = cast(Engine, self._fast)
                self._fast.restore(data)
                self._use(cast(Engine, self._fast), certain=True)
                return
            found = _HEADER(header, "$")["at_work"]
            form.only_blobs(blobs, ("engine",))
            self._use(_AT_WORK[found](self._limit, self._calculus))
            self._engine.restore(blobs["engine"])

    def _give_way(self) -> None:
        """Let an engine that works out probabilities go on from here."""
        saved = self._fast.saved()
        if any(len(total.lanes) for total in saved.totals):
            raise UnsupportedError.of(
                "unsupported",
                f"rule '{saved.totals[0].rule}' aggregates since the start, and what it has counted is gone: "
                "an uncertain event comes too late",
                hint="choose the engine reference from the start",
            )
        if self._calculus.posterior:  # what passed a rule is for the reference to say
            self._refer(past_of(saved))
            return
        uncertain = UncertainEngine(self._limit, self._calculus)
        try:
            uncertain.take_over(saved, StringTable(saved.texts))
            self._use(uncertain)
        except UnsupportedError:
            divided = DividedEngine.from_saved(saved, self._limit, self._calculus)
            self._use(divided.alone or divided)

    def _refer(self, past: Past) -> None:
        """Let the reference engine go on from here."""
        reference = ReferenceEngine(self._limit, self._calculus)
        reference.adopt(past)
        self._use(reference)

    def _or_refer(self, attempt: Callable[[Engine], T]) -> T:
        """Do something with the engine at work; rules for which that is beyond closed forms go to the reference."""
        if isinstance(self._engine, UncertainEngine):
            try:
                return attempt(self._engine)
            except UnsupportedError:
                self._divide()
        result = attempt(self._engine)
        if isinstance(self._engine, DividedEngine) and self._engine.alone is not None:
            self._use(self._engine.alone, earlier=self._engine.earlier)
        return result

    def _divide(self) -> None:
        """Let the rules that are beyond closed forms go on in the reference engine, the others where they are."""
        assert isinstance(self._engine, UncertainEngine)
        self._use(DividedEngine.of(self._engine, self._limit, self._calculus), earlier=TieCounts.none())


def _counts_as_certain(event: Event) -> bool:
    """Whether an event is a composite one without errors, which counts as certain whatever its probability."""
    return not event.errors and (event.rule is not None or bool(event.made_of))


def _is_uncertain(batch: EventBatch) -> bool:
    """Whether any event has an error, or a probability that counts: a composite event counts as certain."""
    if any(ErrorColumn.of(errors).any for errors in batch.errors.values()):
        return True
    if batch.probabilities is None or (batch.probabilities == 1.0).all():
        return False
    return batch.provenance is None or any(
        probability != 1.0 and not made_of
        for probability, made_of in zip(batch.probabilities.tolist(), batch.provenance.made_of, strict=True)
    )
