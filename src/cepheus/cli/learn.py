"""``cepheus learn``: rules from a history in which what they should find is known."""

from __future__ import annotations

import sys
import time as clock
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cepheus.cli.console import check_writable, note, warnings_reported, write_file
from cepheus.cli.detect import Host
from cepheus.cli.run_options import with_run_options
from cepheus.core.errors import OptionError

if TYPE_CHECKING:
    from cepheus.learning.report import Learned

_SHOWN_EVERY = 0.1
_BUDGETS = {Host.EMBEDDED: 300.0, Host.SPARK: 1800.0}
"""Seconds that a search may take."""


@with_run_options
def learn(
    history: Annotated[list[Path], typer.Argument(help="Files of events: .jsonl, .csv, .parquet, .arrow or .events.")],
    target: Annotated[
        str | None, typer.Option("--target", help="What rules are to tell: the type of events that mark it.")
    ] = None,
    review: Annotated[
        list[Path] | None,
        typer.Option(help="Learn nothing: say whether the rules in this file still hold. May be repeated."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the rules, with their evidence, here.")] = None,
    svg: Annotated[Path | None, typer.Option("--svg", help="Draw the rules into this file.")] = None,
    occurrences: Annotated[
        Path | None,
        typer.Option(
            help="A file of occurrences with a column of times, and of starts for intervals; others are keys."
        ),
    ] = None,
    slack: Annotated[
        str | None, typer.Option(help="How far label times may be off, such as 10s.", show_default="estimated")
    ] = None,
    types: Annotated[list[str] | None, typer.Option("--types", help="A type that may matter; may be repeated.")] = None,
    terminator: Annotated[str | None, typer.Option(help="The type of the event that decides.")] = None,
    window: Annotated[str | None, typer.Option(help="How far back rules look, if that is known.")] = None,
    longest: Annotated[str | None, typer.Option(help="How far back rules may look.")] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="An attribute that means nothing: Temp.battery, *.id. May be repeated.")
    ] = None,
    keys: Annotated[
        list[str] | None, typer.Option(help="An attribute that only tells things apart. May be repeated.")
    ] = None,
    trust: Annotated[
        list[str] | None, typer.Option(help="An attribute that is a measurement, though it looks like the label.")
    ] = None,
    alarm_cost: Annotated[
        float | None, typer.Option(help="Judge by cost: that of a false alarm, where a miss costs 1.")
    ] = None,
    most_rules: Annotated[int, typer.Option(help="Learn at most so many rules.")] = 3,
    held_out: Annotated[float, typer.Option(help="The later share of occurrences that rules are tested on.")] = 0.3,
    budget: Annotated[
        float | None, typer.Option(help="End the search after so many seconds.", show_default="300, on Spark 1800")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same rules.")] = 1,
    resume: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep progress here; a search that was stopped goes on from it.")
    ] = None,
    error: Annotated[
        str | None,
        typer.Option(metavar="TYPE.ATTRIBUTE", help="Learn no rules, but what this measurement is off by."),
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="TYPE.ATTRIBUTE", help="For --error: a measurement that is right.")
    ] = None,
    per: Annotated[
        list[str] | None,
        typer.Option(help="For --error: an attribute that tells sources apart, whose readings are off together."),
    ] = None,
    alike: Annotated[bool, typer.Option("--alike", help="For --error: both measurements are as wrong.")] = False,
    on: Annotated[Host, typer.Option(help="Learn in this process, or on Spark.")] = Host.EMBEDDED,
    master: Annotated[str, typer.Option(metavar="URL", help="For --on spark: where Spark runs.")] = "local[*]",
    *,
    options: dict[str, Any],
) -> None:
    """Learn rules that tell when something happens, from a history in which it is known.

    The rules define events of the target's type. They are learned from the earlier part of history and tested on the
    later part; what is shown is the result of the test. The exit code is 1 if nothing was found. With --review rules
    are looked at instead: do they still hold, which of their numbers have moved; -o writes them changed. Then the exit
    code is 1 if one no longer holds. With --error the error of a measurement is learned, as rule files declare it.
    """
    for path in (out, svg):
        if path is not None:
            check_writable(path)
    if review:
        _review(review, history, target, occurrences, slack, seed, out, (svg, on), options)
        return
    if error is not None:
        pairs = {"against": against, "keys": keys or (), "per": per or (), "slack": slack, "alike": alike}
        _learn_error(history, error, target, out, (svg, on), {**pairs, **options})
        return
    if against is not None or per or alike:
        raise OptionError.of("learn-error", "--against, --per and --alike go with --error", hint="--error Temp.value")
    if target is None:
        hint = "--target TYPE, --review RULES, or --error TYPE.ATTRIBUTE"
        raise OptionError.of("learn-target", "nothing says what to learn", hint=hint)
    seconds = budget if budget is not None else _BUDGETS[on]
    asked = {
        "slack": slack,
        "types": types or (),
        "terminator": terminator,
        "window": window,
        "longest": longest,
        "ignore": ignore or (),
        "keys": keys or (),
        "trust": trust or (),
        "alarm_cost": alarm_cost,
        "most_rules": most_rules,
        "held_out": held_out,
        "budget": seconds,
        "seed": seed,
        "resume": resume,
        **options,
    }
    with warnings_reported(), _progress() as say, _learner(on, master, history, occurrences) as learned_from:
        learned = learned_from(target, say=say, **asked)
        told, text = str(learned), learned.text  # reasons are looked for now, while Spark is there
    print(told)
    if not learned:
        raise typer.Exit(1)
    if out is not None:
        write_file(out, text)
        note(f"{len(learned.found)} {'rule' if len(learned.found) == 1 else 'rules'} written to {out}")
    if svg is not None:
        write_file(svg, learned.svg())
    if learned.outcome.out_of_time:
        note(f"the time budget of {seconds:g} s ended the search; --budget gives it more")


