"""``cepheus detect``: the composite events in files of events."""

from __future__ import annotations

import sys
import time as clock
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from cepheus.cli.check import Facts, Rules, read_all, warning_without_rules
from cepheus.cli.console import note, report, warnings_reported
from cepheus.cli.run_options import with_run_options
from cepheus.core.errors import EventError, OptionError, RuleError, Severity

if TYPE_CHECKING:
    from cepheus.api import Program
    from cepheus.core.batch import EventBatch
    from cepheus.core.time import TimeUnit
    from cepheus.formats.read import EventFile
    from cepheus.runtime.embedded.detect import FileDetection, FilesByType, Tally


class Host(Enum):
    """Where the rules run."""

    EMBEDDED = "embedded"
    SPARK = "spark"


class Sink(Protocol):
    """What takes the composite events; ``unit`` is that of their times, None for ISO 8601."""

    unit: TimeUnit | None

    def write(self, batch: EventBatch) -> None:
        """Take some composite events."""


@with_run_options
def detect(
    rules: Rules,
    events: Annotated[
        list[str] | None,
        typer.Option(
            "--events",
            metavar="[TYPE=]FILE",
            help="A file of events: .jsonl, .csv, .parquet, .arrow or .events, texts also as .gz; - is standard input, "
            "JSON lines or CSV. With TYPE= all its events are of that type, and need no type column. May be repeated.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the composite events here, in the extension's format.")
    ] = None,
    on: Annotated[Host, typer.Option(help="Run in this process, or on Spark.")] = Host.EMBEDDED,
    master: Annotated[str, typer.Option(metavar="URL", help="For --on spark: where Spark runs.")] = "local[*]",
    facts: Facts = None,
    *,
    options: dict[str, Any],
) -> None:
    """Find the composite events that rules define, in files of events.

    Several files are merged by time. Without -o the composite events are shown as a table. Times are written as they
    came: numbers in the time unit, or ISO 8601. The last line, on stderr, tells how many events were read and what was
    found.
    """
    from cepheus.core.time import TimeUnit

    unit = TimeUnit(options.get("time_unit", "us"))
    strict = options.get("strict", False)
    program = _compiled(rules, facts, unit, strict=strict)
    files, of_type = inputs_named(events or [])
    intervals = frozenset(rule.head.name for rule in program.rules.interval_rules)
    with warnings_reported(), _detection(program, files, of_type, on, master, options) as found:
        started = clock.perf_counter()
        with _sink(out, intervals) as sink, _progress(found.files) as progress:
            for batch in found:
                sink.unit = found.written_unit
                sink.write(batch)
                progress.update()
            unseen = list(found.never_seen())
            if strict and unseen:
                raise EventError(replace(finding, severity=Severity.ERROR) for finding in unseen)
        seconds = clock.perf_counter() - started
    report(unseen)
    _summary(found, seconds)
    _tell_ties(found.tally, options.get("sequence"))


@contextmanager
def _detection(
    program: Program, files: list[Path], of_type: FilesByType, host: Host, master: str, options: dict[str, Any]
) -> Iterator[FileDetection]:
    """Start the run where it is to be, and end what was started for it."""
    if host is Host.EMBEDDED:
        yield program.detect_files(files, of_type, **options)
        return
    from cepheus.spark import detect_files, spark_session

    sessions = []

    def start() -> Any:
        sessions.append(spark_session(master, silent=True))
        return sessions[0]

    try:
        yield detect_files(program, files, of_type, spark=start, **options)
    finally:
        for session in sessions:
            session.stop()


def _compiled(paths: list[Path], facts: list[str] | None, unit: TimeUnit, *, strict: bool) -> Program:
    """Read and check the rules; types that they do not declare come from the data."""
    from cepheus.api import compile
    from cepheus.core.schema import Schema

    program = compile(read_all(paths, facts, unit.value), undeclared="allow")
    findings = [*program.warnings, *([] if program.rules.all_rules else [warning_without_rules(paths)])]
    if strict and findings:
        raise RuleError(replace(finding, severity=Severity.ERROR) for finding in findings)
    report(findings)
    inputs = program.checked.inputs
    if not program.checked.rules.declarations:
        return program
    # rules that declare types say which events there are: one of a type that they do not even mention is a mistake
    return replace(
        program, checked=replace(program.checked, inputs=Schema(inputs.values(), closed=True, others=inputs.others))
    )


def inputs_named(events: list[str]) -> tuple[list[Path], dict[str, list[Path]]]:
    """The files that have types of their own and, by type, those that do not."""
    files: list[Path] = []
    of_type: dict[str, list[Path]] = {}
    for given in events:
        name, equals, path = given.partition("=")
        if not equals or not name.isidentifier() or Path(given).exists():
            files.append(Path(given))
        elif not path:
            message = f"'{given}' is not a type and its file"
            raise OptionError.of("events", message, hint="write --events Temp=temps.parquet")
        else:
            of_type.setdefault(name, []).append(Path(path))
    return files, of_type


def _sink(out: Path | None, intervals: frozenset[str]) -> AbstractContextManager[Sink]:
    if out is None:
        from cepheus.cli.detect_display import TerminalTable

        return TerminalTable(intervals=intervals)
    from cepheus.formats.write import EventWriter

    return EventWriter(out, intervals=intervals)


class Progress(Protocol):
    """What shows how far a run is."""

    def update(self) -> None:
        """Show how much of the files is read."""


class _NoProgress:
    def update(self) -> None:
        """Show nothing."""


@contextmanager
def _progress(files: list[EventFile]) -> Iterator[Progress]:
    """Show a bar on stderr if that is a terminal."""
    if not sys.stderr.isatty():
        yield _NoProgress()
        return
    from cepheus.cli.detect_display import ProgressBar

    with ProgressBar(files) as bar:
        yield bar


def _summary(found: FileDetection, seconds: float) -> None:
    bad, tally = found.bad, found.tally
    report(replace(finding, severity=Severity.WARNING) for finding in bad.diagnostics)
    if bad.skipped > len(bad.diagnostics):
        note(f"and {bad.skipped - len(bad.diagnostics)} more bad events")
    kinds = ", ".join(f"{name} {count}" for name, count in sorted(tally.composite.items()))
    composites = f"{tally.composite.total()} composite events{f' ({kinds})' if kinds else ''}"
    speed = f"{found.read / max(seconds, 1e-9):,.0f} events/s"
    note(f"{found.read} events read, {bad.skipped} skipped, {tally.late} late; {composites}; {speed}")


def _tell_ties(tally: Tally, sequence: str | None) -> None:
    """Say what simultaneous events decided, if they decided anything; a line for each number."""
    from cepheus.engine.base.ties import told

    order = "the order of their arrival" if sequence is None else f"'{sequence}'"
    remedy = "--sequence COLUMN names a column that orders them" if sequence is None else None
    for line in told(tally.ties, order=order, remedy=remedy):
        note(line)
    if tally.simultaneous and tally.ties.uncounted:
        engines = " and ".join(tally.ties.uncounted)
        note(f"simultaneous events: {tally.simultaneous} have the time of another; {engines} counts nothing of it")
