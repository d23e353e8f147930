"""The engine of lowered rules: what surrounds a kernel, whichever it is.

Rules are lowered to a program, events run through the kernel, space is grown as it is needed, composite events come
out; stored events go into snapshots and back. The engines of columns, of automata and of uncertain events are each this
one with a kernel of their own, and know nothing of one another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from cepheus.core.batch import EventBatch
from cepheus.core.event import Event
from cepheus.core.options import DEFAULT_LIMIT
from cepheus.core.schema import OWNED_ATTRIBUTE, Schema
from cepheus.core.time import MIN_TIME
from cepheus.engine.base.limits import too_many_composites, too_many_members, too_many_values
from cepheus.engine.base.refusals import require_ties, tesla_rules
from cepheus.engine.base.snapshot import restoring
from cepheus.engine.base.ties import TieCounts
from cepheus.engine.lowered import snapshot as written
from cepheus.engine.lowered.growth import adapt, grow, sweep_lanes
from cepheus.engine.lowered.intake import BatchWords, Intake
from cepheus.engine.lowered.kernel_parts import Flattened, Kernel
from cepheus.engine.lowered.outlet import Found, Gathered, Outlet, to_batch
from cepheus.engine.lowered.single_event import SingleInput
from cepheus.engine.lowered.snapshot import DeployedRule, Saved, StoredType, first_rows, laid_out, stored_types
from cepheus.engine.lowered.texts import TextCensus, mark_texts
from cepheus.engine.lowered.timers import Timers
from cepheus.engine.lowered.totals import totals_of, totals_to_put
from cepheus.kernel.context import Context, Input, Scratch, State
from cepheus.kernel.memory import At, address
from cepheus.kernel.output import Output
from cepheus.kernel.program import StepKind, Words
from cepheus.kernel.state import DONE, LIMIT, OUTPUT_HEADER, TOO_MANY, Status, TypeState
from cepheus.kernel.strings import StringTable
from cepheus.kernel.totals import put_total
from cepheus.plan.pattern.flatten import flatten
from cepheus.plan.pattern.layouts import ORDER
from cepheus.plan.pattern.lower import Lowering
from cepheus.plan.pattern.lowered import LoweredRule
from cepheus.rules.model import AnyRule, Rule
from cepheus.rules.resolve import resolve


class LoweredEngine:
    """Runs all rules in one compiled pass over the events.

    ``limit`` is the number of composite events that one event may make. Engines that are to work together have their
    ``strings`` in common and are ``traced``: what they find tells where it comes from (see ``output.Output``).

    An engine is this class with a ``name`` and a ``kernel``. One whose kernel needs more than the program and the
    stored events overrides what concerns that, and nothing else:

    - ``_new_lowering`` and ``_begin_own``: what it starts with, without rules and events.
    - ``_deploy`` and ``withdraw``: what it makes of a rule besides lowering it.
    - ``_flatten`` and ``_fit_own``: tables and working space of its own, when rules have changed.
    - ``prepare`` and ``_single_input``: what it reads of events besides time, id and attributes.
    - ``_finish``, ``_run_kernel`` and ``_provide``: room of its own, when a run begins or the kernel is short of it.
    - ``_tidy`` and ``advance``: what else it can forget.
    - ``_born``: which rows of a snapshot may go back into which column.
    - ``snapshot``, ``restore``, ``take_over`` and ``_widen``: what else it remembers.
    """

    name: ClassVar[str]
    kernel: ClassVar[Kernel]
    settles: ClassVar[bool] = False
    """Whether the kernel goes by what is left to do with events (``Left``)."""
    in_time: ClassVar[bool] = False
    """Whether every terminator is evaluated before the next event is taken, all that it looks at being in columns."""

    def __init__(self, limit: int = DEFAULT_LIMIT, *, strings: StringTable | None = None, traced: bool = False) -> None:
        self._limit = limit
        self._traced = traced
        self._output = Output(OUTPUT_HEADER, traced=traced)
        self._context = Context()
        self._begin(StringTable() if strings is None else strings)

    def _begin(self, strings: StringTable) -> None:
        """Start without rules and events."""
        strings.constant("")  # code 0 is what a row has for a text that no rule read when it was stored
        self._rules: dict[str, DeployedRule] = {}
        self._lowering = self._new_lowering(strings)
        self._intake = Intake(self._lowering, ())
        self._fed = 0
        self._stale = True
        self._order: tuple[LoweredRule, ...] = ()
        self._outlet = Outlet(())
        self._listening: list[bool] = []
        self._flat = Flattened(flatten(self._lowering))
        self._program = self._flat.program
        self._state = State()
        self._scratch = Scratch.for_rules(0, 0)
        self._single: SingleInput | None = None
        self._full: list[Words] | None = None  # blocks of the output that are full, where they may be given one by one
        self._context = self._context.renewed()
        self._context.use_output(self._output)
        self._tables_used = strings.tables
        self._census = TextCensus()
        self._context.use_strings(strings)
        self._timers = Timers(self._context, self._state)
        self._begin_own()

    def _new_lowering(self, strings: StringTable) -> Lowering:
        """What rules are lowered by, before the first rule."""
        return Lowering(strings)

    def _begin_own(self) -> None:
        """Start with what the kernel needs besides, without rules and events."""

    @property
    def kept_as(self) -> str:
        """The name of the engine that its snapshots are of."""
        return self.name

    def deploy(self, rules: Sequence[AnyRule], schema: Schema) -> None:
        """Add rules, all or none; they see the events fed from now on."""
        fresh = tesla_rules(rules, self.name)
        if not self._rules and any(rule.ordered != self._lowering.ordered for rule in fresh):
            self._go_on(replace(self.saved(), types=()))  # rows say what simultaneous events were to earlier rules
        stored = self._stored()
        self._deploy([DeployedRule(rule, schema, stored) for rule in fresh])

    def _deploy(self, rules: Sequence[DeployedRule]) -> None:
        if not self._lowering.types:
            self._lowering.ordered = any(deployed.rule.ordered for deployed in rules)
        require_ties([deployed.rule for deployed in rules], ordered=self._lowering.ordered)
        self._stale = True  # whatever comes of it: a rule that is refused has introduced its types
        self._lowering.add_all((resolve(deployed.rule), deployed.schema, deployed.since) for deployed in rules)
        self._rules |= {str(deployed.rule.name): deployed for deployed in rules}

    def _stored(self) -> dict[str, int]:
        """How many rows have been stored so far, by event type."""
        counts = self._state.type_state[:, TypeState.NEXT].tolist()
        return {layout.name: count for layout, count in zip(self._lowering.types.values(), counts, strict=False)}

    def withdraw(self, name: str) -> None:
        """Remove a rule and the columns that only it used."""
        self._refresh()
        dropped = self._lowering.remove(name)
        del self._rules[name]
        self._timers.forget(name)
        sweep_lanes(self._context, self._state, dropped)
        self._stale = True

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that are deployed."""
        return tuple(deployed.rule for deployed in self._rules.values())

    @property
    def ties(self) -> TieCounts:
        """What was counted of simultaneous events since the engine was made."""
        decided, passed_over, bounded = self._context.ties()
        return TieCounts(decided, passed_over, bool(bounded))

    def _refresh(self) -> None:
        """Bring program, state and working space in line with the rules."""
        if not self._stale:
            return
        self._flat = self._flatten()
        self._program = self._flat.program
        self._order = tuple(self._lowering.rules.values())
        self._outlet = Outlet(self._order)
        self._listening = self._flat.heard_types()
        self._intake = Intake(self._lowering, self._listening, settles=self.settles)
        self._fit()
        self._stale = False

    def _fit(self) -> None:
        """Bring state and working space in line with the program."""
        self._context.use_program(self._program)
        self._context.use_homes([layout.slots.get(OWNED_ATTRIBUTE, -1) for layout in self._lowering.types.values()])
        adapt(self._context, self._state, self._program, self._lowering)
        self._context[At.LIMIT] = self._limit
        self._context[At.IS_ORDERED] = int(self._lowering.ordered)
        self._timers.fit(self._order)
        longest = max((len(rule.steps) + len(rule.absences) for rule in self._order), default=0)
        width = OUTPUT_HEADER + max((rule.stride for rule in self._order), default=0)
        if width + self._flat.fields > self._output.width - self._traced:
            self._output = Output(width + self._flat.fields, traced=self._traced)
            self._context.use_output(self._output)
        self._scratch = Scratch.for_rules(longest, len(self._program.members) + self._flat.members)
        self._context.use_scratch(self._scratch)
        self._fit_own(longest, width)
        self._single = None
        self._fit_strings()

    def _flatten(self) -> Flattened:
        """Write the rules as the tables that the kernel reads."""
        return Flattened(flatten(self._lowering, in_time=self.in_time))

    def _fit_own(self, longest: int, width: int) -> None:
        """Bring what the kernel needs besides in line with the rules.

        The longest rule has so many steps, the widest composite event so many fields of its own.
        """

    def feed(self, batch: EventBatch) -> EventBatch:
        """Process events in total order."""
        self._tidy()
        given = self.prepare(BatchWords(batch, self._fed, self._lowering.strings))
        given = self.narrowed(batch, given)
        self._fed += len(batch)
        if len(batch):
            self._timers.expect(int(batch.times[0]), int(batch.times[-1]), batch.times)
        return self.collect(given)

    def collect(self, given: Input) -> EventBatch:
        """Run the kernel over the input and return all that it found, in chunks if it is much."""
        self._full = [] if self.settles and not self._outlet.gathers else None
        try:
            found = self.find(given)
            chunks = [Found(self._outlet, self._lowering.strings, fields) for fields in self._full or ()]
        finally:
            self._full = None
        return EventBatch.in_chunks(list(map(to_batch, chunks if found is None else [*chunks, found])))

    def prepare(self, words: BatchWords) -> Input:
        """A batch as kernel input, all of its rows; it lives until the next call."""
        self._learn(words.batch)
        return self._intake.prepare(words)

    def _learn(self, batch: EventBatch) -> None:
        """Get ready for a batch: take the types that only the data can tell from it."""
        self._refresh()
        self._intake.learn(batch)
        if self._lowering.is_outdated:
            self._widen()

    def relevant_rows(self, batch: EventBatch, given: Input, begin: int = 0, end: int | None = None) -> Words | None:
        """Pick the rows of a batch, or of a part of it, that can concern some rule; None for all."""
        return self._intake.relevant_rows(batch, given, begin, end)

    def narrowed(self, batch: EventBatch, given: Input, begin: int = 0, end: int | None = None) -> Input:
        """The part of an input that can concern some rule, with what is left to do."""
        rows = self._intake.relevant_rows(batch, given, begin, end)
        return given if rows is None else replace(given, rows=rows, left=self._intake.left_of_relevant(batch.types))

    def find(self, given: Input, *, lent: bool = False) -> Found | None:
        """Run the kernel over the input, growing what it needs, and return what it found, None for nothing.

        The interpreter is free for other threads meanwhile. What is ``lent`` must be read before the next call.
        """
        self._fit_strings()
        self._context.use_input(given)
        self._output.expect(self._context[At.INPUT_SIZE] - self._context[At.INPUT_NEXT])
        self._context.use_output(self._output)
        self._finish()
        return self._found(lent=lent)

    def _found(self, *, lent: bool = False) -> Found | None:
        """What the kernel has found, None for nothing."""
        count = self._context.take_output_events()
        if count == 0:
            return None
        fields = self._output.look(count) if lent else self._output.take(count)
        self._context.use_output(self._output)
        return Found(self._outlet, self._lowering.strings, fields, gathered=self._gathered())

    def _gathered(self) -> Gathered | None:
        """The members of collections that were named, None for nobody."""
        rows = self._context.take_gathered(self._scratch.gathered) if self._outlet.gathers else None
        return None if rows is None else Gathered(rows, tuple(self._lowering.types))

    def _finish(self) -> None:
        """Run the kernel to the end of its input."""
        while (status := self._run_kernel()) != DONE:
            if status == LIMIT:
                self._abandon()
                rule = self._order[self._context[At.CULPRIT]]
                raise too_many_composites(self._rules[rule.name].rule, self._limit)
            self._provide(Status(status))

    def _run_kernel(self) -> int:
        """Run the kernel until the input is done or something is missing; return its status."""
        return self.kernel.run(self._context.address)

    def _provide(self, status: Status) -> None:
        """Make what the kernel came back for: a value of a string function, or more room."""
        if status is Status.STRING_NEEDED:
            if self._context[At.NEEDED_TABLE] >= TOO_MANY:
                self._stop_at(self._context[At.NEEDED_TABLE] - TOO_MANY)
            self._lowering.strings.fill(self._context[At.NEEDED_TABLE], self._context[At.NEEDED_CODE])
            self._context[At.NEEDED_TABLE] = -1
            self._fit_strings()
        elif status is Status.OUTPUT_FULL:
            if self._full is None or 2 * self._context[At.OUTPUT_EVENTS] < self._output.size:
                self._output.grow()
            else:
                self._full.append(self._output.give(self._context.take_output_events()))
            self._context.use_output(self._output)
        else:
            grow(status, self._context, self._state, self._scratch, self._program)

    def _fit_strings(self) -> None:
        """Point at the tables of string functions, which any engine that uses them may have replaced."""
        strings = self._lowering.strings
        strings.fit()
        if strings.tables is not self._tables_used:
            self._tables_used = strings.tables
            self._context.use_strings(strings)

    def _tidy(self) -> None:
        """Free the texts that nothing needs, now and then."""
        strings = self._lowering.strings
        if self._census.is_due(strings):
            live = np.zeros(len(strings), np.bool_)
            self.mark_texts(live)
            kept = strings.keeping(live)
            self.use_texts(kept)
            self._census.taken(kept)

    @property
    def lowered_rules(self) -> tuple[LoweredRule, ...]:
        """The rules as they are run, in the order of their deployment."""
        return tuple(self._lowering.rules.values())

    def mark_texts(self, live: NDArray[np.bool_]) -> None:
        """Mark the codes of the texts that this engine needs, between two feedings."""
        self._refresh()
        mark_texts(live, self._lowering, self._state, self._context[At.LANE_COUNT])

    def use_texts(self, strings: StringTable) -> None:
        """Go on with a table in which the texts that were marked have the same codes."""
        self._lowering.strings = strings
        self._single = None

    def _stop_at(self, step: int) -> NoReturn:
        """Stop at a step, by its number in the program, that would hold more than the limit."""
        self._context[At.NEEDED_TABLE] = -1
        self._abandon()
        steps = [(rule.name, step) for rule in self._order for step in (*rule.steps, *rule.absences, *rule.gathers)]
        name, found = steps[step]
        too_many = too_many_members if found.kind is StepKind.GATHER else too_many_values
        raise too_many(self._rules[name].rule, self._limit)

    def _abandon(self) -> None:
        """Leave the rest of the input, and what was found so far."""
        for at in (At.QUEUE_FIRST, At.QUEUE_NEXT, At.OUTPUT_EVENTS, At.GATHERED_COUNT):
            self._context[at] = 0

    def feed_event(self, event: Event) -> list[Event]:
        """Process one event."""
        self._tidy()
        position = self._fed
        self._fed += 1
        found = self.find_event(event, position)
        return [] if found is None else found.events()

    def find_event(self, event: Event, position: int) -> Found | None:
        """Process one event, the one at a position of the stream, and return what was found, None for nothing.

        What was found is to be read before the next event.
        """
        if self._stale:
            self._refresh()
        if self._single is None:
            self._single = self._single_input()
        if not self._single.load(event, position):
            self._timers.expect(event.time, event.time)
            return self._find_at_moments()
        if self._lowering.is_outdated:
            self._widen()
            self._single = self._single_input()
            self._single.load(event, position)
        self._fit_strings()
        if self._timers.any:
            self._timers.expect(event.time, event.time)
        else:
            self._timers.latest = event.time
        self._context.use_single(self._single.given)
        self._finish()
        count = self._context.take_output_events()
        if count == 0:
            return None
        strings, look = self._lowering.strings, self._output.look(count)
        return Found(self._outlet, strings, look, self._output, self._gathered())

    def _find_at_moments(self) -> Found | None:
        """What rules make at moments that time has come to, without an event; None for nothing.

        What was found is to be read before the next event.
        """
        if not self._timers.any or self._context[At.UNTIL] < self._context[At.DUE]:
            return None
        self._fit_strings()
        self._context.use_nothing(self._lowering.strings.digests())
        self._finish()
        return self._found()

    def begin(self, time: int) -> None:
        """Let time begin, before the first event: with the first event of all, which may be another engine's."""
        self._refresh()
        self._timers.expect(time, time)

    def next_deadline(self) -> int | None:
        """The next moment at which a rule is evaluated, None if none is to come."""
        self._refresh()
        return self._timers.next_deadline()

    def last_deadline(self) -> int | None:
        """The last moment that an event has set, None if nothing waits for one."""
        return self._timers.last_deadline()

    def _single_input(self) -> SingleInput:
        """Get ready for events that come one at a time."""
        return SingleInput(self._lowering, self._listening)

    def advance(self, time: int) -> EventBatch:
        """Evaluate the rules whose moments have come, and forget what no window can reach any more."""
        self._refresh()
        self._timers.promise(time)
        found = self._find_at_moments()
        self._context[At.TIME] = max(self._context[At.TIME], time)
        made = EventBatch.empty() if found is None else to_batch(found)
        sweep_lanes(self._context, self._state)
        return made

    @property
    def bytes_held(self) -> int:
        """Bytes of the arrays that hold stored events."""
        return self._state.bytes_of_events

    def snapshot(self) -> bytes:
        """The rules and the stored events, as bytes."""
        return written.write(self.kept_as, self.saved())

    def saved(self) -> Saved:
        """What a snapshot holds: the rules and the stored events."""
        self._refresh()
        state = self._state
        time = max(self._context[At.TIME], self._timers.reached)
        sweep_lanes(self._context, state, until=time)
        types = stored_types(self._lowering, state.type_state, state.store, self._order)
        totals = totals_of(state, self._context[At.LANE_COUNT], self._order, self._lowering)
        saved = Saved(tuple(self._rules.values()), types, self._lowering.strings.texts, self._fed, time, totals)
        return saved.with_doubles(self._lowering.widened)

    def restore(self, data: bytes) -> None:
        """Take over a snapshot: deploy its rules anew and put its events back."""
        with restoring(self):
            saved = self._read(data)
            self.take_over(saved, StringTable(saved.texts))

    def _read(self, data: bytes) -> Saved:
        """Open the bytes of rules and stored events, and see to it that they make sense."""
        saved = written.read(self.kept_as, data)
        written.require_texts(saved, saved.texts)
        return saved

    def take_over(self, saved: Saved, strings: StringTable) -> None:
        """Take over what a snapshot holds; ``strings`` has its texts."""
        self._begin(strings)
        self._lowering.ordered = any(ORDER in stored.slots for stored in saved.types)
        for stored in saved.types:
            self._lowering.layout(stored.name).expect(stored.types, stored.optional, stored.told_by_data)
        self._deploy(saved.rules)
        self._refresh()
        self._fed = saved.fed
        for stored in saved.types:
            self._put_back(stored, saved.time)
        for total in totals_to_put(saved.totals, self._order, self._lowering, len(saved.texts)):
            while (status := Status(put_total(self._context.address, *total, saved.time))) is not Status.DONE:
                self._provide(status)
        self._context[At.TIME] = saved.time
        self._timers.put_back(saved.time, saved.time if saved.fed else MIN_TIME)

    def _widen(self) -> None:
        """Go on with the types that data has told by now; stored integers become doubles where those have come."""
        self._go_on(self.saved())

    def _go_on(self, saved: Saved) -> None:
        latest = self._timers.latest
        self.take_over(saved, self._lowering.strings)
        self._timers.put_back(saved.time, latest)

    def _born(self, stored: StoredType, time: int) -> Words:
        """The first row that each column may hold; what came before a time is in totals already."""
        return first_rows(stored, time, self._lowering)

    def _put_back(self, stored: StoredType, time: int) -> None:
        """Put the rows of a type back into the store and into the columns that they belong to."""
        layout = self._lowering.layout(stored.name)
        rows, born = laid_out(stored, layout, self._order), self._born(stored, time)
        state = self._state.type_state[layout.index]
        state[TypeState.FIRST] = state[TypeState.NEXT] = stored.first
        self._context[At.INPUT_NEXT] = 0
        given = (layout.index, address(rows), len(rows), address(born))
        while (status := Status(self.kernel.replay(self._context.address, *given))) is not Status.DONE:
            self._provide(status)
