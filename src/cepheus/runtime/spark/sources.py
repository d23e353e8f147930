"""DataFrames as sources of events: which columns mean what, and which event types and attributes they have.

Do their times make sense in their unit? Only columns of integers can be wrong about that. A finite input is looked at
before it runs: a few rows of it. A stream says by and by what times it has: Spark counts along, and what it reports of
the first micro-batch with events is looked at.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cepheus.core.error_columns import ErrorSources
from cepheus.core.errors import OptionError, did_you_mean
from cepheus.core.options import RunOptions
from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.core.time import EARLY, FIRST, LAST, MAX_TIME, MIN_TIME, TimeCheck, TimeUnit
from cepheus.core.values import ValueType
from cepheus.formats.intervals import START, argument_name
from cepheus.rules.expressions import EventPattern
from cepheus.rules.interval.model import Atom
from cepheus.rules.model import AnyRule, RuleSet
from cepheus.rules.rows.model import RowRule
from cepheus.rules.walk import walk
from cepheus.runtime.spark.layout import SQL_TYPES, quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

_KINDS: dict[str, ValueType] = {
    "boolean": ValueType.BOOL,
    "byte": ValueType.INT,
    "tinyint": ValueType.INT,
    "short": ValueType.INT,
    "smallint": ValueType.INT,
    "integer": ValueType.INT,
    "int": ValueType.INT,
    "long": ValueType.INT,
    "bigint": ValueType.INT,
    "float": ValueType.FLOAT,
    "double": ValueType.FLOAT,
    "decimal": ValueType.FLOAT,
    "string": ValueType.STRING,
    "char": ValueType.STRING,
    "varchar": ValueType.STRING,
    "timestamp": ValueType.TIMESTAMP,
    "timestamp_ntz": ValueType.TIMESTAMP,
    "date": ValueType.TIMESTAMP,
}
_MICROSECONDS_A_DAY = 86_400_000_000
_NUMBERS = (ValueType.INT, ValueType.FLOAT)
_VALUE, _ERROR = "value", "error"
"""The fields of a struct that is an uncertain number, as in Arrow tables."""


@dataclass(frozen=True, slots=True)
class Naming:
    """The columns that are not attributes, named once for all DataFrames; integer times are in ``unit``.

    ``uncertain`` names, by attribute, the columns that have its error.
    """

    time: str = "time"
    type: str = "type"
    sequence: str | None = None
    id: str | None = None
    unit: TimeUnit = TimeUnit.US
    start: str | None = None
    probability: str = "probability"
    uncertain: ErrorSources = field(default_factory=dict)

    @classmethod
    def of(cls, options: RunOptions, start: str | None) -> Naming:
        """Take the names that a run was asked for; ``start`` is where events over intervals have theirs."""
        names = options.columns
        own = (names.time, names.type, names.sequence, names.id)
        return cls(*own, options.unit, start, names.probability, options.uncertain)

    @property
    def error_columns(self) -> frozenset[str]:
        """The columns that have the errors of others."""
        return frozenset(name for error in self.uncertain.values() for name in error.columns)

    @property
    def names(self) -> frozenset[str]:
        """All of them."""
        own = (self.time, self.type, self.sequence, self.id, self.start, self.probability)
        return frozenset(name for name in own if name is not None)


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A DataFrame and the event types that come from it; ``typed`` says that a column tells which."""

    frame: DataFrame
    types: tuple[str, ...]
    typed: bool

    @property
    def what(self) -> str:
        """What messages call it."""
        return "the events" if self.typed else f"the events of type '{self.types[0]}'"

    def value_type(self, name: str) -> DataType:
        """The type of the values of a column; of uncertain numbers that of the numbers."""
        return _value_type(self.frame.schema[name].dataType)

    def value(self, name: str) -> Column:
        """The values of a column."""
        return column(name).getField(_VALUE) if self.has_errors(name) else column(name)

    def error(self, name: str) -> Column:
        """The errors of a column that has them, as texts, null where a number is certain."""
        return column(name).getField(_ERROR).cast("string")

    def has_errors(self, name: str) -> bool:
        """Whether a column is a struct of numbers and their errors."""
        return name in self.frame.columns and _is_uncertain(self.frame.schema[name].dataType)


