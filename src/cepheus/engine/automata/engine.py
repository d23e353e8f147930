"""The automata engine: rules as sequence models, events advancing their instances, one compiled loop.

Rows of events, expressions, negations, aggregates and composite events are those of all lowered rules. The engine adds
the instances of sequences: their room, their numbers when rules come and go, their part of a snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.errors import LimitError
from cepheus.core.options import DEFAULT_LIMIT
from cepheus.core.time import MAX_TIME
from cepheus.engine.automata.instances import find_again, sweep_instances
from cepheus.engine.automata.kernel import put_back, run
from cepheus.engine.automata.model import AutomatonModel, automaton_model
from cepheus.engine.automata.state import In, InstanceLane, Instances, InstanceTable, Shortage
from cepheus.engine.automata.tables import Tables, flatten_automata
from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.capabilities import AUTOMATA
from cepheus.engine.base.snapshot import pack, restoring, unpack, wrong_content
from cepheus.engine.base.ties import TieCounts
from cepheus.engine.lowered.engine import LoweredEngine
from cepheus.engine.lowered.kernel_parts import Flattened, Kernel
from cepheus.engine.lowered.snapshot import DeployedRule, StoredType
from cepheus.kernel.memory import At, address
from cepheus.kernel.process import replay
from cepheus.kernel.program import Words
from cepheus.kernel.state import Status, TypeState
from cepheus.plan.pattern.constructs import require_rules
from cepheus.rules.model import Rule, RuleSet

MAX_POOL_WORDS = 1 << 28
"""How many 64-bit words all instances together may take before an engine stops with a LimitError."""


def grow_instances(
    shortage: Shortage, table: InstanceTable, instances: Instances, now: int, most: int, *, swept: bool
) -> bool:
    """Make more of what ran out; False if the instances already take as many words as they may at most.

    Lanes are first freed of what has expired, unless they were ``swept`` for the same event before.
    """
    match shortage:
        case Shortage.POOL_FULL:
            if 2 * len(instances.pool) > most:
                return False
            instances.pool = _larger(instances.pool)
        case Shortage.MADE_FULL:
            instances.made = _larger(instances.made)
        case Shortage.LANES_FULL:
            if not swept:
                sweep_instances(table.address, now)
            if swept or 2 * table[In.LANE_COUNT] > len(instances.lanes):
                instances.lanes = _larger(instances.lanes)
                instances.hash = np.full(2 * len(instances.hash), -1, np.int64)
                table.use_instances(instances)
                find_again(table.address)
    table.use_instances(instances)
    return True


def _larger(array: Words) -> Words:
    grown = np.zeros((2 * len(array), *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown


def renumber(table: InstanceTable, instances: Instances, old: Mapping[str, range], tables: Tables) -> None:
    """Give the instances the numbers that their states have in new tables; ``old`` are those of each rule so far."""
    numbers = np.full(max((states.stop for states in old.values()), default=0) + 1, -1, np.int64)
    for name, states in old.items():
        first = tables.first_state[name]
        numbers[states.start : states.stop] = np.arange(first, first + len(states))
    lanes = instances.lanes[: table[In.LANE_COUNT]]
    lanes[:, InstanceLane.STATE] = numbers[lanes[:, InstanceLane.STATE]]
    instances.state_lane = np.full(len(tables.states) + 1, -1, np.int64)
    table.use_instances(instances)
    find_again(table.address)


def drop_states(table: InstanceTable, instances: Instances, states: range, now: int) -> None:
    """Drop all instances of some states, and whatever has expired."""
    lanes = instances.lanes[: table[In.LANE_COUNT]]
    gone = (lanes[:, InstanceLane.STATE] >= states.start) & (lanes[:, InstanceLane.STATE] < states.stop)
    lanes[gone, InstanceLane.STATE] = -1
    instances.state_lane[states.start : states.stop] = -1
    sweep_instances(table.address, now)


def too_many_instances(rule: Rule) -> LimitError:
    """The error for a rule whose sequences have filled all room there is for instances."""
    return LimitError.of(
        "too-many-instances",
        f"no room is left for the event sequences that rule '{rule.name}' has begun but not completed",
        span=rule.span,
        hint="narrow its windows, choose last instead of each, or choose the engine columns, which keeps none",
    )


class AutomataEngine(LoweredEngine):
    """Runs all rules as automata whose instances advance with every event.

    ``limit`` is the number of composite events that one event may make, ``pool_words`` the number of 64-bit words that
    all sequences begun but not completed may take.
    """

    name: ClassVar[str] = "automata"
    kernel: ClassVar[Kernel] = Kernel(run, replay)

    def __init__(self, limit: int = DEFAULT_LIMIT, pool_words: int = MAX_POOL_WORDS) -> None:
        self._pool_words = pool_words
        super().__init__(limit)

    def _begin_own(self) -> None:
        self._models: dict[str, AutomatonModel] = {}
        self._tables = flatten_automata(self._lowering, {})[1]
        self._instances = Instances()
        self._table = InstanceTable()
        self._table.use_instances(self._instances)
        self._context[At.MEMORY] = self._table.address
        self._states: dict[str, range] = {}

    @property
    def ties(self) -> TieCounts:
        """Nothing: an automaton has given up the rivals of a choice before it is made."""
        return TieCounts.not_counted(self.name)

    @property
    def instances(self) -> int:
        """How many sequences have begun and are neither complete nor expired."""
        self._refresh()
        sweep_instances(self._table.address, self._context[At.TIME])
        lanes = self._instances.lanes[: self._table[In.LANE_COUNT]]
        return int((lanes[:, InstanceLane.NEXT] - lanes[:, InstanceLane.FIRST]).sum())

    def _deploy(self, rules: Sequence[DeployedRule]) -> None:
        require_rules(AUTOMATA, RuleSet.of(deployed.rule for deployed in rules))
        super()._deploy(rules)
        columns = {column.index: column for column in self._lowering.columns.values()}
        for deployed in rules:
            name = str(deployed.rule.name)
            model = automaton_model(self._lowering.rules[name], columns)
            self._models[name] = model
            self._lowering.rules[name] = model.rule

    def withdraw(self, name: str) -> None:
        """Remove a rule and all its sequences."""
        super().withdraw(name)
        del self._models[name]
        drop_states(self._table, self._instances, self._states.pop(name), self._context[At.TIME])

    def _flatten(self) -> Flattened:
        program, tables = flatten_automata(self._lowering, self._models)
        self._tables = tables  # keeps alive what the table of addresses points at
        self._table.use_tables(tables, self._lowering.column_count)
        renumber(self._table, self._instances, self._states, tables)
        for name, model in self._models.items():
            first = tables.first_state[name]
            self._states[name] = range(first, first + sum(len(sequence.states) for sequence in model.sequences))
        return Flattened(program)

    def _run_kernel(self) -> int:
        """Run the kernel, with more room for instances as it is needed."""
        swept_at = None
        while True:
            code = run(self._context.address)
            if code < Shortage.POOL_FULL:
                return Status(code)
            at = (self._context[At.INPUT_NEXT], self._context[At.QUEUE_FIRST])
            self._make_room(Shortage(code), swept=at == swept_at)
            if code == Shortage.LANES_FULL:
                swept_at = at

    def _make_room(self, shortage: Shortage, *, swept: bool = False) -> None:
        now = self._context[At.TIME]
        if not grow_instances(shortage, self._table, self._instances, now, self._pool_words, swept=swept):
            self._abandon()
            raise self._too_many()

    def _too_many(self) -> LimitError:
        rule = self._order[self._table[In.CULPRIT]]
        return too_many_instances(self._rules[rule.name].rule)

    def advance(self, time: int) -> EventBatch:
        """Forget what no window can reach any more."""
        found = super().advance(time)
        sweep_instances(self._table.address, self._context[At.TIME])
        return found

    def snapshot(self) -> bytes:
        """The rules, the stored events and the sequence instances, as bytes."""
        events = super().snapshot()
        sweep_instances(self._table.address, self._context[At.TIME])
        return write_instances(self.name, events, saved_instances(self._table, self._instances, self._states))

    def _born(self, stored: StoredType, time: int) -> Words:
        """The first row that each column may hold; entrances, numbered after the columns, are for new events."""
        never = np.full(len(self._tables.entrances), MAX_TIME, np.int64)
        return np.concatenate([super()._born(stored, time)[: self._lowering.column_count], never])

    def restore(self, data: bytes) -> None:
        """Take over a snapshot: deploy its rules anew, put its events back and then the instances."""
        with restoring(self):
            events, saved = read_instances(self.name, data)
            super().restore(events)
            for instances in saved:
                self._put_instances_back(instances)

    def _widen(self) -> None:
        instances = saved_instances(self._table, self._instances, self._states)
        super()._widen()
        for each in instances:
            self._put_instances_back(each)

    def _put_instances_back(self, saved: SavedInstances) -> None:
        model = self._models.get(saved.rule)
        if model is None or not fits(saved, model, self._state.type_state, self._context[At.TIME]):
            raise wrong_content("a sequence is none that the rules could have begun")
        records = np.ascontiguousarray(saved.records)
        count, stride = records.shape
        state = self._states[saved.rule].start + saved.state
        at = 0
        while at < count:
            at = put_back(self._context.address, self._table.address, state, address(records), stride, at, count)
            if at < count:
                self._make_room(Shortage(self._table[In.SHORTAGE]))


_EVENTS = "events"


@dataclass(frozen=True, slots=True)
class SavedInstances:
    """The instances of one state of a rule (states are counted within the rule), lane after lane."""

    rule: str
    state: int
    records: Words


def saved_instances(table: InstanceTable, instances: Instances, states: Mapping[str, range]) -> list[SavedInstances]:
    """Collect all instances; ``states`` are the numbers of each rule's states."""
    owners = {number: (name, number - numbers.start) for name, numbers in states.items() for number in numbers}
    found: dict[tuple[str, int], list[Words]] = {}
    for lane in instances.lanes[: table[In.LANE_COUNT]]:
        entries = np.arange(lane[InstanceLane.FIRST], lane[InstanceLane.NEXT])
        stride = int(lane[InstanceLane.STRIDE])
        places = lane[InstanceLane.OFFSET] + (entries & lane[InstanceLane.MASK]) * stride
        records = instances.pool[places[:, None] + np.arange(stride)]
        found.setdefault(owners[int(lane[InstanceLane.STATE])], []).append(records)
    return [SavedInstances(*owner, np.concatenate(records)) for owner, records in sorted(found.items())]


