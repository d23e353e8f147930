"""What commands say on the terminal, findings and notes on stderr, coloured for people; and files that they write."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from cepheus.core.errors import CepheusWarning, Diagnostic, OptionError, Severity, render

_COLOURS = {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;33m"}
_HEAD = re.compile(r"(?:error|warning)\[[^\]]*\]:")
_PLAIN = "\x1b[0m"


def is_coloured(stream: TextIO) -> bool:
    """Whether a stream is a terminal that may show colours; NO_COLOR turns them off."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def report(findings: Iterable[Diagnostic]) -> None:
    """Print findings to stderr; a warning that many rules deserve is printed once, with the places of the others."""
    coloured = is_coloured(sys.stderr)
    for finding, *others in _together(findings):
        text = render([_in_flags(finding)]) + _of_others(finding, others)
        if coloured:
            text = _HEAD.sub(rf"{_COLOURS[finding.severity]}\g<0>{_PLAIN}", text, count=1)
        note(text)


_KEYWORD = re.compile(r"\b([a-z_]+)='([^']*)'")


def _in_flags(finding: Diagnostic) -> Diagnostic:
    """Spell the options that a hint names as flags: lateness='10 seconds' is --lateness '10 seconds' here."""
    if finding.hint is None or not _KEYWORD.search(finding.hint):
        return finding
    from cepheus.core.options import KEYWORDS

    def flag(match: re.Match[str]) -> str:
        name, value = match.groups()
        if name not in KEYWORDS:
            return match.group()
        return f"--{name.replace('_', '-')} {value if value.isalnum() else repr(value)}"

    return replace(finding, hint=_KEYWORD.sub(flag, finding.hint))


@contextmanager
def warnings_reported() -> Iterator[None]:
    """Print what a run warns of as findings, unless Python was told to ignore such warnings."""
    with warnings.catch_warnings():
        if not _are_ignored():
            warnings.simplefilter("always", CepheusWarning)
        shown = warnings.showwarning
        told: set[str] = set()

        def show(message: Warning | str, *others: Any, **named: Any) -> None:
            if isinstance(message, CepheusWarning):
                if str(message) not in told:  # the same may be found again and again
                    told.add(str(message))
                    report([message.diagnostic])
            else:
                shown(message, *others, **named)

        warnings.showwarning = show
        yield


def _are_ignored() -> bool:
    """Whether the first filter that concerns our warnings is to ignore them."""
    concerned = (action for action, _, category, *_ in warnings.filters if issubclass(CepheusWarning, category))
    return next(concerned, None) == "ignore"


_TOGETHER = frozenset({"unbounded-state"})
"""Warnings of a rule as a whole, which ask for the same of all rules that deserve them."""

_MOST_PLACES = 20


def _together(findings: Iterable[Diagnostic]) -> Iterable[list[Diagnostic]]:
    """Put findings together that say the same of several rules, in the place of the first."""
    found: dict[object, list[Diagnostic]] = {}
    for finding in findings:
        alike = finding.code in _TOGETHER and finding.span is not None
        found.setdefault(finding.code if alike else len(found), []).append(finding)
    return found.values()


def _of_others(first: Diagnostic, others: list[Diagnostic]) -> str:
    """Name the other rules of which the same is true, and what to do about them if that is something else."""
    by_hint: dict[str | None, list[Diagnostic]] = {first.hint: []}
    for finding in others:
        by_hint.setdefault(finding.hint, []).append(finding)
    told = ""
    for hint, findings in by_hint.items():
        if findings:
            told += f"\n  the same of {_places(findings)}"
            told += f"\n  hint: {hint}" if hint not in (None, first.hint) else ""
    return told


def _places(findings: list[Diagnostic]) -> str:
    spans = [finding.span for finding in findings if finding.span is not None]
    told = [f"{span.text} ({span.source.name}:{span.line}:{span.column})" for span in spans[:_MOST_PLACES]]
    if len(spans) > _MOST_PLACES:
        told.append(f"{len(spans) - _MOST_PLACES} more rules")
    return ", ".join(told)


def note(text: str) -> None:
    """Print a line to stderr."""
    print(text, file=sys.stderr)


def replace_file(path: Path, text: str) -> None:
    """Put a text in place of a file's content, all or nothing."""
    target = path.resolve()  # a link stays a link
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.chmod(target.stat().st_mode)
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise _not_written(path, error) from None


def check_writable(path: Path) -> None:
    """Refuse a path that nothing can be written to, before the work is done that is to be written there."""
    folder = path.parent
    if path.is_dir():
        raise OptionError.of("file", f"'{path}' cannot be written: it is a folder", hint="name a file in it")
    if not folder.is_dir():
        raise OptionError.of("file", f"'{path}' cannot be written: there is no folder '{folder}'", hint="make it first")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise OptionError.of("file", f"'{path}' cannot be written: permission denied")


def write_file(path: Path, text: str) -> None:
    """Write a text to a new file."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _not_written(path, error) from None


def _not_written(path: Path, error: OSError) -> OptionError:
    return OptionError.of("file", f"'{path}' cannot be written: {(error.strerror or 'it failed').lower()}")