def sources_of(events: DataFrame | Mapping[str, DataFrame], rules: RuleSet, naming: Naming) -> tuple[Source, ...]:
    """The sources of the events that rules look at; OptionError if a column that all need is missing."""
    if isinstance(events, Mapping):
        found = tuple(Source(frame, (name,), False) for name, frame in events.items())
    else:
        composites = {rule.composite.name for rule in rules.all_rules}
        declared = {event_type.name for event_type in rules.declarations}
        mentioned = (name for rule in rules.all_rules for name in mentioned_types(rule))
        others = composites | _relations(rules)
        types = dict.fromkeys(name for name in mentioned if name in declared or name not in others)
        found = (Source(events, tuple(types), True),)
    found = tuple(_with_declared_names(source, rules, naming) for source in found)
    for source in found:
        _check_columns(source, naming)
    return found


def mentioned_types(rule: AnyRule) -> Iterator[str]:
    """The types of events that a rule mentions, in the order of the text."""
    if isinstance(rule, RowRule):
        yield rule.query.source
    yield from (node.type for node in walk(rule) if isinstance(node, EventPattern | Atom))


def _with_declared_names(source: Source, rules: RuleSet, naming: Naming) -> Source:
    """A source with the attributes that declarations call otherwise than the data under their names, and those alone.

    All are read of the frame as it came: the name of one may be that of the column of another.
    """
    from pyspark.sql import functions as f

    declared = {event_type.name: event_type for event_type in rules.declarations}
    own = source.frame.columns
    renamed: dict[str, dict[str, str]] = {}
    for event_type in (declared[name] for name in source.types if name in declared):
        for attribute, called in event_type.columns.items():
            if called in own or attribute in own:
                renamed.setdefault(attribute, {})[event_type.name] = called
    values: dict[str, Column] = {}
    for attribute, by_type in renamed.items():
        value = column(attribute) if attribute in own else f.lit(None)
        for name, called in by_type.items():
            given = column(called) if called in own else f.lit(None)
            value = f.when(column(naming.type) == name, given).otherwise(value) if source.typed else given
        if source.typed or by_type[source.types[0]] in own:
            values[attribute] = value
    frame = source.frame.withColumns(values)
    return replace(source, frame=frame.drop(*(renamed.keys() - values.keys())))


def _relations(rules: RuleSet) -> set[str]:
    """The names of background knowledge, which patterns may mention like events."""
    known = rules.knowledge
    told = {fact.relation for fact in known.facts} | {deduction.relation for deduction in known.deductions}
    return told | {table.name for table in known.tables}


def start_column(events: DataFrame | Mapping[str, DataFrame], rules: RuleSet, given: str | None) -> str | None:
    """The column in which events over intervals have their start: the one given, or else ``start``, if there is
    one and it is no attribute.
    """
    frames = events.values() if isinstance(events, Mapping) else (events,)
    columns = {name for frame in frames for name in frame.columns}
    if given is not None:
        if given not in columns:
            message = f"the events have no column '{given}' for their start"
            raise OptionError.of("column", message, hint=did_you_mean(given, columns))
        return given
    declared = any(event_type.attribute(START) is not None for event_type in rules.declarations)
    return START if rules.interval_rules and not declared and START in columns else None


def _check_columns(source: Source, naming: Naming) -> None:
    wanted = {
        "time": naming.time,
        "sequence": naming.sequence,
        "id": naming.id,
        "type": naming.type if source.typed else None,
    }
    columns = source.frame.columns
    for option, name in wanted.items():
        if name is not None and name not in columns:
            hint = did_you_mean(name, columns) or f"name the column: detect(.., {option}='..')"
            raise OptionError.of("column", f"{source.what} have no column '{name}' for their {option}", hint=hint)
    _check_error_columns(source, naming)
    if naming.probability in columns:
        _check_kind(source, "probability", naming.probability, _NUMBERS, "a probability is a number from 0 to 1")
    times = (ValueType.TIMESTAMP, ValueType.INT)
    _check_kind(source, "time", naming.time, times, "convert it with to_timestamp")
    if naming.start is not None and naming.start in columns:
        _check_kind(source, "start", naming.start, times, "convert it with to_timestamp")
    if naming.sequence is not None:
        _check_kind(source, "sequence", naming.sequence, (ValueType.INT,), "a sequence is a column of integers")
    if naming.id is not None:
        _check_kind(source, "id", naming.id, (ValueType.INT, ValueType.STRING), "an id is an integer or a text")
    if source.typed:
        _check_kind(source, "type", naming.type, (ValueType.STRING,), "a type is a text, the name of the event type")


