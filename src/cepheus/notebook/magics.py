"""Cells of rules in IPython: ``%load_ext cepheus``, then ``%%tesla``, ``%%etalis`` or ``%%sql match_recognize``."""

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
        return _run(shell, compile_rules, shlex.split(line), cell, "%%tesla")

    def match_recognize(line: str, cell: str) -> Any:
        """``%%match_recognize [NAME] [in TABLE | over EVENTS [OPTION=VALUE ..]]``: a query over rows.

        With ``in``, the query of the cell is asked of the rows of a table, which NAME then holds the matches of;
        otherwise it is a rule, as in a cell of ``%%tesla``.
        """
        return _query(shell, compile_rules, shlex.split(line), cell, "%%match_recognize")

    others: dict[str, Any] = shell.magics_manager.magics["cell"]
    another = others.get("sql")

    def sql(line: str, cell: str) -> Any:
        """``%%sql match_recognize ..``: a query over rows; any other cell goes to whoever had ``%%sql`` before."""
        words = shlex.split(line)
        if words[:1] == ["match_recognize"]:
            return _query(shell, compile_rules, words[1:], cell, "%%sql match_recognize")
        if another is not None:
            return another(line, cell)
        return _refused("Cepheus runs queries with MATCH_RECOGNIZE alone: write %%sql match_recognize [NAME] in TABLE")

    shell.register_magic_function(tesla, "cell", "tesla")
    shell.register_magic_function(tesla, "cell", "etalis")
    shell.register_magic_function(match_recognize, "cell", "match_recognize")
    shell.register_magic_function(sql, "cell", "sql")


def _run(shell: Shell, compile_rules: Compile, words: list[str], cell: str, magic: str) -> Any:
    name = words.pop(0) if words and words[0] != "over" else "program"
    try:
        program = compile_rules(cell)
        shell.push({name: program})
        if not words:
            return program
        if words[0] != "over" or len(words) < 2:
            return _refused(f"write {magic} {name} over EVENTS")
        events = shell.user_ns.get(words[1])
        if events is None:
            return _refused(f"there is no variable '{words[1]}' here")
        return program.detect(events, **_options(words[2:], shell))
    except CepheusError as error:
        return _refused(render(error.diagnostics))


def _query(shell: Shell, compile_rules: Compile, words: list[str], cell: str, magic: str) -> Any:
    name = words[0] if words and words[0] not in ("in", "over") else None
    rest = words if name is None else words[1:]
    if rest[:1] != ["in"]:
        return _run(shell, compile_rules, words, cell, magic)
    if len(rest) < 2:
        return _refused(f"write {magic} {name or 'NAME'} in TABLE")
    rows = shell.user_ns.get(rest[1])
    if rows is None:
        return _refused(f"there is no variable '{rest[1]}' here")
    from cepheus.runtime.embedded.row_tables import match_recognize  # it reads SQL, which takes a while to import

    try:
        found = match_recognize(cell, rows, **_options(rest[2:], shell))
    except CepheusError as error:
        return _refused(render(error.diagnostics))
    kind = type(rows).__module__.partition(".")[0]
    given: Any = found.to_pandas() if kind == "pandas" else _polars(found) if kind == "polars" else found
    if name is not None:
        shell.push({name: given})
    return given


def _polars(table: Any) -> Any:
    import polars

    return polars.from_arrow(table)


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
