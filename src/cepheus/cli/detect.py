"""``cepheus detect``: the composite events in files of events."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from cepheus.cli.check import Facts, Rules, Unit, read_all
from cepheus.cli.console import note, report, warnings_reported
from cepheus.core.errors import Diagnostic, EventError, OptionError, RuleError, Severity, did_you_mean
from cepheus.engine.base.limits import DEFAULT_LIMIT

if TYPE_CHECKING:
    from cepheus.core.batch import EventBatch
    from cepheus.core.time import TimeUnit
    from cepheus.formats.problems import BadEvents
    from cepheus.formats.read import EventFile
    from cepheus.rules.check import Checked
    from cepheus.runtime.embedded.detect import Gatherer, Tally


class OnBad(Enum):
    """What to do with bad events."""

    STOP = "stop"
    SKIP = "skip"


class Host(Enum):
    """Where the rules run."""

    EMBEDDED = "embedded"
    SPARK = "spark"


class Sink(Protocol):
    """What takes the composite events."""

    def write(self, batch: EventBatch) -> None:
        """Take some composite events."""


def detect(
    rules: Rules,
    events: Annotated[
        list[Path] | None,
        typer.Option("--events", help="A file of events: .jsonl, .csv, .parquet, .arrow or .events. May be repeated."),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="TYPE=FILE", help="A file of events of one type, without a type column."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the composite events here, in the extension's format.")
    ] = None,
    engine: Annotated[str, typer.Option(help="The engine that runs the rules.")] = "auto",
    time_unit: Annotated[
        Unit | None, typer.Option(help="The unit of integer times, in input and output.", show_default="us")
    ] = None,
    sequence: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column that orders events of equal time.")
    ] = None,
    lateness: Annotated[
        str, typer.Option(metavar="DURATION", help="How far events may be out of order, such as 10s.")
    ] = "0s",
    on_bad_event: Annotated[
        OnBad, typer.Option(help="Stop at the first bad or late event, or skip and count them.")
    ] = OnBad.STOP,
    limit: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Stop if a rule makes more composite events from one event, or remembers more."
        ),
    ] = DEFAULT_LIMIT,
    threads: Annotated[int, typer.Option(min=1, metavar="N", help="Spread the work over so many threads.")] = 1,
    on: Annotated[Host, typer.Option(help="Run in this process, or on Spark.")] = Host.EMBEDDED,
    master: Annotated[str, typer.Option(metavar="URL", help="For --on spark: where Spark runs.")] = "local[*]",
    facts: Facts = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at what is otherwise only warned of.")] = False,
) -> None:
    """Find the composite events that rules define, in files of events.

    Several files are merged by time. Without -o the composite events are shown as a table. The last line, on stderr,
    tells how many events were read and what was found.
    """
    from cepheus.cli.expected import ExpectedTypes
    from cepheus.core.time import TimeUnit, parse_duration
    from cepheus.core.time_check import TimeCheck
    from cepheus.engine.assembly.registry import create
    from cepheus.formats.intake import IntakeOptions
    from cepheus.formats.problems import BadEvents, OnBadEvent
    from cepheus.formats.read import open_files
    from cepheus.runtime.embedded.catalog import Catalog
    from cepheus.runtime.embedded.detect import Gatherer, Tally, detect_in_files

    check = TimeCheck.of(time_unit and TimeUnit(time_unit.value), strict=strict, option="--time-unit {}")
    unit = check.unit
    checked = _compiled(rules, facts, unit, strict=strict)
    delay = parse_duration(lateness)
    bad = BadEvents(OnBadEvent(on_bad_event.value))
    catalog = Catalog.of(checked)
    running = create(engine, catalog.rules, catalog.types, limit=limit, beliefs=catalog.beliefs(), threads=threads)
    expected = ExpectedTypes(checked)
    paths, type_names = _inputs(events or [], types or [])
    intervals = bool(checked.rules.interval_rules)
    intake = IntakeOptions(expected, unit, sequence=sequence, intervals=intervals, check=check)
    files = open_files(paths, intake, bad, type_names=type_names)
    tally = Tally(checked.equal_types)
    made_over_intervals = frozenset(rule.head.name for rule in checked.rules.interval_rules)
    started = time.perf_counter()
    with warnings_reported(), _sink(out, unit, made_over_intervals) as sink, _progress(files) as progress:
        gathered = Gatherer() if on is Host.SPARK else None
        for batch in detect_in_files(
            files, gathered or running, tally, lateness=delay, sequenced=sequence is not None, bad=bad
        ):
            sink.write(batch)
            progress.update()
        if gathered is not None:
            sink.write(_on_spark(checked, gathered, tally, master, engine, limit))
        unseen = list(_never_seen(expected.met, checked, tally))
        if strict and unseen:
            raise EventError(replace(finding, severity=Severity.ERROR) for finding in unseen)
    seconds = time.perf_counter() - started
    report(unseen)
    _summary(files, bad, tally, seconds)
    _tell_ties(tally, sequence)


def _on_spark(checked: Checked, gathered: Gatherer, tally: Tally, master: str, engine: str, limit: int) -> EventBatch:
    """Let Spark find the composite events among those that were gathered from files."""
    from cepheus.runtime.spark.failures import plain_failures
    from cepheus.runtime.spark.files import composites_of, detect_gathered
    from cepheus.runtime.spark.session import spark_session

    spark = spark_session(master, silent=True)
    try:
        with plain_failures():
            found = detect_gathered(spark, checked, gathered.batches, tally.settled, engine=engine, limit=limit)
            composites = composites_of(found, gathered.batches, checked.rules)
            tally.ties = found.ties()
    finally:
        spark.stop()
    tally.count(composites)
    return composites


def _compiled(paths: list[Path], facts: list[str] | None, unit: TimeUnit, *, strict: bool) -> Checked:
    """Read and check the rules. Types that they do not declare come from the data."""
    from cepheus.rules.check import check

    errors: list[Diagnostic] = []
    rules = read_all(paths, errors, facts, unit.value)
    if errors:
        raise RuleError(errors)
    checked = check(rules, closed=False)
    if strict and checked.warnings:
        raise RuleError(replace(finding, severity=Severity.ERROR) for finding in checked.warnings)
    report(checked.warnings)
    return checked


def _inputs(events: list[Path], types: list[str]) -> tuple[list[Path], dict[str, str]]:
    """Give all files and, by path, the type of those that have no types of their own."""
    type_names: dict[str, str] = {}
    for given in types:
        name, equals, path = given.partition("=")
        if not (name and equals and path):
            raise OptionError.of(
                "type", f"'{given}' is not a type and its file", hint="write --type Temp=temps.parquet"
            )
        if str(Path(path)) in type_names.keys() | set(map(str, events)):
            raise OptionError.of("type", f"the file '{path}' is given twice")
        type_names[str(Path(path))] = name
    paths = [*events, *map(Path, type_names)]
    if not paths:
        raise OptionError.of("events", "there are no events to look at", hint="name a file: --events FILE")
    return paths, type_names


def _sink(out: Path | None, unit: TimeUnit, intervals: frozenset[str]) -> AbstractContextManager[Sink]:
    if out is None:
        from cepheus.cli.table import TerminalTable

        return TerminalTable(unit, intervals=intervals)
    from cepheus.formats.write import EventWriter

    return EventWriter(out, unit, intervals=intervals)


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
    from cepheus.cli.progress import ProgressBar

    with ProgressBar(files) as bar:
        yield bar


def _summary(files: list[EventFile], bad: BadEvents, tally: Tally, seconds: float) -> None:
    report(replace(finding, severity=Severity.WARNING) for finding in bad.diagnostics)
    if bad.skipped > len(bad.diagnostics):
        note(f"and {bad.skipped - len(bad.diagnostics)} more bad events")
    read = sum(file.read for file in files)
    kinds = ", ".join(f"{name} {count}" for name, count in sorted(tally.composite.items()))
    found = tally.composite.total()
    note(
        f"{read} events read, {bad.skipped} skipped, {tally.late} late; "
        f"{found} composite events{f' ({kinds})' if kinds else ''}; {read / max(seconds, 1e-9):,.0f} events/s"
    )


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


def _never_seen(met: set[str], checked: Checked, tally: Tally) -> Iterator[Diagnostic]:
    """Warn of event types that rules ask for and the data does not have: often a misspelt name."""
    others = {name for name in met if name not in checked.inputs}
    for name in checked.inputs:
        if name not in tally.events and name not in checked.composites:
            yield Diagnostic(
                "no-such-event",
                f"no event of type '{name}' is in the data",
                hint=did_you_mean(name, others),
                severity=Severity.WARNING,
            )