def _check_error_columns(source: Source, naming: Naming) -> None:
    """Refuse columns of errors that a source with the attribute does not have, or that are no numbers."""
    columns = source.frame.columns
    for attribute, error in naming.uncertain.items():
        for name in error.columns if attribute in columns else ():
            if name not in columns:
                message = f"{source.what} have no column '{name}' for the error of '{attribute}'"
                raise OptionError.of("uncertain", message, hint=did_you_mean(name, columns))
            _check_kind(source, f"error of '{attribute}'", name, _NUMBERS, "the parameters of an error are numbers")


def _check_kind(source: Source, option: str, name: str, fit: Collection[ValueType | None], hint: str) -> None:
    data_type = source.frame.schema[name].dataType
    if kind_of(data_type) not in fit:
        message = f"the column '{name}' cannot be the {option} of {source.what}: it is {data_type.simpleString()}"
        raise OptionError.of("column", message, hint=hint)


def kind_of(data_type: DataType) -> ValueType | None:
    """The type of attribute that a column holds, None if it is none of ours."""
    from pyspark.sql.types import ArrayType

    if isinstance(data_type, ArrayType):
        # a time in a list would be one number in the unit of the data, and text to Spark
        inner = kind_of(data_type.elementType)
        measured = _is_uncertain(data_type.elementType)
        return None if measured or inner in (None, ValueType.TIMESTAMP) else ValueType.LIST
    return _KINDS.get(_value_type(data_type).typeName().partition("(")[0])


def _is_uncertain(data_type: DataType) -> bool:
    names = getattr(data_type, "names", ())
    return data_type.typeName() == "struct" and set(names) == {_VALUE, _ERROR}


def _value_type(data_type: DataType) -> DataType:
    if not _is_uncertain(data_type):
        return data_type
    inner: DataType = data_type[_VALUE].dataType  # type: ignore[index]  # it is a struct
    return inner


def schema_of(sources: Iterable[Source], naming: Naming, rules: RuleSet) -> Schema:
    """The event types that the data has, as the checks of rules take them: null means undefined.

    Where each type has a DataFrame of its own, there are no other types. Where all share one, a type that rules read by
    the places of its attributes has as many as they write, if there are columns ``arg1``, ``arg2`` and so on.
    """
    sources = tuple(sources)
    atoms = (node for rule in rules.interval_rules for node in walk(rule.pattern) if isinstance(node, Atom))
    arities = {atom.type: len(atom.arguments) for atom in atoms}
    types = []
    for source in sources:
        attributes = tuple(
            Attribute(field.name, kind, optional=field.nullable)
            for field in source.frame.schema.fields
            if field.name not in naming.names and (kind := kind_of(field.dataType)) is not None
        )
        in_order = tuple(attribute for attribute in attributes if attribute.name not in naming.error_columns)
        types += [
            EventType(name, _in_places(in_order, arities[name], source.typed) if name in arities else attributes)
            for name in source.types
        ]
    return Schema(types, closed=not any(source.typed for source in sources))


def _in_places(attributes: tuple[Attribute, ...], arity: int, typed: bool) -> tuple[Attribute, ...]:
    """The attributes of a type that rules read by their places; all of them unless it shares them with others."""
    if not typed:
        return attributes
    by_name = {attribute.name: attribute for attribute in attributes}
    names = [argument_name(place) for place in range(1, arity + 1)]
    return tuple(by_name[name] for name in names) if by_name.keys() >= set(names) else attributes


def column(name: str) -> Column:
    """The column of this exact name, dots and all."""
    from pyspark.sql import functions as f

    return f.col(quoted(name))


def micros(value: Column, data_type: DataType, unit: TimeUnit = TimeUnit.US) -> Column:
    """Convert a time to an integer of microseconds since the epoch; a time without a zone is UTC."""
    from pyspark.sql import functions as f

    match data_type.typeName():
        case "timestamp":
            return f.unix_micros(value)
        case "timestamp_ntz":
            seconds = f.hour(value) * 3600 + f.minute(value) * 60
            parts = f.date_part(f.lit("SECOND"), value)
            day = f.unix_date(value.cast("date")).cast("bigint") * _MICROSECONDS_A_DAY
            return day + seconds.cast("bigint") * 1_000_000 + (parts * 1_000_000).cast("bigint")
        case "date":
            return f.unix_date(value).cast("bigint") * _MICROSECONDS_A_DAY
        case _:
            whole = value.cast("bigint")
            return whole if unit is TimeUnit.US else whole * unit.microseconds


