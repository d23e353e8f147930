"""Lanes of sequence instances, compiled: look up, make room, add, drop.

A lane holds the instances of one state that share a key, in the order in which they came about: by their latest event,
among those of one latest event by the one before it, and so on. So the instances whose time limit has expired stand at
the front, and those that share their latest events stand side by side.
"""

from __future__ import annotations

import numpy as np

from cepheus.engine.automata.state import INSTANCE_LANE_WORDS, RING_POWERS, SMALLEST_RING, In, InstanceLane, Shortage
from cepheus.engine.automata.tables import KeyField, StateField
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import before, mix, row_offset
from cepheus.kernel.memory import At, fixed, peek, poke, put, signed, word

_LANE_BYTES = InstanceLane.row_bytes()
_STATE_BYTES = StateField.row_bytes()
_KEY_BYTES = KeyField.row_bytes()
_MINUS_ZERO = -(2**63)  # the bits of -0.0 as an integer
_POOL_FULL, _LANES_FULL, _MADE_FULL = int(Shortage.POOL_FULL), int(Shortage.LANES_FULL), int(Shortage.MADE_FULL)
_NONE = -1


@inlined
def lane_at(memory: int, lane: int) -> int:
    """The address of a lane."""
    return fixed(memory, In.LANES) + _LANE_BYTES * lane


@inlined
def state_at(memory: int, state: int) -> int:
    """The address of a state's row."""
    return fixed(memory, In.STATES) + _STATE_BYTES * state


@inlined
def instance_at(memory: int, lane: int, entry: int) -> int:
    """The address of an instance of the lane at an address."""
    ring = peek(lane, InstanceLane.OFFSET) + (entry & peek(lane, InstanceLane.MASK)) * peek(lane, InstanceLane.STRIDE)
    return fixed(memory, In.POOL) + 8 * ring


@inlined
def _plain_zero(value: int, is_float: int) -> int:
    """A part of a key so that equal values have equal words: minus zero, a float, equals zero."""
    return 0 if is_float != 0 and value == _MINUS_ZERO else value


@inlined
def key_of_instance(context: int, memory: int, state: int, instance: int) -> int:
    """Write the key of an instance that has reached a state; give how many parts it has."""
    begin, end = fixed(state, StateField.KEYS), fixed(state, StateField.KEYS_END)
    for part in range(begin, end):
        row = fixed(memory, In.KEYS) + _KEY_BYTES * part
        number = peek(instance, 1 + fixed(row, KeyField.INDEX))
        place = row_offset(context, fixed(row, KeyField.TYPE), number) + fixed(row, KeyField.SLOT)
        put(memory, In.KEY, part - begin, _plain_zero(word(context, At.STORE, place), fixed(row, KeyField.IS_FLOAT)))
    return end - begin


@inlined
def key_of_event(context: int, memory: int, state: int, base: int) -> int:
    """Write the key that the event at ``base`` asks for in a state it may lead on from; give how many parts it has."""
    begin, end = fixed(state, StateField.KEYS), fixed(state, StateField.KEYS_END)
    for part in range(begin, end):
        row = fixed(memory, In.KEYS) + _KEY_BYTES * part
        value = word(context, At.STORE, base + fixed(row, KeyField.NEXT_SLOT))
        put(memory, In.KEY, part - begin, _plain_zero(value, fixed(row, KeyField.IS_FLOAT)))
    return end - begin


@compiled
def _hash(state: int, key: int, count: int) -> int:
    """The hash of a key, the words at an address, within a state."""
    digest = np.uint64(state)
    for part in range(count):
        digest = mix(digest, peek(key, part))
    return signed(digest >> np.uint64(1))


@inlined
def find(memory: int, state: int, count: int) -> int:
    """Find the lane of a state for the key that was written; -1 if there is none."""
    if count == 0:
        return word(memory, In.STATE_LANE, state)
    key = fixed(memory, In.KEY)
    hashed = _hash(state, key, count)
    mask = fixed(memory, In.HASH_SIZE) - 1
    at = hashed & mask
    while True:
        lane = word(memory, In.HASH, at)
        if lane < 0:
            return _NONE
        row = lane_at(memory, lane)
        if peek(row, InstanceLane.HASH) == hashed and peek(row, InstanceLane.STATE) == state:
            same = True
            for part in range(count):
                same = same and peek(row, InstanceLane.KEY + part) == peek(key, part)
            if same:
                return lane
        at = (at + 1) & mask


