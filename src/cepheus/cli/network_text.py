"""The network of a rule inside the text of a rule file."""

from __future__ import annotations

from cepheus.core.source import Source
from cepheus.language.tesla import format_network
from cepheus.language.tesla.grammar import grammar
from cepheus.language.tesla.statements import statements
from cepheus.rules.networks.model import Network


def with_network(text: str, network: Network, name: str = "<rules>") -> str:
    """Give rule text in which a network has taken the place of that of its rule, or stands at the end.

    The rest stays as it is; comments from inside the old network stand above the new one. A network that says nothing
    is left out.

    >>> text = "define A() from B()\\nnetwork A { # jams\\n node J {X: 1} }\\n# end\\n"
    >>> print(with_network(text, Network("A")), end="")
    define A() from B()
    # jams
    # end
    """
    scan = grammar().scanner.scan(Source(name, text))
    written = format_network(network) if network.nodes or network.observations else ""
    for statement in statements(scan.tokens):
        if statement[0].type == "NETWORK" and statement[1] == network.rule:
            start, end = statement[0].start_pos, statement[-1].end_pos
            assert start is not None
            assert end is not None
            inside = [comment for comment in scan.comments if start < (comment.start_pos or 0) < end]
            kept = "\n".join([*(comment.rstrip() for comment in inside), *([written] if written else [])])
            return text[:start] + kept + text[end:]
    if not written:
        return text
    return (text.rstrip("\n") + "\n\n" if text.strip() else "") + written + "\n"
