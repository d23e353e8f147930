"""``cepheus.spark.learn``: rules from a history in DataFrames."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Unpack

from cepheus.core.batch import EventBatch
from cepheus.core.errors import OptionError, did_you_mean
from cepheus.core.options import Duration, RunKeywords, RunOptions, microseconds_of
from cepheus.learning.api import check_apart, check_target
from cepheus.learning.hints import Hints
from cepheus.learning.history import History
from cepheus.learning.leaks import check_hints
from cepheus.learning.learn import Learning, Say, Settings, horizon_of
from cepheus.learning.occurrences import Occurrences
from cepheus.learning.reading import HistoryInput, read_history
from cepheus.learning.report import Learned
from cepheus.learning.spark_events import SparkEvents
from cepheus.learning.spark_past import SparkPast

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def learn(
    history: DataFrame | Mapping[str, DataFrame],
    target: str,
    *,
    occurrences: DataFrame | HistoryInput | None = None,
    slack: Duration | None = None,
    types: Iterable[str] = (),
    terminator: str | None = None,
    window: Duration | None = None,
    longest: Duration | None = None,
    ignore: Iterable[str] = (),
    keys: Iterable[str] = (),
    trust: Iterable[str] = (),
    alarm_cost: float | None = None,
    most_rules: int = 3,
    held_out: float = 0.3,
    budget: float = 1800.0,
    seed: int = 1,
    resume: str | os.PathLike[str] | None = None,
    say: Say = lambda _what, _best: None,
    shards: int | None = None,
    **options: Unpack[RunKeywords],
) -> Learned:
    """Learn TESLA rules as ``cepheus.learn`` does, from a history that Spark reads and that fits nowhere else.

    ``history`` is one DataFrame with a column of event types, or a dict of event type to DataFrame, as for ``detect``;
    the ``occurrences`` that may be given apart can be a DataFrame, too. Spark counts events and cuts traces: about a
    million events come to the driver, those before some of the occurrences and false alarms, and blocks of time at
    random. Candidates are tried on all of history, by the engine, in tasks. The other keywords are those of
    ``cepheus.learn``; ``shards`` is how many parts the work is cut into.
    """
    check_target(target)
    run = RunOptions.of(**options)
    hints = Hints.of(
        types=types, terminator=terminator, window=window, longest=longest, ignore=ignore, keys=keys, trust=trust
    )
    settings = Settings(
        held_out=held_out,
        slack=None if slack is None else microseconds_of(slack),
        most_rules=most_rules,
        seed=seed,
        budget=budget,
        alarm_cost=alarm_cost,
    )
    check_hints(hints)
    events = SparkEvents.of(history, run, shards)
    say("counting", 0.0)
    labels = History.of(_labels(events, target, occurrences, run))
    if not labels.types:
        raise _no_occurrences(events, target)
    known = Occurrences.among(labels, target)
    split = known.split_at(1 - settings.held_out)
    tally = events.tally(split)
    if occurrences is not None:
        check_apart(target, tally.counts)
        known.check_span(tally.span)
    if not set(tally.counts) - {target}:
        raise OptionError.of("learn-target", "the history has no events besides the occurrences")
    count = sum(number for name, number in tally.counts.items() if name != target)
    past = SparkPast(
        events,
        target,
        hints,
        tally,
        horizon_of(tally.span, count, hints),
        known.between(-(2**62), split),
        seed,
        settings.slack or 0,
        History(EventBatch.empty(), {}, labels.texts, labels.codes),
        say,
    )
    hints.check(past.whole, set(tally.counts) - {target})
    return Learned(Learning(past, known, hints, settings, say, resume).run())


def _labels(
    events: SparkEvents, target: str, occurrences: DataFrame | HistoryInput | None, run: RunOptions
) -> EventBatch:
    from pyspark.sql import DataFrame

    if occurrences is None:
        return events.of_type(target)
    if isinstance(occurrences, DataFrame):
        return events.read(occurrences, target, starts=True)
    return read_history(occurrences, run, target)


def _no_occurrences(events: SparkEvents, target: str) -> OptionError:
    names = sorted(events.tally(0).counts)
    hint = did_you_mean(target, names) or f"it has {', '.join(names[:20]) or 'none at all'}"
    return OptionError.of("learn-target", f"the history has no event of type '{target}' to learn from", hint=hint)
