"""Are the regular expressions of ``matches`` regular expressions?"""

from __future__ import annotations

import re
import warnings

from cepheus.core.source import Span
from cepheus.rules.check.findings import Findings
from cepheus.rules.expressions import Call, Constant
from cepheus.rules.functions import compile_pattern


def check_regex(node: Call, findings: Findings) -> None:
    """Check the regular expression that a call writes out, and point at the letter where it breaks."""
    match node:
        case Call(function="matches", arguments=(_, Constant(value=str(pattern)) as constant)):
            _regex(pattern, constant.span, findings)
        case _:
            pass


def _regex(pattern: str, span: Span | None, findings: Findings) -> None:
    position: int | None = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of what it will read otherwise one day; it reads it now
            compile_pattern(pattern)
        return
    except re.error as error:
        reason, position = error.msg, error.pos
    except (OverflowError, RecursionError):
        reason = "it is too large"
    if span is not None and position is not None and span.text[1:-1] == pattern:
        start = span.start + 1 + min(position, max(0, len(pattern) - 1))
        span = Span(span.source, start, start + 1)
    place = "" if position is None else f" at letter {position + 1}"
    findings.error(
        "regular-expression",
        f"this is not a regular expression: {reason}{place}",
        span,
        "write a backslash before a sign that stands for itself, such as \\( or \\*",
    )
