"""Are the regular expressions of ``matches`` regular expressions?"""

from __future__ import annotations

import re

from cepheus.core.source import Span
from cepheus.rules.check.findings import Findings
from cepheus.rules.expressions import Call, Constant
from cepheus.rules.patterns import PatternFault, fault_in

_LETTER = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)|[^\\]", re.DOTALL)
"""A letter of a string as it is written, with its escape."""


def check_regex(node: Call, findings: Findings) -> None:
    """Check the regular expression that a call writes out, and point at the letters where it breaks."""
    match node:
        case Call(function="matches", arguments=(_, Constant(value=str(pattern)) as constant)):
            fault = fault_in(pattern)
        case _:
            return
    if fault is not None:
        hint = fault.hint.replace("\\", "\\\\")  # as it is written in a string of a rule
        findings.error("regular-expression", fault.message, _place(fault, pattern, constant.span), hint)


def _place(fault: PatternFault, pattern: str, span: Span | None) -> Span | None:
    """The place of a fault in the text of the rule, where a letter may be written as an escape."""
    if span is None or fault.start is None or fault.end is None:
        return span
    letters = [match.end() for match in _LETTER.finditer(span.text, 1, len(span.text) - 1)]
    if len(letters) != len(pattern):
        return span
    ends = [1, *letters]
    return Span(span.source, span.start + ends[fault.start], span.start + ends[min(fault.end, len(pattern))])
