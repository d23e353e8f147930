"""From rules and DataFrames to all that a run needs: shared by batches and streams."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cepheus.core.errors import Diagnostic, OptionError, RuleError
from cepheus.core.options import AUTO, OnBadEvent, RunOptions
from cepheus.core.schema import EventType, Schema
from cepheus.core.values import ValueType
from cepheus.engine.assembly.ending import fires_without_events, has_timers, require_end
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.capabilities import SPARK
from cepheus.plan.pattern.constructs import require_rules
from cepheus.plan.split import ByBand, Split, WayName, Whole, split
from cepheus.plan.split.component import AttributeKey, uncertain_attributes
from cepheus.rules.belief.model import Belief
from cepheus.rules.check import Checked, check
from cepheus.rules.model import AnyRule, Rule, RuleSet
from cepheus.rules.resolve import resolve
from cepheus.rules.run_settings import has_ties_ordered
from cepheus.runtime.spark.error_layout import ErrorLayout
from cepheus.runtime.spark.event_filters import event_filters, interval_filters, row_filters, settled_inputs
from cepheus.runtime.spark.layout import CompositeLayout, EventLayout
from cepheus.runtime.spark.pushdown import Condition, Pushdown
from cepheus.runtime.spark.routing import Placement, Routed, SourceRows, event_times, id_kind, source_rows
from cepheus.runtime.spark.shard import GroupJob, Job
from cepheus.runtime.spark.sources import Naming, Source, is_stream, kind_of, schema_of
from cepheus.uncertainty.belief.belief import beliefs_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """How to run; ``naming`` is what the names of columns that the run was asked for mean in these DataFrames, and
    ``shards`` is how many shards a group that can be split gets.
    """

    run: RunOptions
    naming: Naming
    shards: int
    provenance: bool = False

    @property
    def skip_bad(self) -> bool:
        """Whether bad events are left out."""
        return self.run.on_bad_event is OnBadEvent.SKIP


def on_spark(options: RunOptions) -> RunOptions:
    """Refuse what Spark cannot honour."""
    if options.threads not in (1, AUTO):
        raise OptionError.of(
            "threads",
            "on Spark the work is spread over tasks, each of which has one thread",
            hint="leave threads out; shards=8 cuts the work into so many parts",
        )
    if options.time_format is not None:
        raise OptionError.of(
            "time-format",
            "Spark reads times that are texts by functions of its own",
            hint="make timestamps of them: events.withColumn('time', to_timestamp('time', 'dd.MM.yyyy HH:mm'))",
        )
    return replace(options, threads=1)


@dataclass(frozen=True, slots=True, eq=False)
class Planned:
    """Rules that fit the data, how they are split, and the rows that their shards will get.

    ``inputs`` are the event types from outside as engines meet them; ``pushed`` is, for each, what Spark leaves out,
    ``left_to_engine`` what rules ask of uncertain numbers that only an engine can tell. ``times`` are those of all
    events, if rules have timers: each one of a type that rules read or declare lets time go on, also one that no rule
    asks for. ``ways`` are those in which rules may be split, ``uncertain`` the attributes that may have errors.
    """

    checked: Checked
    split: Split
    options: SparkOptions
    inputs: Mapping[str, EventType]
    events: EventLayout
    composites: CompositeLayout
    sources: tuple[SourceRows, ...]
    pushed: Mapping[str, Condition | None]
    left_to_engine: Mapping[str, Sequence[str]]
    times: tuple[DataFrame, ...] = ()
    ways: frozenset[WayName] = frozenset(WayName)
    uncertain: frozenset[AttributeKey] = frozenset()

    def job(
        self,
        routed: Sequence[Routed],
        edges: Mapping[int, tuple[int, ...]] | None = None,
        lasts: tuple[int, int] | None = None,
    ) -> Job:
        """What tasks run; ``edges`` has, by the first shard of a group, the times at which its slices begin.

        ``lasts`` are the times of the first and the last event of a finite input, asked for where rules have timers.
        """
        types = Schema({**self.checked.composites, **self.inputs}.values())
        options = self.options
        told: set[str] = set()
        tells = []
        for one in routed:
            tells.append(frozenset(one.group.inputs) - told)
            told |= tells[-1]
        groups = tuple(
            GroupJob(
                one.group.rules,
                types,
                options.run,
                one.shards,
                (edges or {}).get(one.shards.start, ()),
                isinstance(one.group.way, ByBand),
                self._beliefs(one.group.rules),
                lasts if has_timers(RuleSet.of(one.group.rules)) else None,
                late,
            )
            for one, late in zip(routed, tells, strict=True)
        )
        return Job(self.events, self.composites, groups)

    def _beliefs(self, rules: Sequence[AnyRule]) -> tuple[Belief, ...]:
        names = {rule.name for rule in rules}
        return tuple(belief for belief in self.checked.rules.beliefs if belief.rule in names)


def plan(
    rules: RuleSet,
    sources: Sequence[Source],
    prepared_from: Sequence[Source],
    options: SparkOptions,
    ways: Collection[WayName],
) -> Planned:
    """Check rules against the data and split them.

    The rows come from ``prepared_from``: the sources themselves, or what a stream has made of them.
    """
    naming = options.naming
    _require_sequence(rules, naming)
    checked = check(rules, schema=schema_of(sources, naming, rules))
    _refuse_misfits(checked, sources)
    require_rules(SPARK, checked.rules)
    require_end(checked.rules, options.run.until)
    doubtful = any(naming.probability in source.frame.columns for source in sources)
    uncertain = uncertain_attributes(checked, _given_errors(checked, sources, naming), doubtful=doubtful)
    found = split(checked, ways=ways, shards=options.shards, uncertain=uncertain)
    waits_for_first = is_stream(sources) and any(map(fires_without_events, checked.rules.rules))
    unread = [name for name in checked.inputs if all(name != read.name for read in found.inputs)]
    if waits_for_first:
        found = replace(found, inputs=(*found.inputs, *map(EventType, unread)))
        found = with_all_events(found, found.inputs)
    filters = event_filters((resolve(rule) for rule in checked.rules.rules), options.run.calculus)
    filters += interval_filters(checked.rules.interval_rules, {**checked.composites, **checked.inputs})
    filters += row_filters(checked.rules.row_rules)
    declared = {event_type.name for event_type in checked.rules.declarations}
    # Where the first event of all counts, only bad ones are left out: attributes may be undefined in the others.
    settled = found.inputs if waits_for_first else settled_inputs(found.inputs, declared, filters)
    inputs = {event_type.name: event_type for event_type in settled}
    types = Schema({**checked.composites, **inputs}.values())
    create(options.run, checked.rules.all_rules, types, beliefs=beliefs_of(checked.rules))  # or say why not
    events = EventLayout.of(
        tuple(inputs.values()),
        ids=id_kind(sources, naming, wanted=options.provenance),
        sequenced=naming.sequence is not None,
        marks_owned=any(isinstance(group.way, ByBand) for group in found.groups),
        intervals=naming.start is not None,
        doubtful=doubtful,
        errors=_error_layout(inputs, sources, options),
    )
    asked = [] if waits_for_first else filters
    # Of types that no rule reads engines get no attributes, but bad ones are known by those that are declared.
    known = {**checked.inputs, **inputs, **{name: checked.inputs[name] for name in unread}}
    pushdown = Pushdown(asked, known, naming, skip_bad=options.skip_bad, uncertain=uncertain)
    pushed: dict[str, Condition | None] = {}
    rows, times = [], []
    for source in (replace(each, types=tuple(known)) if each.typed else each for each in prepared_from):
        conditions = {
            name: pushdown.condition(source, name, name in declared) for name in source.types if name in inputs
        }
        pushed |= conditions
        prepared = source_rows(source, inputs, events, naming, conditions)
        if prepared is not None:
            rows.append(prepared)
        if has_timers(checked.rules) and not is_stream(sources):
            sound = {name: pushdown.sound(source, name, name in declared) for name in source.types if name in known}
            times += event_times(source, sound, naming)
    composites = CompositeLayout.of(
        checked.composites,
        provenance=options.provenance,
        probability=bool(checked.rules.beliefs or uncertain or doubtful),
        heads=[rule.head.name for rule in checked.rules.interval_rules],
        uncertain=uncertain,
    )
    return Planned(
        checked,
        found,
        options,
        inputs,
        events,
        composites,
        tuple(rows),
        pushed,
        pushdown.left_to_engine,
        tuple(times),
        frozenset(ways),
        uncertain,
    )


def with_all_events(found: Split, inputs: Sequence[EventType]) -> Split:
    """Send all events to where rules may fire without one: a stream begins with the first event of all.

    Of a finite input it is asked for before. Engines pass over what their rules do not look at.
    """
    everything = tuple(event_type.name for event_type in inputs)
    return replace(
        found,
        groups=tuple(
            replace(group, inputs=everything)
            if any(isinstance(rule, Rule) and fires_without_events(rule) for rule in group.rules)
            else group
            for group in found.groups
        ),
    )


def _given_errors(checked: Checked, sources: Sequence[Source], naming: Naming) -> frozenset[AttributeKey]:
    """The attributes that have errors in the data."""
    return frozenset(
        (name, attribute.name)
        for source in sources
        for name in source.types
        if name in checked.inputs
        for attribute in checked.inputs[name].attributes
        if attribute.name in source.frame.columns
        if source.has_errors(attribute.name) or attribute.name in naming.uncertain
    )


def _error_layout(inputs: Mapping[str, EventType], sources: Sequence[Source], options: SparkOptions) -> ErrorLayout:
    """Lay out the errors of the attributes that rules read."""
    told = options.naming.uncertain
    numbers = (a.name for t in inputs.values() for a in t.attributes if a.type is not None and a.type.is_numeric)
    read = sorted(set(numbers))
    texts = tuple(name for name in read if any(source.has_errors(name) for source in sources))
    return ErrorLayout(texts, tuple((name, told[name]) for name in read if name in told), options.skip_bad)


def _require_sequence(rules: RuleSet, naming: Naming) -> None:
    """Refuse ``ties ordered`` where nothing tells the order of simultaneous events, which Spark brings in any."""
    if naming.sequence is None and has_ties_ordered(rules):
        raise OptionError.of(
            "ties",
            "Spark brings simultaneous events in any order: ties ordered needs a column that tells it",
            span=None if rules.ties is None else rules.ties.span,
            hint="name a column of numbers that orders events, an offset say: sequence='COLUMN'",
        )


def _refuse_misfits(checked: Checked, sources: Sequence[Source]) -> None:
    """Refuse declared types that the DataFrames do not have as they are declared; undeclared ones the checks saw to."""
    findings = []
    frames = {name: source for source in sources for name in source.types}
    for event_type in checked.rules.declarations:
        source = frames.get(event_type.name)
        if source is not None and event_type.name in checked.inputs:
            findings += [f for a in event_type.attributes if (f := _misfit(source, event_type, a.name))]
    if findings:
        raise RuleError(findings)


def _misfit(source: Source, event_type: EventType, name: str) -> Diagnostic | None:
    attribute = event_type.attribute(name)
    assert attribute is not None
    span = attribute.span or event_type.span
    what = f"'{event_type.name}.{name}' is declared as {attribute.type.value if attribute.type else 'unknown'}"
    if name not in source.frame.columns:
        if attribute.optional:
            return None
        hint = "rename a column, or declare the attribute optional with '?'"
        return Diagnostic("missing-column", f"{what}, but {source.what} have no column '{name}'", span, hint)
    data_type = source.value_type(name)
    kind = kind_of(data_type)
    if kind is attribute.type or (kind, attribute.type) in _CONVERTED:
        return None
    hint = "declare it as what it is, or convert the column"
    return Diagnostic("column-type", f"{what}, but the column is {data_type.simpleString()}", span, hint)


_CONVERTED = {
    (ValueType.INT, ValueType.FLOAT),
    (ValueType.INT, ValueType.TIMESTAMP),
    (ValueType.STRING, ValueType.LIST),
}
"""Columns that become what is declared without loss of meaning."""


def place_groups(planned: Planned, placements: Mapping[int, Placement]) -> list[Routed]:
    """Number the shards of all groups; ``placements`` has those of bands and slices, by the place of their groups."""
    routed = []
    first = 0
    for number, group in enumerate(planned.split.groups):
        count = 1 if isinstance(group.way, Whole) else planned.options.shards
        routed.append(Routed(group, range(first, first + count), placements.get(number)))
        first += count
    return routed
