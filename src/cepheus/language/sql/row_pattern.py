"""Text of row patterns to their model."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from lark import Lark, Token, Transformer, UnexpectedInput
from lark.exceptions import VisitError
from lark.tree import Meta
from lark.visitors import v_args

from cepheus.core.errors import Diagnostic, RuleError
from cepheus.core.source import Source, Span
from cepheus.rules.rows.pattern import (
    Alternation,
    Concatenation,
    Empty,
    Exclusion,
    PartitionEnd,
    PartitionStart,
    Permutation,
    Quantified,
    RowPattern,
    Variable,
)

_MOST = 10_000
"""The largest number of repetitions that may be written in braces."""


def parse_pattern(source: Source, start: int, end: int) -> RowPattern:
    """The pattern that a range of a text holds; RuleError if it holds none.

    >>> text = "STRT DOWN+ (UP | FLAT){2,}?"
    >>> from cepheus.rules.rows.pattern import written
    >>> written(parse_pattern(Source("pattern", text), 0, len(text)))
    'STRT DOWN+ (UP | FLAT){2,}?'
    """
    text = source.text[start:end]
    if not text.strip():
        raise RuleError.of(
            "syntax", "the pattern is empty", span=Span(source, start, end), hint="write () for a match without rows"
        )
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        raise RuleError([_wrong(error, text, source, start)]) from None
    try:
        built: RowPattern = _Builder(source, start).transform(tree)
    except VisitError as error:
        if isinstance(error.orig_exc, RuleError):
            raise error.orig_exc from None
        raise
    return built


@cache
def _parser() -> Lark:
    grammar = files(__package__).joinpath("row_pattern.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=False)


def _wrong(error: UnexpectedInput, text: str, source: Source, start: int) -> Diagnostic:
    place = error.pos_in_stream
    at = min(len(text), place if isinstance(place, int) and place >= 0 else len(text))
    token = getattr(error, "token", None)
    if isinstance(token, Token) and token.type == "$END":
        at = len(text.rstrip())
        return Diagnostic(
            "syntax",
            "the pattern ends too early",
            Span(source, start + at - 1, start + at),
            "close what is open, and put a variable after the last |",
        )
    found = str(token) if isinstance(token, Token) else text[at : at + 1]
    hint = "a pattern has variables, ( ), |, quantifiers such as + *? {2,5}, ^, $, PERMUTE(A, B) and {- A -}"
    return Diagnostic(
        "syntax",
        f"'{found}' cannot stand here in a pattern",
        Span(source, start + at, start + at + max(1, len(found))),
        hint,
    )


@v_args(meta=True)
class _Builder(Transformer[Token, RowPattern]):
    """Makes the nodes of the model; each method is a rule of the grammar."""

    def __init__(self, source: Source, offset: int) -> None:
        super().__init__()
        self._source, self._offset = source, offset

    def variable(self, meta: Meta, children: list[Token]) -> RowPattern:
        """One row."""
        text = str(children[0])
        name = text[1:-1].replace('""', '"') if text[0] in '"`' else text.upper()
        return Variable(name, self._span(meta))

    def empty(self, meta: Meta, _: list[Token]) -> RowPattern:
        """No row."""
        return Empty(self._span(meta))

    def group(self, _: Meta, children: list[RowPattern]) -> RowPattern:
        """Parentheses."""
        return children[0]

    def partition_start(self, meta: Meta, _: list[Token]) -> RowPattern:
        """The first anchor."""
        return PartitionStart(self._span(meta))

    def partition_end(self, meta: Meta, _: list[Token]) -> RowPattern:
        """The second anchor."""
        return PartitionEnd(self._span(meta))

    def exclusion(self, meta: Meta, children: list[RowPattern]) -> RowPattern:
        """Rows that are not shown."""
        return Exclusion(children[0], self._span(meta))

    def permutation(self, meta: Meta, children: list[RowPattern]) -> RowPattern:
        """Any order."""
        return Permutation(tuple(children[1:]), self._span(meta))

    def concatenation(self, meta: Meta, children: list[RowPattern]) -> RowPattern:
        """One after the other."""
        return Concatenation(tuple(children), self._span(meta))

    def alternation(self, meta: Meta, children: list[RowPattern]) -> RowPattern:
        """One of several."""
        return Alternation(tuple(children), self._span(meta))

    def quantified(self, meta: Meta, children: list[RowPattern]) -> RowPattern:
        """A part and its quantifier, which was built with a place for it."""
        part, repeated = children
        assert isinstance(repeated, Quantified)
        return Quantified(part, repeated.least, repeated.most, repeated.greedy, self._span(meta))

    def star(self, meta: Meta, children: list[Token]) -> RowPattern:
        """Any number."""
        return self._times(meta, children, 0, None)

    def plus(self, meta: Meta, children: list[Token]) -> RowPattern:
        """One or more."""
        return self._times(meta, children, 1, None)

    def optional(self, meta: Meta, children: list[Token]) -> RowPattern:
        """One or none."""
        return self._times(meta, children, 0, 1)

    def exactly(self, meta: Meta, children: list[Token]) -> RowPattern:
        """So many."""
        return self._times(meta, children, int(children[0]), int(children[0]))

    def between(self, meta: Meta, children: list[Token]) -> RowPattern:
        """From so many to so many."""
        return self._times(meta, children, int(children[0]), int(children[1]))

    def at_least(self, meta: Meta, children: list[Token]) -> RowPattern:
        """So many or more."""
        return self._times(meta, children, int(children[0]), None)

    def at_most(self, meta: Meta, children: list[Token]) -> RowPattern:
        """Up to so many."""
        return self._times(meta, children, 0, int(children[0]))

    def any(self, meta: Meta, children: list[Token]) -> RowPattern:
        """Any number, in braces."""
        return self._times(meta, children, 0, None)

    def _times(self, meta: Meta, children: list[Token], least: int, most: int | None) -> RowPattern:
        span = self._span(meta)
        if most is not None and most < max(1, least):
            raise RuleError.of(
                "quantifier",
                f"a part cannot be repeated {least} to {most} times" if most else "a part cannot be repeated 0 times",
                span=span,
                hint="the second number must be 1 or more, and not below the first",
            )
        if max(least, most or 0) > _MOST:
            raise RuleError.of("quantifier", f"a part can be repeated {_MOST} times at most", span=span)
        reluctant = any(isinstance(child, Token) and child.type == "RELUCTANT" for child in children)
        return Quantified(Empty(), least, most, not reluctant, span)

    def _span(self, meta: Meta) -> Span:
        if meta.empty:
            return Span(self._source, self._offset, self._offset)
        return Span(self._source, self._offset + meta.start_pos, self._offset + meta.end_pos)
