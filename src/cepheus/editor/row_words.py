"""The words of MATCH_RECOGNIZE, each with its meaning: what completion offers, hover shows and highlighting colours."""

from __future__ import annotations

from functools import cache

from cepheus.editor.words import Word, WordKind
from cepheus.rules.aggregates import AGGREGATES
from cepheus.rules.functions import FUNCTIONS

CLAUSES = {
    "PARTITION BY": ("PARTITION BY symbol", "the pattern is looked for in the rows of each value apart"),
    "ORDER BY": ("ORDER BY time", "the order of the rows; events come in the order of time"),
    "MEASURES": ("MEASURES LAST(A.price) AS price", "what a match gives"),
    "ONE ROW PER MATCH": ("ONE ROW PER MATCH", "a match gives one row, or event"),
    "ALL ROWS PER MATCH": ("ALL ROWS PER MATCH OMIT EMPTY MATCHES", "a match gives each of its rows"),
    "AFTER MATCH SKIP": ("AFTER MATCH SKIP TO NEXT ROW", "where the search goes on after a match"),
    "PATTERN": ("PATTERN (A B+ C?)", "variables for the rows that follow one another, with quantifiers"),
    "WITHIN": ("WITHIN INTERVAL '5' MINUTE", "a match takes less than this, from its first row to its last"),
    "SUBSET": ("SUBSET U = (A, B)", "one name for the rows of several variables"),
    "DEFINE": ("DEFINE B AS price > PREV(price)", "when a row may be taken by a variable; without one, always"),
}
"""The clauses, in the order in which they stand."""

SKIPS = {
    "PAST LAST ROW": ("AFTER MATCH SKIP PAST LAST ROW", "after the last row of the match"),
    "TO NEXT ROW": ("AFTER MATCH SKIP TO NEXT ROW", "with the row after the first of the match"),
    "TO FIRST": ("AFTER MATCH SKIP TO FIRST B", "with the first row of a variable"),
    "TO LAST": ("AFTER MATCH SKIP TO LAST B", "with the last row of a variable"),
}
"""Where the search goes on after a match."""

