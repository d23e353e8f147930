"""XDSL, the format of GeNIe and SMILE.

Tables are listed with the states of the node changing fastest, then those of its last parent, as SMILE defines it.
(pyAgrum lets the first parent change fastest, so that tables of several parents come out mixed up there.)
"""

from __future__ import annotations

from graphlib import TopologicalSorter
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from cepheus.core.errors import OptionError, Place
from cepheus.rules.belief.model import Node
from cepheus.uncertainty.belief.belief import RuleBelief
from cepheus.uncertainty.belief.file_nodes import node_from_file, numbers_text
from cepheus.uncertainty.belief.tables import tabulate


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
    return [_node(element, states, path) for element in listed]


def _node(element: ElementTree.Element, states: dict[str, tuple[str, ...]], path: Path) -> Node:
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
