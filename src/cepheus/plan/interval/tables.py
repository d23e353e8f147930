"""Goal tables: how wide their rows are, for how long a row is of use, how it is found, when a new one replaces it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from cepheus.core.values import Value
from cepheus.kernel.program import Words
from cepheus.plan.interval.graph import UNLIMITED, Graph, NodeSpec
from cepheus.plan.interval.layout import MATCH_HEADER, RECORD_HEADER, ROW_HEADER, TAG_BITS, TAGS_PER_WORD
from cepheus.plan.interval.program import (
    ChoiceCode,
    ConditionKind,
    IndexCode,
    NodeKind,
    OperatorCode,
    OutlivesCode,
    PreferenceCode,
)
from cepheus.plan.interval.values import Texts
from cepheus.rules.interval import reach as interval_reach

LEFT_ENDS_FIRST = tuple(OperatorCode[operator.name] for operator in interval_reach.LEFT_ENDS_FIRST)
END_TOGETHER = tuple(OperatorCode[operator.name] for operator in interval_reach.END_TOGETHER)


def tag_words(count: int) -> int:
    """The number of words that the tags of so many values take."""
    return (count + TAGS_PER_WORD - 1) // TAGS_PER_WORD


def width_of(spec: NodeSpec) -> int:
    """The number of words that a match of a node takes."""
    values = tag_words(spec.variables) + spec.variables
    if spec.kind is NodeKind.HEAD:
        return RECORD_HEADER + values
    return MATCH_HEADER + values + len(spec.parts)


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A goal table: how wide its rows are, for how long after its end a row is of use, how long it may last.

    The index tells how rows are found.
    """

    width: int
    reach: int = -1
    length: int = -1
    index: IndexCode = IndexCode.NONE


def table_specs(graph: Graph, node: int) -> tuple[TableSpec | None, TableSpec | None, TableSpec | None]:
    """The tables in which the operands of a node wait, None for an operand that never does."""
    spec = graph.nodes[node]
    if spec.kind is NodeKind.MEMBERS and spec.left >= 0:
        width = ROW_HEADER + width_of(graph.nodes[spec.left])
        return TableSpec(width, spec.reach, index=index_by(spec.keys)), None, None
    if spec.kind not in (NodeKind.COMBINED, NodeKind.ABSENCE):
        return None, None, None
    window = -1 if spec.reach == UNLIMITED else spec.reach
    left, right, negated = (None if k < 0 else ROW_HEADER + width_of(graph.nodes[k]) for k in spec.operands)
    assert left is not None
    assert right is not None
    index = index_by(spec.keys)
    if spec.policy.renewing and index is IndexCode.NONE:
        index = IndexCode.VALUES
    if negated is not None:
        # Figure 2 asks for all closing delimiters of an instant.
        closers = None if spec.policy.choice is not ChoiceCode.UNRESTRICTED else TableSpec(right, 0, index=index)
        absent = TableSpec(negated, window, window, index_by(spec.negated_keys))
        return TableSpec(left, window, window, index), closers, absent
    reach = 0 if spec.operator in END_TOGETHER else window
    waiting = None if spec.operator in LEFT_ENDS_FIRST else TableSpec(right, reach, window, index)
    if spec.operator is OperatorCode.MEETS:
        waiting = TableSpec(right, 0, 0, index)  # only a point can have arrived before what it must be met by
    return TableSpec(left, reach, window, index), waiting, None


def index_by(keys: Sequence[tuple[int, int]]) -> IndexCode:
    """How the rows of a table with these shared variables are found."""
    return IndexCode.KEYS if keys else IndexCode.NONE


def outlives(spec: NodeSpec, instants: Collection[str] = ()) -> OutlivesCode:
    """When a new match at an operand of a node makes an older one useless.

    Under the recent policy the later of two partners is taken if it fits. Without conditions anything fits AND, and
    what lasts fits PAR whenever something that ended earlier does; within a window, if it starts no earlier. What comes
    after a SEQ takes the later one of two that fit if it is an instant; ``instants`` are the types whose events are
    taken for instants until one lasts.
    """
    policy = spec.policy
    recent = policy.choice is ChoiceCode.RECENT and not (policy.once or policy.renewing or policy.onesided)
    by_arrival = policy.preference is PreferenceCode.ARRIVAL
    plain = spec.kind is NodeKind.COMBINED and not spec.shared
    if recent and plain and spec.awaits in instants and spec.reach == UNLIMITED:
        return OutlivesCode.IF_INSTANTS
    windows = all(condition.kind is ConditionKind.WITHIN for condition in spec.conditions)
    if not (recent and by_arrival and plain and windows):
        return OutlivesCode.NEVER
    bounded = spec.reach != UNLIMITED
    if spec.operator is OperatorCode.AND:
        return OutlivesCode.IF_NOT_LONGER if bounded else OutlivesCode.ALWAYS
    if spec.operator is OperatorCode.PAR:
        return OutlivesCode.IF_LASTING_NOT_LONGER if bounded else OutlivesCode.IF_LASTING
    return OutlivesCode.NEVER


def fact_rows(facts: Sequence[tuple[Value, ...]], node: NodeSpec, texts: Texts) -> Words:
    """Write rows of background knowledge as they lie in a table."""
    rows = np.zeros((len(facts), width_of(node)), np.int64)
    tags_at, values_at = MATCH_HEADER, MATCH_HEADER + tag_words(node.variables)
    for at, row in enumerate(facts):
        for place, value in enumerate(row):
            tag, word = texts.constant(value)
            rows[at, tags_at + place // TAGS_PER_WORD] |= tag << (TAG_BITS * (place % TAGS_PER_WORD))
            rows[at, values_at + place] = word
    return rows
