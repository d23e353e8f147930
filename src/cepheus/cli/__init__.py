"""The command line.

Commands are functions of the modules of this package, most in one that is called like them. The modules import at
their top only what is quick to import; the work is imported when a command runs, so that ``--version``, ``--help``
and completion answer at once.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from typing import Annotated

import typer

from cepheus import __version__
from cepheus.cli.bayes import bayes
from cepheus.cli.bench import HandedOver, bench
from cepheus.cli.calibrate import calibrate
from cepheus.cli.check import check
from cepheus.cli.console import note, report
from cepheus.cli.demo import demo
from cepheus.cli.deploy import deploy, withdraw
from cepheus.cli.detect import detect
from cepheus.cli.doctor import doctor
from cepheus.cli.explain import explain
from cepheus.cli.fmt import fmt
from cepheus.cli.import_rules import import_rules
from cepheus.cli.learn import learn
from cepheus.cli.live import live
from cepheus.cli.lsp import lsp
from cepheus.cli.node import node
from cepheus.cli.publish import publish
from cepheus.cli.run import run
from cepheus.cli.simulate import simulate
from cepheus.cli.status import status
from cepheus.cli.studio import studio
from cepheus.cli.subscribe import subscribe
from cepheus.cli.warm_up import warm_up
from cepheus.cli.why_not import why_not
from cepheus.core.errors import CepheusError

app = typer.Typer(
    name="cepheus",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    check,
    detect,
    run,
    live,
    explain,
    fmt,
    learn,
    calibrate,
    demo,
    simulate,
    node,
    publish,
    subscribe,
    deploy,
    withdraw,
    status,
    lsp,
    studio,
):
    app.command()(command)
app.command(cls=HandedOver, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(bench)
app.command()(doctor)
app.command("warm-up")(warm_up)
app.command("why-not")(why_not)
app.add_typer(bayes)
app.add_typer(import_rules)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"cepheus {__version__}")
        raise typer.Exit


@app.callback()
def cepheus(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Complex event processing: rules and events in, composite events out."""


def main() -> None:
    """Run the command line; every outcome is an exit code and, if need be, a message, never a traceback.

    0 is success, 1 a finding or bad input, 2 wrong usage, 130 an interruption.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a sign that the terminal does not have is no reason to stop
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what went wrong with a connection, commands say themselves
    try:
        app(prog_name="cepheus")
    except CepheusError as error:
        report(error.diagnostics)
        sys.exit(1)
    except SystemExit as leaving:
        if leaving.code == 130:
            note("interrupted")
        raise
    except MemoryError:
        note("The memory of this machine is full: give fewer events at a time, shorter windows or a smaller --limit")
        sys.exit(1)
    except Exception as error:  # the last line of defence: nothing above has foreseen it
        if os.environ.get("CEPHEUS_DEBUG"):
            traceback.print_exc()
        else:
            reason = (str(error).splitlines() or ["it gave no reason"])[0]
            note(
                f"Sorry, this is a bug in Cepheus {__version__}: {reason}\n"
                "Run the command again with CEPHEUS_DEBUG=1 set and report what it prints, with your rules and a few "
                "events if you can."
            )
        sys.exit(1)
