"""How files have events over intervals: ``"args"`` in place of named attributes, and ``"start"`` and ``"end"``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepheus.core.batch import EventBatch
from cepheus.core.errors import EventError
from cepheus.core.schema import EventType
from cepheus.core.values import ValueType
from cepheus.formats.arrays import validity
from cepheus.formats.problems import shown

ARGUMENTS, START, END = "args", "start", "end"
_ARGUMENT = re.compile(r"arg([1-9]\d*)")


def argument_name(place: int) -> str:
    """The name of the n-th argument, counted from 1, of an event type that nobody declares.

    >>> argument_name(2)
    'arg2'
    """
    return f"arg{place}"


def argument_place(name: str) -> int | None:
    """Which argument a name is that ``argument_name`` gives, None if it is another.

    >>> argument_place("arg2"), argument_place("value")
    (2, None)
    """
    found = _ARGUMENT.fullmatch(name)
    return None if found is None else int(found[1])


def named(record: Mapping[str, object], event_type: EventType | None, time_key: str = "time") -> dict[str, object]:
    """Return a record with its ``args`` under the names that data has for the attributes, and its ``end`` as its time.

    An attribute that the data calls so is just that.

    >>> named({"type": "pair", "args": ["GO", 2], "start": 1, "end": 5}, None)
    {'type': 'pair', 'start': 1, 'arg1': 'GO', 'arg2': 2, 'time': 5}
    """
    names = [attribute.named_by_data for attribute in event_type.attributes] if event_type is not None else []
    own = {ARGUMENTS, END}.difference(names)
    made = {name: value for name, value in record.items() if name not in own}
    if ARGUMENTS in own & record.keys():
        arguments = record[ARGUMENTS]
        if not isinstance(arguments, list | tuple):
            raise EventError.of("args", f"{shown(arguments)} is not a list of arguments", hint='write "args": [1, "a"]')
        if event_type is None:
            names = [argument_name(place) for place in range(1, len(arguments) + 1)]
        elif len(names) != len(arguments):
            raise EventError.of("args", f"{event_type} has {len(names)} attributes, not {len(arguments)}")
        for name, value in zip(names, arguments, strict=True):
            if value is None:
                continue
            # NaN differs from itself; what is wrong with it is told where values are read
            if made.get(name) is not None and made[name] is not value and made[name] != value:
                message = f"'{name}' is {shown(made[name])} by its name and {shown(value)} among the arguments"
                raise EventError.of("args", message, hint='leave one of them out, or "args" altogether')
            made[name] = value
    if END in own & record.keys():
        time = made.setdefault(time_key, record[END])
        if type(record[END]) is type(time) and record[END] != time:
            message = f"the time is {shown(time)} and the end {shown(record[END])}, but these are the same"
            raise EventError.of("time", message, hint='leave one of them out; the other end of an interval is "start"')
    return made


def positional(record: Mapping[str, object]) -> dict[str, object]:
    """Return a record whose attributes arg1, arg2 and so on are put together as ``args``.

    >>> positional({"type": "pair", "time": 5, "arg1": "GO", "arg2": 2, "start": 1})
    {'type': 'pair', 'time': 5, 'args': ['GO', 2], 'start': 1}
    """
    arguments = [name for name in record if _ARGUMENT.fullmatch(name)]
    head = {name: record[name] for name in ("type", "time") if name in record}
    others = {name: value for name, value in record.items() if name not in head and name not in arguments}
    return {**head, ARGUMENTS: [record[name] for name in sorted(arguments, key=_place)], **others}


def is_positional(attributes: Iterable[str]) -> bool:
    """Whether all attributes, given by their names, are arguments without names of their own."""
    return all(_ARGUMENT.fullmatch(name) for name in attributes)


def _place(name: str) -> int:
    match = _ARGUMENT.fullmatch(name)
    assert match is not None
    return int(match[1])


def attributes_in(batch: EventBatch, types: Collection[str]) -> dict[str, frozenset[str]]:
    """For some types, the names of the attributes for which events of a batch have values."""
    found: dict[str, frozenset[str]] = {}
    valid = {key: validity(column) for key, column in batch.columns.items()} if types else {}
    for code, event_type in enumerate(batch.types):
        if event_type in types:
            rows = batch.codes == code
            found[event_type] = frozenset(name for (name, _), there in valid.items() if (there & rows).any())
    return found


def with_intervals(batch: EventBatch, types: frozenset[str]) -> EventBatch:
    """Return a batch in which events of some types have their start and end as attributes, to be written.

    An attribute of theirs that is called so stays what it is.
    """
    if batch.starts is None:
        return batch
    columns = dict(batch.columns)
    attributes = attributes_in(batch, types)
    for name, times in ((START, batch.starts), (END, batch.times)):
        codes = [code for code, each in enumerate(batch.types) if name not in attributes.get(each, (name,))]
        theirs = np.isin(batch.codes, codes)
        if not theirs.any():
            continue
        array = pa.array(times, pa.int64(), mask=~theirs).view(pa.timestamp("us")).cast(ValueType.TIMESTAMP.arrow)
        others = columns.get((name, ValueType.TIMESTAMP))
        columns[name, ValueType.TIMESTAMP] = array if others is None else pc.coalesce(others, array)
    return replace(batch, columns=columns)
