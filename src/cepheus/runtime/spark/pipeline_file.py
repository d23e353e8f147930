"""What a pipeline file says, read and checked: where events come from, which rules run, where composite events go.

Everything that is wrong with a file is told at once, each finding with its line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from cepheus.core.calculus import Calculus, calculus_of
from cepheus.core.error_columns import ErrorSource, error_source_of
from cepheus.core.errors import Diagnostic, OptionError, RuleError, did_you_mean
from cepheus.core.options import KEYWORDS, RunOptions
from cepheus.core.time import TimeUnit
from cepheus.core.toml_file import (
    ByName,
    KeyPath,
    Keys,
    Read,
    Table,
    Tables,
    TomlFile,
    WrongValueError,
    boolean,
    duration,
    integer,
    one_of,
    text,
    texts,
)
from cepheus.rules.check import check
from cepheus.rules.model import RuleSet
from cepheus.runtime.embedded.rule_sources import read_rules
from cepheus.runtime.spark.pipeline_rules import RulePlaces, RuleTable, files_of, missing, places_from
from cepheus.runtime.spark.planning import on_spark
from cepheus.runtime.spark.stream_sinks import is_possible


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Something that Spark reads: a format and its options; ``type`` is the event type if rows do not tell it."""

    format: str
    path: str | None = None
    type: str | None = None
    schema: str | None = None
    stream: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SinkSpec:
    """Something that Spark writes; ``composite`` is the one type it takes, None for all.

    ``mode`` is how a batch is written, ``trigger`` how often a stream is: an interval such as ``5 seconds``, or
    ``available now`` to take what is there and end. ``writer`` is who writes a stream: ``micro-batches`` by
    ``write_stream``, or an ``operator`` of Spark's that keeps state; by default the first, where it can.
    """

    format: str
    path: str | None = None
    composite: str | None = None
    mode: str = "error"
    checkpoint: str | None = None
    trigger: str | None = None
    writer: str = "auto"
    restart: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DetectSpec:
    """The options of ``cepheus.spark.detect``: those that every run takes, and Spark's own."""

    engine: str | None = None
    limit: int | None = None
    threads: int | None = None
    device: str | None = None
    calculus: Calculus | None = None
    lateness: str | int | None = None
    until: str | int | None = None
    time_unit: str | None = None
    time: str | None = None
    type: str | None = None
    id: str | None = None
    sequence: str | None = None
    start: str | None = None
    probability: str | None = None
    time_format: str | None = None
    sort: bool | None = None
    uncertain: Mapping[str, ErrorSource] | None = None
    on_bad_event: str | None = None
    strict: bool | None = None
    ties: str | None = None
    provenance: bool | str = False
    shards: int | None = None
    split: str = "auto"
    read: str = "auto"


