"""Rules whose memory has no bound."""

from __future__ import annotations

from cepheus.rules.check.findings import Findings
from cepheus.rules.interval.model import (
    Absence,
    Choice,
    Combined,
    Either,
    IntervalPattern,
    IntervalRule,
    Lasting,
    Where,
)
from cepheus.rules.interval.reach import END_TOGETHER, effective_policy


def warn_of_unbounded_state(rule: IntervalRule, findings: Findings) -> None:
    """Warn of a rule that must remember events for ever: nothing is used up, and no window limits it."""
    unrestricted = rule.policy is None or rule.policy.choice is Choice.UNRESTRICTED
    if unrestricted and _unbounded(rule.pattern):
        findings.warning(
            "unbounded-state",
            f"rule '{rule.name}' remembers all its events for ever: its policy is unrestricted and it has no window",
            rule.head.span,
            "write a window around the pattern, (p).20 min, or choose POLICY recent",
        )
    elif effective_policy(rule).onesided:
        findings.warning(
            "unbounded-state",
            f"rule '{rule.name}' remembers what it would otherwise forget: its policy is onesided",
            rule.head.span,
            "leave out onesided, unless the rule must do what the ETALIS system does",
        )


def _unbounded(pattern: IntervalPattern) -> bool:
    match pattern:
        case Lasting():
            return False
        case Where(pattern=inner):
            return _unbounded(inner)
        case Either(left=left, right=right):
            return _unbounded(left) or _unbounded(right)
        case Combined(operator=operator, left=left, right=right) if operator in END_TOGETHER:
            return _unbounded(left) or _unbounded(right)
        case Combined() | Absence():
            return True
        case _:
            return False
