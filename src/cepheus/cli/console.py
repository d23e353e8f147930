"""What commands say on the terminal: findings and notes on stderr, in colour where a person reads them."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from cepheus.core.errors import CepheusWarning, Diagnostic, Severity, render

_COLOURS = {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;33m"}
_HEAD = re.compile(r"(?:error|warning)\[[^\]]*\]:")
_PLAIN = "\x1b[0m"


def is_coloured(stream: TextIO) -> bool:
    """Tell whether a stream is a terminal that may show colours; NO_COLOR turns them off."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def report(findings: Iterable[Diagnostic]) -> None:
    """Print findings to stderr."""
    coloured = is_coloured(sys.stderr)
    for finding in findings:
        text = render([finding])
        if coloured:
            text = _HEAD.sub(rf"{_COLOURS[finding.severity]}\g<0>{_PLAIN}", text, count=1)
        note(text)


@contextmanager
def warnings_reported() -> Iterator[None]:
    """Print what a run warns of as findings, unless Python was told to ignore such warnings."""
    with warnings.catch_warnings():
        if not _are_ignored():
            warnings.simplefilter("always", CepheusWarning)
        shown = warnings.showwarning

        def show(message: Warning | str, *others: Any, **named: Any) -> None:
            if isinstance(message, CepheusWarning):
                report([message.diagnostic])
            else:
                shown(message, *others, **named)

        warnings.showwarning = show
        yield


def _are_ignored() -> bool:
    """Tell whether the first filter that concerns our warnings is to ignore them."""
    concerned = (action for action, _, category, *_ in warnings.filters if issubclass(CepheusWarning, category))
    return next(concerned, None) == "ignore"


def note(text: str) -> None:
    """Print a line to stderr."""
    print(text, file=sys.stderr)
