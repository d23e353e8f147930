"""What happens to a bad event: stop at the first, or skip and count."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from cepheus.core.errors import Diagnostic, EventError, Place, did_you_mean
from cepheus.core.options import OnBadEvent

KEPT = 5
"""How many findings are kept for the summary when bad events are skipped."""


class BadEvents:
    """Takes the findings about bad events of one run, over all its files; keeps the first few, or all of them.

    >>> bad = BadEvents(OnBadEvent.SKIP)
    >>> bad.report([Diagnostic("event", "an event has no time")])
    >>> bad.skipped, bad.diagnostics[0].message
    (1, 'an event has no time')
    """

    def __init__(self, policy: OnBadEvent = OnBadEvent.STOP, keep: int | None = KEPT) -> None:
        self.policy = policy
        self.skipped = 0
        self.diagnostics: list[Diagnostic] = []
        self._keep = keep

    def report(self, findings: Iterable[Diagnostic]) -> None:
        """Take findings, one a bad event, in the order of the events; raise the first unless events are skipped."""
        for finding in findings:
            if self.policy is OnBadEvent.STOP:
                raise EventError([finding])
            self.skipped += 1
            if self._keep is None or len(self.diagnostics) < self._keep:
                self.diagnostics.append(finding)


def lacking(name: str, names: Collection[str], hint: str | None = None) -> EventError:
    """The error for an event without a value for a field of its own, from all the names that it has.

    >>> lacking("time", ["type", "time"]).diagnostics[0].hint
    'its time is there, but null or empty'
    """
    there = f"its {name} is there, but null or empty" if name in names else None
    return EventError.of("event", f"an event has no {name}", hint=there or did_you_mean(name, names) or hint)


def placed(error: EventError, place: Place | None, prefix: str = "") -> Diagnostic:
    """The finding of an error with its place and something before its message."""
    finding = error.diagnostics[0]
    return replace(finding, place=place, message=prefix + finding.message)


def shown(value: object, limit: int = 60) -> str:
    """Write a value for a message, shortened if it is long.

    >>> shown("a" * 100, 5), shown(True), shown(None), shown(2.5)
    ("'aaaaa..'", 'true', 'null', '2.5')
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, int):
        return str(value) if value.bit_length() <= 128 else "a number of many digits"
    text = value if isinstance(value, str) else repr(value)
    short = text if len(text) <= limit else text[:limit] + ".."
    return repr(short) if isinstance(value, str) else short