_KEYWORDS = {
    "SELECT": ("SELECT symbol, low FROM Stock MATCH_RECOGNIZE (..)", "the columns of the result"),
    "FROM": ("FROM Stock", "the type of the events that are the rows; events for all types"),
    "WHERE": ("WHERE low < 10", "which of the results are kept"),
    "AS": ("LAST(A.price) AS price", "names a measure, a condition, the query"),
    "MATCH_RECOGNIZE": (
        "MATCH_RECOGNIZE (PARTITION BY .. MEASURES .. PATTERN (..) DEFINE ..)",
        "finds rows that follow one another as a pattern says",
    ),
    "SHOW": ("ALL ROWS PER MATCH SHOW EMPTY MATCHES", "a match without rows gives a row, too"),
    "OMIT": ("ALL ROWS PER MATCH OMIT EMPTY MATCHES", "a match without rows gives nothing"),
    "UNMATCHED": ("ALL ROWS PER MATCH WITH UNMATCHED ROWS", "rows of no match are given, too"),
    "PERMUTE": ("PERMUTE(A, B)", "the variables in any order"),
    "RUNNING": ("RUNNING LAST(A.price)", "of the rows of the match up to the one at hand"),
    "FINAL": ("FINAL LAST(A.price)", "of all rows of the match"),
    "INTERVAL": ("INTERVAL '5' MINUTE", "a length of time"),
    "AND": ("a > 1 AND b > 1", "both hold"),
    "OR": ("a > 1 OR b > 1", "either holds"),
    "NOT": ("NOT a > 1", "it does not hold"),
    "IN": ("kind IN ('a', 'b')", "equal to one of the values"),
    "BETWEEN": ("price BETWEEN 1 AND 5", "at least the first, at most the second"),
    "LIKE": ("name LIKE 'a%'", "% stands for any text, _ for a letter"),
    "IS": ("price IS NULL", "whether there is no value"),
    "NULL": ("price IS NULL", "no value"),
    "CASE": ("CASE WHEN a > 1 THEN 'x' ELSE 'y' END", "a value by conditions"),
    "WHEN": ("CASE WHEN a > 1 THEN 'x' END", "a condition of CASE"),
    "THEN": ("CASE WHEN a > 1 THEN 'x' END", "the value where the condition holds"),
    "ELSE": ("CASE WHEN a > 1 THEN 'x' ELSE 'y' END", "the value where no condition holds"),
    "END": ("CASE WHEN a > 1 THEN 'x' END", "the end of CASE"),
    "DISTINCT": ("COUNT(DISTINCT A.user)", "each value once"),
    "FILTER": ("COUNT(*) FILTER (WHERE price > 5)", "the rows that an aggregate is taken over"),
    "ASC": ("ORDER BY time ASC", "the least first"),
    "DESC": ("ORDER BY time DESC", "the greatest first"),
    "NULLS": ("ORDER BY price NULLS FIRST", "where rows without the value come"),
    "TRUE": ("true", "the truth value"),
    "FALSE": ("false", "the truth value"),
}
_PLAIN = ("BY", "ONE", "ALL", "ROW", "ROWS", "PER", "MATCH", "AFTER", "SKIP", "PAST", "TO", "NEXT", "WITH")
_PLAIN_TOO = ("EMPTY", "MATCHES", "MINUTE", "HOUR", "SECOND", "DAY", "FIRST", "LAST", "TIMESTAMP", "DATE")
_FUNCTIONS = {
    "PREV": ("PREV(price, 1)", "the value so many rows before"),
    "NEXT": ("NEXT(price, 1)", "the value so many rows after"),
    "FIRST": ("FIRST(A.price)", "the value at the first row of a variable, or of the match"),
    "LAST": ("LAST(A.price)", "the value at the last row of a variable, or of the match"),
    "CLASSIFIER": ("CLASSIFIER()", "the name of the variable that took the row"),
    "MATCH_NUMBER": ("MATCH_NUMBER()", "the number of the match in its partition"),
    "CAST": ("CAST(price AS double)", "the value as another type"),
    "ARRAY_AGG": ("ARRAY_AGG(A.price)", "the values as a list"),
    "MAX_BY": ("MAX_BY(A.name, A.price)", "the first value where the second is greatest"),
    "MIN_BY": ("MIN_BY(A.name, A.price)", "the first value where the second is least"),
}
_TYPES = ("boolean", "double", "integer", "bigint", "varchar", "timestamp")


@cache
def sql_words() -> dict[str, Word]:
    """The words of queries by their form in capitals; a function that is also an aggregate stands as the aggregate."""
    words = {
        name.upper(): Word(name, WordKind.FUNCTION, f"{name}(..)", function.summary)
        for name, function in FUNCTIONS.items()
        if name.isidentifier()
    }
    for aggregate in AGGREGATES.values():
        name = aggregate.name.upper()
        words[name] = Word(name, WordKind.AGGREGATE, f"{name}(A.price)", aggregate.summary)
    words |= {name: Word(name, WordKind.FUNCTION, *said) for name, said in _FUNCTIONS.items()}
    for name, said in {**CLAUSES, **SKIPS, **_KEYWORDS}.items():
        words[name] = Word(name, WordKind.KEYWORD, *said)
    for clause, said in CLAUSES.items():
        words.setdefault(clause.split()[0], Word(clause, WordKind.KEYWORD, *said))
    return words


@cache
def keywords() -> frozenset[str]:
    """The single words, in capitals, of which clauses and expressions consist, functions excepted."""
    whole = [word.text for word in sql_words().values() if word.kind is WordKind.KEYWORD]
    return frozenset(part for text in (*whole, *_PLAIN, *_PLAIN_TOO) for part in text.upper().split())


def types() -> tuple[str, ...]:
    """The types that CAST can make."""
    return _TYPES
