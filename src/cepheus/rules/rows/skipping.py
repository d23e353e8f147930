"""Where the search cannot go on after a match."""

from __future__ import annotations

from cepheus.core.errors import RuleError
from cepheus.rules.rows.model import RowQuery


def skip_failed(query: RowQuery, *, nothing: bool) -> RuleError:
    """The error for AFTER MATCH SKIP to a row from which the search could not go on."""
    target = query.after.target
    why = f"the match has no row of {target}"
    if not nothing:
        why = f"{target} is the first row of the match, which would be found again for ever"
    return RuleError.of(
        "skip",
        f"AFTER MATCH SKIP {query.after.kind.value} {target} has nowhere to go: {why}",
        span=query.after.span,
        hint="skip to a variable that every match has, and never as its first row, or PAST LAST ROW",
    )
