"""Where the checks put what they find."""

from __future__ import annotations

from cepheus.core.errors import Diagnostic, Severity
from cepheus.core.source import Span


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
