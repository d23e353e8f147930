"""Where the checks put what they find, and how messages name things: nodes as written, places, types in words."""

from __future__ import annotations

import re
from typing import assert_never

from cepheus.core.errors import Diagnostic, Severity
from cepheus.core.source import Span
from cepheus.core.time import format_time
from cepheus.core.values import ValueType
from cepheus.rules.expressions import (
    Aggregate,
    Arithmetic,
    AttributeRef,
    Call,
    Comparison,
    Constant,
    Constraint,
    EventPattern,
    Negative,
    Parameter,
)


class Findings:
    """Errors and warnings in the order in which the passes find them; sorted by place when asked for.

    >>> findings = Findings()
    >>> findings.warning("always", "3 < 5 always holds")
    >>> [finding.code for finding in findings.warnings()], findings.errors()
    (['always'], ())
    """

    def __init__(self) -> None:
        self._errors: list[Diagnostic] = []
        self._warnings: list[Diagnostic] = []

    def error(self, code: str, message: str, span: Span | None = None, hint: str | None = None) -> None:
        """Add an error."""
        self._errors.append(Diagnostic(code, message, span, hint))

    def warning(self, code: str, message: str, span: Span | None = None, hint: str | None = None) -> None:
        """Add a warning."""
        self._warnings.append(Diagnostic(code, message, span, hint, Severity.WARNING))

    def errors(self) -> tuple[Diagnostic, ...]:
        """The errors by file and position."""
        return _sorted(self._errors)

    def warnings(self) -> tuple[Diagnostic, ...]:
        """The warnings by file and position."""
        return _sorted(self._warnings)


def _sorted(found: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    def place(diagnostic: Diagnostic) -> tuple[str, int, int]:
        span = diagnostic.span
        return ("", -1, -1) if span is None else (span.source.name, span.start, span.end)

    return tuple(sorted(found, key=place))


_LONGEST = 60

IN_WORDS: dict[ValueType, str] = {
    ValueType.BOOL: "a bool",
    ValueType.INT: "an int",
    ValueType.FLOAT: "a double",
    ValueType.STRING: "a string",
    ValueType.TIMESTAMP: "a timestamp",
    ValueType.LIST: "a list",
}
"""A value type with its article."""


def text_of(node: Constraint) -> str:
    """Return a node as written, on one line; a node without a span is written anew.

    >>> text_of(Comparison((AttributeRef(None, "value"), Constant(45, ValueType.INT)), (">",)))
    'value > 45'
    """
    written = " ".join(node.span.text.split()) if node.span is not None else _rebuilt(node)
    return written if len(written) <= _LONGEST else f"{written[: _LONGEST - 2]}.."


def _rebuilt(node: Constraint) -> str:
    match node:
        case Constant(value=value, type=value_type):
            return _constant(value, value_type)
        case AttributeRef(event=event, name=name):
            return name if event is None else f"{event}.{name}"
        case Parameter(name=name):
            return f"${name}"
        case Arithmetic(operator=operator, left=left, right=right):
            return f"{text_of(left)} {operator} {text_of(right)}"
        case Negative(operand=operand):
            return f"-{text_of(operand)}"
        case Call(function="and" | "or" as word, arguments=arguments):
            return f" {word} ".join(map(text_of, arguments))
        case Call(function="not", arguments=(argument,)):
            return f"not ({text_of(argument)})"
        case Call(function="in", arguments=(value, *choices)):
            return f"{text_of(value)} in ({', '.join(map(text_of, choices))})"
        case Call(function="is null", arguments=(value,)):
            return f"{text_of(value)} is null"
        case Call(function=function, arguments=arguments):
            return f"{function}({', '.join(map(text_of, arguments))})"
        case Aggregate(function=function, event=event):
            return f"{function}({event.type}(..))"
        case Comparison(operands=operands, operators=operators):
            rest = (f" {operator} {text_of(right)}" for operator, right in zip(operators, operands[1:], strict=True))
            return text_of(operands[0]) + "".join(rest)
        case _:
            assert_never(node)


def _constant(value: object, value_type: ValueType) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f"'{value}'"
        case int() if value_type is ValueType.TIMESTAMP:
            return format_time(value)
        case _:
            return str(value)


def find_name(span: Span | None, name: str, *, last: bool = False) -> Span | None:
    """Find the place of a name inside a span: its first occurrence as a whole word, or its last."""
    if span is None:
        return None
    places = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", span.text)]
    if not places:
        return span
    start = span.start + places[-1 if last else 0]
    return Span(span.source, start, start + len(name))


def find_alias(event: EventPattern) -> Span | None:
    """Find the place of an event's alias: the first ``as ALIAS`` from where the event begins."""
    if event.span is None or event.alias is None:
        return event.span
    written = re.compile(rf"\b(?i:as)\s+({re.escape(event.alias)})\b")
    found = written.search(event.span.source.text, event.span.start)
    return event.span if found is None else Span(event.span.source, found.start(1), found.end(1))


def line_of(span: Span | None, seen_from: Span | None) -> str:
    """Say where something stands: its line, with the file's name if that is another file.

    >>> from cepheus.core.source import Source
    >>> line_of(Span(Source("fire.tesla", "one two"), 4, 7), None)
    'at fire.tesla:1'
    """
    if span is None:
        return ""
    if seen_from is not None and seen_from.source == span.source:
        return f"at line {span.line}"
    return f"at {span.source.name}:{span.line}"


def listed(names: list[str]) -> str:
    """Put names in one phrase.

    >>> listed(["area", "temp", "km"])
    "'area', 'temp' and 'km'"
    """
    quoted = [f"'{name}'" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
