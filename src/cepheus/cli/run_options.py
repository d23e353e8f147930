"""The options of a run as the command line has them: the keywords of ``cepheus.RunKeywords``, spelled as flags."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cepheus.core.errors import OptionError

if TYPE_CHECKING:
    from cepheus.core.calculus import Calculus
    from cepheus.core.error_columns import ErrorSource


class Unit(Enum):
    """The unit of integer times, and of numbers without one in rules of ETALIS."""

    US = "us"
    MS = "ms"
    S = "s"


class OnBad(Enum):
    """What to do with bad events."""

    STOP = "stop"
    SKIP = "skip"


class TieChoice(Enum):
    """What simultaneous events are to rules."""

    APART = "apart"
    ORDERED = "ordered"


class ProvenanceChoice(Enum):
    """Which events composite events name among what they were made of."""

    PARTS = "parts"
    FULL = "full"


Engine = Annotated[str | None, typer.Option(help="The engine that runs the rules.", show_default="auto")]
TimeUnit = Annotated[
    Unit | None, typer.Option(help="The unit of integer times, in input and output.", show_default="us")
]
Time = Annotated[str | None, typer.Option("--time", metavar="COLUMN", help="The column of times.", show_default="time")]
Type = Annotated[
    str | None, typer.Option("--type", metavar="COLUMN", help="The column of event types.", show_default="type")
]
Id = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="The column of ids.", show_default="id")]
Sequence = Annotated[str | None, typer.Option(metavar="COLUMN", help="The column that orders events of equal time.")]
Ties = Annotated[
    TieChoice | None,
    typer.Option(
        help="Whether simultaneous events come one after the other, whatever the rules say of it.",
        show_default="as the rules say, or apart",
    ),
]
Provenance = Annotated[
    ProvenanceChoice | None,
    typer.Option(help="Name the events that aggregates counted, too: full.", show_default="parts"),
]
Start = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="The column in which events over intervals start.", show_default="start"),
]
Probability = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="The column of how probable it is that an event happened.", show_default="probability"
    ),
]
Uncertain = Annotated[
    list[str] | None,
    typer.Option(
        "--uncertain",
        metavar="ATTRIBUTE.PARAMETER=COLUMN",
        help="The column, or number, of a parameter of an attribute's error: value.sd=value_sd. May be repeated.",
    ),
]
TimeFormat = Annotated[
    str | None,
    typer.Option(metavar="FORMAT", help="How times are written as texts: '%d.%m.%Y %H:%M'.", show_default="ISO 8601"),
]
Sort = Annotated[bool, typer.Option("--sort", help="Sort all events by time first, however disordered they are.")]
Lateness = Annotated[
    str | None,
    typer.Option(metavar="DURATION", help="How far events may be out of order, such as 10s.", show_default="0s"),
]
Until = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="How far timers go on after the last event: a time, or 'end' for all of them."),
]
OnBadEvent = Annotated[
    OnBad | None,
    typer.Option(help="Stop at the first bad or late event, or skip and count them.", show_default="stop"),
]
Limit = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Stop if a rule makes more of one event, has more moments between two times, or remembers more.",
        show_default="10000000",
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(metavar="N", help="Spread the work over so many threads.", show_default="as many as pay"),
]
Device = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The OpenCL device of the engine device, by a part of its name."),
]
CalculusSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--calculus",
        metavar="SETTING=VALUE",
        help="How probabilities are worked out: draws=1000, seed=2, negation=as-printed. May be repeated.",
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Stop at what is otherwise only warned of.")]


def with_run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of every run to a command; it takes those that were given as ``options``, as keywords of runs.

    Whatever runs rules has the same options, so they are written once and added to the command's own.
    """
    own = [each for each in inspect.signature(command, eval_str=True).parameters.values() if each.name != "options"]
    added = list(inspect.signature(_keywords, eval_str=True).parameters.values())

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        options = _keywords(**{each.name: given.pop(each.name) for each in added})
        command(**given, options=options)

    everything = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*own, *added)]
    with_options.__signature__ = inspect.Signature(everything)  # type: ignore[attr-defined]  # where Typer looks
    with_options.__annotations__ = {each.name: each.annotation for each in everything}
    return with_options


def _keywords(
    engine: Engine = None,
    time_unit: TimeUnit = None,
    time: Time = None,
    type: Type = None,
    id: Id = None,
    sequence: Sequence = None,
    ties: Ties = None,
    provenance: Provenance = None,
    start: Start = None,
    probability: Probability = None,
    time_format: TimeFormat = None,
    sort: Sort = False,
    uncertain: Uncertain = None,
    lateness: Lateness = None,
    until: Until = None,
    on_bad_event: OnBadEvent = None,
    limit: Limit = None,
    threads: Threads = None,
    device: Device = None,
    calculus: CalculusSettings = None,
    strict: Strict = False,
) -> dict[str, Any]:
    """The options that were given, as ``Program.detect`` and its like take them."""
    given = {
        "engine": engine,
        "time_unit": None if time_unit is None else time_unit.value,
        "time": time,
        "type": type,
        "id": id,
        "sequence": sequence,
        "ties": None if ties is None else ties.value,
        "provenance": None if provenance is None else provenance.value,
        "start": start,
        "probability": probability,
        "time_format": time_format,
        "sort": sort or None,
        "uncertain": _errors(uncertain or ()),
        "lateness": lateness,
        "until": until,
        "on_bad_event": None if on_bad_event is None else on_bad_event.value,
        "limit": limit,
        "threads": threads,
        "device": device,
        "calculus": _calculus(calculus or ()),
        "strict": strict or None,
    }
    return {name: value for name, value in given.items() if value is not None}


def _errors(given: list[str] | tuple[()]) -> Mapping[str, ErrorSource] | None:
    from cepheus.core.error_columns import error_source_of

    tables: dict[str, dict[str, object]] = {}
    for text in given:
        where, equals, value = text.partition("=")
        attribute, dot, parameter = where.partition(".")
        if not (attribute and dot and parameter and equals and value):
            message = f"'{text}' is not a parameter of an attribute's error and its column"
            raise OptionError.of("uncertain", message, hint="write --uncertain value.sd=value_sd")
        tables.setdefault(attribute, {})[parameter] = _number(value)
    return {name: error_source_of(name, table) for name, table in tables.items()} or None


def _calculus(given: list[str] | tuple[()]) -> Calculus | None:
    from cepheus.core.calculus import calculus_of

    settings: dict[str, object] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            message = f"'{text}' is not a setting and its value"
            raise OptionError.of("calculus", message, hint="write --calculus draws=1000")
        settings[name] = _number(value)
    return calculus_of(settings) if settings else None


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
