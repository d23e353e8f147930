"""The names of queries over rows: which thing each of them means, where it is defined and where it is used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cepheus.core.source import Source, Span
from cepheus.editor.row_text import Placed, Role, placed
from cepheus.editor.symbols import Occurrence, Symbol, SymbolKind
from cepheus.rules.rows.model import ALL_EVENTS, DEFAULT_NAME


def sql_occurrences(source: Source) -> list[Occurrence]:
    """Where names stand in queries, in text order; the text may be unfinished.

    >>> text = "SELECT * FROM Stock MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS price > 3) AS High"
    >>> [(found.symbol.kind.value, found.symbol.name) for found in sql_occurrences(Source("q.sql", text))]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('type of event', 'Stock'), ('variable of a pattern', 'A'), ('variable of a pattern', 'A'),
     ('attribute', 'price'), ('type of event', 'High')]
    """
    words = placed(source.text)
    queries = [
        [word for word in words if word.statement == number] for number in sorted({word.statement for word in words})
    ]
    found = [occurrence for query in queries for occurrence in _of_query(query, source)]
    carried = {pair for query in queries for pair in _carried(query)}
    return [replace(each, symbol=_origin(each.symbol, dict(carried))) for each in found]


def _carried(words: Sequence[Placed]) -> list[tuple[Symbol, Symbol]]:
    """The columns of partitions, which what the query makes has under the same names."""
    rows, made = _rows(words), _made(words)
    measures = {word.word.name for word in words if word.role is Role.MEASURE}
    names = {word.word.name for word in words if word.clause == "PARTITION BY" and word.role is Role.COLUMN}
    return [
        (Symbol(SymbolKind.ATTRIBUTE, name, made), Symbol(SymbolKind.ATTRIBUTE, name, rows))
        for name in sorted(names - measures)
    ]


def _origin(symbol: Symbol, carried: dict[Symbol, Symbol]) -> Symbol:
    """The column that an attribute is, through all queries that carry it."""
    met = {symbol}
    while symbol in carried and carried[symbol] not in met:
        symbol = carried[symbol]
        met.add(symbol)
    return symbol


def _rows(words: Sequence[Placed]) -> str:
    return next((word.word.name for word in words if word.role is Role.SOURCE), ALL_EVENTS)


def _made(words: Sequence[Placed]) -> str:
    return next((word.word.name for word in words if word.role is Role.QUERY), DEFAULT_NAME)


def _of_query(words: Sequence[Placed], source: Source) -> list[Occurrence]:
    rows, made = _rows(words), _made(words)
    defined = {word.word.variable for word in words if word.role is Role.VARIABLE and word.defines}
    found: list[Occurrence] = []
    for word in words:
        symbol = _symbol(word, rows, made)
        if symbol is None:
            continue
        defines = word.defines
        if word.role is Role.VARIABLE and symbol.name not in defined:  # a variable without a condition
            defines = True
            defined.add(symbol.name)
        found.append(Occurrence(symbol, Span(source, word.word.start, word.word.end), defines))
    return found


def _symbol(word: Placed, rows: str, made: str) -> Symbol | None:
    name = word.word.name
    match word.role:
        case Role.SOURCE:
            return None if name == ALL_EVENTS else Symbol(SymbolKind.EVENT_TYPE, name)
        case Role.QUERY:
            return Symbol(SymbolKind.EVENT_TYPE, name)
        case Role.VARIABLE:
            return Symbol(SymbolKind.VARIABLE, word.word.variable, str(word.statement))
        case Role.COLUMN:
            return Symbol(SymbolKind.ATTRIBUTE, name, rows)
        case Role.MEASURE:
            return Symbol(SymbolKind.ATTRIBUTE, name, made)
        case _:
            return None
