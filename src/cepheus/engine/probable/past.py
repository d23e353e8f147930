"""What the columns engine remembers, in words that any other engine understands."""

from __future__ import annotations

import numpy as np

from cepheus.core.event import Event
from cepheus.core.values import Value, ValueType
from cepheus.engine.columns.intake import id_of_word
from cepheus.engine.columns.snapshot import Saved, StoredType
from cepheus.engine.columns.state import COMPOSITE_ID_BASE, STRING_ID_FLOOR
from cepheus.engine.past import Past, Seen
from cepheus.plan.program import SLOT_ID, SLOT_START, SLOT_TIME, Words
from cepheus.plan.strings import StringTable

EARLIER_RULE = "(a rule)"
"""Stands for the rule that made a stored composite event, whose name is not kept."""


def past_of(saved: Saved) -> Past:
    """Give what a columns engine would put into a snapshot as rules and events."""
    strings = StringTable(saved.texts)
    events = tuple(seen for stored in saved.types for seen in _seen(stored, strings))
    rules = tuple((deployed.rule, deployed.schema, deployed.since) for deployed in saved.rules)
    return Past(rules, events, saved.fed, saved.time)


def _seen(stored: StoredType, strings: StringTable) -> list[Seen]:
    consumed: dict[int, set[str]] = {}
    for rule, numbers in stored.consumed.items():
        for number in numbers:
            consumed.setdefault(number, set()).add(rule)
    found = []
    for number, row in enumerate(stored.rows, stored.first):
        word = int(row[SLOT_ID])
        composite = word < STRING_ID_FLOOR
        event = Event(
            stored.name,
            int(row[SLOT_TIME]),
            _attributes(stored, row, strings),
            id=f"{stored.name}:{word - COMPOSITE_ID_BASE:016x}" if composite else id_of_word(word, strings),
            start=int(row[SLOT_START]),
            rule=EARLIER_RULE if composite else None,
        )
        found.append(Seen(event, number, frozenset(consumed.get(number, ()))))
    return found


def _attributes(stored: StoredType, row: Words, strings: StringTable) -> dict[str, Value | None]:
    attributes: dict[str, Value | None] = {}
    for name, slot in stored.slots.items():
        value_type = stored.types[name]
        if value_type is None or (name in stored.optional and not row[slot + 1]):
            continue
        match value_type:
            case ValueType.FLOAT:
                attributes[name] = float(row[slot : slot + 1].view(np.float64)[0])
            case ValueType.BOOL:
                attributes[name] = bool(row[slot])
            case ValueType.STRING:
                attributes[name] = strings.text(int(row[slot]))
            case _:
                attributes[name] = int(row[slot])
    return attributes
