"""How far back the past of a set of rules can matter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cepheus.core.time import MAX_TIME
from cepheus.rules.model import Rule
from cepheus.rules.reach import reach
from cepheus.rules.resolve import Choose, Compute, ResolvedRule, resolve


def memory(rules: Sequence[Rule]) -> int | None:
    """Give the microseconds before an event that can decide what it completes; None if there is no bound.

    Composite events that feed other rules bring their own past with them, so reaches add up along a hierarchy. Rules
    that consume events, and rules that feed themselves, remember without end: whether an event is there at all may
    depend on another long before it.

    >>> from cepheus.language.tesla import parse
    >>> from cepheus.rules.check import check
    >>> memory(check(parse("define Fire() from Smoke() and last Temp() within 5 s from Smoke")).rules.rules)
    5000000
    """
    makers: dict[str, list[ResolvedRule]] = {}
    for rule in rules:
        if rule.consuming:
            return None
        makers.setdefault(rule.composite.name, []).append(resolve(rule))
    known: dict[str, int | None] = {}
    longest = 0
    for name in makers:
        found = _memory(name, makers, known, ())
        if found is None:
            return None
        longest = max(longest, found)
    return longest


def _memory(
    name: str, makers: dict[str, list[ResolvedRule]], known: dict[str, int | None], path: tuple[str, ...]
) -> int | None:
    """Give the memory of an event type; 0 for a type that no rule makes."""
    if name in path:
        return None
    if name not in known:
        longest: int | None = 0
        for rule in makers.get(name, ()):
            for used in _types(rule):
                below = _memory(used, makers, known, (*path, name))
                if below is None or longest is None:
                    return None
                longest = max(longest, min(below + reach(rule), MAX_TIME))
        known[name] = longest
    return known[name]


def _types(rule: ResolvedRule) -> Iterator[str]:
    yield rule.terminator.type
    for step in rule.steps:
        if isinstance(step, Choose | Compute):
            yield step.type
    for absent in rule.absences:
        yield absent.type
