"""The goals engine: rules as graphs of goals, events run through the kernel, room made as it is needed."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import ClassVar

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.errors import OptionError, did_you_mean
from cepheus.core.event import Event, EventId
from cepheus.core.options import DEFAULT_LIMIT
from cepheus.core.schema import Schema
from cepheus.core.time import MIN_TIME
from cepheus.engine.base.limits import endless_limits
from cepheus.engine.base.refusals import (
    Reads,
    interval_rules,
    reads_of,
    refuse_uncertain,
    refuse_uncertain_event,
    require_factor,
)
from cepheus.engine.base.snapshot import restoring, wrong_content
from cepheus.engine.base.ties import TieCounts
from cepheus.engine.goals.intake import Intake, Layout, SingleIntake
from cepheus.engine.goals.kernel import begin_instant, run
from cepheus.engine.goals.memory import Memory, Runner
from cepheus.engine.goals.outlet import HeadForm, goals_of, to_batch
from cepheus.engine.goals.snapshot import Saved, SavedType, read, require_matches, write
from cepheus.engine.goals.store import NOWHERE, remove_row
from cepheus.engine.goals.waiting_goals import put_back, put_facts, sweep
from cepheus.kernel.memory import address
from cepheus.kernel.program import Words
from cepheus.plan.interval.flatten import FlatProgram, Flattener, Since, TypeEntry
from cepheus.plan.interval.goal_texts import Goal, fraction_of
from cepheus.plan.interval.graph import point_type
from cepheus.plan.interval.groups import GoalTable, Group, TableRegistry, feed_one_another, make_group, split_rules
from cepheus.plan.interval.layout import (
    ROW_HEADER,
    At,
    Match,
    Status,
    TableState,
)
from cepheus.plan.interval.program import NodeKind
from cepheus.plan.interval.python_calls import FunctionTable
from cepheus.plan.interval.tables import fact_rows, width_of
from cepheus.plan.interval.values import Texts, mark_matches, mark_records
from cepheus.rules.interval.model import Atom, IntervalRule, TimePoint
from cepheus.rules.model import AnyRule
from cepheus.rules.walk import walk

SURE_AFTER = 1_000
"""How many goals wait in one place before events from outside that never lasted are taken for instants."""


class GoalsEngine:
    """Runs interval rules in one compiled loop over tables of goals.

    ``limit`` is the number of complex events that one event may make, and of goals that may wait in one place.
    """

    name: ClassVar[str] = "goals"

    def __init__(self, limit: int = DEFAULT_LIMIT, *, sure_after: int = SURE_AFTER) -> None:
        self._limit = limit
        self._sure_after = sure_after
        self._lasting: frozenset[str] | None = None
        self._begin(())

    def take_for_instants(self, lasting: Collection[str] = ()) -> None:
        """Take events from outside for instants until one of their type lasts, those of some types excepted.

        Goals that only a lasting event could need are then let go, from the first ``sure_after`` in one place on. A
        lasting event that comes nevertheless is a LimitError if it begins before the last goal for which others were
        let go; so no answer is ever wrong.
        """
        if self._lasting != frozenset(lasting):
            self._lasting = frozenset(lasting)
            self._stale = True

    def _instants(self) -> set[str]:
        """The types of events that are taken for instants."""
        if self._lasting is None:
            return set()
        return set(self._types) - self._lasting - {rule.head.name for rule in self.rules}

    def _begin(self, texts: Iterable[EventId | None]) -> None:
        """Start without rules and events."""
        self._texts = Texts(texts)
        self._texts.constant("")  # what stands where there is no text
        self._functions = FunctionTable()
        self._tables = TableRegistry()
        self._groups: list[Group] = []
        self._schema = Schema()
        self._types: dict[str, TypeEntry] = {}
        self._layouts: dict[str, Layout] = {}
        self._points: list[int] = []
        self._factors: dict[str, float] = {}
        self._reads: Reads = {}
        self._fed = 0
        self._stale = True
        self._program: FlatProgram | None = None
        self._forms: list[HeadForm] = []
        self._memory = Memory()
        self._memory[At.LIMIT] = self._limit
        self._memory[At.SURE_AFTER] = self._sure_after
        self._intake = Intake(self._memory, self._texts)
        self._single: SingleIntake | None = None
        self._runner = Runner(self._memory, self._texts, self._functions, self._limit, lambda: [*self._types])

    # ---- Rules

    @property
    def ties(self) -> TieCounts:
        """Nothing: what simultaneous events decide in interval rules is not counted."""
        return TieCounts.not_counted(self.name)

    @property
    def rules(self) -> list[IntervalRule]:
        """The rules that are deployed, in their order."""
        return [rule for group in self._groups for rule in group.rules.values()]

    def deploy(self, rules: Sequence[AnyRule], schema: Schema) -> None:
        """Add rules, all or none; they see the events fed from now on, and the points in time to come."""
        added = interval_rules(rules, self.name)
        known = {rule.name for rule in self.rules}
        for rule in added:
            if rule.name in known:
                message = f"a rule named '{rule.name}' is already deployed"
                raise OptionError.of("deploy", message, hint="withdraw it first")
            known.add(rule.name)
        heads = [rule.head for rule in added]
        self._schema = Schema([*self._schema.values(), *schema.values(), *heads])
        divided = split_rules(added, self.rules)
        for rules_of_group in divided:  # a trial, so that nothing remains of rules that are refused
            make_group(rules_of_group, self._schema, self._texts, FunctionTable(), TableRegistry(), Since())
        self._keep_apart([*self.rules, *added])
        self._refresh()
        width = self._memory[At.RECORD_WIDTH]
        since = Since(self._memory[At.NOW], self._memory[At.INSTANT_USED] // width if width else 0)
        self._add_groups([self._group(rules_of_group, since) for rules_of_group in divided])
        points = {node.time for rule in added for node in walk(rule.pattern) if isinstance(node, TimePoint)}
        for point in sorted(points):
            if point >= self._memory[At.NOW] and point not in self._points:
                insort(self._points, point)

    def _group(self, rules: Sequence[IntervalRule], since: Since) -> Group:
        return make_group(rules, self._schema, self._texts, self._functions, self._tables, since)

    def _keep_apart(self, every: Sequence[IntervalRule]) -> None:
        """Divide the groups in which, with the rules that are to come, one rule feeds another; goals are kept."""
        for place, group in reversed([*enumerate(self._groups)]):
            if len(group.rules) > 1 and feed_one_another([*group.rules.values()], every):
                goals = [[self._matches(group, each) for each in group.goal_tables(name)] for name in group.rules]
                alone = [self._group([rule], group.placed.since) for rule in group.rules.values()]
                for name in list(group.rules):
                    self._free_tables(group.remove(name))
                self._groups[place : place + 1] = alone
                self._begin_groups(alone)
                for part, tables in zip(alone, goals, strict=True):
                    self._put_goals(part, tables)

    def _add_groups(self, groups: Sequence[Group]) -> None:
        self._groups += groups
        self._begin_groups(groups)

    def _begin_groups(self, groups: Sequence[Group]) -> None:
        """Let new groups be run."""
        for group in groups:
            self._add_types(group)
        names = {event_type.name: [a.name for a in event_type.attributes] for event_type in self._schema.values()}
        self._reads = reads_of(self.rules, names)
        self._stale = True
        self._refresh()
        for group in groups:
            self._fill_facts(group)

    def _add_types(self, group: Group) -> None:
        for spec in group.placed.graph.nodes:
            if spec.kind is NodeKind.ATOM or spec.kind is NodeKind.HEAD:
                described = self._schema.get(spec.type)
                arity = spec.variables if spec.kind is NodeKind.HEAD else self._arity(group, spec.type)
                attributes = None
                if described is not None:
                    attributes = tuple(attribute.name for attribute in described.attributes)
                    arity = len(attributes)
                known = self._layouts.get(spec.type)
                if known is not None and described is not None and known.entry.arity != arity:
                    self._retire(spec.type)  # rules that are gone knew it with another number of arguments
                    known = None
                if known is None:
                    entry = TypeEntry(len(self._types), arity)
                    self._types[spec.type] = entry
                    self._layouts[spec.type] = Layout(entry, attributes)
                elif attributes is not None:
                    known.attributes = attributes

    def _retire(self, event_type: str) -> None:
        """Let a type go; its number stays taken, because events of this instant may have it."""
        number = self._types[event_type].number
        retired = f"{event_type} #{number}"
        self._types = {retired if name == event_type else name: entry for name, entry in self._types.items()}
        self._layouts[retired] = self._layouts.pop(event_type)

    @staticmethod
    def _arity(group: Group, event_type: str) -> int:
        """The number of arguments that the atoms of a type have, where nothing else tells."""
        atoms = [
            node
            for rule in group.rules.values()
            for node in walk(rule.pattern)
            if isinstance(node, Atom) and node.type == event_type
        ]
        return max((len(atom.arguments) for atom in atoms), default=0)

    def _fill_facts(self, group: Group) -> None:
        memory, program = self._memory, self._program
        assert program is not None
        for condition, table in group.facts().items():
            rows = fact_rows(condition.rows, group.placed.graph.nodes[condition.node], self._texts)
            place = program.facts[table]
            self._put(rows, partial(put_facts, memory.address, place))

    def _put(self, rows: Words, put: Callable[[int, int], int]) -> None:
        """Put rows into a table, with more room as it is needed."""
        done = 0
        while done < len(rows):
            rest = np.ascontiguousarray(rows[done:])
            done += put(address(rest, Match, mixed=True), len(rest))
            if done < len(rows):
                self._memory.grow(Status.POOL_FULL)
                self._memory.grow(Status.BUCKETS_FULL)

    def _node_number(self, group: Group, node: int) -> int:
        """The number of a node of a group in the program; 0 is no node."""
        first = 1
        for other in self._groups:
            if other is group:
                return first + node
            first += len(other.placed.graph.nodes)
        raise AssertionError("the group is not one of this engine's")

    def withdraw(self, name: str) -> None:
        """Remove a rule and the goals that only it needed."""
        for group in self._groups:
            if name in group.rules:
                break
        else:
            raise OptionError.of("withdraw", f"no rule named '{name}' is deployed")
        self._free_tables(group.remove(name))
        if not group.rules:
            self._groups.remove(group)
        self._factors.pop(name, None)
        left = {node.time for rule in self.rules for node in walk(rule.pattern) if isinstance(node, TimePoint)}
        self._points = [point for point in self._points if point in left]
        self._stale = True

    def _free_tables(self, tables: Iterable[int]) -> None:
        for table in tables:
            row = int(self._memory.state(table)[TableState.FIRST])
            while row != NOWHERE:
                remove_row(self._memory.address, row)
                row = int(self._memory.state(table)[TableState.FIRST])
            self._memory.state(table)[TableState.LONGEST] = 0
            self._tables.free.add(table)

    def set_factor(self, rule: str, factor: float) -> None:
        """Set the probability of a rule's complex events from now on."""
        names = [str(each.name) for each in self.rules]
        if rule not in names:
            raise OptionError.of("factor", f"no rule named '{rule}' is deployed", hint=did_you_mean(rule, names))
        self._factors[rule] = require_factor(factor)

    def _refresh(self) -> None:
        """Bring the program in line with the rules."""
        if not self._stale:
            return
        rules = self.rules
        flattener = Flattener(self._types, self._tables.specs, self._instants())
        limits = endless_limits(rules, self._limit)
        own = {str(rule.name): limits.get(str(rule.name), 0) for rule in rules}
        self._program = flattener.flatten([group.placed for group in self._groups], own)
        self._memory.use_program(self._program)
        self._forms = []
        for group in self._groups:
            for name, rule in group.rules.items():
                head = group.placed.graph.nodes[group.placed.graph.heads[name]]
                names = tuple(attribute.name for attribute in rule.head.attributes)
                self._forms.append(HeadForm(name, rule.head.name, names, head.parts))
        self._single = None
        self._stale = False

    # ---- Events

    def feed(self, batch: EventBatch) -> EventBatch:
        """Process events in total order."""
        self._refresh()
        if not len(batch):
            return EventBatch.empty()
        refuse_uncertain(batch, self._reads)
        found: list[EventBatch] = []
        begin = 0
        while self._points and self._points[0] <= batch.times[-1]:
            point = self._points[0]
            end = int(np.searchsorted(batch.times, point, "left"))
            found.append(self._feed(batch.slice(begin, end)))
            begin = end
            found += self._reach(point)
        found.append(self._feed(batch.slice(begin, len(batch)) if begin else batch))
        return EventBatch.concat(found)

    def _feed(self, batch: EventBatch) -> EventBatch:
        if not len(batch):
            return EventBatch.empty()
        if batch.starts is not None:
            for code in np.unique(batch.codes[batch.starts < batch.times]).tolist():
                if batch.types[code] in self._types:
                    self._memory.note_lasting(self._types[batch.types[code]].number)
        self._intake.load(batch, self._layouts, self._fed)
        self._fed += len(batch)
        return self._run()

    def feed_event(self, event: Event) -> list[Event]:
        """Process one event."""
        self._refresh()
        refuse_uncertain_event(event, self._reads)
        found: list[EventBatch] = []
        if self._points and self._points[0] <= event.time:
            found = self._reach(event.time)
        found.append(self._take(event, self._fed))
        self._fed += 1
        return [made for batch in found if len(batch) for made in batch.to_events()]

    def _take(self, event: Event, position: int) -> EventBatch:
        if self._single is None:
            self._single = SingleIntake(self._memory, self._texts, self._layouts)
        self._single.load(event, position)
        return self._run()

    def _reach(self, time: int) -> list[EventBatch]:
        """Let the points in time up to ``time`` happen."""
        found: list[EventBatch] = []
        while self._points and self._points[0] <= time:
            point = self._points.pop(0)
            found.append(self._take(Event(point_type(point), point), 0))
        return found

    def advance(self, time: int) -> EventBatch:
        """Decide what time alone decides, and forget what no window can reach any more."""
        self._refresh()
        found = self._reach(time)
        self._memory[At.INPUT_NEXT] = self._memory[At.INPUT_SIZE] = 0
        found.append(self._until_done(lambda: begin_instant(self._memory.address, time)))
        sweep(self._memory.address, self._memory.table_count)
        return EventBatch.concat(found)

    def _run(self) -> EventBatch:
        return self._until_done(lambda: run(self._memory.address))

    def _until_done(self, kernel: Callable[[], int]) -> EventBatch:
        words = self._runner.until_done(kernel, lambda: self.rules)
        found = EventBatch.empty() if words is None else to_batch(self._forms, self._texts, words, self._factors)
        if self._texts.many:
            self._free_texts()
        return found

    def _free_texts(self) -> None:
        """Free the codes of texts that nothing needs any more; answers, which may hold some, begin anew."""
        live = np.zeros(len(self._texts.table), np.bool_)
        for group in self._groups:
            for waiting in group.goal_tables():
                mark_matches(live, self._matches(group, waiting), group.operand(waiting).variables)
        memory = self._memory
        width = memory[At.RECORD_WIDTH]
        records = memory.held(At.INSTANT)[: memory[At.INSTANT_USED]].reshape(-1, width)
        mark_records(live, records, [entry.arity for entry in self._types.values()])
        self._texts.keep(live)
        memory.forget_answers()

    # ---- State

    @property
    def waiting(self) -> int:
        """How many goals wait, background knowledge not counted; one that rules share counts once."""
        self._refresh()
        tables = [each.table for group in self._groups for each in group.goal_tables()]
        return sum(int(self._memory.state(table)[TableState.COUNT]) for table in tables)

    @property
    def bytes_held(self) -> int:
        """Bytes of the arrays that hold goals."""
        return sum(self._memory.held(at).nbytes for at in (At.POOL, At.NEWEST, At.OLDEST, At.TABLE_STATE))

    @property
    def texts_held(self) -> int:
        """How many distinct texts are known."""
        return self._texts.table.used

    @property
    def time(self) -> int:
        """The time of the present instant."""
        return self._memory[At.NOW]

    def goals(self, rule: str | None = None, *, least: float = 0.0, since: int = MIN_TIME) -> list[Goal]:
        """Show what is under way toward complex events, of one rule or of all: what happened, and what is missing.

        A goal that rules share is given for each of them. ``least`` is how much of a pattern must be there, ``since``
        the time at which, or after which, a goal must have begun to wait.
        """
        self._refresh()
        found: list[Goal] = []
        for group in self._groups:
            graph = group.placed.graph
            waiting = {(each.node, each.operand): each for each in group.goal_tables()}
            for name, deployed in group.rules.items():
                if rule in (None, name):
                    for place, seat in graph.seats[name].items():
                        if place in waiting and fraction_of(seat, deployed) >= least:
                            matches = self._matches(group, waiting[place], since)
                            found += goals_of(matches, group.operand(waiting[place]), seat, deployed, self._texts)
        return found

    def snapshot(self) -> bytes:
        """The rules, the goals that wait and the events of this instant, as bytes."""
        self._refresh()
        memory = self._memory
        width = memory[At.RECORD_WIDTH]
        records = memory.held(At.INSTANT)[: memory[At.INSTANT_USED]]
        types = sorted(self._layouts.items(), key=lambda item: item[1].entry.number)
        return write(
            self.name,
            Saved(
                groups=tuple(tuple(group.rules.values()) for group in self._groups),
                since=tuple(group.placed.since for group in self._groups),
                schema=tuple(self._schema.values()),
                types=tuple(SavedType(name, layout.entry.arity, layout.attributes) for name, layout in types),
                goals=tuple(
                    tuple(self._matches(group, waiting) for waiting in group.goal_tables()) for group in self._groups
                ),
                instant=records.reshape(-1, width) if width else records.reshape(0, 1),
                texts=self._texts.table.texts,
                points=tuple(self._points),
                factors=dict(self._factors),
                fed=self._fed,
                time=memory[At.NOW],
                awaited=memory.awaited(len(types)),
            ),
        )

    def _matches(self, group: Group, waiting: GoalTable, since: int = MIN_TIME) -> Words:
        """Read the matches that wait in a table, from the oldest to the newest; all, or those since a time."""
        width = width_of(group.operand(waiting))
        memory = self._memory
        found_at = memory.rows(waiting.table) if since == MIN_TIME else memory.rows_since(waiting.table, since)
        rows = np.array(found_at, np.int64)
        found: Words = self._memory.held(At.POOL)[rows[:, None] + (ROW_HEADER + np.arange(width))]
        return found

    def restore(self, data: bytes) -> None:
        """Take over a snapshot: build its graphs anew and put its goals back."""
        with restoring(self):
            self._restore(read(self.name, data))

    def _restore(self, saved: Saved) -> None:
        self._begin(saved.texts)
        self._schema = Schema(saved.schema)
        for number, each in enumerate(saved.types):
            self._types[each.name] = TypeEntry(number, each.arity)
            self._layouts[each.name] = Layout(self._types[each.name], each.attributes)
        self._add_groups([self._group(rules, since) for rules, since in zip(saved.groups, saved.since, strict=True)])
        self._points = list(saved.points)
        self._factors = dict(saved.factors)
        self._fed = saved.fed
        memory = self._memory
        for group, tables in zip(self._groups, saved.goals, strict=True):
            for waiting, rows in zip(group.goal_tables(), tables, strict=True):
                if rows.shape[1] != width_of(group.operand(waiting)):
                    raise wrong_content("goals have another number of values")
                require_matches(rows, group.operand(waiting).variables, saved.texts)
            self._put_goals(group, tables)
        memory[At.NOW] = saved.time
        memory.use_awaited(saved.awaited)
        memory.use_instant(saved.instant)

    def _put_goals(self, group: Group, tables: Sequence[Words]) -> None:
        """Put matches into the tables of a group, in the order of ``Group.goal_tables``."""
        for waiting, rows in zip(group.goal_tables(), tables, strict=True):
            node = self._node_number(group, waiting.node)
            self._put(rows, partial(self._put_back, waiting, node, rows.shape[1]))

    def _put_back(self, waiting: GoalTable, node: int, width: int, rows: int, count: int) -> int:
        return put_back(self._memory.address, node, waiting.operand, width, rows, count)
