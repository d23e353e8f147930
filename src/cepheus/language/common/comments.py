"""Where comments go when a text is laid out anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lark import Token

from cepheus.language.common.tokens import start_of


def comments_of(statements: Sequence[list[Token]], comments: list[Token], end: int, text: str) -> Iterator[list[Token]]:
    """The comments that belong to each statement, in order, and at last those that belong to none.

    A comment belongs to the statement before whose end it stands, or behind which it stands on the same line; ``end``
    is the offset where the last statement can have comments no more.
    """
    taken = 0
    for place, statement in enumerate(statements):
        following = start_of(statements[place + 1][0]) if place + 1 < len(statements) else end
        first = taken
        while taken < len(comments) and _belongs(comments[taken], statement, following, text):
            taken += 1
        yield comments[first:taken]
    yield comments[taken:]


def _belongs(comment: Token, statement: list[Token], following: int, text: str) -> bool:
    """Whether a comment stands before the end of a statement, or behind it on the same line."""
    end = statement[-1].end_pos
    assert end is not None
    start = start_of(comment)
    return start < end or (start < following and text.find("\n", end, start) < 0)


def lay_out(comments: list[Token], statement: int | None, text: str) -> str:
    """Write comments each on its own line, with an empty line where the text has one before or between them."""
    output = ""
    for place, comment in enumerate(comments):
        output += "\n".join(line.rstrip() for line in comment.split("\n")) + "\n"
        following = start_of(comments[place + 1]) if place + 1 < len(comments) else statement
        end = comment.end_pos
        assert end is not None
        # A comment from inside the statement has nothing to do with the empty lines around it.
        inside = statement is not None and end > statement
        if following is not None and not inside and _has_empty_line(text[end:following]):
            output += "\n"
    return output


def _has_empty_line(gap: str) -> bool:
    return gap.isspace() and gap.count("\n") > 1
