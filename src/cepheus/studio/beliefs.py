"""What the page asks of the network of a rule. It stands in the rule text: an edit gives a new text."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from cepheus.core.distribution import Distribution
from cepheus.core.errors import OptionError, UnsupportedError
from cepheus.core.time import format_time
from cepheus.editor.analysis import Language, analyse
from cepheus.language.python.read_text import is_python
from cepheus.rules.belief.model import Node, Season
from cepheus.rules.belief.periods import format_period
from cepheus.studio.running import Time
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
    at: Time | None = None


class Edit(Named):
    """An edit of a network: exactly one of a table, a removal, an observation, nodes as text, or a file's content.

    A table with a ``period`` is for that period alone: a new one, or in the place of the ``season`` of that number;
    a season without a table is taken away.
    """

    node: str | None = None
    parents: list[str] = Field(default_factory=list)
    states: list[str] = Field(default_factory=list)
    rows: list[list[float]] | None = None
    period: tuple[str, str] | None = None
    season: int | None = Field(default=None, ge=0)
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
        return told(belief, given.text, given.at)

    @router.post("/edit")
    def edit(given: Edit) -> dict[str, Any]:
        if is_python(given.text):
            hint = "write it there: rule_set(.., networks=[..]); or put the rules in TESLA"
            raise UnsupportedError.of("network", "networks are not edited in Python", hint=hint)
        before = program_of(given.text).belief(given.rule)
        after = _edited(before, given)
        verify(after)
        return told(after, spliced(given.text, before, after), given.at)

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
    if given.season is not None or given.period is not None:
        return _with_season(belief, given)
    if given.rows is None:
        raise OptionError.of("network", "the edit changes nothing")
    return belief.set(given.node, _table(belief, given), given=given.parents)


def _with_season(belief: RuleBelief, given: Edit) -> RuleBelief:
    """The network with another schedule of a node: a table for a period, or one less."""
    node = belief.nodes.get(str(given.node))
    if node is None or (given.season is not None and given.season >= len(node.seasons)):
        raise OptionError.of("period", f"'{given.node}' has no such period")
    others = [each for place, each in enumerate(node.seasons) if place != given.season]
    if given.rows is None or given.period is None:
        return belief.with_node(replace(node, seasons=tuple(others)))
    bare = belief.with_node(replace(node, seasons=()))
    made = bare.during(node.name, *given.period, _table(belief, given)).nodes[node.name].seasons[0]
    others.insert(len(others) if given.season is None else given.season, made)  # the last that applies counts
    return belief.with_node(replace(node, seasons=tuple(others)))


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


def told(belief: RuleBelief, text: str, at: int | None = None) -> dict[str, Any]:
    """A network as the page shows it: nodes with their tables, what is observed, the probability of the rule.

    Probabilities are those of a time, or of what holds outside all periods.
    """
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
                "seasons": [] if numeric else [_season(belief, node, each) for each in node.seasons],
                "added": name in added,
                "part": name in belief.parts,
                "composite": name == belief.composite,
                "observed": belief.observed.get(name),
                "posterior": belief.posterior(name, at),
            }
        )
    return {
        "rule": str(belief.rule.name),
        "nodes": nodes,
        "probability": belief.probability(at),
        "changes": None if at is None else _shown(belief.next_change(at)),
        "scheduled": belief.is_scheduled,
        "text": text,
        "network": belief.text(),
    }


def _season(belief: RuleBelief, node: Node, season: Season) -> dict[str, Any]:
    start, end = format_period(season.period)
    table = tabulate(node, season.rows, belief.states)
    return {"start": start, "end": end, "rows": table.reshape(-1, len(belief.states[node.name])).tolist()}


def _shown(time: int | None) -> str | None:
    return None if time is None else format_time(time)


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
