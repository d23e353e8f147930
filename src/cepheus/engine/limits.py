"""Limits that keep a rule from making more composite events than anyone can use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cepheus.core.errors import LimitError

if TYPE_CHECKING:
    from cepheus.rules.model import AnyRule

DEFAULT_LIMIT = 10_000_000
"""How many composite events one event may make before an engine stops with a LimitError."""


def too_many_composites(rule: AnyRule, limit: int) -> LimitError:
    """Give the error for a rule that would make more composite events from one event than the limit allows."""
    from cepheus.rules.interval.model import IntervalRule  # the command line reads the limit before it needs rules

    fewer = "choose policy recent" if isinstance(rule, IntervalRule) else "choose last instead of each"
    return LimitError.of(
        "too-many-composite-events",
        f"rule '{rule.name}' would make more than {limit} composite events from one event",
        span=rule.span,
        hint=f"narrow its windows, {fewer}, or raise the limit",
    )


def too_much_state(rule: AnyRule, limit: int) -> LimitError:
    """Give the error for a rule in which more than the limit waits for something that may never come."""
    return LimitError.of(
        "too-much-state",
        f"rule '{rule.name}' remembers more than {limit} events that wait for a partner",
        span=rule.span,
        hint="bound it with a window, (p).20 min, choose policy recent, or raise the limit",
    )
