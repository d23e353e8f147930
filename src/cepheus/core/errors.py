"""Every error that reaches a user: one root, a code, a place, a hint, and one renderer."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Self

from cepheus.core.source import Span


class Severity(Enum):
    """How bad a diagnostic is: an error stops the work, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the data something is wrong: a file and, where known, a line or row of it."""

    name: str
    line: int | None = None

    def __str__(self) -> str:
        return self.name if self.line is None else f"{self.name}:{self.line}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: what is wrong, where, and what to do about it."""

    code: str
    message: str
    span: Span | None = None
    hint: str | None = None
    severity: Severity = Severity.ERROR
    place: Place | None = None

    def to_json(self) -> dict[str, Any]:
        """The finding as a JSON object (line and column count from 1, the end column is not included)."""
        data: dict[str, Any] = {"code": self.code, "severity": self.severity.value, "message": self.message}
        if self.span is not None:
            line, column = self.span.source.position(self.span.start)
            end_line, end_column = self.span.source.position(self.span.end)
            data |= {
                "file": self.span.source.name,
                "line": line,
                "column": column,
                "end_line": end_line,
                "end_column": end_column,
                "text": self.span.text,
            }
        elif self.place is not None:
            data["file"] = self.place.name
            if self.place.line is not None:
                data["line"] = self.place.line
        if self.hint is not None:
            data["hint"] = self.hint
        return data


class CepheusError(Exception):
    """Root of all errors of Cepheus; carries one or more diagnostics.

    >>> raise CepheusError.of("option", "there is no engine 'colums'", hint="did you mean 'columns'?")
    Traceback (most recent call last):
    ...
    cepheus.core.errors.CepheusError: error[option]: there is no engine 'colums'
      hint: did you mean 'columns'?
    """

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(render(self.diagnostics))

    @classmethod
    def of(
        cls,
        code: str,
        message: str,
        *,
        span: Span | None = None,
        hint: str | None = None,
        place: Place | None = None,
    ) -> Self:
        """Make an error of this class from a single finding."""
        return cls([Diagnostic(code, message, span, hint, place=place)])


class CepheusWarning(UserWarning):
    """Something strange that a run met and went on; its text is that of the finding."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(render([diagnostic]))


class RuleError(CepheusError):
    """Rule text that cannot be parsed, or rules that do not make sense."""


class EventError(CepheusError):
    """An event, or a file of events, that is not what it should be."""


class OptionError(CepheusError):
    """An option or argument that is wrong."""


class UnsupportedError(CepheusError):
    """A rule that the chosen engine or host cannot run, refused before any event is read."""


class LimitError(CepheusError):
    """A configured limit was reached, such as the number of composite events one event may make."""


class SnapshotError(CepheusError):
    """A snapshot that is damaged, or was made by other rules or another version."""


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """Return a hint that names the closest of other known names, if one is close.

    >>> did_you_mean("Tmep", ["Temp", "Smoke"])
    "did you mean 'Temp'?"
    """
    others = [candidate for candidate in known if candidate != name]
    close = difflib.get_close_matches(name, others, n=1, cutoff=0.6)
    if not close:
        folded = {candidate.lower(): candidate for candidate in others}
        close = [folded[name.lower()]] if name.lower() in folded else []
    return f"did you mean '{close[0]}'?" if close else None


def render(diagnostics: Sequence[Diagnostic]) -> str:
    """Draw the findings for a terminal: the place, the line itself, a caret under the text, the hint."""
    return "\n".join(_render(diagnostic) for diagnostic in diagnostics)


def _render(diagnostic: Diagnostic) -> str:
    head = f"{diagnostic.severity.value}[{diagnostic.code}]: {diagnostic.message}"
    lines = []
    if diagnostic.span is not None:
        lines = _excerpt(diagnostic.span, head)
    elif diagnostic.place is not None:
        lines = [f"{diagnostic.place}: {head}"]
    else:
        lines = [head]
    if diagnostic.hint is not None:
        lines.append(f"  hint: {diagnostic.hint}")
    return "\n".join(lines)


_EXCERPT_WIDTH = 160


def _excerpt(span: Span, head: str) -> list[str]:
    line, column = span.source.position(span.start)
    text = span.source.line(line).replace("\t", " ")
    start = column - 1
    width = max(1, min(span.end - span.start, len(text) - start))
    if len(text) > _EXCERPT_WIDTH:  # a window of a very long line, so that the caret stays on the screen
        shift = max(0, start - _EXCERPT_WIDTH // 2)
        text = text[shift : shift + _EXCERPT_WIDTH]
        start -= shift
        width = max(1, min(width, len(text) - start))
    margin = " " * len(str(line))
    return [
        f"{span.source.name}:{line}:{column}: {head}",
        f" {line} | {text}",
        f" {margin} | {' ' * start}{'^' * width}",
    ]


_ALIKE = 0.6


def similar_file(path: Path) -> str | None:
    """Return a hint that names a file in the same folder, if one is called much the same.

    What comes before the extension counts: that two names end in ``.tesla`` does not make them alike.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (Path(folder) / "fire.tesla").touch()
    ...     similar_file(Path(folder) / "fier.tesla"), similar_file(Path(folder) / "hot.tesla")
    ("did you mean 'fire.tesla'?", None)
    """
    try:
        files = [other for other in path.parent.iterdir() if other.is_file()] if path.parent.is_dir() else []
    except OSError:
        return None
    alike = [
        (other.suffix == path.suffix, likeness, other.name)
        for other in files
        if (likeness := difflib.SequenceMatcher(None, other.stem.lower(), path.stem.lower()).ratio()) >= _ALIKE
        and (other.suffix == path.suffix or not path.suffix or likeness == 1.0)
    ]
    return f"did you mean '{max(alike)[2]}'?" if alike else None
