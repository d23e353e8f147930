"""Events of this instant, compiled: each instance of an event only once, and the ids of complex events."""

from __future__ import annotations

import numpy as np

from cepheus.core.lists import LIST_MARK
from cepheus.engine.goals.machine import ask, float_of, identical, stir, stir_value
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import mix
from cepheus.kernel.memory import fixed, peek, poke, signed
from cepheus.kernel.state import COMPOSITE_ID_BASE
from cepheus.plan.interval.layout import FLOAT_WORD, RECORD_HEADER, At, InstanceEntry, Record, Tag
from cepheus.plan.interval.program import TypeField

_DIGEST_MASK = np.uint64(2**62 - 1)
_TYPE_BYTES = TypeField.row_bytes()
_INT, _FLOAT, _STRING, _LIST = int(Tag.INT), int(Tag.FLOAT), int(Tag.STRING), int(Tag.LIST)
_TWO_TO_63 = 9223372036854775808.0


@inlined
def type_at(context: int, stratum: int, kind: int) -> int:
    """The address of what a stratum says of a type."""
    return fixed(context, At.TYPES) + _TYPE_BYTES * (stratum * fixed(context, At.TYPE_COUNT) + kind)


@inlined
def record_at(context: int, place: int) -> int:
    """The address of an event of this instant."""
    return fixed(context, At.INSTANT) + 8 * place


@inlined
def _record_tag(record: int, place: int) -> int:
    return (peek(record, RECORD_HEADER + (place >> 4)) >> ((place & 15) << 2)) & 15


@compiled
def _same_event(one: int, other: int, arity: int, tag_words: int) -> bool:
    if peek(one, Record.TYPE) != peek(other, Record.TYPE) or peek(one, Record.START) != peek(other, Record.START):
        return False
    for k in range(arity):
        at = RECORD_HEADER + tag_words + k
        if not identical(_record_tag(one, k), peek(one, at), _record_tag(other, k), peek(other, at)):
            return False
    return True


@inlined
def find_instance(context: int, record: int) -> int:
    """Look an instance up among those seen in this instant: -1 if it was seen, else the place where it goes."""
    layout = type_at(context, 0, peek(record, Record.TYPE))
    arity, tag_words = fixed(layout, TypeField.ARITY), fixed(layout, TypeField.TAG_WORDS)
    digest = stir(stir(np.uint64(0x2545F491), peek(record, Record.TYPE)), peek(record, Record.START))
    for k in range(arity):
        digest = stir_value(digest, _record_tag(record, k), peek(record, RECORD_HEADER + tag_words + k))
    mask = fixed(context, At.INSTANCES_SIZE) - 1
    stamp = peek(context, At.STAMP)
    at = signed(digest >> np.uint64(1)) & mask
    while True:
        entry = fixed(context, At.INSTANCES) + 16 * at
        if peek(entry, InstanceEntry.STAMP) != stamp:
            return at
        if _same_event(record, record_at(context, peek(entry, InstanceEntry.RECORD)), arity, tag_words):
            return -1
        at = (at + 1) & mask


@inlined
def note_instance(context: int, at: int, place: int) -> None:
    """Note an event as seen in this instant."""
    entry = fixed(context, At.INSTANCES) + 16 * at
    poke(entry, InstanceEntry.STAMP, peek(context, At.STAMP))
    poke(entry, InstanceEntry.RECORD, place)


@compiled
def note_instances(context: int) -> None:
    """Note all events of this instant again, in a table that is new."""
    for place in range(0, peek(context, At.INSTANT_USED), fixed(context, At.RECORD_WIDTH)):
        at = find_instance(context, record_at(context, place))
        if at >= 0:
            note_instance(context, at, place)


@compiled
def _word_of(context: int, tag: int, word: int) -> int:
    """The word that a value adds to the id of a complex event; Python is asked for that of other floats."""
    if tag == _INT:
        return word
    if tag == _FLOAT:
        number = float_of(word)
        if number == np.floor(number) and number >= -_TWO_TO_63 and number < _TWO_TO_63:
            return int(np.int64(number))
        stack, tags = fixed(context, At.STACK), fixed(context, At.STACK_TAGS)
        poke(stack, 0, word)
        poke(tags, 0, tag)
        ask(context, FLOAT_WORD, 1, stack, tags, 0)
        return peek(stack, 0)
    texts = fixed(context, At.TEXT_DIGESTS)
    if tag == _LIST:
        return peek(texts, word + 2) ^ LIST_MARK
    return peek(texts, word if tag != _STRING else word + 2)


@inlined
def identify(context: int, record: int, seed: int, arity: int, tag_words: int) -> int:
    """Compute the id of a complex event, as a word."""
    digest = mix(mix(np.uint64(seed), peek(record, Record.START)), peek(record, Record.END))
    for k in range(arity):
        value = _word_of(context, _record_tag(record, k), peek(record, RECORD_HEADER + tag_words + k))
        digest = mix(digest, value)
    return COMPOSITE_ID_BASE + signed(digest & _DIGEST_MASK)
