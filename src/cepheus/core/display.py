"""Events as HTML, for notebooks. Whatever comes from data is escaped: it is shown, never run."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from cepheus.core.event import Event
from cepheus.core.time import format_time

if TYPE_CHECKING:
    from cepheus.core.batch import EventBatch

_STYLE = """
<style>
.cepheus { font-size: 0.92em; line-height: 1.45; }
.cepheus table { border-collapse: collapse; margin: 0.3em 0; }
.cepheus th, .cepheus td { text-align: left; padding: 0.15em 0.9em 0.15em 0; border-bottom: 1px solid #8884; }
.cepheus th, .cepheus td { white-space: nowrap; }
.cepheus th, .cepheus .quiet { opacity: 0.65; font-weight: normal; }
.cepheus .number { text-align: right; font-variant-numeric: tabular-nums; }
.cepheus .kind { font-weight: 600; color: #1d6fb8; }
.cepheus details details, .cepheus .leaf { margin-left: 1.4em; }
.cepheus summary { cursor: pointer; }
.cepheus pre { margin: 0.4em 0; }
.cepheus svg { max-width: 100%; height: auto; background: white; }
</style>
"""
ROWS = 20
"""How many rows of a table are shown."""


def page(*parts: str) -> str:
    """Parts of a display together, with their style."""
    return f'{_STYLE}<div class="cepheus">{"".join(parts)}</div>'


def events_table(batch: EventBatch, what: str = "event") -> str:
    """The first events of a batch as a table: type, time, attributes, what they were made of.

    >>> from cepheus.core.batch import EventBatch
    >>> events_table(EventBatch.from_events([Event("Log", 0, {"text": "<b>"})])).count("&lt;b&gt;")
    1
    """
    shown_events = batch.slice(0, min(ROWS, len(batch))).to_events()
    attributes = list(dict.fromkeys(name for event in shown_events for name in event.attributes))
    made = any(event.made_of for event in shown_events)
    unsure = any(event.probability != 1.0 for event in shown_events)
    headings = ["type", "time", *attributes, *(["probability"] if unsure else []), *(["made of"] if made else [])]
    rows = []
    for event in shown_events:
        cells = [_cell(event.type, "kind"), _cell(format_time(event.time))]
        cells += [_value(event, name) for name in attributes]
        cells += [_cell(f"{event.probability:.4g}", "number")] if unsure else []
        cells += [_cell(" ".join(map(str, event.made_of)), "quiet")] if made else []
        rows.append(f"<tr>{''.join(cells)}</tr>")
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    count = f"{len(batch):,} {what}{'' if len(batch) == 1 else 's'}"
    more = f", the first {ROWS} shown" if len(batch) > ROWS else ""
    table = f"<table><tr>{head}</tr>{''.join(rows)}</table>" if rows else ""
    return f'{table}<div class="quiet">{count}{more}</div>'


def _cell(text: str, kind: str = "") -> str:
    return f'<td class="{kind}">{escape(text)}</td>' if kind else f"<td>{escape(text)}</td>"


def _value(event: Event, name: str) -> str:
    value = event.attributes.get(name)
    if value is None:
        return _cell("", "quiet")
    text = shown(value)
    if name in event.errors:
        text += f" ± {event.errors[name]}"
    return _cell(text, "number" if isinstance(value, int | float) and not isinstance(value, bool) else "")


def shown(value: object) -> str:
    """A value as people read it: numbers with at most two decimals.

    >>> shown(21.5), shown(3), shown("A1")
    ('21.5', '3', 'A1')
    """
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
