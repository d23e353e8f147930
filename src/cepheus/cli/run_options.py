"""The options of a run as the command line has them: the keywords of ``cepheus.RunKeywords``, spelled as flags."""

from __future__ import annotations

from collections.abc import Mapping
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
        help="Stop if a rule makes more composite events from one event, or remembers more.",
        show_default="10000000",
    ),
]
Threads = Annotated[
    int | None, typer.Option(metavar="N", help="Spread the work over so many threads.", show_default="1")
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


def keywords(uncertain: list[str] | None = None, calculus: list[str] | None = None, **given: object) -> dict[str, Any]:
    """Make of options what ``Program.detect`` and its like take."""
    made = {name: value.value if isinstance(value, Enum) else value for name, value in given.items()}
    return {**made, "uncertain": _errors(uncertain or ()), "calculus": _calculus(calculus or ())}


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
