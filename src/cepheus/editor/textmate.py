"""Grammars for editors that colour by regular expressions (TextMate's form, which VS Code and many others read).

They are made from the same words as everything else; a test sees to it that the files of the extension are up to date.
Run as a module, ``python -m cepheus.editor.textmate FOLDER``, this writes them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cepheus.editor.row_words import CLAUSES, SKIPS
from cepheus.editor.words import Word, WordKind, etalis_words, tesla_words

_STRINGS = [
    {"name": "string.quoted.single.{0}", "match": r"'(?:[^'\\\n]|\\.)*'"},
    {"name": "string.quoted.double.{0}", "match": r'"(?:[^"\\\n]|\\.)*"'},
]
_NUMBER = r"(?<![\w.])\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"


def tesla_grammar() -> dict[str, Any]:
    """The grammar of TESLA."""
    words = tesla_words().values()
    return _grammar(
        "TESLA",
        "tesla",
        [
            *_comments("tesla", r"--|//|#"),
            *_strings("tesla"),
            {"name": "entity.name.tag.tesla", "match": r"`[^`\n]+`"},
            {"name": "variable.parameter.tesla", "match": r"\\?\$[^\W\d]\w*"},
            {"name": "support.type.tesla", "match": rf"(?<=:)\s*(?:{_any(words, WordKind.TYPE)})\b"},
            {"name": "constant.numeric.tesla", "match": rf"{_NUMBER}\s*%?"},
            {"name": "support.function.tesla", "match": rf"\b(?i:{_any(words, *_CALLED)})(?=\s*\()"},
            {"name": "keyword.other.unit.tesla", "match": rf"(?<=\d)\s*(?:{_any(words, WordKind.UNIT)})\b"},
            {"name": "keyword.control.tesla", "match": rf"\b(?i:{_any(words, WordKind.KEYWORD)})\b"},
            {"name": "entity.name.type.tesla", "match": r"\b[^\W\d]\w*(?=\s*\()"},
            {"name": "keyword.operator.tesla", "match": r"[=<>!~+*/-]+"},
        ],
    )


def etalis_grammar() -> dict[str, Any]:
    """The grammar of the ETALIS language."""
    words = etalis_words().values()
    return _grammar(
        "ETALIS",
        "etalis",
        [
            *_comments("etalis", r"--|//|#|%"),
            *_strings("etalis"),
            {"name": "constant.numeric.etalis", "match": _NUMBER},
            {"name": "support.function.etalis", "match": rf"\b(?i:{_any(words, *_CALLED)})(?=\s*\()"},
            {
                "name": "keyword.control.etalis",
                "match": rf"\b(?i:{_any(words, WordKind.KEYWORD, WordKind.OPERATOR)})\b",
            },
            {"name": "variable.parameter.etalis", "match": r"\b[A-Z_]\w*"},
            {"name": "entity.name.type.etalis", "match": r"\b[a-z]\w*(?=\s*\()"},
            {"name": "keyword.operator.etalis", "match": r"<-|:-|[=<>!+*/-]+"},
        ],
    )


def row_grammar() -> dict[str, Any]:
    """What grammars of SQL do not know of MATCH_RECOGNIZE; it is put into theirs."""
    clauses = sorted(CLAUSES, key=lambda text: (-len(text), text))
    skips = "|".join(re.escape(text).replace(r"\ ", r"\s+") for text in SKIPS)
    others = r"(?:SHOW|OMIT)\s+EMPTY\s+MATCHES|WITH\s+UNMATCHED\s+ROWS|MATCH_RECOGNIZE|RUNNING|FINAL|PERMUTE"
    words = "|".join(
        text.replace(" ", r"\s+") for text in clauses if text not in ("ORDER BY", "PARTITION BY", "PATTERN")
    )
    inside = [{"include": "#group"}, {"include": "#permute"}, {"include": "#variable"}]
    return {
        "name": "MATCH_RECOGNIZE",
        "scopeName": "cepheus.match-recognize",
        "injectionSelector": "L:source.sql -comment -string",
        "patterns": [
            {
                "begin": r"\b((?i:PATTERN))\s*\(",
                "beginCaptures": {"1": {"name": _ROW_KEYWORD}},
                "end": r"\)",
                "patterns": inside,
            },
            {"name": _ROW_KEYWORD, "match": rf"\b(?i:{words}|{skips}|{others})\b"},
            {
                "name": "support.function.match-recognize.sql",
                "match": r"\b(?i:PREV|NEXT|FIRST|LAST|CLASSIFIER|MATCH_NUMBER)(?=\s*\()",
            },
        ],
        "repository": {
            "group": {"begin": r"\(", "end": r"\)", "patterns": inside},
            "permute": {"name": _ROW_KEYWORD, "match": r"\b(?i:PERMUTE)\b"},
            "variable": {"name": "variable.parameter.match-recognize.sql", "match": r"\b[^\W\d]\w*"},
        },
    }


_ROW_KEYWORD = "keyword.other.match-recognize.sql"
_CALLED = (WordKind.FUNCTION, WordKind.AGGREGATE)
_WRITTEN_OUT = (WordKind.KEYWORD, WordKind.OPERATOR)


def _grammar(name: str, language: str, patterns: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": name, "scopeName": f"source.{language}", "fileTypes": [language], "patterns": patterns}


def _comments(language: str, marks: str) -> list[dict[str, Any]]:
    return [
        {"name": f"comment.line.{language}", "match": rf"(?:{marks})[^\n]*"},
        {"name": f"comment.block.{language}", "begin": r"/\*", "end": r"\*/"},
    ]


def _strings(language: str) -> list[dict[str, Any]]:
    return [{**each, "name": each["name"].format(language)} for each in _STRINGS]


def _any(words: Iterable[Word], *kinds: WordKind) -> str:
    """An expression for any of the words of some kinds, the longest first."""
    texts = sorted({word.text.lower() for word in words if word.kind in kinds}, key=lambda text: (-len(text), text))
    return "|".join(re.escape(text).replace(r"\ ", r"\s+") for text in texts)


def files() -> dict[str, str]:
    """The grammars as files, by name."""
    grammars = {
        "tesla.tmLanguage.json": tesla_grammar(),
        "etalis.tmLanguage.json": etalis_grammar(),
        "match-recognize.tmLanguage.json": row_grammar(),
    }
    return {name: json.dumps(grammar, indent=2) + "\n" for name, grammar in grammars.items()}


if __name__ == "__main__":
    for name, text in files().items():
        Path(sys.argv[1], name).write_text(text, encoding="utf-8")
