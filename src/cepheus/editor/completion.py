"""What may be written at a place of a rule file: names that are known there, and the words of the language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lark import Token

from cepheus.core.time import UNITS
from cepheus.core.values import TYPE_NAMES
from cepheus.editor.analysis import Analysis, Language
from cepheus.editor.proposals import Completion, Proposal
from cepheus.editor.row_completion import complete_query
from cepheus.editor.words import Word, WordKind, etalis_words, tesla_words
from cepheus.language.common.tokens import start_of
from cepheus.language.tesla.names import written_attribute, written_name
from cepheus.rules.policies import Policy

_STATEMENTS = (
    Completion(
        "define",
        Proposal.STATEMENT,
        "a rule",
        "A rule: what is made, from which pattern, with which values.",
        "define ${1:Composite}(${2:attribute}: ${3:string})\nfrom   ${4:Event}(${5})\nwhere  $2 = $4.${6:attribute}",
    ),
    Completion(
        "event",
        Proposal.STATEMENT,
        "a declaration",
        "Declares a type of event.",
        "event ${1:Type}(${2:attribute}: ${3:string})",
    ),
)
_PLACES_OF_NAMES = ("from", "between", "consuming", "after")
_OPERANDS = frozenset({WordKind.FUNCTION, WordKind.AGGREGATE})
_PATTERN_WORDS = (*(policy.value for policy in Policy), "not", "all", "top")


def complete(analysis: Analysis, offset: int) -> list[Completion]:
    """Everything that may stand at an offset; the editor picks by what is already typed there.

    >>> from cepheus.editor.analysis import analyse
    >>> text = "define F(v: double) from Temp(value > 3) where v = Temp."
    >>> [found.label for found in complete(analyse(text, "f.tesla"), len(text))]
    ['value', 'time']
    """
    if analysis.language is Language.SQL:
        return list({each.label: each for each in complete_query(analysis, offset)}.values())
    before = [token for token in analysis.tokens if start_of(token) < offset]
    if before and before[-1].end_pos is not None and before[-1].end_pos >= offset and _is_word(before[-1]):
        before.pop()  # the word that is being typed
    found = _tesla(analysis, before, offset) if analysis.language is Language.TESLA else _etalis(analysis, before)
    return list({each.label: each for each in found}.values())


def _is_word(token: Token) -> bool:
    return token[:1].isalpha() or token[:1] in "_$\\"


# ---- TESLA ---------------------------------------------------------------------------------------------------------


def _tesla(analysis: Analysis, before: Sequence[Token], offset: int) -> Iterator[Completion]:
    statement = _statement(before)
    last = statement[-1].lower() if statement else ""
    around = _around(analysis.tokens, statement, offset)
    names = _events(around)
    typed = analysis.source.text[:offset]
    if typed.endswith("$"):
        yield from _parameters(analysis.tokens, dollar=False)
    elif last == ".":
        owner = _owner(statement)
        yield from _attributes(analysis, names.get(owner, owner), around)
    elif last == ":":
        yield from (_word(word) for word in tesla_words().values() if word.text in TYPE_NAMES)
    elif not statement:
        yield from _STATEMENTS
        yield from _keywords("rule", "network", "error", "ties")
    elif statement[-1].type in ("INTEGER", "FLOAT", "AHEAD") and not _inside(statement):
        yield from (Completion(unit, Proposal.UNIT, "unit of time") for unit in UNITS)
        yield from _keywords("last", "first", "top")
    elif last in _PLACES_OF_NAMES and not _opens_pattern(statement):
        yield from (Completion(name, Proposal.EVENT, kind) for name, kind in names.items())
        yield from _keywords("now")
    elif (inside := _inside(statement)) is not None:
        yield from _attributes(analysis, names.get(inside, inside), around)
        yield from _operands(analysis, names)
        yield from _keywords("and", "or", "not", "in", "is", "null")
    elif _opens_pattern(statement) or last in ("and", *_PATTERN_WORDS):
        yield from _event_types(analysis)
        yield from _keywords(*_PATTERN_WORDS, "every")
        yield from _operands(analysis, names)
    elif statement[0].type == "EVENT" and last == ")":
        yield from _STATEMENTS
    else:
        yield from _operands(analysis, names)
        yield from (_word(word) for word in tesla_words().values() if word.kind is WordKind.KEYWORD)
        yield from _STATEMENTS


def _statement(before: Sequence[Token]) -> Sequence[Token]:
    """The tokens of the statement that is being written."""
    for index in range(len(before) - 1, -1, -1):
        token = before[index]
        if token == ";":
            return before[index + 1 :]
        header = index > 1 and before[index - 2].type == "RULE"
        if (
            token.type in ("RULE", "DEFINE", "EVENT", "NETWORK", "ERROR", "TIES")
            and not header
            and _starts(before, index)
        ):
            return before[index:]
    return before


def _starts(before: Sequence[Token], index: int) -> bool:
    """Whether a word that may begin a statement does so: inside parentheses it is the name of an attribute."""
    return before[index].type != "EVENT" or index == 0 or before[index - 1] not in ("(", ",", ".", "and", "or")


def _around(tokens: Sequence[Token], statement: Sequence[Token], offset: int) -> Sequence[Token]:
    """The statement at an offset, what stands behind the offset included: names may be introduced there."""
    start = start_of(statement[0]) if statement else offset
    found = []
    for token in tokens:
        if start_of(token) < start:
            continue
        if start_of(token) >= offset and (token == ";" or token.type in ("DEFINE", "RULE", "EVENT")):
            break
        found.append(token)
    return found


def _events(statement: Sequence[Token]) -> dict[str, str]:
    """By the name that it has, the type of each event that a statement, finished or not, speaks of."""
    found: dict[str, str] = {}
    for index, token in enumerate(statement[:-1]):
        if token.type != "NAME" or statement[index + 1].type != "LPAR":
            continue
        if index and statement[index - 1].type in ("DEFINE", "EVENT"):
            continue
        closing = _closing(statement, index + 1)
        aliased = closing + 2 < len(statement) and statement[closing + 1].type == "AS"
        found[str(statement[closing + 2]) if aliased else str(token)] = str(token)
    return found


def _closing(statement: Sequence[Token], opening: int) -> int:
    depth = 0
    for index in range(opening, len(statement)):
        depth += (statement[index].type == "LPAR") - (statement[index].type == "RPAR")
        if depth == 0:
            return index
    return len(statement)


def _owner(statement: Sequence[Token]) -> str:
    """The event whose attribute is asked for by a full stop: ``Temp.`` or, in an aggregate, ``Temp(..).``."""
    index = len(statement) - 2
    if index >= 0 and statement[index].type == "RPAR":
        depth = 0
        while index >= 0:
            depth += (statement[index].type == "RPAR") - (statement[index].type == "LPAR")
            if depth == 0:
                break
            index -= 1
        index -= 1
    return str(statement[index]) if index >= 0 else ""


def _inside(statement: Sequence[Token]) -> str | None:
    """The event whose parentheses are open, if that is where the statement has come to."""
    depth = 0
    for index in range(len(statement) - 1, 0, -1):
        kind = statement[index].type
        depth += (kind == "RPAR") - (kind == "LPAR")
        if depth < 0:
            defined = index > 1 and statement[index - 2].type in ("DEFINE", "EVENT")
            return str(statement[index - 1]) if statement[index - 1].type == "NAME" and not defined else None
    return None


def _opens_pattern(statement: Sequence[Token]) -> bool:
    """Whether the statement has come to the ``from`` of its pattern: others stand behind a length of time."""
    froms = [index for index, token in enumerate(statement) if token.type == "FROM"]
    return bool(froms) and froms == [len(statement) - 1]


def _operands(analysis: Analysis, names: dict[str, str]) -> Iterator[Completion]:
    yield from (Completion(name, Proposal.EVENT, kind) for name, kind in names.items())
    yield from _parameters(analysis.tokens, dollar=True)
    yield from (_word(word) for word in tesla_words().values() if word.kind in _OPERANDS)


def _parameters(tokens: Sequence[Token], *, dollar: bool) -> Iterator[Completion]:
    for name in dict.fromkeys(token.lstrip("\\$") for token in tokens if token.type == "PARAMETER"):
        if name:
            yield Completion(f"${name}" if dollar else name, Proposal.PARAMETER, "parameter")


def _attributes(analysis: Analysis, event_type: str, statement: Sequence[Token]) -> Iterator[Completion]:
    """The attributes of a type: known ones, and those that the statement, which cannot be read yet, speaks of."""
    known = analysis.attributes(event_type)
    for index, token in enumerate(statement[:-1]):
        if token == event_type and statement[index + 1].type == "LPAR":
            inside = statement[index + 2 : _closing(statement, index + 1)]
            known |= {str(word): str(word) for word in inside if word.type == "NAME" and word not in known}
    for name, said in known.items():
        yield Completion(written_attribute(name), Proposal.ATTRIBUTE, f"{event_type}.{said}")
    yield Completion("time", Proposal.ATTRIBUTE, f"{event_type}.time: timestamp")


def _event_types(analysis: Analysis) -> Iterator[Completion]:
    for name, event_type in analysis.types().items():
        yield Completion(
            written_name(name), Proposal.EVENT_TYPE, str(event_type), snippet=f"{written_name(name)}($1)$0"
        )


def _keywords(*names: str) -> Iterator[Completion]:
    return (_word(tesla_words()[name]) for name in names)


def _word(word: Word) -> Completion:
    kinds = {
        WordKind.FUNCTION: Proposal.FUNCTION,
        WordKind.AGGREGATE: Proposal.FUNCTION,
        WordKind.TYPE: Proposal.TYPE,
        WordKind.UNIT: Proposal.UNIT,
    }
    snippet = f"{word.text}($1)$0" if word.kind in _OPERANDS else None
    return Completion(word.text, kinds.get(word.kind, Proposal.KEYWORD), word.form, word.meaning, snippet)


# ---- ETALIS --------------------------------------------------------------------------------------------------------


def _etalis(analysis: Analysis, before: Sequence[Token]) -> Iterator[Completion]:
    start = max((index + 1 for index, token in enumerate(before) if token.type == "END"), default=0)
    statement = before[start:]
    if statement and statement[-1] == ":" and statement[0].type == "EVENT":
        yield from (_word(word) for word in etalis_words().values() if word.text in TYPE_NAMES)
        return
    for name, event_type in analysis.types().items():
        yield Completion(name, Proposal.EVENT_TYPE, str(event_type), snippet=f"{name}($1)$0")
    for name in dict.fromkeys(str(token) for token in statement if token.type == "NAME" and token[:1].isupper()):
        yield Completion(name, Proposal.PARAMETER, "variable")
    yield from (_word(word) for word in etalis_words().values() if word.kind not in (WordKind.UNIT, WordKind.TYPE))
