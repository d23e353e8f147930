"""Colours for the ETALIS language in the documentation: a lexer that Pygments finds under the name ``etalis``."""

from __future__ import annotations

import sys
from typing import ClassVar

from pygments.lexer import RegexLexer, words
from pygments.lexers import LEXERS
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

_OPERATORS = (
    *("SEQ", "AND", "PAR", "OR", "EQUALS", "MEETS", "DURING", "STARTS", "FINISHES", "OVERLAPS", "NOT", "CNOT"),
    *("BEFORE", "AFTER", "CONTAINS", "MET BY", "STARTED BY", "FINISHED BY", "OVERLAPPED BY"),
)
_KEYWORDS = ("WHERE", "POLICY", "LABEL", "WITHIN", "event", "unit", "is", "in")


class EtalisLexer(RegexLexer):
    """ETALIS rules."""

    name = "ETALIS"
    aliases = ("etalis",)
    tokens: ClassVar = {
        "root": [
            (r"\s+", Whitespace),
            (r"(--|//|#|%)[^\n]*", Comment),
            (words(_OPERATORS, prefix=r"(?i)\b", suffix=r"\b"), Keyword),
            (words(_KEYWORDS, prefix=r"(?i)\b", suffix=r"\b"), Keyword),
            (r"'[^']*'|\"[^\"]*\"", String),
            (r"\d+(\.\d+)?", Number),
            (r"[A-Z_]\w*", Name.Variable),
            (r"\w+", Name),
            (r"<-|:-|[=<>!+*/-]+", Operator),
            (r"[()\[\].,:;?]", Punctuation),
        ],
    }


def on_startup(**_: object) -> None:
    """Tell Pygments of the lexer when MkDocs starts."""
    sys.modules["etalis_lexer"] = sys.modules[__name__]
    LEXERS["EtalisLexer"] = ("etalis_lexer", EtalisLexer.name, EtalisLexer.aliases, ("*.etalis",), ())


__all__ = ["EtalisLexer"]  # Pygments takes every name in it for a lexer
