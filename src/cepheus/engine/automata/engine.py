"""The automata engine: rules as sequence models, events advancing their instances, one compiled loop.

Rows of events, expressions, negations, aggregates and composite events are as in the columns engine, from which this
one inherits whatever surrounds the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.errors import LimitError
from cepheus.core.options import DEFAULT_LIMIT
from cepheus.core.time import MAX_TIME
from cepheus.engine.automata.growth import (
    MAX_POOL_WORDS,
    drop_states,
    grow_instances,
    renumber,
    too_many_instances,
)
from cepheus.engine.automata.instances import sweep_instances
from cepheus.engine.automata.kernel import put_back, run
from cepheus.engine.automata.model import AutomatonModel, automaton_model
from cepheus.engine.automata.snapshot import (
    SavedInstances,
    fits,
    read_instances,
    saved_instances,
    write_instances,
)
from cepheus.engine.automata.state import In, InstanceLane, Instances, InstanceTable, Shortage
from cepheus.engine.automata.tables import flatten_automata
from cepheus.engine.base.snapshot import restoring, wrong_content
from cepheus.engine.base.ties import TieCounts
from cepheus.engine.columns.engine import ColumnsEngine
from cepheus.engine.lowered.snapshot import DeployedRule
from cepheus.kernel.compiled import announce_compilation
from cepheus.kernel.memory import At, address
from cepheus.kernel.program import Program, Words
from cepheus.kernel.state import Status
from cepheus.kernel.strings import StringTable


class AutomataEngine(ColumnsEngine):
    """Runs all rules as automata whose instances advance with every event.

    ``limit`` is the number of composite events that one event may make, ``room`` the number of 64-bit words that all
    sequences begun but not completed may take.
    """

    name: ClassVar[str] = "automata"

    def __init__(self, limit: int = DEFAULT_LIMIT, room: int = MAX_POOL_WORDS) -> None:
        self._room = room
        super().__init__(limit)

    def _begin(self, strings: StringTable) -> None:
        super()._begin(strings)
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

    def _flatten(self) -> Program:
        announce_compilation(run)
        program, tables = flatten_automata(self._lowering, self._models)
        self._tables = tables  # keeps alive what the table of addresses points at
        self._table.use_tables(tables, self._lowering.column_count)
        renumber(self._table, self._instances, self._states, tables)
        for name, model in self._models.items():
            first = tables.first_state[name]
            self._states[name] = range(first, first + sum(len(sequence.states) for sequence in model.sequences))
        return program

    def _kernel(self) -> int:
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
        if not grow_instances(shortage, self._table, self._instances, now, self._room, swept=swept):
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
        """Give the rules, the stored events and the sequence instances."""
        events = super().snapshot()
        sweep_instances(self._table.address, self._context[At.TIME])
        return write_instances(self.name, events, saved_instances(self._table, self._instances, self._states))

    def _born(self) -> Words:
        """Give the first row that each column may hold; entrances, numbered after the columns, are for new events."""
        never = np.full(len(self._tables.entrances), MAX_TIME, np.int64)
        return np.concatenate([super()._born()[: self._lowering.column_count], never])

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
