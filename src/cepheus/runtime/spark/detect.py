"""``detect``: rules and DataFrames in, a DataFrame of composite events out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from cepheus.core.errors import OptionError, UnsupportedError, did_you_mean
from cepheus.core.schema import EventType, Schema
from cepheus.core.time import TimeUnit
from cepheus.engine.limits import DEFAULT_LIMIT
from cepheus.engine.registry import AUTO
from cepheus.plan.split import Split, WayName, split
from cepheus.plan.split.split import ALL_WAYS
from cepheus.rules.check import Checked, check
from cepheus.rules.model import RuleSet
from cepheus.runtime.embedded.sources import RuleSource, read_rules
from cepheus.runtime.spark.batch import run_batch
from cepheus.runtime.spark.layout import CompositeLayout, EventLayout, quoted
from cepheus.runtime.spark.prepare import Filters, id_kind, prepare
from cepheus.runtime.spark.routing import route, shard_ranges
from cepheus.runtime.spark.shard import GroupJob, Job
from cepheus.runtime.spark.sources import Naming, Source, schema_of, sources_of
from cepheus.runtime.spark.streaming import is_stream, run_stream, watermarked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Compiled(Protocol):
    """Rules that have been compiled, as ``cepheus.compile`` gives them."""

    @property
    def rules(self) -> RuleSet:
        """The rules and the declared types."""


@dataclass(frozen=True, slots=True, eq=False)
class Detection:
    """The composite events that rules find in DataFrames; nothing runs before Spark is asked for rows.

    ``dataframe`` has all of them: ``type``, ``time``, with provenance ``id`` and ``from``, and a column for every
    attribute, null where a type does not have it.
    """

    dataframe: DataFrame
    checked: Checked
    split: Split
    layout: CompositeLayout

    def of(self, composite: str) -> DataFrame:
        """Give the composite events of one type: ``time``, with provenance ``id`` and ``from``, and its attributes."""
        from pyspark.sql import functions as f

        composites = self.checked.composites
        if composite not in composites:
            hint = did_you_mean(composite, composites) or f"the rules define {', '.join(composites)}"
            raise OptionError.of("type", f"no rule defines '{composite}'", hint=hint)
        own = ["time", *(["id", "from"] if self.layout.provenance else [])]
        names = dict(zip(self.layout.columns, self.layout.names, strict=True))
        columns = [f.col(quoted(name)) for name in own]
        for attribute in composites[composite].attributes:
            assert attribute.type is not None
            columns.append(f.col(quoted(names[attribute.name, attribute.type])).alias(attribute.name))
        return self.dataframe.where(f.col("type") == composite).select(*columns)


def detect(
    rules: RuleSource | Compiled,
    events: DataFrame | Mapping[str, DataFrame],
    *,
    time: str = "time",
    type: str = "type",
    sequence: str | None = None,
    id: str | None = None,
    time_unit: Literal["us", "ms", "s"] = "us",
    provenance: bool = False,
    watermark: str | None = None,
    late: bool = False,
    shards: int | None = None,
    engine: str = AUTO,
    limit: int = DEFAULT_LIMIT,
) -> Detection:
    """Find the composite events that rules define, in DataFrames.

    ``events`` is one DataFrame with a column of event types, or a dict of event type to DataFrame. ``time``, ``type``,
    ``sequence`` and ``id`` name columns; every other column is an attribute. Integer times are in ``time_unit``.

    If the DataFrames are streams, so is the answer. ``watermark`` is how late events may be, such as ``10 seconds``,
    unless they have a watermark of their own; with ``late`` those that come later still are given as well, as JSON in
    the column ``late``.
    """
    naming = Naming(time, type, sequence, id, TimeUnit(time_unit))
    read = rules.rules if isinstance(getattr(rules, "rules", None), RuleSet) else read_rules(rules)
    _refuse_unsupported(read)
    sources = sources_of(events, read, naming)
    streaming = is_stream(sources)
    if streaming:
        sources = watermarked(sources, naming, watermark)
    checked = check(read, schema=schema_of(sources, naming))
    count = shards or _cores(sources[0].frame.sparkSession)
    plan = split(checked, ways=ALL_WAYS - {WayName.SLICES} if streaming else ALL_WAYS, shards=count)
    inputs = {event_type.name: event_type for event_type in plan.inputs}
    layout = EventLayout.of(
        tuple(inputs.values()),
        ids=id_kind(sources, naming, wanted=provenance),
        sequenced=sequence is not None,
        homes=False,
    )
    composites = CompositeLayout.of(checked.composites, provenance=provenance)
    ranges = shard_ranges(plan.groups, count)
    prepared = [p for source in sources if (p := prepare(source, inputs, layout, naming, _no_filters)) is not None]
    groups = tuple(
        GroupJob(group.rules, _types(checked, plan.inputs), engine, limit, numbers)
        for group, numbers in zip(plan.groups, ranges, strict=True)
    )
    routed, job = route(prepared, plan.groups, ranges), Job(layout, composites, groups)
    found = run_stream(routed, job, late=late) if streaming else run_batch(routed, job)
    return Detection(found, checked, plan, composites)


def _no_filters(source: Source) -> Filters:
    return dict.fromkeys(source.types)


def _types(checked: Checked, inputs: tuple[EventType, ...]) -> Schema:
    """Give the attribute types of every event type that rules mention or define, as engines take them."""
    return Schema({**checked.composites, **{event_type.name: event_type for event_type in inputs}}.values())


def _refuse_unsupported(rules: RuleSet) -> None:
    if rules.interval_rules or rules.networks:
        raise UnsupportedError.of(
            "spark",
            "rules over intervals and networks do not run on Spark yet",
            hint="run them in the embedded engine: cepheus.compile(rules).detect(events)",
        )


def _cores(spark: SparkSession) -> int:
    """Give how many tasks can run at once."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has no context; what shuffles use is the next best guess
        return int(spark.conf.get("spark.sql.shuffle.partitions", "8") or 8)
