"""Writes the page of the experiments: each figure, our curves, and the papers' sentences beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from cepheus.bench.deployment.figures import FIGURES
from cepheus.bench.deployment.plots import draw_figure
from cepheus.bench.deployment.statements import STATEMENTS
from cepheus.bench.deployment.summary import Curves
from cepheus.core.errors import OptionError

NAME = "network-experiments.md"
_MARK = "<!-- figure: {} -->"
_BEGIN = "<!-- figures -->"
_JUDGED = {True: "confirmed", False: "**not confirmed**", None: "not judged"}


def verdicts(curves: Curves) -> list[tuple[str, bool | None, str]]:
    """Give the papers' sentences on a figure, each with whether our curves confirm it and the figures it went by.

    None stands for a sentence on delays that cannot be judged, because there are none.
    """
    found = []
    for statement in STATEMENTS:
        if statement.figure == curves.figure:
            confirmed, words = statement.check(curves)
            found.append((statement.words, confirmed, words))
    return found


def write_page(docs: Path, results: Sequence[Curves], command: str) -> list[Path]:
    """Put figures into the page, in place of earlier runs of the same; give the files written."""
    page = docs / NAME
    if not page.exists():
        raise OptionError.of("file", f"there is no '{page}'", hint="name the folder of the documentation with --docs")
    head, _, body = page.read_text(encoding="utf-8").partition(_BEGIN)
    pieces = re.split(r"<!-- figure: (\w+) -->\n", body)[1:]
    sections = dict(zip(pieces[::2], pieces[1::2], strict=True))
    written = []
    for curves in results:
        picture = draw_figure(FIGURES[curves.figure], curves, docs / "images" / f"deployment-{curves.figure}.svg")
        written.append(picture)
        sections[curves.figure] = _section(curves, command)
    ordered = [f"{_MARK.format(name)}\n{sections[name].strip()}\n" for name in FIGURES if name in sections]
    page.write_text("\n".join([f"{head}{_BEGIN}\n", *ordered]), encoding="utf-8")
    return [page, *written]


def _section(curves: Curves, command: str) -> str:
    plan = FIGURES[curves.figure]
    title = plan.title if curves.figure == "rules" else f"Figure {curves.figure}: {plan.title.lower()}"
    names = [strategy.value for strategy in curves.strategies]
    lines = [f"## {title}", "", f"![{plan.title}: delay and traffic](images/deployment-{curves.figure}.svg)", ""]
    lines += [f"| {plan.axis or 'traffic, delay'} | {' | '.join(names)} |", f"|--:|{'--:|' * len(names)}"]
    for x in curves.xs:
        cells = [f"{curves.traffic[s, x]}/s, {curves.delay_words(s, x)}" for s in curves.strategies]
        lines.append(f"| {f'{x:g}' if plan.axis else ''} | {' | '.join(cells)} |")
    lines += ["", "| the paper says | ours | |", "|:--|:--|:--|"]
    for words, confirmed, figures in verdicts(curves):
        lines.append(f"| {words} | {_JUDGED[confirmed]} | {figures} |")
    return "\n".join([*lines, "", f"*Run with `{command}`.*"])
