"""A pipeline file, read and checked: everything that is wrong with it, each with its line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from cepheus.core.calculus import Calculus, calculus_of
from cepheus.core.error_columns import ErrorSource, error_source_of
from cepheus.core.errors import Diagnostic, OptionError, Place, did_you_mean
from cepheus.core.toml_file import read_toml
from cepheus.core.toml_lines import Path as KeyPath
from cepheus.runtime.spark.pipeline.model import DetectSpec, Pipeline, SinkSpec, SourceSpec, SparkSpec

T = TypeVar("T", SourceSpec, SinkSpec, DetectSpec, SparkSpec)

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "time_unit": ("us", "ms", "s"),
    "split": ("auto", "keys", "bands", "slices", "whole"),
    "on_bad_event": ("stop", "skip"),
    "mode": ("error", "append", "overwrite", "ignore"),
}
_KINDS: Mapping[type, str] = {str: "a text", int: "an integer", bool: "true or false"}
_UNCERTAIN = 'write uncertain.value = { sd = "value_sd" }, or { low = -1, high = "above" }'
_EXAMPLE = 'write [[{table}]] and below it format = "parquet"'


def read_pipeline(path: Path) -> Pipeline:
    """Read a pipeline file; OptionError with all findings if it does not make sense.

    Relative paths in it are relative to the folder of the file.
    """
    data, lines = read_toml(path, "pipeline")
    reader = _Reader(path, lines)
    found = reader.pipeline(data)
    if reader.findings:
        raise OptionError(sorted(reader.findings, key=lambda f: (f.place.line or 0) if f.place else 0))
    return found


class _Reader:
    """Makes specs of tables and notes what is wrong with them."""

    def __init__(self, path: Path, lines: Mapping[KeyPath, int]) -> None:
        self._path = path
        self._lines = lines
        self.findings: list[Diagnostic] = []

    def pipeline(self, data: dict[str, Any]) -> Pipeline:
        known = ("rules", "sources", "sinks", "detect", "spark")
        for name in data.keys() - set(known):
            self._note(
                (name,), f"a pipeline has no '{name}'", did_you_mean(name, known) or f"it has {', '.join(known)}"
            )
        sources = tuple(self._spec(SourceSpec, table, ("sources", n)) for n, table in self._tables(data, "sources"))
        sinks = tuple(self._spec(SinkSpec, table, ("sinks", n)) for n, table in self._tables(data, "sinks"))
        found = Pipeline(
            self._rules(data),
            sources,
            sinks,
            self._spec(DetectSpec, data.get("detect", {}), ("detect",)),
            self._spec(SparkSpec, data.get("spark", {}), ("spark",)),
        )
        self._together(found)
        return found

    def _rules(self, data: dict[str, Any]) -> tuple[str, ...]:
        given = data.get("rules", [])
        names = [given] if isinstance(given, str) else given
        if not names or not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            self._note(("rules",), "the pipeline names no rules", 'write rules = ["fire.tesla"] at the top of the file')
            return ()
        paths = [str(self._path.parent / name) for name in names]
        for name, path in zip(names, paths, strict=True):
            if not Path(path).is_file():
                self._note(("rules",), f"there is no rule file '{name}'", f"looked for {path}")
        return tuple(paths)

    def _tables(self, data: dict[str, Any], name: str) -> list[tuple[int, dict[str, Any]]]:
        tables = data.get(name, [])
        if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
            self._note((name,), f"the pipeline has no {name}", _EXAMPLE.format(table=name))
            return []
        return list(enumerate(tables))

    def _spec(self, kind: type[T], table: object, at: KeyPath) -> T:
        if not isinstance(table, dict):
            self._note(at, f"'{at[0]}' is a table", f"write [{at[0]}] and its keys below")
            table = {"format": ""} if kind in (SourceSpec, SinkSpec) else {}
        hints = get_type_hints(kind)
        names = [one.name for one in fields(kind)]
        given: dict[str, Any] = {}
        for key, value in table.items():
            where = (*at, key)
            if key not in names:
                self._note(
                    where, f"'{at[0]}' has no key '{key}'", did_you_mean(key, names) or f"it has {', '.join(names)}"
                )
            elif key == "options":
                given[key] = self._options(value, where)
            elif key == "uncertain":
                given[key] = self._uncertain(value, where)
            elif key == "calculus":
                given[key] = self._calculus(value, where)
            elif self._fits(key, value, hints[key], where):
                given[key] = self._resolved(key, value)
        if "format" in names and "format" not in given:
            if "format" not in table:
                self._note(at, f"this one of the {at[0]} has no format", 'such as format = "parquet"')
            given["format"] = ""
        return kind(**given)

    def _fits(self, key: str, value: object, hint: object, where: KeyPath) -> bool:
        wanted = next(kind for kind in (bool, int, str) if kind is hint or kind in getattr(hint, "__args__", ()))
        if type(value) is not wanted:
            self._note(where, f"'{key}' must be {_KINDS[wanted]}, not {value!r}")
            return False
        if key in _CHOICES and value not in _CHOICES[key]:
            choices = _CHOICES[key]
            hint_text = did_you_mean(str(value), choices) or f"choose one of {', '.join(choices)}"
            self._note(where, f"'{value}' is not a choice for {key}", hint_text)
            return False
        if key in ("shards", "limit") and isinstance(value, int) and value < 1:
            self._note(where, f"'{key}' must be at least 1")
            return False
        return True

    def _options(self, value: object, where: KeyPath) -> dict[str, str]:
        if not isinstance(value, dict) or any(isinstance(one, dict | list) for one in value.values()):
            self._note(where, "'options' is a table of plain values", 'write options = { header = "true" }')
            return {}
        return {name: str(one).lower() if isinstance(one, bool) else str(one) for name, one in value.items()}

    def _uncertain(self, value: object, where: KeyPath) -> dict[str, ErrorSource]:
        """Read the columns that have the errors of attributes: a standard deviation or variance, or two bounds."""
        if not isinstance(value, dict) or not all(isinstance(one, dict) for one in value.values()):
            self._note(where, "'uncertain' has a table for each attribute", _UNCERTAIN)
            return {}
        found: dict[str, ErrorSource] = {}
        for name, table in value.items():
            try:
                found[name] = error_source_of(name, table)
            except OptionError as error:
                self._note((*where, name), error.diagnostics[0].message, _UNCERTAIN)
        return found

    def _calculus(self, value: object, where: KeyPath) -> Calculus | None:
        """Read how probabilities are worked out."""
        try:
            return calculus_of(value)
        except OptionError as error:
            self._note(where, error.diagnostics[0].message, error.diagnostics[0].hint)
            return None

    def _resolved(self, key: str, value: Any) -> Any:
        """Make paths independent of where the command is run; those with a scheme are not ours to touch."""
        if key in ("path", "checkpoint") and "://" not in value:
            return str(self._path.parent.resolve() / value)
        return value

    def _together(self, pipeline: Pipeline) -> None:
        """Check what no table can tell alone."""
        typed = [source.type is not None for source in pipeline.sources]
        if any(typed) and not all(typed):
            place = ("sources", typed.index(False))
            self._note(place, "this source does not say its event type, others do", 'add type = "Temp"')
        if not any(typed) and len(typed) > 1:
            self._note(("sources", 1), "with several sources, each says its event type", 'add type = "Temp"')
        names = [source.type for source in pipeline.sources if source.type is not None]
        for number, name in enumerate(names):
            if name in names[:number]:
                self._note(("sources", number, "type"), f"two sources have events of type '{name}'", "read both in one")
        streams = [source.stream for source in pipeline.sources]
        if any(streams) and not all(streams):
            place = ("sources", streams.index(False))
            self._note(
                place, "this source is not a stream, others are", "add stream = true, or take it from the others"
            )
        for number, sink in enumerate(pipeline.sinks):
            self._sink(number, sink, pipeline.is_stream)

    def _sink(self, number: int, sink: SinkSpec, is_stream: bool) -> None:
        at: KeyPath = ("sinks", number)
        if is_stream and sink.checkpoint is None and sink.format not in ("console", "memory", "noop"):
            self._note(at, "a sink of a stream has a checkpoint", 'add checkpoint = "checkpoints/fires"')
        if not is_stream and (sink.checkpoint or sink.trigger):
            key = "checkpoint" if sink.checkpoint else "trigger"
            self._note((*at, key), f"'{key}' is for streams", "add stream = true to the sources, or leave it out")

    def _note(self, at: KeyPath, message: str, hint: str | None = None) -> None:
        ways = [*(at[:end] for end in range(len(at), 0, -1)), (at[0], 0)]
        line = next((self._lines[way] for way in ways if way in self._lines), None)
        self.findings.append(Diagnostic("pipeline", message, hint=hint, place=Place(str(self._path), line)))
