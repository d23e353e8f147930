"""What the tests of the checks share."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from cepheus.core.errors import Diagnostic, RuleError
from cepheus.core.schema import Schema
from cepheus.language.tesla import parse
from cepheus.rules.check import Checked, check

Found = tuple[str, str | None, str | None]
"""Code, the text that the caret is under, hint."""


def checked(text: str, *, schema: Schema | None = None, closed: bool | None = None) -> Checked:
    return check(parse(text, "rules.tesla"), schema=schema, closed=closed)


def errors(text: str, *, schema: Schema | None = None, closed: bool | None = None) -> tuple[Diagnostic, ...]:
    with pytest.raises(RuleError) as caught:
        checked(text, schema=schema, closed=closed)
    return caught.value.diagnostics


def brief(diagnostics: Iterable[Diagnostic]) -> list[Found]:
    return [(d.code, None if d.span is None else d.span.text, d.hint) for d in diagnostics]


def error(
    text: str, *, schema: Schema | None = None, closed: bool | None = None
) -> tuple[str, str | None, str, str | None]:
    """Give code, place, message and hint of the only error."""
    (found,) = errors(text, schema=schema, closed=closed)
    return found.code, None if found.span is None else found.span.text, found.message, found.hint


def warning(text: str) -> tuple[str, str | None, str, str | None]:
    """Give code, place, message and hint of the only warning."""
    (found,) = checked(text).warnings
    return found.code, None if found.span is None else found.span.text, found.message, found.hint
