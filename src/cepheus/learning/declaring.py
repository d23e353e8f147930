"""The types of a history as declarations: a learned file has them where events lack an attribute that its rules use.

What no file declares, every event must have. A file that declares one type declares all, so all of the history are.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow.compute as pc

from cepheus.core.batch import EventBatch
from cepheus.core.schema import RESERVED, Attribute, EventType
from cepheus.core.values import ValueType
from cepheus.learning.history import History
from cepheus.rules.expressions import AttributeRef, EventPattern
from cepheus.rules.model import Rule
from cepheus.rules.walk import walk


def declarations_for(rules: Iterable[Rule], history: History, target: str) -> tuple[EventType, ...]:
    """All types of the history but the target's, if an attribute that rules use may be missing; else none."""
    several = tuple(rules)
    names = {node.type for rule in several for node in walk(rule) if isinstance(node, EventPattern)}
    used = {node.name for rule in several for node in walk(rule) if isinstance(node, AttributeRef)}
    optional = {
        each.name
        for name in names & history.types.keys()
        for each in history.types[name].event_type.attributes
        if each.optional
    }
    if not used & optional:
        return ()
    return tuple(each for each in _types_of(history.batch) if each.name != target)


def _types_of(batch: EventBatch) -> Iterable[EventType]:
    known = {
        key: pc.is_valid(column).to_numpy(zero_copy_only=False)
        for key, column in sorted(batch.columns.items())
        if key[0] not in RESERVED
    }
    for code, name in enumerate(batch.types):
        rows = np.flatnonzero(batch.codes == code)
        if not len(rows):
            continue
        found: dict[str, list[tuple[ValueType, int]]] = {}
        for (attribute, kind), there in known.items():
            count = int(there[rows].sum())
            if count:
                found.setdefault(attribute, []).append((kind, count))
        yield EventType(
            name,
            tuple(
                Attribute(
                    attribute,
                    kinds[0][0] if len(kinds) == 1 else ValueType.FLOAT,
                    optional=sum(count for _, count in kinds) < len(rows),
                )
                for attribute, kinds in found.items()
            ),
        )
