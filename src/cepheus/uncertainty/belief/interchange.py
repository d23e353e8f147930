"""Networks in files of other tools: BIF, read by pyAgrum, and XDSL.

A file holds nodes, states, edges and tables. Seasons and the distributions behind bands have no place in it: they are
written as the tables that hold outside all periods and as the probabilities of bands. Where a file is read back and
such a table has not changed, the node keeps them.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from cepheus.core.errors import OptionError, Place, did_you_mean
from cepheus.core.extras import how_to_install
from cepheus.rules.belief.model import Node
from cepheus.uncertainty.belief.belief import RuleBelief
from cepheus.uncertainty.belief.file_nodes import SAME, bif_text, node_from_file
from cepheus.uncertainty.belief.tables import tabulate
from cepheus.uncertainty.belief.xdsl import read_xdsl, xdsl_text

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
        return [_node(read, name, path) for name in sorted(read.names(), key=read.idFromName)]


def _node(read: Any, name: str, path: Path) -> Node:
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
