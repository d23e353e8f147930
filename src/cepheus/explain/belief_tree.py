"""The network of a rule as a tree for the terminal."""

from __future__ import annotations

from rich.text import Text
from rich.tree import Tree

from cepheus.language.tesla import format_node
from cepheus.uncertainty.belief.belief import RuleBelief

_NAME, _RULE, _QUIET = "bold cyan", "green", "dim"


def belief_tree(belief: RuleBelief, at: int | None = None) -> Tree:
    """Make the tree of a network: its nodes as rule text has them, and how likely their states are in a match.

    Print it with Rich; on a pipe it comes out as plain text.
    """
    root = Tree(
        Text.assemble(
            "network of rule ",
            (str(belief.rule.name), "bold"),
            ": ",
            (belief.composite, _NAME),
            f" has probability {belief.probability(at):.6g} when all its parts are observed",
        ),
        guide_style=_QUIET,
    )
    added = {node.name for node in belief.added.nodes}
    for name, node in belief.nodes.items():
        branch = root.add(Text.assemble((name, _NAME), f"   {_role(belief, name)}"))
        text = Text(format_node(node), _RULE)
        if name not in added:
            text.append("   as the rule has it", _QUIET)
        branch.add(text)
        if name not in belief.observed:
            chances = belief.posterior(name, at)
            words = ", ".join(f"{state} {chance:.4g}" for state, chance in chances.items())
            branch.add(Text(f"in a match: {words}", _QUIET))
    return root


def _role(belief: RuleBelief, name: str) -> str:
    if name == belief.composite:
        return "the composite event"
    if name in belief.parts:
        return f"a part, observed: {belief.parts[name]}"
    if name in belief.observed:
        return f"added, observed: {belief.observed[name]}"
    return "added"
