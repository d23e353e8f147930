"""The network of a rule inside the text of a rule file."""

from __future__ import annotations

from dataclasses import dataclass

from lark import Token

from cepheus.core.source import Source
from cepheus.language.tesla import format_belief, parse
from cepheus.language.tesla.parse import grammar
from cepheus.language.tesla.print import INDENT, format_node, format_observation
from cepheus.language.tesla.scan import statements
from cepheus.rules.belief.model import Belief, Node, Observation

Key = tuple[str, str]
"""What names a part of a network: NODE or OBSERVE, and the node."""


def with_belief(text: str, belief: Belief, name: str = "<rules>") -> str:
    """Write a network into rule text, in the place of that of its rule or else at the end.

    Nodes and observations that did not change stay as they are written, with their comments; comments from inside one
    that changed stand above it, and new ones come last. A network that says nothing is left out, but for its comments.

    >>> text = "define A() from B()\\nnetwork A { # jams\\n  node J {X: 1}\\n}\\n# end\\n"
    >>> print(with_belief(text, Belief("A")), end="")
    define A() from B()
    # jams
    # end
    """
    scan = grammar().scanner.scan(Source(name, text))
    says = bool(belief.nodes or belief.observations)
    for statement in statements(scan.tokens):
        if statement[0].type == "NETWORK" and statement[1] == belief.rule:
            start, end = _start(statement[0]), _end(statement[-1])
            comments = [comment for comment in scan.comments if start < _start(comment) < end]
            if not says:
                return text[:start] + "\n".join(comment.rstrip() for comment in comments) + text[end:]
            return _edited(text, statement, comments, belief)
    if not says:
        return text
    return (text.rstrip("\n") + "\n\n" if text.strip() else "") + format_belief(belief) + "\n"


@dataclass(frozen=True, slots=True)
class _Item:
    """A node or observation as it is written: what it is called, where it stands, and the comments inside it."""

    key: Key
    start: int
    end: int
    comments: tuple[str, ...]


def _edited(text: str, statement: list[Token], comments: list[Token], belief: Belief) -> str:
    """Change the parts of a written network that are to be others, from the last to the first."""
    closing = next(token for token in reversed(statement) if token.type == "RBRACE")
    before = _parts(parse(text[_start(statement[0]) : _end(closing)]).beliefs[0])
    after = _parts(belief)
    added = [part for key, part in after.items() if key not in before]
    if added:
        text = _inserted(text, _start(closing), added)
    for item in reversed(_items(statement, comments)):
        part = after.get(item.key)
        if part is None:
            text = _removed(text, item)
        elif part != before[item.key]:
            margin = _margin(text, item.start)
            lines = [*item.comments, *_written(part)]
            text = text[: item.start] + f"\n{margin}".join(lines) + text[item.end :]
    return text


def _parts(belief: Belief) -> dict[Key, Node | Observation]:
    nodes: dict[Key, Node | Observation] = {("NODE", node.name): node for node in belief.nodes}
    return nodes | {("OBSERVE", known.node): known for known in belief.observations}


def _items(statement: list[Token], comments: list[Token]) -> list[_Item]:
    found = []
    begins = [at for at, token in enumerate(statement) if token.type in ("NODE", "OBSERVE")]
    closing = max(at for at, token in enumerate(statement) if token.type == "RBRACE")
    for begin, behind in zip(begins, [*begins[1:], closing], strict=True):
        start, end = _start(statement[begin]), _end(statement[behind - 1])
        inside = tuple(comment.rstrip() for comment in comments if start < _start(comment) < end)
        found.append(_Item((statement[begin].type, str(statement[begin + 1])), start, end, inside))
    return found


def _inserted(text: str, brace: int, parts: list[Node | Observation]) -> str:
    """Write parts on lines of their own before the brace that closes a network."""
    lines = "".join(f"{INDENT}{line}\n" for part in parts for line in _written(part))
    line_start = text.rfind("\n", 0, brace) + 1
    if text[line_start:brace].strip():
        return f"{text[:brace].rstrip(' ')}\n{lines}{text[brace:]}"
    return text[:line_start] + lines + text[line_start:]


def _removed(text: str, item: _Item) -> str:
    """Take a part away, with its lines if nothing else stands on them; comments from inside it stay."""
    if item.comments:
        return text[: item.start] + f"\n{_margin(text, item.start)}".join(item.comments) + text[item.end :]
    line_start = text.rfind("\n", 0, item.start) + 1
    line_end = text.find("\n", item.end)
    alone = not text[line_start : item.start].strip() and not text[item.end : line_end].strip()
    if alone and line_end >= 0:
        return text[:line_start] + text[line_end + 1 :]
    return text[: item.start] + text[item.end :].lstrip(" ")


def _margin(text: str, start: int) -> str:
    """What indents the line that a part begins on, or would if it began one."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    return INDENT if before.strip() else before


def _written(part: Node | Observation) -> list[str]:
    return (format_node(part) if isinstance(part, Node) else format_observation(part)).split("\n")


def _start(token: Token) -> int:
    assert token.start_pos is not None
    return token.start_pos


def _end(token: Token) -> int:
    assert token.end_pos is not None
    return token.end_pos