def write_instances(kind: str, events: bytes, saved: Sequence[SavedInstances]) -> bytes:
    """Put instances into one envelope with the snapshot of the events that they are made of."""
    header = {"instances": [[one.rule, one.state, *one.records.shape] for one in saved]}
    blobs = {str(number): one.records.astype("<i8").tobytes() for number, one in enumerate(saved)}
    return pack(kind, header, {_EVENTS: events, **blobs})


_HEADER = form.record(instances=form.listing(form.row(form.text, form.count, form.count, form.count)))


def read_instances(kind: str, data: bytes) -> tuple[bytes, list[SavedInstances]]:
    """Open the envelope again; an error if it does not hold together."""
    header, blobs = unpack(kind, data)
    instances = _HEADER(header, "$")["instances"]
    form.only_blobs(blobs, (_EVENTS, *map(str, range(len(instances)))))
    saved = [
        SavedInstances(rule, state, form.words(blobs, str(number), shape))
        for number, (rule, state, *shape) in enumerate(instances)
    ]
    return blobs[_EVENTS], saved


def fits(saved: SavedInstances, model: AutomatonModel, rows: Words, now: int) -> bool:
    """Whether instances are of a state that the rule has, and made of stored events up to now.

    ``rows`` tells, by type, which events are stored.
    """
    states = model.state_types()
    if not 0 <= saved.state < len(states) or saved.records.shape[1:] != (1 + len(states[saved.state]),):
        return False
    if len(saved.records) and int(saved.records[:, 0].max()) > now:
        return False
    types = np.array(states[saved.state], np.int64)
    numbers = saved.records[:, 1:]
    first, end = rows[types, TypeState.FIRST], rows[types, TypeState.NEXT]
    return bool(((numbers >= first) & (numbers < end)).all())
