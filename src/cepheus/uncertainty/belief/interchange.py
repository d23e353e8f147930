"""Networks in files of other tools: BIF, read by pyAgrum, and XDSL, the format of GeNIe and SMILE.

A file holds nodes, states, edges and tables. Seasons and the distributions behind bands have no place in it: they are
written as the tables that hold outside all periods and as the probabilities of bands. Where a file is read back and
such a table has not changed, the node keeps them.

In XDSL, tables are listed with the states of the node changing fastest, then those of its last parent, as SMILE defines
it. (pyAgrum lets the first parent change fastest, so that tables of several parents come out mixed up there.)
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from cepheus.core.errors import OptionError, Place, did_you_mean
from cepheus.core.extras import how_to_install
from cepheus.rules.belief.model import Node, Row
from cepheus.uncertainty.belief.belief import RuleBelief
from cepheus.uncertainty.belief.tables import Table, tabulate

FORMATS = (".bif", ".xdsl")
"""The endings of files that can be read and written."""

_PREFIX = re.compile(r"^\[pyAgrum\] [\w/ ]+: ")


def write_belief_file(belief: RuleBelief, path: Path) -> None:
    """Write all nodes of a network to a file whose name ends in ``.bif`` or ``.xdsl``."""
    kind = check_format(path)
    text = bif_text(belief) if kind == ".bif" else xdsl_text(belief)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OptionError.of("file", f"'{path}' cannot be written: {(error.strerror or 'it failed').lower()}") from None


def read_belief_file(belief: RuleBelief, path: Path) -> RuleBelief:
    """Put the nodes of a file in place of those of a network; RuleError if they do not fit its rule."""
    kind = check_format(path)
    if not path.is_file():
        raise OptionError.of("file", f"there is no file '{path}'")
    nodes = _read_bif(path) if kind == ".bif" else read_xdsl(path)
    events = {node.name for node in belief.translated.nodes}
    if not events & {node.name for node in nodes}:
        raise OptionError.of(
            "network-file",
            f"no node of the file is an event of the rule '{belief.rule.name}'",
            place=Place(str(path)),
            hint=f"call its nodes {', '.join(sorted(events))}",
        )
    kept = [node if (before := _unchanged(node, belief)) is None else before for node in nodes]
    order = {node.name: place for place, node in enumerate(belief.added.nodes)}
    kept.sort(key=lambda node: order.get(node.name, len(order)))
    own = {node.name: node for node in belief.translated.nodes}
    return belief.with_nodes(tuple(node for node in kept if own.get(node.name) != node))


def to_pyagrum(belief: RuleBelief) -> Any:
    """Return a network as a ``pyagrum.BayesNet``, for whatever else pyAgrum can do with one."""
    with quiet_pyagrum() as gum:
        made = gum.BayesNet(str(belief.rule.name))
        for name, states in belief.states.items():
            made.add(gum.LabelizedVariable(name, "", list(states)))
        for node in belief.nodes.values():
            for parent in node.parents:
                made.addArc(parent, node.name)
        for node in belief.nodes.values():
            table = tabulate(node, node.rows, belief.states)
            made.cpt(node.name)[:] = np.ascontiguousarray(table.transpose(_axes(len(node.parents))))
        return made


def _read_bif(path: Path) -> list[Node]:
    with quiet_pyagrum() as gum:
        try:
            read = gum.loadBN(str(path))
        except gum.GumException as error:
            message = _PREFIX.sub("", str(error).strip().splitlines()[0]).replace(f"{path}:", "line ")
            raise OptionError.of("network-file", f"pyAgrum cannot read it: {message}", place=Place(str(path))) from None
        return [_bif_node(read, name, path) for name in sorted(read.names(), key=read.idFromName)]


def _bif_node(read: Any, name: str, path: Path) -> Node:
    table = read.cpt(name)
    parents = tuple(table.names[1:])
    states = [tuple(read.variable(each).labels()) for each in (*parents, name)]
    numbers = np.asarray(table.toarray()).transpose(_axes(len(parents)))
    return node_from_file(name, parents, states, np.vectorize(_as_written)(numbers), path)


def _as_written(value: float) -> float:
    """Undo the rounding of a reader that keeps 32 bits: 0.10000000149011612 was 0.1."""
    short = float(f"{value:.7g}")
    return short if np.float32(short) == np.float32(value) and value == float(np.float32(value)) else value


def _unchanged(node: Node, belief: RuleBelief) -> Node | None:
    """The node that the network has, if the file says the same."""
    before = belief.nodes.get(node.name)
    if before is None or before.parents != node.parents or set(belief.states[node.name]) != set(node.states):
        return None
    if any(parent not in belief.states for parent in node.parents):
        return None
    try:
        there = tabulate(node, node.rows, belief.states)
    except (KeyError, ValueError):  # the states of a parent have changed
        return None
    here = tabulate(before, before.rows, belief.states)
    return before if here.shape == there.shape and np.allclose(here, there, rtol=0, atol=SAME) else None


def _axes(parents: int) -> tuple[int, ...]:
    """The order of axes between pyAgrum, which counts parents from the last, and here."""
    return (*reversed(range(parents)), parents)


def check_format(path: Path) -> str:
    """The ending of the name of a network file; OptionError if it is none of ours."""
    if path.suffix.lower() not in FORMATS:
        hint = did_you_mean(path.suffix, FORMATS) or "name a file that ends in .bif or .xdsl"
        raise OptionError.of("network-file", f"'{path.name}' is not the name of a network file", hint=hint)
    return path.suffix.lower()


@contextmanager
def quiet_pyagrum() -> Iterator[Any]:
    """Import pyAgrum, and hold back warnings: its compiled part ends the process where a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import pyagrum
        except ModuleNotFoundError:
            hint = how_to_install("uncertainty")
            raise OptionError.of(
                "network-file", "network files are read by pyAgrum, which is not there", hint=hint
            ) from None
        yield pyagrum


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


