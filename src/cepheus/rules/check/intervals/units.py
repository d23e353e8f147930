"""Durations whose unit was probably forgotten."""

from __future__ import annotations

import re

from cepheus.core.time import MILLISECOND, format_duration
from cepheus.rules.check.findings import Findings
from cepheus.rules.interval.model import IntervalRule, Lasting
from cepheus.rules.walk import walk

_BARE = re.compile(r"\.=?\d+(?:\.\d+)?\)*$")


def warn_of_bare_durations(rule: IntervalRule, findings: Findings) -> None:
    """Warn of a window that was written without a unit and is shorter than a millisecond: seconds were meant."""
    for node in walk(rule.pattern):
        if isinstance(node, Lasting) and node.span is not None and 0 < node.duration < MILLISECOND:
            written = _BARE.search(node.span.text)
            if written is not None:
                findings.warning(
                    "bare-duration",
                    f"a window of rule '{rule.name}' is only {format_duration(node.duration)} long",
                    node.span,
                    "write its unit, as in (p).20 s, or say 'unit s.' for the file",
                )
