"""The network of a rule as a tree for the terminal."""

from __future__ import annotations

from rich.text import Text
from rich.tree import Tree

from cepheus.language.tesla import format_node
from cepheus.uncertainty.bayes.network import RuleNetwork

_NAME, _RULE, _QUIET = "bold cyan", "green", "dim"


def network_tree(network: RuleNetwork, at: int | None = None) -> Tree:
    """Make the tree of a network: its nodes as rule text has them, and how likely their states are in a match.

    Print it with Rich; on a pipe it comes out as plain text.
    """
    root = Tree(
        Text.assemble(
            "network of rule ",
            (str(network.rule.name), "bold"),
            ": ",
            (network.composite, _NAME),
            f" has probability {network.probability(at):.6g} when all its parts are observed",
        ),
        guide_style=_QUIET,
    )
    added = {node.name for node in network.added.nodes}
    for name, node in network.nodes.items():
        branch = root.add(Text.assemble((name, _NAME), f"   {_role(network, name)}"))
        text = Text(format_node(node), _RULE)
        if name not in added:
            text.append("   as the rule has it", _QUIET)
        branch.add(text)
        if name not in network.observed:
            chances = network.posterior(name, at)
            words = ", ".join(f"{state} {chance:.4g}" for state, chance in chances.items())
            branch.add(Text(f"in a match: {words}", _QUIET))
    return root


def _role(network: RuleNetwork, name: str) -> str:
    if name == network.composite:
        return "the composite event"
    if name in network.parts:
        return f"a part, observed: {network.parts[name]}"
    if name in network.observed:
        return f"added, observed: {network.observed[name]}"
    return "added"