def xdsl_text(belief: RuleBelief) -> str:
    """Return a network as XDSL, causes before effects."""
    name = str(belief.rule.name)
    root = ElementTree.Element("smile", version="1.0", id=name)
    nodes = ElementTree.SubElement(root, "nodes")
    genie = ElementTree.SubElement(
        ElementTree.SubElement(root, "extensions"), "genie", version="1.0", app="Cepheus", name=name
    )
    for each in TopologicalSorter({name: node.parents for name, node in belief.nodes.items()}).static_order():
        node = belief.nodes[each]
        written = ElementTree.SubElement(nodes, "cpt", id=each)
        for state in belief.states[each]:
            ElementTree.SubElement(written, "state", id=state)
        if node.parents:
            ElementTree.SubElement(written, "parents").text = " ".join(node.parents)
        table = tabulate(node, node.rows, belief.states)
        ElementTree.SubElement(written, "probabilities").text = numbers_text(table.ravel(), " ")
        ElementTree.SubElement(ElementTree.SubElement(genie, "node", id=each), "name").text = each
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def read_xdsl(path: Path) -> list[Node]:
    """Read the nodes of a file, in its order; only nodes with tables can be read."""
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise OptionError.of("network-file", f"this is not XML: {error}", place=Place(str(path))) from None
    listed = root.find("nodes")
    if root.tag != "smile" or listed is None:
        raise _wrong("this is not XDSL: there is no list of nodes", path)
    states = {
        element.get("id", ""): tuple(state.get("id", "") for state in element.findall("state")) for element in listed
    }
    return [_xdsl_node(element, states, path) for element in listed]


def _xdsl_node(element: ElementTree.Element, states: dict[str, tuple[str, ...]], path: Path) -> Node:
    name = element.get("id", "")
    if element.tag != "cpt":
        hint = "change it to a chance node with a table"
        raise _wrong(f"'{name}' is a node of the kind '{element.tag}', which has no table", path, hint)
    parents = tuple((element.findtext("parents") or "").split())
    for parent in parents:
        if parent not in states:
            raise _wrong(f"'{name}' depends on '{parent}', which is not in the file", path)
    axes = [states[each] for each in (*parents, name)]
    try:
        numbers = np.array((element.findtext("probabilities") or "").split(), np.float64)
        table = numbers.reshape([len(axis) for axis in axes])
    except ValueError:
        message = f"the table of '{name}' does not have {' times '.join(str(len(axis)) for axis in axes)} numbers"
        raise _wrong(message, path) from None
    return node_from_file(name, parents, axes, table, path)


def _wrong(message: str, path: Path, hint: str | None = None) -> OptionError:
    return OptionError.of("network-file", message, place=Place(str(path)), hint=hint)
