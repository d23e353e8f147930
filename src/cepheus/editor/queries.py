"""Queries over rows as an editor has them: colours, what may be written, what words mean, and their layout."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cepheus.core.errors import CepheusError
from cepheus.editor.colours import Colour, Coloured
from cepheus.editor.proposals import Completion, Proposal

WORDS: dict[str, str] = {
    "SELECT": "SELECT * FROM Price MATCH_RECOGNIZE (..) AS Dip: a query, which makes events of the type Dip",
    "FROM": "FROM Price: the type of the events that are the rows",
    "MATCH_RECOGNIZE": "looks for a pattern in the rows of each partition, in their order",
    "PARTITION": "PARTITION BY symbol: rows with equal values are looked at by themselves",
    "ORDER": "ORDER BY time: the order of rows in a partition",
    "BY": "names columns",
    "MEASURES": "MEASURES LAST(A.price) AS low: the values of a match",
    "ONE": "ONE ROW PER MATCH: a match gives one event",
    "ALL": "ALL ROWS PER MATCH: a match gives an event for each of its rows",
    "ROW": "ONE ROW PER MATCH",
    "ROWS": "ALL ROWS PER MATCH",
    "PER": "ONE ROW PER MATCH",
    "MATCH": "a match of the pattern",
    "SHOW": "SHOW EMPTY MATCHES: matches without rows are given, too",
    "OMIT": "OMIT EMPTY MATCHES: matches without rows are left out",
    "EMPTY": "SHOW EMPTY MATCHES, OMIT EMPTY MATCHES",
    "MATCHES": "SHOW EMPTY MATCHES, OMIT EMPTY MATCHES",
    "WITH": "WITH UNMATCHED ROWS: rows that are in no match are given, too",
    "UNMATCHED": "WITH UNMATCHED ROWS",
    "AFTER": "AFTER MATCH SKIP ..: where the next match may begin",
    "SKIP": "AFTER MATCH SKIP PAST LAST ROW, TO NEXT ROW, TO FIRST A, TO LAST A",
    "PAST": "SKIP PAST LAST ROW: behind the match",
    "NEXT": "SKIP TO NEXT ROW; or NEXT(A.price, 2): the value two rows later",
    "PREV": "PREV(price): the value of the row before, PREV(price, 2) of the one before that",
    "FIRST": "FIRST(A.price): the value of the first row that A matched; or SKIP TO FIRST A",
    "LAST": "LAST(A.price): the value of the last row that A matched so far; or SKIP TO LAST A",
    "PATTERN": "PATTERN (A B+ C?): variables with *, +, ?, {2,4}, alternation |, groups, ^ and $; B+? is reluctant",
    "PERMUTE": "PERMUTE(A, B, C): in any order",
    "SUBSET": "SUBSET U = (A, B): one name for the rows of several variables",
    "DEFINE": "DEFINE B AS B.price < PREV(B.price): what a row must be to match a variable",
    "WITHIN": "WITHIN INTERVAL '1' HOUR: how long a match may last",
    "INTERVAL": "INTERVAL '10' MINUTE: a stretch of time",
    "RUNNING": "RUNNING: over the rows of the match up to this one",
    "FINAL": "FINAL: over all rows of the match",
    "CLASSIFIER": "CLASSIFIER(): the variable that the row matched",
    "MATCH_NUMBER": "MATCH_NUMBER(): the number of the match in its partition",
    "AS": "gives a name, or says what a variable is",
    "AND": "both must hold",
    "OR": "one must hold",
    "NOT": "it must not hold",
    "IN": "x IN (1, 2): one of the values",
    "IS": "x IS NULL, x IS NOT NULL",
    "NULL": "no value",
    "BETWEEN": "x BETWEEN 1 AND 2: bounds included",
    "LIKE": "x LIKE 'a%': % is any text, _ any character",
    "CASE": "CASE WHEN .. THEN .. ELSE .. END",
    "WHEN": "CASE WHEN .. THEN .. ELSE .. END",
    "THEN": "CASE WHEN .. THEN .. ELSE .. END",
    "ELSE": "CASE WHEN .. THEN .. ELSE .. END",
    "END": "CASE WHEN .. THEN .. ELSE .. END",
    "CAST": "CAST(x AS double)",
    "TO": "SKIP TO NEXT ROW",
    "TRUE": "it holds",
    "FALSE": "it does not hold",
}
"""The words of queries, each with its meaning."""

_FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX", "STDDEV", "MEDIAN", "ABS", "ROUND", "LOWER", "UPPER", "LENGTH")
_PIECE = re.compile(
    r"""(?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))|(?P<string>'(?:[^']|'')*'?)|(?P<quoted>"(?:[^"]|"")*"?|`[^`]*`?)
      |(?P<number>\d+(?:\.\d+)?)|(?P<name>[^\W\d]\w*)|(?P<operator>\{-|-\}|<=|>=|<>|!=|\|\||[-+*/%<>=|^$?])
      |(?P<space>\s+)|(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_SNIPPET = (
    "SELECT * FROM ${1:Price} MATCH_RECOGNIZE (\n  PARTITION BY ${2:symbol}\n  ORDER BY time\n"
    "  MEASURES LAST(${3:B.price}) AS ${4:low}\n  ONE ROW PER MATCH\n  PATTERN (A ${5:B}+)\n"
    "  DEFINE $5 AS ${6:B.price < PREV(B.price)}\n) AS ${7:Dip}"
)
_CLAUSES = ("PARTITION", "ORDER", "MEASURES", "ONE", "ALL", "AFTER", "PATTERN", "SUBSET", "DEFINE", "WITHIN")


def colours(text: str) -> list[Coloured]:
    """Colour a query.

    >>> [piece.colour.value for piece in colours("SELECT * FROM Price -- all")]
    ['keyword', 'operator', 'keyword', 'class', 'comment']
    """
    return list(_coloured(text))


def _coloured(text: str) -> Iterator[Coloured]:
    kinds = {
        "comment": Colour.COMMENT,
        "string": Colour.STRING,
        "quoted": Colour.NAME,
        "number": Colour.NUMBER,
        "operator": Colour.OPERATOR,
    }
    before = ""
    for match in _PIECE.finditer(text):
        kind = str(match.lastgroup)
        if kind == "name":
            colour = _of_name(match[0], before)
            before = match[0].upper()
            yield Coloured(match.start(), match.end(), colour)
        elif kind in kinds:
            yield Coloured(match.start(), match.end(), kinds[kind])


def _of_name(name: str, before: str) -> Colour:
    upper = name.upper()
    if upper in WORDS:
        return Colour.KEYWORD
    if upper in _FUNCTIONS:
        return Colour.FUNCTION
    if before == "FROM":
        return Colour.EVENT
    return Colour.VARIABLE if len(name) == 1 and name.isupper() else Colour.NAME


def completions(text: str, offset: int) -> list[Completion]:
    """The words of queries, functions, and the names that are in the text."""
    found = [Completion(word, Proposal.KEYWORD, "", meaning) for word, meaning in WORDS.items()]
    found += [Completion(name, Proposal.FUNCTION) for name in _FUNCTIONS]
    own = {m[0] for m in _PIECE.finditer(text) if m.lastgroup == "name" and not m.start() < offset <= m.end()}
    found += [Completion(name, Proposal.EVENT) for name in sorted(own) if name.upper() not in (*WORDS, *_FUNCTIONS)]
    if len(text.strip()) < 10:
        found.append(Completion("SELECT ..", Proposal.STATEMENT, "a query", "A query over rows.", _SNIPPET))
    return found


def meaning(text: str, offset: int) -> tuple[str, int, int] | None:
    """What the word at a place means, and where it stands."""
    for match in _PIECE.finditer(text):
        if match.start() <= offset < match.end() and match[0].upper() in WORDS:
            return WORDS[match[0].upper()], match.start(), match.end()
    return None


def formatted(text: str) -> str:
    """Lay a query out: keywords in capitals, each clause on a line of its own. What it says is not touched.

    >>> print(formatted("select * from P match_recognize (order by time pattern (A) define A as A.x > 1) as R"), end="")
    SELECT * FROM P MATCH_RECOGNIZE (
      ORDER BY time
      PATTERN (A)
      DEFINE A AS A.x > 1
    ) AS R
    """
    from cepheus.language import sql

    wanted = sql.parse(text, "<query>")
    laid_out = _laid_out(text)
    try:
        same = sql.parse(laid_out, "<query>") == wanted
    except CepheusError:
        same = False
    return laid_out if same else text


def _laid_out(text: str) -> str:
    lines, line, depth, opened = [], "", 0, -1
    before = ""
    for match in _PIECE.finditer(text):
        kind, piece = str(match.lastgroup), match[0]
        if kind == "space":
            line += " " if line and not line.endswith(" ") else ""
            continue
        upper = piece.upper() if kind == "name" and piece.upper() in WORDS else piece
        starts = kind == "name" and depth == opened + 1 and upper in _CLAUSES and opened >= 0
        closes = piece == ")" and depth == opened + 1 and opened >= 0
        if (starts and not (upper == "WITHIN" and before == "SKIP")) or closes:
            lines.append(line.rstrip())
            line = "" if closes else "  "
        if piece == "(" and before == "MATCH_RECOGNIZE":
            opened = depth
            line = line.rstrip() + " "
        depth += (piece == "(") - (piece == ")")
        if closes:
            opened = -1
        line += upper
        before = upper if kind == "name" else ""
        if kind == "comment" and piece.startswith("--"):
            lines.append(line.rstrip())
            line = "  " if opened >= 0 else ""
        if piece == ";" and depth == 0:
            lines.append(line.rstrip())
            line = ""
    lines.append(line.rstrip())
    return "\n".join(each for each in lines if each.strip()) + "\n"
