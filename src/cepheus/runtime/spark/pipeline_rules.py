"""Where the rules of a pipeline come from: files, folders of files, or a table that Spark reads; and how often anew."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cepheus.core.errors import CepheusError, Diagnostic, OptionError, Place, RuleError
from cepheus.core.time import TimeUnit
from cepheus.core.toml_file import WrongValueError, texts
from cepheus.rules.model import RuleSet
from cepheus.runtime.embedded.rule_sources import ETALIS_EXTENSION, EXTENSION, SQL_EXTENSION, read_rules, read_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMN = "rule"
"""The column of a table of rules that holds their text."""

_EXTENSIONS = (EXTENSION, ETALIS_EXTENSION, SQL_EXTENSION)
_CATALOG = "table"


@dataclass(frozen=True, slots=True)
class RuleTable:
    """A table of rules, one or more in each row: a format that Spark reads and a path, or a name in its catalog."""

    format: str
    path: str

    def read(self, spark: SparkSession, unit: TimeUnit) -> RuleSet:
        """Read the rules as they are now; what is wrong with any of them is told at once."""
        name = f"{self.format}:{self.path}"
        try:
            table = (
                spark.table(self.path) if self.format == _CATALOG else spark.read.format(self.format).load(self.path)
            )
            columns = table.columns
            found = [] if COLUMN not in columns else sorted(str(row[0]) for row in table.select(COLUMN).collect())
        except Exception as error:
            reason = (str(error).splitlines() or ["it gave no reason"])[0]
            raise OptionError.of("source", f"Spark cannot read the rules in '{name}': {reason}") from None
        if COLUMN not in columns:
            hint = f"it has {', '.join(columns)}; the texts of rules are in '{COLUMN}'"
            raise OptionError.of("source", f"'{name}' has no column '{COLUMN}'", hint=hint)
        rules, wrong = RuleSet(), list[Diagnostic]()
        for text in found:
            try:
                rules += read_rules(f"{text}\n\n", unit)  # of two lines: no name of a file
            except CepheusError as error:
                wrong += error.diagnostics
        if wrong:
            raise RuleError(wrong)
        return rules


RulePlaces = tuple[str, ...] | RuleTable
"""Files and folders of them, or a table."""


def places_from(folder: Path, value: object, key: str) -> RulePlaces:
    """Read what a pipeline says of its rules; files are in a folder unless they say otherwise."""
    if not isinstance(value, str):
        return tuple(str(folder / name) for name in texts(value, key))
    format_name, colon, path = value.partition(":")
    if not colon or not format_name.isidentifier() or not path:
        hint = (
            f"write {key} = ['fire.tesla'], {key} = ['rules/'] for a folder, {key} = 'delta:/tables/rules' for a table"
        )
        raise WrongValueError(f"'{key}' is {value!r}, which is neither a list nor a table", hint)
    known = format_name == _CATALOG or "://" in path
    return RuleTable(format_name, path if known else str(folder.resolve() / path))


def files_of(places: tuple[str, ...]) -> list[Path]:
    """The files of rules, those of folders in the order of their names."""
    found: list[Path] = []
    for path in map(Path, places):
        if path.is_dir():
            found += sorted(each for each in path.iterdir() if each.suffix.lower() in _EXTENSIONS)
        else:
            found.append(path)
    return found


def rules_at(places: RulePlaces, spark: SparkSession, unit: TimeUnit) -> RuleSet:
    """Read the rules as they are now."""
    return places.read(spark, unit) if isinstance(places, RuleTable) else read_rules(files_of(places), unit)


def whole_rules_at(places: RulePlaces, spark: SparkSession, unit: TimeUnit) -> RuleSet:
    """Read the rules of a stream that follows them; RuleError if a file is empty, or there is no rule at all.

    An editor empties a file before it writes it: its rules are not gone, and must not lose what they remember.
    """
    try:
        rules = rules_at(places, spark, unit)
        files = [] if isinstance(places, RuleTable) else files_of(places)
        empty = [path for path in files if not read_text(path).strip()]
    except OSError as error:
        raise OptionError.of("file", f"cannot read the rules: {error}") from None
    if empty:
        message, hint = "the rule file is empty", "if its rules are to go, delete it or leave a comment in it"
        raise RuleError(Diagnostic("empty-file", message, hint=hint, place=Place(str(path))) for path in empty)
    if not rules.all_rules:
        raise RuleError.of("no-rules", "there is no rule", hint="stop the stream if nothing is to be found any more")
    return rules


def missing(places: RulePlaces) -> list[tuple[str, str]]:
    """Files and folders of rules that are not there: what is wrong, and where it was looked for."""
    if isinstance(places, RuleTable):
        return []
    return [
        (f"the folder '{path.name}' has no rule files", f"they end in {', '.join(_EXTENSIONS)}")
        if path.is_dir()
        else (f"there is no rule file '{path.name}'", f"looked for {path}")
        for path in map(Path, places)
        if not path.is_file() and not (path.is_dir() and files_of((str(path),)))
    ]
