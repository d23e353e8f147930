"""The base of what parsers build: spans, lists, and mistakes that do not stop the reading."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from lark import Token, Transformer

from cepheus.core.errors import Diagnostic
from cepheus.core.source import Source, Span
from cepheus.language.common.literals import LiteralError

Children = list[Any]
"""What stands below an alternative of the grammar: tokens, nodes and lists of nodes, as the alternative says."""

T = TypeVar("T")


class NodeBuilder(Transformer[Token, Any]):
    """Builds the nodes of one source at a time; ``errors`` collects the mistakes.

    The parser calls a method as it recognises an alternative of the grammar, so that no tree stands between the text
    and the model. A method reports a mistake and goes on with a stand-in, so that one run finds them all.
    """

    source: Source
    errors: list[Diagnostic]

    def start(self, source: Source) -> None:
        """Begin a text: spans point into it from now on."""
        self.source = source
        self.errors = []

    def _token_span(self, token: Any) -> Span:
        return Span(self.source, token.start_pos, token.end_pos)

    def _error(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        self.errors.append(Diagnostic(code, message, span, hint))

    def _read(self, span: Span, stand_in: T, read: Callable[[], T]) -> T:
        try:
            return read()
        except LiteralError as error:
            self._error(error.code, error.message, span, error.hint)
            return stand_in

    def same(self, children: Children) -> Any:
        """What stands below, as it is."""
        return children[0]

    def nothing(self, _children: Children) -> None:
        """Nothing: the construct only separates or ends others."""

    def first(self, children: Children) -> Children:
        """Start a list."""
        return children

    def more(self, children: Children) -> Children:
        """Add to a list; a separator may stand between."""
        elements: Children = children[0]
        elements.append(children[-1])
        return elements
