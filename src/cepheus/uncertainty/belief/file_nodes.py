"""Nodes as files hold them: names that must be names in rules, and tables of numbers that were rounded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from cepheus.core.errors import OptionError, Place
from cepheus.rules.belief.model import Node, Row
from cepheus.uncertainty.belief.belief import RuleBelief
from cepheus.uncertainty.belief.tables import Table, tabulate

SAME = 1e-6
"""What files of a few digits, or read as numbers of 32 bits, keep of a probability."""

_NAME = re.compile(r"[^\W\d]\w*")


def node_from_file(
    name: str, parents: tuple[str, ...], states: Sequence[tuple[str, ...]], table: Table, path: Path
) -> Node:
    """Make a node of its table; ``states`` are those of each parent and then of the node, as are the table's axes."""
    for word in (name, *(state for axis in states for state in axis)):
        if not _NAME.fullmatch(word):
            raise OptionError.of(
                "network-file",
                f"'{word}' cannot be a name in rules",
                place=Place(str(path)),
                hint="rename it in the file: letters, digits and underscores, beginning with a letter",
            )
    rows = [Row(_chances(states[-1], table[place]), case) for place, case in cases(states[:-1])]
    return Node(name, tuple(rows), parents)


def cases(axes: Sequence[tuple[str, ...]]) -> Iterator[tuple[tuple[int, ...], tuple[str, ...]]]:
    """List every combination of states, the last changing fastest, with its place in a table."""
    for place in np.ndindex(*map(len, axes)):
        yield place, tuple(axis[index] for axis, index in zip(axes, place, strict=True))


def _chances(states: tuple[str, ...], numbers: Table) -> tuple[tuple[str, float], ...]:
    """Return a row that sums to 1, if it does but for rounding."""
    values = numbers.tolist()
    total = sum(values)
    if 1e-9 < abs(total - 1.0) < len(values) * SAME:
        values = [value / total for value in values]
    return tuple(zip(states, values, strict=True))


def bif_text(belief: RuleBelief) -> str:
    """Return a network in the interchange format BIF."""
    lines = [f"network {belief.rule.name} {{\n}}"]
    for name, states in belief.states.items():
        lines.append(f"variable {name} {{\n  type discrete [ {len(states)} ] {{ {', '.join(states)} }};\n}}")
    for node in belief.nodes.values():
        table = tabulate(node, node.rows, belief.states)
        if not node.parents:
            lines.append(f"probability ( {node.name} ) {{\n  table {numbers_text(table, ', ')};\n}}")
            continue
        rows = [
            f"  ({', '.join(case)}) {numbers_text(table[place], ', ')};"
            for place, case in cases([belief.states[parent] for parent in node.parents])
        ]
        head = f"probability ( {node.name} | {', '.join(node.parents)} ) {{"
        lines.append("\n".join([head, *rows, "}"]))
    return "\n".join([*lines, ""])


def numbers_text(table: Table, separator: str) -> str:
    """Write numbers so that reading gives them again."""
    return separator.join(map(repr, table.tolist()))