@inlined
def drop_expired(memory: int, lane: int, window: int, now: int) -> None:
    """Drop the instances of the lane at an address whose time limit has expired."""
    horizon = before(now, window)
    first, end = peek(lane, InstanceLane.FIRST), peek(lane, InstanceLane.NEXT)
    while first < end and peek(instance_at(memory, lane, first), 0) < horizon:
        first += 1
    poke(lane, InstanceLane.FIRST, first)


@inlined
def end_before(memory: int, lane: int, now: int) -> int:
    """The end of the instances of the lane at an address whose latest event lies before ``now``."""
    first, end = peek(lane, InstanceLane.FIRST), peek(lane, InstanceLane.NEXT)
    while end > first and peek(instance_at(memory, lane, end - 1), 0) >= now:
        end -= 1
    return end


@inlined
def _drop_outdone(memory: int, lane: int, state: int, now: int) -> None:
    """Drop the instances that no event can choose any more, because newer ones come before them.

    An instance whose latest event is of this very moment outdoes nothing yet: another event of this moment would not
    see it.
    """
    kept, length = fixed(state, StateField.KEPT), fixed(state, StateField.LENGTH)
    if kept == 0:
        return
    first, last = peek(lane, InstanceLane.FIRST), end_before(memory, lane, now) - 1
    if length == 1:
        first = max(first, last - kept + 1)
    elif first < last:  # several instances may share the one event that can be chosen
        latest = peek(instance_at(memory, lane, last), length)
        while peek(instance_at(memory, lane, first), length) != latest:
            first += 1
    poke(lane, InstanceLane.FIRST, first)


@compiled
def _take_block(memory: int, stride: int, power: int) -> int:
    """Get room for ``2**power`` records: a freed block or fresh space; -1 if there is none."""
    freed = stride * RING_POWERS + power
    offset = word(memory, In.FREE, freed)
    if offset >= 0:
        put(memory, In.FREE, freed, word(memory, In.POOL, offset))
        return offset
    used = peek(memory, In.POOL_USED)
    if used + (stride << power) > fixed(memory, In.POOL_SIZE):
        return _NONE
    poke(memory, In.POOL_USED, used + (stride << power))
    return used


@compiled
def _free_block(memory: int, lane: int) -> None:
    """Give back the block of the lane at an address."""
    power = 0
    while (1 << power) <= peek(lane, InstanceLane.MASK):
        power += 1
    freed = peek(lane, InstanceLane.STRIDE) * RING_POWERS + power
    offset = peek(lane, InstanceLane.OFFSET)
    put(memory, In.POOL, offset, word(memory, In.FREE, freed))
    put(memory, In.FREE, freed, offset)


@compiled
def _new_lane(memory: int, state: int, count: int) -> int:
    """Make a lane for the key that was written; minus a shortage if there is no room."""
    lane = peek(memory, In.LANE_COUNT)
    if lane >= fixed(memory, In.LANES_SIZE):
        return -_LANES_FULL
    stride = 1 + fixed(state_at(memory, state), StateField.LENGTH)
    offset = _take_block(memory, stride, SMALLEST_RING)
    if offset < 0:
        return -_POOL_FULL
    row = lane_at(memory, lane)
    for k in range(INSTANCE_LANE_WORDS):
        poke(row, k, 0)
    poke(row, InstanceLane.OFFSET, offset)
    poke(row, InstanceLane.MASK, (1 << SMALLEST_RING) - 1)
    poke(row, InstanceLane.STATE, state)
    poke(row, InstanceLane.STRIDE, stride)
    for part in range(count):
        poke(row, InstanceLane.KEY + part, word(memory, In.KEY, part))
    poke(memory, In.LANE_COUNT, lane + 1)
    _enter(memory, lane)
    return lane


@compiled
def _enter(memory: int, lane: int) -> None:
    """Make a lane findable: by its key, or as the only one of its state."""
    row = lane_at(memory, lane)
    state = peek(row, InstanceLane.STATE)
    keys = state_at(memory, state)
    count = fixed(keys, StateField.KEYS_END) - fixed(keys, StateField.KEYS)
    if count == 0:
        put(memory, In.STATE_LANE, state, lane)
        return
    hashed = _hash(state, row + 8 * InstanceLane.KEY, count)
    poke(row, InstanceLane.HASH, hashed)
    mask = fixed(memory, In.HASH_SIZE) - 1
    at = hashed & mask
    while word(memory, In.HASH, at) >= 0:
        at = (at + 1) & mask
    put(memory, In.HASH, at, lane)