def as_kind(value: Column, data_type: DataType, kind: ValueType, unit: TimeUnit) -> Column:
    """Convert an attribute to the type that rules take it for; a timestamp becomes an integer of microseconds."""
    if kind is ValueType.TIMESTAMP:
        return micros(value, data_type, unit)
    if kind is ValueType.LIST and data_type.typeName() == "array":
        return _list_text(value, data_type.simpleString())
    return value.cast(SQL_TYPES[kind])


def _list_text(value: Column, array: str) -> Column:
    """The text of an array; numbers that are not finite are written as such, so that they are refused."""
    from pyspark.sql import functions as f

    if not re.fullmatch(r"(array<)+(float|double)>+", array):
        return f.to_json(value)
    text = f.to_json(value.cast(array.replace("float", "double")))
    return f.regexp_replace(text, '"(NaN|-?Infinity)"', "$1")


def is_stream(sources: Sequence[Source]) -> bool:
    """Whether events come as a stream; OptionError if only some do."""
    kinds = {source.frame.isStreaming for source in sources}
    if len(kinds) > 1:
        raise OptionError.of(
            "stream", "some events come as a stream, others do not", hint="read all of them in the same way"
        )
    return kinds == {True}


_ROWS = 100
"""How many rows of a finite input are looked at: the first that Spark can give."""


def checked_times(sources: Sequence[Source], naming: Naming, check: TimeCheck) -> tuple[Source, ...]:
    """Look at the times of sources, now or, if they are streams, as they come; give the sources to go on with."""
    numbers = [kind_of(source.frame.schema[naming.time].dataType) is ValueType.INT for source in sources]
    if not any(numbers):
        return tuple(sources)
    if not is_stream(sources):
        for source in (source for source, is_number in zip(sources, numbers, strict=True) if is_number):
            rows = source.frame.select(column(naming.time)).head(_ROWS)
            times = [row[0] * naming.unit.microseconds for row in rows if row[0] is not None]
            check.look(np.array([min(max(time, MIN_TIME), MAX_TIME) for time in times], np.int64))
        return tuple(sources)
    watch = _refusing if check.strict else _observed
    return tuple(
        watch(source, naming, check) if is_number else source
        for source, is_number in zip(sources, numbers, strict=True)
    )


def _time(source: Source, naming: Naming) -> Column:
    return micros(column(naming.time), source.frame.schema[naming.time].dataType, naming.unit)


def _refusing(source: Source, naming: Naming, check: TimeCheck) -> Source:
    """Let every time that makes no sense stop the stream."""
    from pyspark.sql import functions as f

    time = _time(source, naming)
    far = _raised("the times are in no year from 1000 to 3000 in their unit")
    right = f.when((time > LAST) | (time < FIRST), far).otherwise(column(naming.time))
    if not check.given:
        early = _raised("the times are numbers without a unit: taken for microseconds they are of early 1970")
        right = f.when((time > -EARLY) & (time < EARLY), early).otherwise(right)
    return replace(source, frame=source.frame.withColumn(naming.time, right))


def _raised(message: str) -> Column:
    """Raise an error, written as tasks write theirs."""
    from pyspark.sql import functions as f

    hint = "say which unit they are in: time_unit='s', or ms or us"
    return f.raise_error(f.lit(f"\ncepheus.core.errors.OptionError: error[time-unit]: {message}\n  hint: {hint}"))


def _observed(source: Source, naming: Naming, check: TimeCheck) -> Source:
    """Let Spark report between which times the events of a micro-batch are."""
    from pyspark.sql import functions as f

    name = f"times-{uuid.uuid4().hex}"
    time = _time(source, naming)
    _listen(source.frame.sparkSession, name, check)
    return replace(source, frame=source.frame.observe(name, f.min(time).alias("first"), f.max(time).alias("last")))


def _listen(spark: SparkSession, name: str, check: TimeCheck) -> None:
    from pyspark.sql.streaming.listener import StreamingQueryListener

    class Listener(StreamingQueryListener):
        """Looks at the first times that are reported."""

        def __init__(self) -> None:
            self.done = False

        def onQueryStarted(self, event: Any) -> None:  # noqa: N802  # Spark's name
            """Wait for events."""

        def onQueryIdle(self, event: Any) -> None:  # noqa: N802
            """Wait for events."""

        def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
            """Leave it at that."""

        def onQueryProgress(self, event: Any) -> None:  # noqa: N802
            """Look at the times of a micro-batch."""
            seen = event.progress.observedMetrics.get(name)
            if not self.done and seen is not None and seen["first"] is not None:
                self.done = True
                check.look(np.array([seen["first"], seen["last"]], np.int64))

    spark.streams.addListener(Listener())
