"""Growing: more room for instances when the kernel runs out of it, and instances brought in line with new rules."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cepheus.core.errors import LimitError
from cepheus.engine.automata.instances import find_again, sweep_instances
from cepheus.engine.automata.state import In, InstanceLane, Instances, InstanceTable, Shortage
from cepheus.engine.automata.tables import Tables
from cepheus.kernel.program import Words
from cepheus.rules.model import Rule

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
    """Give the error for a rule whose sequences have filled all room there is for instances."""
    return LimitError.of(
        "too-many-instances",
        f"no room is left for the event sequences that rule '{rule.name}' has begun but not completed",
        span=rule.span,
        hint="narrow its windows, choose last instead of each, or choose the engine columns, which keeps none",
    )
