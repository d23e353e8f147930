"""Colours for TESLA in the documentation: a lexer that Pygments finds under the name ``tesla``."""

from __future__ import annotations

import sys
from typing import ClassVar

from pygments.lexer import RegexLexer, words
from pygments.lexers import LEXERS
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

_KEYWORDS = (
    *("rule", "define", "from", "where", "consuming", "event", "and", "not", "each", "last", "first"),
    *("within", "between", "as", "min probability", "network", "node", "given", "observe"),
    *("ties ordered", "ties apart"),
)
_TYPES = ("bool", "int", "long", "double", "float", "string", "timestamp")
_AGGREGATES = (
    *("Avg", "Sum", "Count", "Min", "Max", "Stddev", "Median", "Percentile"),
    *("Slope", "Mode", "CountDistinct", "First", "Last"),
)


class TeslaLexer(RegexLexer):
    """TESLA rules."""

    name = "TESLA"
    aliases = ("tesla",)
    tokens: ClassVar = {
        "root": [
            (r"\s+", Whitespace),
            (r"(--|//|#)[^\n]*", Comment),
            (words(_AGGREGATES, suffix=r"(?=\()"), Name.Function),
            (words(_KEYWORDS, prefix=r"(?i)\b", suffix=r"\b"), Keyword),
            (words(_TYPES, prefix=r"(?<=: )", suffix=r"\b"), Keyword.Type),
            (r"\$\w+", Name.Variable),
            (r"'[^']*'|\"[^\"]*\"", String),
            (r"\d+(\.\d+)?%?", Number),
            (r"[A-Z]\w*", Name.Class),
            (r"\w+", Name),
            (r"[=<>!+*/~-]+", Operator),
            (r"[(){}.,:;?]", Punctuation),
        ],
    }


def on_startup(**_: object) -> None:
    """Tell Pygments of the lexer when MkDocs starts."""
    sys.modules["tesla_lexer"] = sys.modules[__name__]
    LEXERS["TeslaLexer"] = ("tesla_lexer", TeslaLexer.name, TeslaLexer.aliases, ("*.tesla",), ())


__all__ = ["TeslaLexer"]  # Pygments takes every name in it for a lexer
