"""What the columns engine remembers, in words that any other engine understands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cepheus.core.distribution import Distribution
from cepheus.core.distribution_column import ErrorColumn, ErrorKind
from cepheus.core.event import Event
from cepheus.core.values import Value, ValueType
from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.interface import Past, Seen
from cepheus.engine.lowered.intake import id_of_word
from cepheus.engine.lowered.snapshot import Saved, StoredType
from cepheus.engine.uncertain.error_profiles import Profile, profile_of
from cepheus.kernel.program import SLOT_ID, SLOT_START, SLOT_TIME, Words
from cepheus.kernel.state import COMPOSITE_ID_BASE, STRING_ID_FLOOR
from cepheus.kernel.strings import StringTable
from cepheus.plan.pattern.layouts import DOUBT, ERROR_MARKS, ORDER

EARLIER_RULE = "(a rule)"
"""Stands for the rule that made a stored composite event, whose name is not kept."""


def past_of(saved: Saved, listed: Sequence[Distribution | None] = ()) -> Past:
    """What a columns engine would put into a snapshot as rules and events.

    ``listed`` are the distributions, but for Normal and Uniform ones, that errors of stored events name by number.
    """
    strings = StringTable(saved.texts)
    events = tuple(seen for stored in saved.types for seen in _seen(stored, strings, listed))
    rules = tuple((deployed.rule, deployed.schema, deployed.since) for deployed in saved.rules)
    return Past(rules, events, saved.fed, saved.time)


def _seen(stored: StoredType, strings: StringTable, listed: Sequence[Distribution | None]) -> list[Seen]:
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
            probability=1.0 - _float(row, stored.slots[DOUBT]) if DOUBT in stored.slots else 1.0,
            errors=_errors(stored, row, listed),
            start=int(row[SLOT_START]),
            rule=EARLIER_RULE if composite else None,
        )
        place = int(row[stored.slots[ORDER]]) if ORDER in stored.slots else 0
        found.append(Seen(event, number, frozenset(consumed.get(number, ())), place))
    return found


def _attributes(stored: StoredType, row: Words, strings: StringTable) -> dict[str, Value | None]:
    attributes: dict[str, Value | None] = {}
    for name, slot in stored.slots.items():
        value_type = stored.types[name]
        if "#" in name or value_type is None or (name in stored.optional and not row[slot + 1]):
            continue
        match value_type:
            case ValueType.FLOAT:
                attributes[name] = _float(row, slot)
            case ValueType.BOOL:
                attributes[name] = bool(row[slot])
            case ValueType.STRING:
                attributes[name] = strings.text(int(row[slot]))
            case _:
                attributes[name] = int(row[slot])
    return attributes


def _errors(stored: StoredType, row: Words, listed: Sequence[Distribution | None]) -> dict[str, Distribution]:
    errors: dict[str, Distribution] = {}
    kind_mark = ERROR_MARKS[0]
    for name, slot in stored.slots.items():
        if name.endswith(kind_mark):
            parameters = np.array([_float(row, slot + 1)]), np.array([_float(row, slot + 2)])
            kinds = row[slot : slot + 1]
            foreign = listed[int(parameters[0][0])] if kinds[0] == ErrorKind.OTHER else None
            error = ErrorColumn(kinds, *parameters)[0] if foreign is None else foreign
            if error is not None:
                errors[name.removesuffix(kind_mark)] = error
    return errors


def require_errors(
    saved: Saved, listed: Sequence[Distribution | None], profiles: Mapping[tuple[str, str], Profile]
) -> None:
    """Refuse stored events whose errors are none, or are worse than what is known of them.

    ``listed`` are the distributions that errors name by number.
    """
    numbers = {number for number, error in enumerate(listed) if error is not None}
    for stored in saved.types:
        for name, slot in stored.slots.items():
            if not name.endswith(ERROR_MARKS[0]):
                if name == DOUBT:
                    doubts = stored.rows[:, slot].view(np.float64) if len(stored.rows) else np.zeros(0)
                    form.require(bool(((doubts >= 0.0) & (doubts <= 1.0)).all()), "$.types", "not a probability")
                continue
            kinds = np.ascontiguousarray(stored.rows[:, slot])
            form.all_between(kinds, 0, len(ErrorKind), "$.types")
            first, second = (np.ascontiguousarray(stored.rows[:, slot + k]).view(np.float64) for k in (1, 2))
            named = first[kinds == ErrorKind.OTHER]
            form.require(bool(np.isin(named, list(numbers)).all()), "$.types", "there is no such distribution")
            used = ErrorColumn(kinds, first, second, tuple(listed))  # type: ignore[arg-type]  # those that are named are there
            profile = profiles.get((stored.name, name.removesuffix(ERROR_MARKS[0])), Profile())
            for error in set(used):
                if error is not None:
                    found = profile_of(error)
                    form.require(found | profile == profile, "$.profiles", "errors are worse than is known of them")


def _float(row: Words, slot: int) -> float:
    return float(row[slot : slot + 1].view(np.float64)[0])
