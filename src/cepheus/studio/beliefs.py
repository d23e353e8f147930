"""What the page asks of the network of a rule. It stands in the rule text: an edit gives a new text."""

from __future__ import annotations

import tempfile
from itertools import product
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from cepheus.core.distribution import Distribution
from cepheus.core.errors import OptionError
from cepheus.editor.analysis import Language, analyse
from cepheus.studio.security import MOST_SENT
from cepheus.studio.workspace import program_of
from cepheus.uncertainty.belief.belief import RuleBelief, verify
from cepheus.uncertainty.belief.interchange import bif_text, read_belief_file, xdsl_text
from cepheus.uncertainty.belief.tables import tabulate

_NETWORK = "network"


class Named(BaseModel):
    """A rule of a text."""

    text: str = Field(max_length=MOST_SENT)
    rule: str


class Edit(Named):
    """An edit of a network: exactly one of a table, a removal, an observation, nodes as text, or a file's content."""

    node: str | None = None
    parents: list[str] = Field(default_factory=list)
    states: list[str] = Field(default_factory=list)
    rows: list[list[float]] | None = None
    remove: bool = False
    observe: str | None = None
    forget: bool = False
    written: str | None = None
    file: str | None = Field(default=None, max_length=MOST_SENT)
    kind: str = "bif"


class Exported(Named):
    """A network to be written as a file."""

    kind: str = "bif"


def routes() -> APIRouter:
    """The routes of networks."""
    router = APIRouter(prefix="/api/belief")

    @router.post("")
    def show(given: Named) -> dict[str, Any]:
        belief = program_of(given.text).belief(given.rule)
        return told(belief, given.text)

    @router.post("/edit")
    def edit(given: Edit) -> dict[str, Any]:
        before = program_of(given.text).belief(given.rule)
        after = _edited(before, given)
        verify(after)
        return told(after, spliced(given.text, before, after))

    @router.post("/export")
    def export(given: Exported) -> dict[str, str]:
        belief = program_of(given.text).belief(given.rule)
        return {
            "name": f"{given.rule}.{given.kind}",
            "text": xdsl_text(belief) if given.kind == "xdsl" else bif_text(belief),
        }

    return router


def _edited(belief: RuleBelief, given: Edit) -> RuleBelief:
    if given.file is not None:
        kind = "xdsl" if given.kind == "xdsl" else "bif"
        with tempfile.TemporaryDirectory(prefix="cepheus-studio-") as folder:
            path = Path(folder, f"network.{kind}")
            path.write_text(given.file, encoding="utf-8")
            return read_belief_file(belief, path)
    if given.written is not None:
        return belief.write(given.written)
    if given.node is None:
        raise OptionError.of("network", "the edit names no node")
    if given.remove:
        return belief.remove(given.node)
    if given.forget or given.observe is not None:
        return belief.observe(given.node, None if given.forget else given.observe)
    if given.rows is None:
        raise OptionError.of("network", "the edit changes nothing")
    return belief.set(given.node, _table(belief, given), given=given.parents)


def _table(belief: RuleBelief, given: Edit) -> Any:
    """The table of an edit: a row for each combination of the parents' states, the last changing fastest."""
    axes = [belief.states[parent] for parent in given.parents if parent in belief.states]
    cases = list(product(*axes))
    rows = given.rows or []
    if len(rows) != len(cases) or any(len(row) != len(given.states) for row in rows):
        raise OptionError.of("table", f"the table of '{given.node}' does not have {len(cases)} rows")
    for case, row in zip(cases, rows, strict=True):
        total = sum(row)
        if abs(total - 1.0) > 1e-9:
            where = f" for {', '.join(case)}" if case else ""
            raise OptionError.of("table", f"the probabilities of '{given.node}'{where} sum to {total:g}, not to 1")
    chances = [dict(zip(given.states, row, strict=True)) for row in rows]
    if not given.parents:
        return chances[0]
    return {case if len(case) > 1 else case[0]: chance for case, chance in zip(cases, chances, strict=True)}


def told(belief: RuleBelief, text: str) -> dict[str, Any]:
    """A network as the page shows it: nodes with their tables, what is observed, the probability of the rule."""
    added = {node.name for node in belief.added.nodes}
    nodes = []
    for name, node in belief.nodes.items():
        numeric = any(isinstance(row.value, Distribution) for row in node.rows)
        axes = [belief.states[parent] for parent in node.parents]
        table = tabulate(node, node.rows, belief.states)
        nodes.append(
            {
                "name": name,
                "states": list(belief.states[name]),
                "parents": list(node.parents),
                "cases": [list(case) for case in product(*axes)],
                "rows": table.reshape(-1, len(belief.states[name])).tolist(),
                "numeric": numeric,
                "seasons": len(node.seasons),
                "added": name in added,
                "part": name in belief.parts,
                "composite": name == belief.composite,
                "observed": belief.observed.get(name),
                "posterior": belief.posterior(name),
            }
        )
    return {
        "rule": str(belief.rule.name),
        "nodes": nodes,
        "probability": belief.probability(),
        "scheduled": belief.is_scheduled,
        "text": text,
        "network": belief.text(),
    }


def spliced(text: str, before: RuleBelief, after: RuleBelief) -> str:
    """The rule text with another network in the place of the one that it has, or behind everything."""
    written = after.text().strip() if after.added.nodes or after.added.observations else ""
    span = before.added.span
    if span is None:
        return f"{text.rstrip()}\n\n{written}\n" if written else text
    start = text.lower().rindex(_NETWORK, 0, span.start + len(_NETWORK))  # the span may begin at the rule's name
    return f"{text[:start]}{written}{text[_end_of_block(text, start) :]}".rstrip() + "\n"


def _end_of_block(text: str, start: int) -> int:
    """Where the braces end that open behind a place, as the scanner of the language sees them."""
    depth = 0
    for token in analyse(text, "rules", Language.TESLA).tokens:
        place, end = token.start_pos, token.end_pos
        if place is None or end is None or place < start:
            continue
        depth += (token.value == "{") - (token.value == "}")
        if token.value == "}" and depth == 0:
            return end
    return len(text)