@compiled
def _grow_lane(memory: int, lane: int) -> bool:
    """Move the lane at an address to a ring twice as large; False if the pool is too small."""
    stride, mask = peek(lane, InstanceLane.STRIDE), peek(lane, InstanceLane.MASK)
    power = 1
    while (1 << power) <= 2 * mask + 1:
        power += 1
    larger = _take_block(memory, stride, power)
    if larger < 0:
        return False
    for entry in range(peek(lane, InstanceLane.FIRST), peek(lane, InstanceLane.NEXT)):
        source = instance_at(memory, lane, entry)
        target = larger + (entry & ((1 << power) - 1)) * stride
        for k in range(stride):
            put(memory, In.POOL, target + k, peek(source, k))
    _free_block(memory, lane)
    poke(lane, InstanceLane.OFFSET, larger)
    poke(lane, InstanceLane.MASK, (1 << power) - 1)
    return True


@compiled
def add_instance(context: int, memory: int, state_number: int, instance: int) -> int:
    """Add the instance at an address to its lane; 0, or what there is too little of.

    Until ``MADE_COUNT`` is set to 0 again, it can be taken back.
    """
    state, now = state_at(memory, state_number), peek(instance, 0)
    made = peek(memory, In.MADE_COUNT)
    poke(memory, In.CULPRIT, fixed(state, StateField.RULE))
    if made >= fixed(memory, In.MADE_SIZE):
        return _MADE_FULL
    count = key_of_instance(context, memory, state, instance)
    lane = find(memory, state_number, count)
    if lane < 0:
        lane = _new_lane(memory, state_number, count)
        if lane < 0:
            return -lane
    row = lane_at(memory, lane)
    drop_expired(memory, row, fixed(state, StateField.WINDOW), now)
    _drop_outdone(memory, row, state, now)
    entry = peek(row, InstanceLane.NEXT)
    full = entry - peek(row, InstanceLane.FIRST) > peek(row, InstanceLane.MASK)
    if full and not _grow_lane(memory, row):
        return _POOL_FULL
    target = instance_at(memory, row, entry)
    for k in range(peek(row, InstanceLane.STRIDE)):
        poke(target, k, peek(instance, k))
    poke(row, InstanceLane.NEXT, entry + 1)
    put(memory, In.MADE, made, lane)
    poke(memory, In.MADE_COUNT, made + 1)
    return 0


@compiled
def take_back(memory: int) -> None:
    """Take back the instances made for the current event, which will be processed again."""
    for at in range(peek(memory, In.MADE_COUNT)):
        row = lane_at(memory, word(memory, In.MADE, at))
        poke(row, InstanceLane.NEXT, peek(row, InstanceLane.NEXT) - 1)
    poke(memory, In.MADE_COUNT, 0)


@compiled
def sweep_instances(memory: int, now: int) -> None:
    """Drop expired instances everywhere; give back lanes that are empty then or whose state is gone (-1)."""
    kept = 0
    for lane in range(peek(memory, In.LANE_COUNT)):
        row = lane_at(memory, lane)
        state = peek(row, InstanceLane.STATE)
        if state >= 0:
            put(memory, In.STATE_LANE, state, _NONE)
            drop_expired(memory, row, fixed(state_at(memory, state), StateField.WINDOW), now)
        if state < 0 or peek(row, InstanceLane.FIRST) == peek(row, InstanceLane.NEXT):
            _free_block(memory, row)
            continue
        target = lane_at(memory, kept)
        for k in range(INSTANCE_LANE_WORDS):
            poke(target, k, peek(row, k))
        kept += 1
    poke(memory, In.LANE_COUNT, kept)
    find_again(memory)


@compiled
def find_again(memory: int) -> None:
    """Make all lanes findable, after the hash table was emptied or states were numbered anew."""
    for at in range(fixed(memory, In.HASH_SIZE)):
        put(memory, In.HASH, at, _NONE)
    for lane in range(peek(memory, In.LANE_COUNT)):
        _enter(memory, lane)
