"""Which of the options that every run takes Spark can honour; needs no Spark."""

from __future__ import annotations

from cepheus.core.errors import OptionError
from cepheus.core.options import RunOptions


def on_spark(options: RunOptions) -> RunOptions:
    """Refuse what Spark cannot honour."""
    if options.threads > 1:
        raise OptionError.of(
            "threads",
            "on Spark the work is spread over tasks, each of which has one thread",
            hint="leave threads out; shards=8 cuts the work into so many parts",
        )
    return options
