"""Rules and reasons as HTML. Whatever comes from rules or data is escaped: it is shown, never run."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from cepheus.core.display import shown
from cepheus.core.event import Event
from cepheus.core.time import format_time
from cepheus.explain.reasons import Reasons


def reasons_list(found: Reasons, when: Callable[[int], str] = format_time) -> str:
    """Reasons as a list that folds."""
    line = _line(found.event, when)
    inner = [reasons_list(part, when) for part in found.parts]
    inner += [
        f'<div class="leaf quiet">event {escape(str(each))}, which is not at hand</div>' for each in found.unknown
    ]
    inner += [f'<div class="leaf quiet">{escape(condition)}</div>' for condition in found.conditions]
    if not inner:
        return f'<div class="leaf">{line}</div>'
    return f"<details open><summary>{line}</summary>{''.join(inner)}</details>"


def _line(event: Event, when: Callable[[int], str]) -> str:
    values = "  ".join(f"{name}={shown(value)}" for name, value in event.attributes.items())
    by = f'  <span class="quiet">by rule {escape(event.rule)}</span>' if event.rule is not None else ""
    time = f'<span class="quiet">{escape(when(event.time))}</span>'
    return f'{time} <span class="kind">{escape(event.type)}</span> {escape(values)}{by}'


def source_code(text: str, language: str) -> str:
    """Rule text in colours."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import TextLexer

    from cepheus.editor.lexers import LEXERS  # they read the grammars, which takes a while

    formatter = HtmlFormatter(noclasses=True, nobackground=True)
    return str(highlight(text, LEXERS.get(language, TextLexer)(), formatter))


def folded(title: str, content: str) -> str:
    """Something that is shown when its title is clicked."""
    return f"<details><summary>{escape(title)}</summary>{content}</details>"
