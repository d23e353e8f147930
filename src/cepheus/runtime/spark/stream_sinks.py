"""Where micro-batches that we run ourselves are written, and why nothing is doubled when one is run again.

Files go through Spark's own sink of files, which keeps a log of finished micro-batches beside them: the folder is the
one that ``writeStream`` would make. Delta is told which query and micro-batch a write belongs to. What other formats
get may be repeated; whoever reads leaves out an ``id`` that it knows. A function is called with the number of the
micro-batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from cepheus.core.errors import OptionError, did_you_mean

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_DATASOURCES = "org.apache.spark.sql.execution.datasources"
FILE_FORMATS: Mapping[str, str] = {
    "parquet": f"{_DATASOURCES}.parquet.ParquetFileFormat",
    "orc": f"{_DATASOURCES}.orc.OrcFileFormat",
    "json": f"{_DATASOURCES}.json.JsonFileFormat",
    "csv": f"{_DATASOURCES}.csv.CSVFileFormat",
}
"""The formats of files that Spark's sink of files writes, and what writes them."""

REFUSED = {"memory": "it is a table of one query of Spark's own", "text": "a composite event has more than one column"}
"""Formats that cannot be written this way, and why."""


class StreamSink(Protocol):
    """Takes what was found, micro-batch after micro-batch; the last one may come twice."""

    @property
    def reads_often(self) -> bool:
        """Whether rows may be asked for more than once."""

    def write(self, rows: DataFrame, batch: int, query: str) -> None:
        """Write the rows of a micro-batch; ``query`` is the same in all runs of a query."""


BatchFunction = Callable[["DataFrame", int], None]
"""Takes the rows of a micro-batch and its number."""


@dataclass(frozen=True, slots=True)
class FunctionSink:
    """A function of the user's."""

    function: BatchFunction
    reads_often: bool = True

    def write(self, rows: DataFrame, batch: int, query: str) -> None:
        """Call it."""
        del query
        self.function(rows, batch)


@dataclass(frozen=True, slots=True)
class FileSink:
    """Files in a folder, and the log of finished micro-batches."""

    format: str
    path: str
    options: Mapping[str, str] = field(default_factory=dict)
    reads_often: bool = False

    def write(self, rows: DataFrame, batch: int, query: str) -> None:
        """Write files; a micro-batch that is in the log already is passed over."""
        del query
        spark: Any = rows.sparkSession
        jvm = spark._jvm
        file_format = _class(jvm, FILE_FORMATS[self.format])()
        sink = _class(jvm, "org.apache.spark.sql.execution.streaming.sinks.FileStreamSink")(
            spark._jsparkSession,
            self.path,
            file_format,
            jvm.PythonUtils.toSeq([]),
            jvm.PythonUtils.toScalaMap({"path": self.path, **self.options}),
        )
        sink.addBatch(batch, rows._jdf)


def _class(jvm: Any, name: str) -> Any:
    found = jvm
    for part in name.split("."):
        found = getattr(found, part)
    return found


@dataclass(frozen=True, slots=True)
class FormatSink:
    """Any other format that Spark writes in batches."""

    format: str
    path: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    reads_often: bool = False

    def write(self, rows: DataFrame, batch: int, query: str) -> None:
        """Append the rows."""
        writer = rows.write.format(self.format).mode("append").options(**self.options)
        if self.format == "delta":  # which then passes over what it has of this query
            writer = writer.option("txnAppId", query).option("txnVersion", str(batch))
        writer.save(self.path) if self.path is not None else writer.save()


def sink_of(to: str | BatchFunction, path: str | None, options: Mapping[str, str]) -> StreamSink:
    """The sink for a format or a function; OptionError if micro-batches cannot be written to it."""
    if callable(to):
        if path is not None or options:
            raise OptionError.of("sink", "a function takes rows and a number: it has no path and no options")
        return FunctionSink(to)
    name = to.lower()
    if name in REFUSED:
        hint = "use Spark's own writer: detection.dataframe.writeStream"
        raise OptionError.of("sink", f"'{to}' cannot be written to by write_stream: {REFUSED[name]}", hint=hint)
    if name not in FILE_FORMATS:
        return FormatSink(name, path, options)
    if path is None:
        hint = f"write_stream('{to}', path='out', checkpoint='..')"
        raise OptionError.of("sink", f"'{to}' needs a path to write to", hint=hint)
    return FileSink(name, path, options)


def is_possible(format_name: str) -> bool:
    """Whether ``write_stream`` can write a format."""
    return format_name.lower() not in REFUSED


TRIGGERS = ("available now",)


def trigger_of(trigger: str | None) -> dict[str, Any]:
    """What Spark's writer is told of when micro-batches are to come: an interval, or what is there and then the end.

    >>> trigger_of("available now"), trigger_of("5 seconds"), trigger_of(None)
    ({'availableNow': True}, {'processingTime': '5 seconds'}, {})
    """
    if trigger is None:
        return {}
    if trigger in TRIGGERS:
        return {"availableNow": True}
    if not any(letter.isdigit() for letter in trigger):
        hint = did_you_mean(trigger, TRIGGERS) or "write an interval such as '5 seconds', or 'available now'"
        raise OptionError.of("trigger", f"'{trigger}' does not say when micro-batches are to come", hint=hint)
    return {"processingTime": trigger}
