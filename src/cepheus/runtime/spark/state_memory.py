"""How far back the past of a set of rules can matter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from cepheus.core.time import MAX_TIME
from cepheus.rules.interval.model import Atom, IntervalRule
from cepheus.rules.interval.reach import chooses, points
from cepheus.rules.interval.reach import reach as reach_of_intervals
from cepheus.rules.model import AnyRule
from cepheus.rules.reach import reach
from cepheus.rules.resolve import Choose, Compute, ResolvedRule, resolve
from cepheus.rules.walk import walk


def memory(rules: Sequence[AnyRule]) -> int | None:
    """The microseconds before an event that can decide what it completes; None if there is no bound.

    Composite events that feed other rules bring their own past with them, so reaches add up along a hierarchy. Rules
    that consume events, interval rules whose policy chooses, and rules that feed themselves, remember without end:
    whether an event is there at all may depend on another long before it. So do points in time, which happen but once.

    >>> from cepheus.language.tesla import parse
    >>> from cepheus.rules.check import check
    >>> memory(check(parse("define Fire() from Smoke() and last Temp() within 5 s from Smoke")).rules.rules)
    5000000
    """
    makers: dict[str, list[_Maker]] = {}
    for rule in rules:
        maker = _maker(rule)
        if maker is None:
            return None
        makers.setdefault(rule.composite.name, []).append(maker)
    known: dict[str, int | None] = {}
    longest = 0
    for name in makers:
        found = _memory(name, makers, known, ())
        if found is None:
            return None
        longest = max(longest, found)
    return longest


@dataclass(frozen=True, slots=True)
class _Maker:
    """What a rule looks at, and how far back in microseconds."""

    types: frozenset[str]
    back: int


def _maker(rule: AnyRule) -> _Maker | None:
    """Take a rule apart; None if its own memory has no bound."""
    if isinstance(rule, IntervalRule):
        back = reach_of_intervals(rule.pattern)
        if chooses(rule) or points([rule]) or back == inf:
            return None
        return _Maker(frozenset(node.type for node in walk(rule.pattern) if isinstance(node, Atom)), int(back))
    if rule.consuming:
        return None
    resolved = resolve(rule)
    return _Maker(frozenset(_types(resolved)), reach(resolved))


def _memory(
    name: str, makers: dict[str, list[_Maker]], known: dict[str, int | None], path: tuple[str, ...]
) -> int | None:
    """The memory of an event type; 0 for a type that no rule makes."""
    if name in path:
        return None
    if name not in known:
        longest: int | None = 0
        for maker in makers.get(name, ()):
            for used in maker.types:
                below = _memory(used, makers, known, (*path, name))
                if below is None or longest is None:
                    return None
                longest = max(longest, min(below + maker.back, MAX_TIME))
        known[name] = longest
    return known[name]


def _types(rule: ResolvedRule) -> Iterator[str]:
    yield rule.terminator.type
    for step in rule.steps:
        if isinstance(step, Choose | Compute):
            yield step.type
    for absent in rule.absences:
        yield absent.type
