"""From a name to what is known of it: its meaning, its definition, its uses, and what another name would change."""

from __future__ import annotations

from dataclasses import dataclass

from lark import Token

from cepheus.core.errors import OptionError
from cepheus.core.schema import TIME_ATTRIBUTE
from cepheus.core.source import Span
from cepheus.editor.analysis import Analysis, Language
from cepheus.editor.row_text import Role, placed
from cepheus.editor.row_words import keywords, sql_words
from cepheus.editor.symbols import Occurrence, Symbol, SymbolKind
from cepheus.editor.words import Word, etalis_words, tesla_words
from cepheus.language import etalis, tesla
from cepheus.language.common.tokens import span_of, start_of
from cepheus.language.tesla.names import written_attribute, written_name


@dataclass(frozen=True, slots=True)
class Meaning:
    """What is said of a piece of text, in Markdown."""

    text: str
    span: Span


def meaning_at(analysis: Analysis, offset: int) -> Meaning | None:
    """What stands at an offset: a name with its type, or a word of the language.

    >>> from cepheus.editor.analysis import analyse
    >>> print(meaning_at(analyse("event Temp(value: double)", "t.tesla"), 7).text)
    ```tesla
    event Temp(value: double)
    ```
    """
    occurrence = analysis.at(offset)
    if occurrence is not None:
        return Meaning(_of_symbol(analysis, occurrence.symbol), occurrence.span)
    if analysis.language is Language.SQL:
        return _of_sql(analysis, offset)
    token = _token_at(analysis, offset)
    if token is None:
        return None
    words = tesla_words() if analysis.language is Language.TESLA else etalis_words()
    word = words.get(token.lower())
    return None if word is None else Meaning(_of_word(word, analysis.language), span_of(analysis.source, token))


def _of_sql(analysis: Analysis, offset: int) -> Meaning | None:
    """The meaning of a word of SQL; several words of a clause are explained by the first of them."""
    for placed_word in placed(analysis.source.text):
        word = placed_word.word
        if word.start <= offset < word.end and placed_word.role in (Role.KEYWORD, Role.FUNCTION):
            clause = sql_words().get(placed_word.clause)
            known = sql_words().get(word.upper) or (clause if word.upper in placed_word.clause.split() else None)
            span = Span(analysis.source, word.start, word.end)
            return None if known is None else Meaning(_of_word(known, analysis.language), span)
    return None


def _token_at(analysis: Analysis, offset: int) -> Token | None:
    for token in analysis.tokens:
        if token.end_pos is not None and start_of(token) <= offset < token.end_pos:
            return token
    return None


def _of_word(word: Word, language: Language) -> str:
    return f"```{language.value}\n{word.form}\n```\n{word.meaning}"


def _of_symbol(analysis: Analysis, symbol: Symbol) -> str:
    match symbol.kind:
        case SymbolKind.EVENT_TYPE:
            event_type = analysis.types().get(symbol.name)
            said = f"event {event_type}" if event_type is not None else f"event {symbol.name}"
            makers = [
                rule.name or symbol.name for rule in analysis.rules.all_rules if rule.composite.name == symbol.name
            ]
            made = f"\nmade by {len(makers)} rule{'s' if len(makers) > 1 else ''}" if makers else ""
            return f"```{analysis.language.value}\n{said}\n```{made}"
        case SymbolKind.ATTRIBUTE:
            said = analysis.attributes(symbol.within).get(symbol.name, symbol.name)
            return f"```{analysis.language.value}\n{symbol.within}.{said}\n```\nattribute"
        case SymbolKind.VARIABLE:
            conditions = [
                each.span.text
                for number, rule in enumerate(analysis.rules.row_rules)
                for each in rule.query.definitions
                if each.variable == symbol.name and str(number) == symbol.within and each.span is not None
            ]
            said = f"```sql\nDEFINE {conditions[0]}\n```" if conditions else f"`{symbol.name}`: any row"
            return f"{said}\nvariable of the pattern"
        case SymbolKind.ALIAS | SymbolKind.PARAMETER | SymbolKind.RULE | SymbolKind.RELATION:
            uses = sum(occurrence.symbol == symbol for occurrence in analysis.occurrences)
            return f"{symbol.kind.value} `{symbol.name}`, named {uses} time{'s' if uses > 1 else ''} here"