@contextmanager
def _learner(on: Host, master: str, history: list[Path], occurrences: Path | None) -> Iterator[Callable[..., Learned]]:
    """What learns from the files: this process, or Spark, which is ended afterwards."""
    if on is Host.EMBEDDED:
        from cepheus.learning.api import learn as learn_here

        yield partial(learn_here, history, occurrences=occurrences)
        return
    from cepheus.learning.spark_files import history_frame
    from cepheus.runtime.spark.session import plain_failures, spark_session
    from cepheus.spark import learn as learn_there

    spark = spark_session(master, silent=True)
    try:
        with plain_failures():
            yield partial(learn_there, history_frame(spark, history), occurrences=occurrences)
    finally:
        spark.stop()


def _review(
    rules: list[Path],
    history: list[Path],
    target: str | None,
    occurrences: Path | None,
    slack: str | None,
    seed: int,
    out: Path | None,
    refused: tuple[Path | None, Host],
    options: dict[str, Any],
) -> None:
    """Say whether rules still hold."""
    from cepheus.learning.api import review

    svg, on = refused
    if svg is not None or on is not Host.EMBEDDED:
        what = "--svg draws what was learned" if svg is not None else "rules are reviewed in this process"
        raise OptionError.of("review", f"{what}: leave it out with --review")
    with warnings_reported(), _progress() as say:
        made = review(rules, history, target, occurrences=occurrences, slack=slack, seed=seed, say=say, **options)
    print(made)
    if out is not None:
        write_file(out, made.text)
        note(f"the rules as they would be changed are written to {out}")
    if not made.holds:
        raise typer.Exit(1)


def _learn_error(
    history: list[Path],
    attribute: str,
    target: str | None,
    out: Path | None,
    refused: tuple[Path | None, Host],
    asked: dict[str, Any],
) -> None:
    """Learn what a measurement is off by."""
    from cepheus.learning.errors import learn_error

    svg, on = refused
    if target is not None or svg is not None or on is not Host.EMBEDDED:
        what = "--target" if target is not None else "--svg" if svg is not None else "--on spark"
        raise OptionError.of("learn-error", f"--error learns no rules: leave out {what}")
    with warnings_reported():
        learned = learn_error(history, attribute, **asked)
    print(learned)
    if out is not None:
        write_file(out, f"{learned}\n")
        note(f"the error written to {out}")


@contextmanager
def _progress() -> Iterator[Callable[[str, float], None]]:
    """Show on stderr, if that is a terminal, what is being tried and the best so far."""
    if not sys.stderr.isatty():
        yield lambda _what, _best: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("best F1 {task.completed:.3f}")
    shown = 0.0
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=1.0)

        def say(what: str, best: float) -> None:
            nonlocal shown
            if clock.monotonic() - shown > _SHOWN_EVERY:
                shown = clock.monotonic()
                bar.update(task, description=what, completed=best)

        yield say
