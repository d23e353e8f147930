"""The parser of the grammar file, built when it is first needed and then kept."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from threading import RLock
from typing import Any

from lark import Lark, Token
from lark.lexer import Lexer

from cepheus.language.etalis.build import Builder


class _Ready(Lexer):
    """Hands the parser tokens that are already cut."""

    def __init__(self, lexer_conf: object) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: Any = None) -> Iterator[Token]:  # noqa: ARG002 (Lark's interface)
        return iter(lexer_state)


class Grammar:
    """Parser and builder; the builder works on one source at a time, so whoever uses the parser holds the lock."""

    def __init__(self, text: str) -> None:
        self.lock = RLock()
        self.builder = Builder()
        self.parser = Lark(text, parser="lalr", lexer=_Ready, transformer=self.builder, start="statement")


@cache
def grammar() -> Grammar:
    """Give the grammar of the ETALIS language; the first call takes about a tenth of a second."""
    return Grammar(files(__package__).joinpath("grammar.lark").read_text("utf-8"))