@dataclass(frozen=True, slots=True)
class SparkSpec:
    """Where Spark runs, and its settings; ``metrics`` is the port at which a stream's figures are served, ``packages``
    are what formats need beside Spark, by their Maven coordinates.
    """

    master: str = "local[*]"
    name: str = "cepheus"
    metrics: int | None = None
    packages: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A whole pipeline; paths are resolved. ``reload`` says how often a stream looks whether its rules have changed, in
    microseconds.
    """

    rules: RulePlaces
    sources: tuple[SourceSpec, ...]
    sinks: tuple[SinkSpec, ...]
    detect: DetectSpec = field(default_factory=DetectSpec)
    spark: SparkSpec = field(default_factory=SparkSpec)
    reload: int | None = None

    @property
    def is_stream(self) -> bool:
        """Whether events come as a stream."""
        return any(source.stream for source in self.sources)


S = TypeVar("S", SourceSpec, SinkSpec)
_UNCERTAIN = 'write uncertain.value = { sd = "value_sd" }, or { low = -1, high = "above" }'
_FORMAT = {"format": 'such as format = "parquet"'}


def read_pipeline(path: Path) -> Pipeline:
    """Read a pipeline file; OptionError with all findings if it does not make sense.

    Relative paths in it are relative to the folder of the file.
    """
    file = TomlFile(path, "pipeline")
    found = file.read(_pipeline_table(path.parent))
    _check_rules(found, file)
    for name in ("sources", "sinks"):
        if not file.values.get(name):
            file.note((name,), f"the pipeline has no {name}", f'write [[{name}]] and below it format = "parquet"')
    _check_combinations(found, file)
    file.raise_findings()
    return found


def overridden(pipeline: Pipeline, options: Mapping[str, Any]) -> Pipeline:
    """Return a pipeline with other options of its run; OptionError if they do not go with the rest.

    >>> overridden(Pipeline((), (), (), DetectSpec(limit=7, lateness="1 s")), {"limit": 9}).detect.limit
    9
    """
    detect = replace(pipeline.detect, **options)
    _run_options(detect)
    return replace(pipeline, detect=detect)


def _run_options(detect: DetectSpec) -> RunOptions:
    return on_spark(RunOptions.of(**{key: getattr(detect, key) for key in KEYWORDS}))


def _pipeline_table(folder: Path) -> Table[Pipeline]:
    location = _location(folder)
    source: Keys = {
        "format": text,
        "path": location,
        "type": text,
        "schema": text,
        "stream": boolean,
        "options": _OPTIONS,
    }
    sink: Keys = {
        "format": text,
        "path": location,
        "composite": text,
        "mode": one_of("error", "append", "overwrite", "ignore"),
        "checkpoint": location,
        "trigger": text,
        "writer": one_of("auto", "micro-batches", "operator"),
        "restart": one_of("fresh state"),
        "options": _OPTIONS,
    }
    spark: Keys = {"master": text, "name": text, "metrics": integer(0), "packages": texts, "options": _OPTIONS}
    return Table(
        "a pipeline",
        _pipeline,
        {
            "rules": lambda value, key: places_from(folder, value, key),
            "reload": duration(positive=True),
            "sources": Tables(Table("this source", _with_format(SourceSpec), source, _FORMAT)),
            "sinks": Tables(Table("this sink", _with_format(SinkSpec), sink, _FORMAT)),
            "detect": _DETECT,
            "spark": Table("[spark]", SparkSpec, spark),
        },
    )


def _pipeline(**given: Any) -> Pipeline:
    return Pipeline(**{"rules": (), "sources": (), "sinks": (), **given})


def _with_format(kind: type[S]) -> Callable[..., S]:
    """Make a spec that has a format, if only to go on and find more that is wrong."""
    return lambda **given: kind(**{"format": "", **given})


def _location(folder: Path) -> Read[str]:
    """Make paths independent of where the command is run; those with a scheme are not ours to touch."""

    def read(value: object, key: str) -> str:
        found = text(value, key)
        return found if "://" in found else str(folder.resolve() / found)

    return read


def _option(value: object, name: str) -> str:
    if isinstance(value, dict | list):
        raise WrongValueError(f"the option '{name}' is no plain value", _OPTIONS.hint)
    return str(value).lower() if isinstance(value, bool) else str(value)


_OPTIONS = ByName(_option, 'write options = { header = "true" }')


def _error(value: object, name: str) -> ErrorSource:
    """Read the columns that have the error of an attribute: a standard deviation or variance, or two bounds."""
    if not isinstance(value, dict):
        raise WrongValueError(f"the error of '{name}' is a table", _UNCERTAIN)
    try:
        return error_source_of(name, value)
    except OptionError as error:
        raise WrongValueError(error.diagnostics[0].message, _UNCERTAIN) from None


def _calculus(value: object, _: str) -> Calculus:
    """Read how probabilities are worked out."""
    try:
        return calculus_of(value)
    except OptionError as error:
        raise _wrong(error) from None


def _of_every_run(value: object, key: str) -> object:
    """Read an option that every run takes: it is refused in the same words as everywhere."""
    try:
        RunOptions.of(**{key: value})  # type: ignore[arg-type]  # which is what this finds out
    except OptionError as error:
        raise _wrong(error) from None
    return value


def _wrong(error: OptionError) -> WrongValueError:
    finding = error.diagnostics[0]
    return WrongValueError(finding.message, finding.hint)


_DETECT = Table(
    "[detect]",
    DetectSpec,
    {
        **dict.fromkeys(KEYWORDS, _of_every_run),
        "uncertain": ByName(_error, _UNCERTAIN),
        "calculus": _calculus,
        "shards": integer(1),
        "split": one_of("auto", "keys", "bands", "slices", "whole"),
        "read": one_of("auto", "spark", "files"),
    },
    renamed={"watermark": 'it is called lateness: lateness = "10 seconds"'},
)


def _check_rules(pipeline: Pipeline, file: TomlFile) -> None:
    if not file.values.get("rules"):
        file.note(("rules",), "the pipeline names no rules", 'write rules = ["fire.tesla"] at the top of the file')
    for what, where in missing(pipeline.rules):
        file.note(("rules",), what, where)
    if pipeline.reload is not None and not pipeline.is_stream:
        file.note(("reload",), "rules are read again while a stream runs, and there is none", "leave it out")


def _check_combinations(pipeline: Pipeline, file: TomlFile) -> None:
    """Check what no table can tell alone."""
    try:
        _run_options(pipeline.detect)
    except OptionError as error:
        wrong = _wrong(error)
        key = error.diagnostics[0].code
        file.note(("detect", key) if key in KEYWORDS else ("detect",), wrong.message, wrong.hint)
    typed = [source.type is not None for source in pipeline.sources]
    if any(typed) and not all(typed):
        place = ("sources", typed.index(False))
        file.note(place, "this source does not say its event type, others do", 'add type = "Temp"')
    if not any(typed) and len(typed) > 1:
        file.note(("sources", 1), "with several sources, each says its event type", 'add type = "Temp"')
    names = [source.type for source in pipeline.sources if source.type is not None]
    for number, name in enumerate(names):
        if name in names[:number]:
            file.note(("sources", number, "type"), f"two sources have events of type '{name}'", "read both in one")
    streams = [source.stream for source in pipeline.sources]
    if any(streams) and not all(streams):
        place = ("sources", streams.index(False))
        file.note(place, "this source is not a stream, others are", "add stream = true, or take it from the others")
    for number, sink in enumerate(pipeline.sinks):
        _check_sink(number, sink, file, is_stream=pipeline.is_stream, reload=pipeline.reload is not None)


def _check_sink(number: int, sink: SinkSpec, file: TomlFile, *, is_stream: bool, reload: bool) -> None:
    at: KeyPath = ("sinks", number)
    if is_stream and sink.checkpoint is None and sink.format not in ("console", "memory", "noop"):
        file.note(at, "a sink of a stream has a checkpoint", 'add checkpoint = "checkpoints/fires"')
    if sink.writer == "micro-batches" and not is_possible(sink.format):
        file.note((*at, "writer"), f"micro-batches cannot be written to '{sink.format}'", "leave writer out")
    if reload and (sink.writer == "operator" or not is_possible(sink.format) or sink.checkpoint is None):
        hint = "give the sink a checkpoint and a format that write_stream can write to, or leave out reload"
        file.note(at, "rules are read again only by a stream that micro-batches write", hint)
    if sink.restart is not None and sink.writer == "operator":
        hint = "give the sink a new checkpoint, or leave out writer"
        file.note((*at, "restart"), "an operator of Spark's keeps its state in the checkpoint", hint)
    if not is_stream and (sink.checkpoint or sink.trigger):
        key = "checkpoint" if sink.checkpoint else "trigger"
        file.note((*at, key), f"'{key}' is for streams", "add stream = true to the sources, or leave it out")


_DATA_TELLS = {"undeclared-order"}
"""Errors of rules that the columns of the data may settle."""


def check_pipeline(path: Path, pipeline: Pipeline) -> tuple[Diagnostic, ...]:
    """Check the rules of a pipeline and the composite events that its sinks take; give the warnings.

    What only the data can tell is found when the pipeline runs; so is what rules in a table say.
    """
    if isinstance(pipeline.rules, RuleTable):
        return ()
    rules = read_rules(files_of(pipeline.rules), TimeUnit(pipeline.detect.time_unit or "us"))
    warnings: tuple[Diagnostic, ...] = ()
    try:
        warnings = check(rules, closed=False).warnings
    except RuleError as error:
        mistakes = [finding for finding in error.diagnostics if finding.code not in _DATA_TELLS]
        if mistakes:
            raise RuleError(mistakes) from None
    _check_sinks(path, pipeline, rules)
    return warnings


def _check_sinks(path: Path, pipeline: Pipeline, rules: RuleSet) -> None:
    names = {rule.composite.name for rule in rules.all_rules}
    defined = sorted(names)
    wrong = [
        (number, sink.composite)
        for number, sink in enumerate(pipeline.sinks)
        if sink.composite is not None and sink.composite not in defined
    ]
    if not wrong:
        return
    file = TomlFile(path, "pipeline")
    for number, name in wrong:
        hint = did_you_mean(name, defined) or f"the rules define {', '.join(defined) or 'nothing'}"
        file.note(("sinks", number, "composite"), f"no rule defines '{name}'", hint)
    file.raise_findings()
