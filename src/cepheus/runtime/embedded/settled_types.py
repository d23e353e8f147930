"""Types that only the data can tell: found in it, and the same wherever rules compare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.errors import EventError, Place
from cepheus.core.schema import Schema
from cepheus.core.values import ValueType

Key = tuple[str, str]
"""An event type and an attribute of it."""

Kinds = Mapping[Key, ValueType]


def without_type(schema: Schema, others: Iterable[str] = ()) -> set[Key]:
    """The attributes whose types a schema does not tell, of the types that it lists and of some ``others``."""
    unlisted = (schema[name] for name in others if name in schema and name not in [*schema])
    return {
        (event_type.name, attribute.name)
        for event_type in (*schema.values(), *unlisted)
        for attribute in event_type.attributes
        if attribute.type is None
    }


_NUMBERS = {ValueType.INT, ValueType.FLOAT}


def kinds_in(batch: EventBatch, wanted: Iterable[Key]) -> dict[Key, ValueType]:
    """The types that a batch has for some attributes, as far as it has values for them.

    >>> from cepheus.core.event import Event
    >>> batch = EventBatch.from_events([Event("Smoke", 1, {"area": "A1"}), Event("Rain", 2)])
    >>> kinds_in(batch, [("Smoke", "area"), ("Rain", "area")])
    {('Smoke', 'area'): <ValueType.STRING: 'string'>}
    """
    found: dict[Key, ValueType] = {}
    for event_type, name in wanted:
        if event_type not in batch.types:
            continue
        rows = batch.codes == batch.types.index(event_type)
        for (column_name, kind), column in batch.columns.items():
            if column_name == name and np.any(column.is_valid().to_numpy(zero_copy_only=False) & rows):
                before = found.get((event_type, name), kind)
                found[event_type, name] = ValueType.FLOAT if {before, kind} == _NUMBERS else kind
    return found


def refuse_conflicts(settled: Kinds, found: Kinds, equal: Iterable[frozenset[Key]], place: Place | None = None) -> None:
    """Raise an EventError if newly found types do not go with those settled before, or with one another.

    ``equal`` are sets of attributes that rules compare for equality: strings there would never equal numbers.

    >>> refuse_conflicts({("A", "x"): ValueType.INT}, {("A", "x"): ValueType.STRING}, [])
    Traceback (most recent call last):
    ...
    cepheus.core.errors.EventError: error[type-conflict]: A.x is string here, but int in earlier events
      hint: declare its type before the session starts: event A(x: ..)
    """
    when = "" if place is not None else " before the session starts"  # a session that runs takes no declaration
    for (event_type, name), kind in found.items():
        before = settled.get((event_type, name), kind)
        if not _comparable(before, kind):
            raise EventError.of(
                "type-conflict",
                f"{event_type}.{name} is {kind.value} here, but {before.value} in earlier events",
                hint=f"declare its type{when}: event {event_type}({name}: ..)",
                place=place,
            )
    known = {**settled, **found}
    for together in equal:
        members = sorted(key for key in together if key in known)
        for one, other in pairwise(members):
            if not _comparable(known[one], known[other]):
                raise EventError.of(
                    "type-conflict",
                    f"{'.'.join(one)} is {known[one].value} in the data and {'.'.join(other)} is "
                    f"{known[other].value}, but rules compare the two",
                    hint=f"declare the type of both{when}, as in event {one[0]}({one[1]}: string)",
                    place=place,
                )


def _comparable(one: ValueType, other: ValueType) -> bool:
    return one is other or (one.is_numeric and other.is_numeric)