def definitions(analysis: Analysis, symbol: Symbol) -> list[Span]:
    """Where a symbol is defined."""
    return [found.span for found in uses(analysis, symbol) if found.defines]


def uses(analysis: Analysis, symbol: Symbol) -> list[Occurrence]:
    """Where a symbol is named, its definitions included."""
    return [occurrence for occurrence in analysis.occurrences if occurrence.symbol == symbol]


def renamed(analysis: Analysis, offset: int, name: str) -> list[tuple[Span, str]]:
    """What is written where, if the name at an offset becomes another; an OptionError says why it cannot.

    >>> from cepheus.editor.analysis import analyse
    >>> found = renamed(analyse("define F() from Temp(v = $a) and $a > 3", "t.tesla"), 26, "$b")
    >>> [(span.start, text) for span, text in found]
    [(25, '$b'), (33, '$b')]
    """
    occurrence = analysis.at(offset)
    if occurrence is None:
        raise OptionError.of("rename", "there is no name here that could be changed")
    symbol = occurrence.symbol
    if analysis.language is Language.TESLA and symbol.name == TIME_ATTRIBUTE and symbol.kind is SymbolKind.ATTRIBUTE:
        raise OptionError.of("rename", "every event has its time under this name")
    bare = name.removeprefix("$") if symbol.kind is SymbolKind.PARAMETER else name.strip('`"')
    if symbol.kind is SymbolKind.VARIABLE:
        bare = bare.upper()
    text = _as_written(analysis.language, symbol, bare)
    taken = any(_clashes(other.symbol, symbol, bare) for other in analysis.occurrences)
    if taken and bare != symbol.name:
        raise OptionError.of(
            "rename", f"there is already {_a(symbol.kind)} called '{bare}'", hint="choose another name"
        )
    return [(found.span, text) for found in uses(analysis, symbol)]


def _as_written(language: Language, symbol: Symbol, name: str) -> str:
    """A name as it must be written; OptionError if it cannot be one."""
    if language is Language.ETALIS:
        variable = symbol.kind is SymbolKind.PARAMETER
        if not name.isidentifier() or name[:1].isupper() != variable:
            wanted = "a capital" if variable else "a small"
            raise OptionError.of(
                "rename", f"'{name}' is no name for {_a(symbol.kind)}", hint=f"begin with {wanted} letter"
            )
        if name.lower() in etalis_words():
            raise OptionError.of("rename", f"'{name}' is a word of the language", hint="choose another name")
        return name
    if language is Language.SQL:
        return _written_in_sql(symbol, name)
    if not name or "`" in name or "\n" in name:
        raise OptionError.of("rename", f"'{name}' cannot be a name")
    if symbol.kind is SymbolKind.PARAMETER:
        if not name.isidentifier():
            raise OptionError.of("rename", f"'${name}' is no parameter", hint="write $ and letters, digits or _")
        return f"${name}"
    return written_attribute(name) if symbol.kind is SymbolKind.ATTRIBUTE else written_name(name)


def _written_in_sql(symbol: Symbol, name: str) -> str:
    if not name or '"' in name or "\n" in name or (symbol.kind is SymbolKind.VARIABLE and not name.isidentifier()):
        raise OptionError.of("rename", f"'{name}' cannot be a name", hint="write letters, digits and _")
    return name if name.isidentifier() and name.upper() not in keywords() else f'"{name}"'


def _clashes(other: Symbol, symbol: Symbol, name: str) -> bool:
    """Whether a name is taken by something that it would be mistaken for."""
    if other.name != name:
        return False
    if {other.kind, symbol.kind} == {SymbolKind.EVENT_TYPE, SymbolKind.ALIAS}:
        return True
    return other.kind is symbol.kind and other.within == symbol.within


def _a(kind: SymbolKind) -> str:
    return f"an {kind.value}" if kind.value[0] in "aeiou" else f"a {kind.value}"


def formatted(analysis: Analysis) -> str:
    """The text in its canonical layout; raises the RuleError of a text that cannot be read.

    SQL has no layout of its own here: it stays as it is.
    """
    if analysis.language is Language.SQL:
        return analysis.source.text
    reformat = tesla.reformat if analysis.language is Language.TESLA else etalis.reformat
    return reformat(analysis.source.text, analysis.source.name)
