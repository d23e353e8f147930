"""``detect``: rules and DataFrames in, a DataFrame of composite events out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Literal, Protocol, Unpack

from cepheus.core.errors import OptionError, did_you_mean
from cepheus.core.options import RunKeywords, RunOptions, require_whole
from cepheus.core.time import TimeCheck, TimeUnit
from cepheus.core.values import INT_MAX
from cepheus.engine.base.ties import TieCounts
from cepheus.language.python.rules import PythonRule, TypedRules
from cepheus.plan.split import WayName
from cepheus.rules.check import Checked
from cepheus.rules.model import RuleSet
from cepheus.rules.run_settings import with_provenance, with_ties
from cepheus.runtime.embedded.rule_sources import RuleSource, read_rules
from cepheus.runtime.spark.batch import batch
from cepheus.runtime.spark.explain import explain, skew
from cepheus.runtime.spark.file_plan import FilePlan, Reading, plan_reading, run_files
from cepheus.runtime.spark.layout import NO_TYPE, CompositeLayout, quoted
from cepheus.runtime.spark.metrics import take_name
from cepheus.runtime.spark.planning import Planned, SparkOptions, on_spark, plan
from cepheus.runtime.spark.row_streams import (
    EVERYTHING,
    everything,
    reads_everything,
    warn_of_waiting,
    with_everything,
)
from cepheus.runtime.spark.sources import Naming, Source, checked_times, is_stream, sources_of, start_column
from cepheus.runtime.spark.stream_sinks import BatchFunction, sink_of, trigger_of
from cepheus.runtime.spark.streaming import Flow, stream, watermarked
from cepheus.runtime.spark.tie_counts import CountedTies

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from cepheus.runtime.spark.micro_batches import DetectionQuery, Progress

_ANY_WAY = "auto"
_READERS = ("auto", "spark", "files")


class Compiled(Protocol):
    """Rules that have been compiled, as ``cepheus.compile`` gives them."""

    @property
    def rules(self) -> RuleSet:
        """The rules and the declared types."""


@dataclass(frozen=True, slots=True, eq=False)
class Detection:
    """The composite events that rules find in DataFrames; nothing runs before Spark is asked for rows.

    ``dataframe`` has all of them: ``type``, ``time``, with rules over intervals ``start``, with provenance ``id`` and
    ``from``, and a column for every attribute, null where a type does not have it. ``metrics`` is what the counts of a
    stream are called in the progress of a query; None for a finite input.
    """

    dataframe: DataFrame
    planned: Planned
    counts: CountedTies | None = None
    metrics: str | None = None
    flow: Flow | None = None
    reading: Reading | None = None

    @property
    def checked(self) -> Checked:
        """The rules, checked against the data."""
        return self.planned.checked

    @property
    def layout(self) -> CompositeLayout:
        """The columns of ``dataframe``."""
        return self.planned.composites

    def ties(self) -> TieCounts:
        """What the run counted of simultaneous events, once rows have been asked for: that of the first action.

        OptionError if none were, or if events come as a stream: its progress has the counts of every micro-batch.
        """
        if self.counts is None:
            raise OptionError.of(
                "ties",
                "a stream has no end at which to say what was counted of simultaneous events",
                hint=f"the progress of the query has the counts of every micro-batch: observedMetrics, {self.metrics}",
            )
        return self.counts.ties()

    def of(self, composite: str, rows: DataFrame | None = None) -> DataFrame:
        """The composite events of one type and its attributes: ``time``, with rules over intervals ``start``, with
        provenance ``id`` and ``from``, with anything uncertain ``probability``.

        ``rows`` are taken in place of ``dataframe``: the same rows, cached.
        """
        from pyspark.sql import functions as f

        composites = self.checked.composites
        if composite not in composites:
            hint = did_you_mean(composite, composites) or f"the rules define {', '.join(composites)}"
            raise OptionError.of("type", f"no rule defines '{composite}'", hint=hint)
        own = self.layout.own
        names = dict(zip(self.layout.columns, self.layout.names, strict=True))
        columns = [f.col(quoted(name)) for name in own]
        for attribute in composites[composite].attributes:
            key = (attribute.name, attribute.type or NO_TYPE)
            columns.append(f.col(quoted(names[key])).alias(attribute.name))
        frame = self.dataframe if rows is None else rows
        return frame.where(f.col("type") == composite).select(*columns)

    def write_stream(
        self,
        to: str | BatchFunction,
        path: str | PathLike[str] | None = None,
        *,
        checkpoint: str | PathLike[str],
        composite: str | None = None,
        trigger: str | None = None,
        options: Mapping[str, str] | None = None,
        name: str | None = None,
        restart: Literal["fresh state"] | None = None,
        progress: Progress | None = None,
    ) -> DetectionQuery:
        """Write a stream to a sink, micro-batch by micro-batch: the fast way, where no further operators are needed.

        ``to`` is a format that Spark writes, or a function that takes the rows of a micro-batch and its number. All
        composite events are written, as ``dataframe`` has them, or those of one type, as ``of`` gives them. State and
        progress are in the ``checkpoint``. ``trigger`` is an interval such as ``5 seconds``, or ``available now`` to
        take what is there and end; ``name`` is what Spark's page calls the query. With ``restart="fresh state"`` rules
        begin anew on a checkpoint of others: what was read stays read, what was remembered goes. ``progress`` is that
        of a query that ran before on the checkpoint: it goes on being told.
        """
        from cepheus.runtime.spark.streaming_answer import LATE
        from cepheus.runtime.spark.write_stream import start_stream

        if self.flow is None:
            raise OptionError.of(
                "stream", "these events are no stream", hint="write the DataFrame: detection.dataframe.write"
            )
        sink = sink_of(to, None if path is None else str(path), options or {})
        if composite is not None:
            self.of(composite)  # or say why not

        def chosen(rows: DataFrame) -> DataFrame:
            late = [LATE] if self.flow is not None and self.flow.late else []
            shown = rows.select(*self.layout.shown(), *late) if self.layout.uncertain else rows
            return shown if composite is None else self.of(composite, shown)

        return start_stream(
            self.planned,
            self.flow,
            sink,
            chosen,
            checkpoint=str(checkpoint),
            trigger=trigger_of(trigger),
            name=name,
            restart=restart,
            composite=composite,
            progress=progress,
        )

    def explain(self, *, measure: bool = False) -> str:
        """Describe how the rules are split and why not better, where events go, what Spark leaves out by itself.

        With ``measure`` Spark also looks at the data, and keys with too many events are named.
        """
        told = explain(self.planned)
        if isinstance(self.reading, FilePlan):
            told = explain(replace(self.planned, split=self.reading.split, options=self.reading.options(self.planned)))
        if self.reading is not None and self.reading.told:
            told += f"read: {self.reading.words}\n"
        return told + "".join(f"skewed: {line}\n" for line in skew(self.planned)) if measure else told


def detect(
    rules: RuleSource | Compiled,
    events: DataFrame | Mapping[str, DataFrame],
    *,
    shards: int | None = None,
    split: WayName | Literal["auto", "keys", "bands", "slices", "whole"] = "auto",
    read: Literal["auto", "spark", "files"] = "auto",
    late: bool = False,
    name: str | None = None,
    **options: Unpack[RunKeywords],
) -> Detection:
    """Find the composite events that rules define, in DataFrames, finite or streaming.

    ``events`` is one DataFrame with a column of event types, or a dict of event type to DataFrame. The further keywords
    are those of ``Program.detect`` (``cepheus.RunKeywords``); ``threads`` is not for Spark, which has cores and shards.
    Every column that is not named for something else is an attribute, and null means that it is undefined. Rules over
    intervals take an event with a start for one that lasted from then to its time; by default the column is ``start``,
    if there is one. With ``provenance`` (True, "full") each composite event has an id and the ids of the events it was
    made of.

    Bare numbers in rules over intervals are in ``time_unit``, too. Whether times make sense in their unit Spark finds
    out by a few rows of a finite input now, of a stream when it runs.

    A column of structs of ``value`` and ``error``, the latter a text such as ``N(0, 1)``, has uncertain numbers, too.
    Where anything is uncertain, or rules have networks, composite events have a ``probability``, and attributes that
    may have an error are such structs.

    ``shards`` is how many parts the work is cut into, by default one per core; ``split`` allows only one way to cut.
    Where a finite input is a plain scan of Parquet files that are about in order of time, tasks read the files
    themselves; with ``read="spark"`` Spark does, and ``read="files"`` is refused if tasks cannot.
    An event without a time, or without an attribute that its declaration demands, is bad.

    A stream needs a ``lateness`` unless the DataFrame has a watermark; with ``late`` the events that come later still
    are given, too. A finite input is sorted by time, so no event of it is late. ``name`` is what the metrics of a
    stream are called: by default ``cepheus``, for further ones that may go into one query ``cepheus-2`` and so on.
    """
    shown = options.get("provenance") not in (None, False)
    run = on_spark(RunOptions.of(**options))
    if shards is not None:
        require_whole(shards, "number of shards", INT_MAX)
    given = with_provenance(with_ties(_rule_set(rules, run.unit), run.ties), run.provenance)
    everywhere = everything(events, run.columns.type) if reads_everything(given) else None
    given = with_everything(given)
    naming = Naming.of(run, start_column(events, given, run.columns.start))
    check = TimeCheck.of(run.time_unit, strict=run.strict)
    found = sources_of(events, given, naming)
    if everywhere is not None:
        others = tuple(source for source in found if set(source.types) - {EVERYTHING})
        found = (*others, Source(everywhere, (EVERYTHING,), False))
    sources = checked_times(found, naming, check)
    how = SparkOptions(run, naming, shards or cores(sources[0].frame.sparkSession), shown)
    return find(given, sources, how, split=split, read=read, late=late, name=name)


def find(
    rules: RuleSet,
    sources: tuple[Source, ...],
    options: SparkOptions,
    *,
    split: WayName | str = "auto",
    read: str = "auto",
    late: bool = False,
    name: str | None = None,
) -> Detection:
    """Find the composite events that rules define in sources whose times have been looked at."""
    ways = _ways(split)
    if read not in _READERS:
        hint = did_you_mean(read, _READERS) or f"choose one of {', '.join(_READERS)}"
        raise OptionError.of("option", f"'{read}' is not a choice for read", hint=hint)
    if not is_stream(sources):
        planned = plan(rules, sources, sources, options, ways)
        reading = plan_reading(planned, sources, frozenset(ways), read)
        if isinstance(reading, FilePlan):
            found, reported = run_files(reading, sources[0].frame)
            return Detection(found, planned, reported, reading=reading)
        found, observed = batch(planned)
        return Detection(found, planned, observed, reading=reading)
    if options.run.sort:
        raise OptionError.of("sort", "a stream has no end to sort it at", hint="leave sort out, and give a lateness")
    if options.run.until is not None:
        raise OptionError.of("until", "a stream has no end", hint="leave until out: timers go on with the watermark")
    warn_of_waiting(rules.row_rules)
    options = replace(options, provenance=True)
    metrics = take_name(sources[0].frame.sparkSession, name)
    flowing = watermarked(sources, options.naming, options.run.lateness, metrics)
    planned = plan(rules, sources, flowing, options, ways - {WayName.SLICES})
    return Detection(stream(planned, metrics, late=late), planned, metrics=metrics, flow=Flow(sources, late))


def _ways(split: WayName | str) -> set[WayName]:
    """The ways of cutting the work that are allowed; not to cut it at all always is."""
    if split == _ANY_WAY:
        return set(WayName)
    names = [_ANY_WAY, *(way.value for way in WayName)]
    if not isinstance(split, WayName) and split not in names:
        hint = did_you_mean(split, names) or f"choose one of {', '.join(names)}"
        raise OptionError.of("option", f"'{split}' is not a choice for split", hint=hint)
    return {WayName(split), WayName.WHOLE}


def _rule_set(rules: RuleSource | Compiled, unit: TimeUnit) -> RuleSet:
    if isinstance(rules, RuleSet | str | PathLike | Sequence | TypedRules | PythonRule):
        return read_rules(rules, unit)
    return rules.rules


def cores(spark: SparkSession) -> int:
    """How many tasks can run at once."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has no context; what shuffles use is the next best guess
        return int(spark.conf.get("spark.sql.shuffle.partitions", "8") or 8)
