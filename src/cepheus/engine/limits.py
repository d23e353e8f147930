"""Limits that keep a rule from making more composite events than anyone can use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cepheus.core.errors import LimitError

if TYPE_CHECKING:
    from cepheus.rules.model import Rule

DEFAULT_LIMIT = 10_000_000
"""How many composite events one event may make before an engine stops with a LimitError."""


def too_many_composites(rule: Rule, limit: int) -> LimitError:
    """Give the error for a rule that would make more composite events from one event than the limit allows."""
    return LimitError.of(
        "too-many-composite-events",
        f"rule '{rule.name}' would make more than {limit} composite events from one event",
        span=rule.span,
        hint="narrow its windows, choose last instead of each, or raise the limit",
    )
