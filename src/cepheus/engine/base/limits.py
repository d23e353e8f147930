"""Limits that keep a rule from making or remembering more events than anyone can use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from cepheus.core.errors import LimitError
from cepheus.core.time import MAX_TIME, format_time

if TYPE_CHECKING:
    from cepheus.rules.interval.model import IntervalRule
    from cepheus.rules.model import AnyRule
    from cepheus.rules.timers import Every

ENDLESS_LIMIT = 100_000
"""How many composite events one event may make in rules that go on from what they make, with nothing to end it.

Where such rules are at work the usual limit is reached at the price of some gigabytes, and nothing is gained.
"""


def endless_limits(rules: Sequence[IntervalRule], limit: int) -> dict[str, int]:
    """The limits of rules that have one of their own, by the names of the rules."""
    from cepheus.rules.check.interval.unbounded import endless

    return dict.fromkeys((str(rule.name) for rule in endless(rules)), min(limit, ENDLESS_LIMIT))


def too_many_composites(rule: AnyRule, limit: int, rules: Sequence[AnyRule] = ()) -> LimitError:
    """The error for a rule that would make more composite events from one event than the limit allows.

    ``rules`` are those that are at work with it: if it goes on from what it makes itself, no window would help.
    """
    from cepheus.rules.interval.model import IntervalRule  # the command line reads the limit before it needs rules

    if isinstance(rule, IntervalRule):
        return _too_many_in_intervals(rule, limit, [each for each in rules if isinstance(each, IntervalRule)])
    return _too_many(rule, limit, "narrow its windows, choose last instead of each, or raise the limit")


def too_many_values(rule: AnyRule, limit: int) -> LimitError:
    """The error for a rule with an aggregate that would have to hold more values than the limit allows."""
    return LimitError.of(
        "too-many-values",
        f"an aggregate of rule '{rule.name}' would hold more than {limit} values at once",
        span=rule.span,
        hint="narrow its window, count distinct values by 'approximate', or raise the limit",
    )


def too_many_members(rule: AnyRule, limit: int) -> LimitError:
    """The error for a rule whose composite events would name more members than the limit allows."""
    return LimitError.of(
        "too-many-members",
        f"what rule '{rule.name}' makes of one event would name more than {limit} members",
        span=rule.span,
        hint="narrow the windows of its collections, leave full provenance out, or raise the limit",
    )


def _too_many(rule: AnyRule, limit: int, hint: str) -> LimitError:
    return LimitError.of(
        "too-many-composite-events",
        f"rule '{rule.name}' would make more than {limit} composite events from one event",
        span=rule.span,
        hint=hint,
    )


def _too_many_in_intervals(rule: IntervalRule, limit: int, rules: Sequence[IntervalRule]) -> LimitError:
    from cepheus.rules.check.interval.unbounded import feeds_itself

    own = endless_limits(rules, limit)
    if str(rule.name) in own:
        name = rule.head.name
        hint = f"it makes '{name}' from '{name}' without a further event: let a condition of WHERE end that"
        return _too_many(rule, own[str(rule.name)], hint)
    if feeds_itself(rule, rules):
        hint = "it goes on from what it makes itself: let its condition of WHERE end that earlier, or raise the limit"
        return _too_many(rule, limit, hint)
    return _too_many(rule, limit, f"{', '.join(_fewer(rule))}, or raise the limit")


def too_much_state(rule: IntervalRule, limit: int, most: int | None = None) -> LimitError:
    """The error for a rule in which more than the limit waits for something that may never come.

    ``most`` is what the engine can hold at all, whatever the limit.
    """
    held = limit if most is None else min(limit, most)
    last = "raise the limit" if held == limit else "choose the engine goals, which can hold more"
    return LimitError.of(
        "too-much-state",
        f"rule '{rule.name}' remembers more than {held} events that wait for a partner",
        span=rule.span,
        hint=f"{', '.join(_fewer(rule))}, or {last}",
    )


def least_long_gap(periods: Sequence[int], limit: int) -> int:
    """How long a time must be in which rules with such periods may have more moments than the limit allows.

    >>> least_long_gap([10, 25], 3), least_long_gap([], 3) > MAX_TIME
    (30, True)
    """
    return min(periods) * limit if periods else 2 * MAX_TIME + 2


def require_few_moments(every: Mapping[str, Every], times: Sequence[int], limit: int) -> None:
    """Refuse times of the stream, in order, between two of which a rule has more regular moments than the limit.

    ``every`` has the timers of rules by name, in the order of deployment. The moments up to the first time are over. It
    is asked where a ``least_long_gap`` has been found, so that it costs nothing elsewhere.

    >>> from cepheus.rules.timers import Every
    >>> require_few_moments({"Beat": Every(10)}, [5, 35, 64], 3)
    >>> require_few_moments({"Beat": Every(10)}, [5, 35, 70], 3)
    Traceback (most recent call last):
    ...
    cepheus.core.errors.LimitError: error[too-many-moments]: rule 'Beat' has 4 moments between two times of the stream \
that follow one another, 1970-01-01T00:00:00.000035Z and 1970-01-01T00:00:00.000070Z: more than 3
      hint: is one of them wrong, or in another unit? If not, choose a longer period, or raise the limit
    """
    long = least_long_gap([timer.period for timer in every.values()], limit)
    for before, time in pairwise(times):
        if time - before < long:
            continue
        for name, timer in every.items():
            count = (time - timer.start) // timer.period - (before - timer.start) // timer.period
            if count > limit:
                raise _too_many_moments(name, timer, count, (before, time), limit)


def _too_many_moments(name: str, timer: Every, count: int, between: tuple[int, int], limit: int) -> LimitError:
    first, last = map(format_time, between)
    return LimitError.of(
        "too-many-moments",
        f"rule '{name}' has {count} moments between two times of the stream that follow one another,"
        f" {first} and {last}: more than {limit}",
        span=timer.span,
        hint="is one of them wrong, or in another unit? If not, choose a longer period, or raise the limit",
    )


def forgotten_goals(event_type: str) -> LimitError:
    """The error for an event that lasts after goals were let go because all before it of its type were instants."""
    return LimitError.of(
        "forgotten-goals",
        f"an event '{event_type}' lasts, and what it may need is forgotten: all before it were instants",
        hint="name the column of starts, as in start='start': then everything is kept from the beginning",
    )


def _fewer(rule: IntervalRule) -> list[str]:
    """List what makes a rule remember less and combine fewer events."""
    from cepheus.rules.check.interval.unbounded import window_missing
    from cepheus.rules.interval.model import Choice, Lasting
    from cepheus.rules.walk import walk

    windows = any(isinstance(node, Lasting) for node in walk(rule.pattern))
    advice = ["narrow its windows" if windows and not window_missing(rule) else "bound it with a window, (p).20 min"]
    if rule.policy is None or rule.policy.choice is Choice.UNRESTRICTED:
        advice.append("choose policy recent")
    elif rule.policy.onesided:
        advice.append("leave out onesided")
    return advice
