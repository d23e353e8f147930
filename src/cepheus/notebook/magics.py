"""Cells of rules in IPython: ``%load_ext cepheus``, then ``%%tesla``."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from html import escape
from typing import Any

from IPython import display as show

from cepheus.core.display import page
from cepheus.core.errors import CepheusError, render

Compile = Callable[[str], Any]
Shell = Any
"""An InteractiveShell of IPython, whose functions have no types."""


def register(shell: Shell, compile_rules: Compile) -> None:
    """Give a shell the magics of rules."""

    def tesla(line: str, cell: str) -> Any:
        """``%%tesla [NAME] [over EVENTS [OPTION=VALUE ..]]``: compile the rules of the cell.

        NAME is the variable that holds the program then (``program`` if none is given). With ``over``, the rules are
        run over the events of a variable, and the cell shows what they find. Options are those of ``Program.detect``.
        """
        return _run(shell, compile_rules, line, cell)

    shell.register_magic_function(tesla, "cell", "tesla")
    shell.register_magic_function(tesla, "cell", "etalis")


def _run(shell: Shell, compile_rules: Compile, line: str, cell: str) -> Any:
    words = shlex.split(line)
    name = words.pop(0) if words and words[0] != "over" else "program"
    try:
        program = compile_rules(cell)
        shell.push({name: program})
        if not words:
            return program
        if words[0] != "over" or len(words) < 2:
            return _refused(f"write %%tesla {name} over EVENTS")
        events = shell.user_ns.get(words[1])
        if events is None:
            return _refused(f"there is no variable '{words[1]}' here")
        return program.detect(events, **_options(words[2:], shell))
    except CepheusError as error:
        return _refused(render(error.diagnostics))


def _options(words: list[str], shell: Shell) -> dict[str, Any]:
    """Options as they are written: a number, a text, or the name of a variable."""
    found: dict[str, Any] = {}
    for word in words:
        name, _, text = word.partition("=")
        found[name] = shell.user_ns.get(text, int(text) if text.lstrip("-").isdigit() else text)
    return found


def _refused(message: str) -> None:
    written: Any = show
    written.display(written.HTML(page(f'<pre style="color: #b4232a">{escape(message)}</pre>')))
