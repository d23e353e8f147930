"""How far back rules remember: whether a stream can be cut into slices of time, each with a short piece before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cepheus.core.time import MAX_TIME, format_duration
from cepheus.rules.resolved import Choose, Compute, ResolvedRule, reach, since_start


def memory(rules: Iterable[ResolvedRule]) -> int | None:
    """The time, in microseconds, before an event from which on all that matters to what it completes has happened.

    A rule remembers as long as its windows reach; one that looks at what other rules make, as long as that and those
    together. None if there is no such time: what was consumed stays so, a timer may be set, aggregates may go back to
    the start, and a rule that feeds itself passes on what it knows for ever.

    >>> from cepheus.language.tesla import parse
    >>> from cepheus.rules.check import check
    >>> from cepheus.rules.resolve import resolve
    >>> text = "define P() from A() and last B() within 5 s from A; define Q() from C() and each P() within 2 s from C"
    >>> rules = check(parse(text)).rules.rules
    >>> memory(map(resolve, rules))
    7000000
    """
    makers: dict[str, list[ResolvedRule]] = {}
    rules = list(rules)
    for rule in rules:
        makers.setdefault(rule.composite.name, []).append(rule)
    known: dict[str, int | None] = {}
    found = [_memory(rule, makers, known) for rule in rules]
    return None if None in found else max((each for each in found if each is not None), default=0)


def _memory(rule: ResolvedRule, makers: Mapping[str, list[ResolvedRule]], known: dict[str, int | None]) -> int | None:
    """How far back a rule remembers; while that is worked out, a rule that it leads back to has no answer."""
    if rule.name in known:
        return known[rule.name]
    known[rule.name] = None
    if rule.consuming or rule.timer is not None or since_start(rule):
        return None
    longest = 0
    for maker in (maker for name in looked_at(rule) for maker in makers.get(name, ())):
        before = _memory(maker, makers, known)
        if before is None:
            return None
        longest = max(longest, before)
    known[rule.name] = min(reach(rule) + longest, MAX_TIME)
    return known[rule.name]


def feed_one_another(rules: Iterable[ResolvedRule]) -> bool:
    """Whether some rule looks at what a rule makes."""
    rules = list(rules)
    made = {rule.composite.name for rule in rules}
    return any(not made.isdisjoint(looked_at(rule)) for rule in rules)


def leave_no_trace(rules: Iterable[ResolvedRule]) -> bool:
    """Whether what rules find makes no difference to what is found later: nothing is consumed, fed on or waited for.

    Then events can be taken in without evaluating any rule, and it can be decided later who evaluates what.
    """
    rules = list(rules)
    return not feed_one_another(rules) and not any(rule.consuming or rule.timer is not None for rule in rules)


def threads_told(rules: Iterable[ResolvedRule]) -> str:
    """How the work of rules is spread over threads, in words.

    >>> from cepheus.language.tesla import parse
    >>> from cepheus.rules.check import check
    >>> from cepheus.rules.resolve import resolve
    >>> rules = check(parse("define P() from A() and last B() within 5 s from A consuming B")).rules.rules
    >>> threads_told(map(resolve, rules))
    'threads: P consumes events; threads=N spreads the rules by key, or rule by rule'
    """
    rules = list(rules)
    longest = memory(rules)
    copied = "a thread begins with a copy of what is stored, where evaluating costs many times what storing does"
    if longest is not None:
        return (
            "threads: large batches are cut into slices of time; "
            f"a thread first takes in the {format_duration(longest)} before its slice"
            + (f", or in a shorter batch {copied}" if leave_no_trace(rules) else "")
        )
    timed = next((rule.name for rule in rules if rule.timer is not None), None)
    if timed is not None:
        return f"threads: {timed} waits for moments, which are one for all rules; they run on one thread"
    counting = next((rule.name for rule in rules if since_start(rule)), None)
    if counting is not None:
        told = f"threads: {counting} aggregates since the start, over the events of all keys"
        return f"{told}; {copied}" if leave_no_trace(rules) else f"{told}; they run on one thread"
    consuming = next((rule.name for rule in rules if rule.consuming), None)
    why = "rules feed themselves" if consuming is None else f"{consuming} consumes events"
    return f"threads: {why}; threads=N spreads the rules by key, or rule by rule"


def looked_at(rule: ResolvedRule) -> frozenset[str]:
    """The types of the events that a rule looks at."""
    steps = (step.type for step in rule.steps if isinstance(step, Choose | Compute))
    absent, gathered = (each.type for each in rule.absences), (each.type for each in rule.gathers)
    return frozenset({rule.terminator.type, *steps, *absent, *gathered})
