"""``cepheus import``: rules of other systems as TESLA rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cepheus.cli.console import note, report, write_file

if TYPE_CHECKING:
    from cepheus.core.schema import EventType
    from cepheus.core.source import Source
    from cepheus.language.imports.outcome import Importing

import_rules = typer.Typer(
    name="import",
    no_args_is_help=True,
    help="Convert rules of other systems to TESLA: each exactly, or refused with what has no equivalent.",
)

Files = Annotated[list[Path], typer.Argument(help="Files to convert.", show_default=False)]
EventTypeName = Annotated[
    str | None, typer.Option("--type", metavar="NAME", help="All events are of this type.", show_default=False)
]
Declarations = Annotated[
    Path | None,
    typer.Option(
        "--declarations", metavar="FILE", help="TESLA declarations of event types that are known.", show_default=False
    ),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write the rules.", show_default=False)
]


@import_rules.command()
def eql(
    files: Files,
    event_type: EventTypeName = None,
    maxspan: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="The maxspan of sequences that state none.", show_default=False),
    ] = None,
    declarations: Declarations = None,
    output: Output = None,
) -> None:
    """Convert queries of the Event Query Language: events and sequences.

    With --type, events have their kind in the attribute event.category; without, their kind is their type.
    """
    from cepheus.core.time import parse_duration
    from cepheus.language.imports.eql import EqlOptions, import_eql

    longest = parse_duration(maxspan) if maxspan is not None else None
    options = EqlOptions(event_type, longest, _declared(declarations))
    _finish(import_eql(_sources(files), options), output)


@import_rules.command()
def sigma(
    files: Files, event_type: EventTypeName = None, declarations: Declarations = None, output: Output = None
) -> None:
    """Convert detections and correlations of Sigma; all files are one collection.

    Without --type, the type of an event is named after its log source, such as windows_process_creation.
    """
    from cepheus.language.imports.sigma import SigmaOptions, import_sigma

    options = SigmaOptions(event_type, _declared(declarations))
    _finish(import_sigma(_sources(files), options), output)


def _sources(files: list[Path]) -> list[Source]:
    from cepheus.core.source import Source
    from cepheus.runtime.embedded.rule_sources import read_text

    return [Source(str(path), read_text(path)) for path in files]


def _declared(path: Path | None) -> tuple[EventType, ...]:
    from cepheus.language.tesla import parse
    from cepheus.runtime.embedded.rule_sources import read_text

    return () if path is None else parse(read_text(path), str(path)).declarations


def _finish(importing: Importing, output: Path | None) -> None:
    text = importing.text()
    if output is not None:
        write_file(output, text)
    else:
        print(text, end="")
    refused = [one for one in importing.imported if one.text is None]
    for one in refused:
        report(one.findings)
    note(f"{len(importing.imported) - len(refused)} converted, {len(refused)} refused")
    if refused:
        raise typer.Exit(1)
