"""How files have events over intervals: ``"args"`` in place of named attributes, and ``"start"`` and ``"end"``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from cepheus.core.batch import EventBatch
from cepheus.core.errors import EventError
from cepheus.core.formats.problems import shown
from cepheus.core.schema import EventType
from cepheus.core.values import ValueType

ARGUMENTS, START, END = "args", "start", "end"
_ARGUMENT = re.compile(r"arg([1-9]\d*)")


def argument_name(place: int) -> str:
    """Give the name of the n-th argument, counted from 1, of an event type that nobody declares.

    >>> argument_name(2)
    'arg2'
    """
    return f"arg{place}"


def argument_place(name: str) -> int | None:
    """Give which argument a name is that ``argument_name`` gives, None if it is another.

    >>> argument_place("arg2"), argument_place("value")
    (2, None)
    """
    found = _ARGUMENT.fullmatch(name)
    return None if found is None else int(found[1])


def named(record: Mapping[str, object], event_type: EventType | None) -> dict[str, object]:
    """Give a record with its ``args`` under the names of the type's attributes, and its ``end`` as its time.

    >>> named({"type": "pair", "args": ["GO", 2], "start": 1, "end": 5}, None)
    {'type': 'pair', 'start': 1, 'arg1': 'GO', 'arg2': 2, 'time': 5}
    """
    made = {name: value for name, value in record.items() if name not in (ARGUMENTS, END)}
    if ARGUMENTS in record:
        arguments = record[ARGUMENTS]
        if not isinstance(arguments, list | tuple):
            raise EventError.of("args", f"{shown(arguments)} is not a list of arguments", hint='write "args": [1, "a"]')
        names = [argument_name(place) for place in range(1, len(arguments) + 1)]
        if event_type is not None:
            names = [attribute.name for attribute in event_type.attributes]
            if len(names) != len(arguments):
                raise EventError.of("args", f"{event_type} has {len(names)} attributes, not {len(arguments)}")
        for name, value in zip(names, arguments, strict=True):
            if value is None:
                continue
            # NaN differs from itself; what is wrong with it is told where values are read
            if made.get(name) is not None and made[name] is not value and made[name] != value:
                message = f"'{name}' is {shown(made[name])} by its name and {shown(value)} among the arguments"
                raise EventError.of("args", message, hint='leave one of them out, or "args" altogether')
            made[name] = value
    if END in record:
        if event_type is not None and event_type.attribute(END) is not None:
            made[END] = record[END]
        elif type(record[END]) is type(made.setdefault("time", record[END])) and record[END] != made["time"]:
            message = f"the time is {shown(made['time'])} and the end {shown(record[END])}, but these are the same"
            raise EventError.of("time", message, hint='leave one of them out; the other end of an interval is "start"')
    return made


def positional(record: Mapping[str, object]) -> dict[str, object]:
    """Give a record whose attributes arg1, arg2 and so on are put together as ``args``.

    >>> positional({"type": "pair", "time": 5, "arg1": "GO", "arg2": 2, "start": 1})
    {'type': 'pair', 'time': 5, 'args': ['GO', 2], 'start': 1}
    """
    arguments = [name for name in record if _ARGUMENT.fullmatch(name)]
    head = {name: record[name] for name in ("type", "time") if name in record}
    others = {name: value for name, value in record.items() if name not in head and name not in arguments}
    return {**head, ARGUMENTS: [record[name] for name in sorted(arguments, key=_place)], **others}


def is_positional(record: Mapping[str, object], own: frozenset[str]) -> bool:
    """Tell whether all attributes of a record, whose own fields are given, are arguments without names."""
    return all(_ARGUMENT.fullmatch(name) for name in record if name not in own)


def _place(name: str) -> int:
    match = _ARGUMENT.fullmatch(name)
    assert match is not None
    return int(match[1])


def with_intervals(batch: EventBatch, types: frozenset[str]) -> EventBatch:
    """Give a batch in which events of some types have their start and end as attributes, to be written."""
    codes = [code for code, name in enumerate(batch.types) if name in types]
    if not codes or batch.starts is None:
        return batch
    theirs = np.isin(batch.codes, codes)
    columns = dict(batch.columns)
    for name, times in ((START, batch.starts), (END, batch.times)):
        array = pa.array(times, pa.int64(), mask=~theirs).view(pa.timestamp("us")).cast(ValueType.TIMESTAMP.arrow)
        columns.setdefault((name, ValueType.TIMESTAMP), array)
    return replace(batch, columns=columns)
