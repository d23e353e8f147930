"""Pictures of the operators of the ETALIS language on a time line, drawn from what the rules really give.

Run as a script it writes them into docs/images/operators; a test sees to it that they are up to date.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from blocks import ROOT

import cepheus

FOLDER = ROOT / "docs" / "images" / "operators"

Interval = tuple[int, int]

_UNIT, _LEFT, _TOP, _ROW = 34, 150, 26, 30
_LAST = 12
_COLOURS = {"a": "#4c78a8", "b": "#f58518", "c": "#9d755d", "e": "#54a24b"}


@dataclass(frozen=True)
class Picture:
    """A rule that makes ``e``, and when the events ``a``, ``b`` and ``c`` happen."""

    name: str
    pattern: str
    events: dict[str, list[Interval]]


PICTURES = (
    Picture("seq", "a SEQ b", {"a": [(1, 3)], "b": [(2, 5), (6, 9)]}),
    Picture("and", "a AND b", {"a": [(5, 8)], "b": [(1, 3)]}),
    Picture("par", "a PAR b", {"a": [(1, 5)], "b": [(4, 8), (9, 11)]}),
    Picture("or", "a OR b", {"a": [(1, 3)], "b": [(2, 6), (8, 8)]}),
    Picture("equals", "a EQUALS b", {"a": [(1, 4), (6, 9)], "b": [(6, 9)]}),
    Picture("meets", "a MEETS b", {"a": [(1, 4)], "b": [(4, 8), (6, 10)]}),
    Picture("during", "a DURING b", {"a": [(3, 5), (8, 9)], "b": [(1, 7)]}),
    Picture("starts", "a STARTS b", {"a": [(2, 4)], "b": [(2, 8), (3, 9)]}),
    Picture("finishes", "a FINISHES b", {"a": [(5, 8)], "b": [(2, 8), (3, 9)]}),
    Picture("overlaps", "a OVERLAPS b", {"a": [(1, 5)], "b": [(3, 8), (6, 9)]}),
    Picture("not", "NOT(c).[a, b]", {"a": [(1, 2), (6, 7)], "c": [(4, 4)], "b": [(9, 10)]}),
    Picture("window", "(a SEQ b).5 us", {"a": [(1, 2), (5, 6)], "b": [(8, 9)]}),
    Picture("points", "a DURING (2 us SEQ 9 us)", {"a": [(1, 4), (5, 7)]}),
)


def found(picture: Picture) -> list[Interval]:
    """Give the intervals of ``e``."""
    events = [
        {"type": name, "start": start, "time": end} for name, each in picture.events.items() for start, end in each
    ]
    program = cepheus.compile(f"e <- {picture.pattern}.")
    answer = program.detect(sorted(events, key=lambda event: event["time"]), engine="interval-reference").to_events()  # type: ignore[arg-type, return-value]
    return sorted((event.time if event.start is None else event.start, event.time) for event in answer)


def draw(picture: Picture) -> str:
    """Draw the events, a line for each type, and what the rule makes of them."""
    rows = [(name, name, intervals) for name, intervals in picture.events.items()]
    rows.append(("e", picture.pattern.replace(" us", ""), found(picture)))
    height = _TOP + _ROW * len(rows) + 8
    width = _LEFT + _UNIT * _LAST + 20
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="13" role="img" aria-label="{escape(picture.pattern)}">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for time in range(_LAST + 1):
        x = _LEFT + _UNIT * time
        lines.append(
            f'<path d="M{x} {_TOP - 6}V{height - 6}" stroke="#dddddd"/>'
            f'<text x="{x}" y="14" text-anchor="middle" fill="#777777" font-size="11">{time}</text>'
        )
    for row, (name, title, intervals) in enumerate(rows):
        y = _TOP + _ROW * row
        weight = ' font-weight="bold"' if name == "e" else ""
        lines.append(f'<text x="8" y="{y + 15}" fill="#222222"{weight}>{escape(title)}</text>')
        lanes = _lanes(intervals)
        bars = zip(intervals, lanes, strict=True)
        lines += [_bar(interval, lane, max(lanes, default=0) + 1, y, _COLOURS[name]) for interval, lane in bars]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _lanes(intervals: list[Interval]) -> list[int]:
    """Give each interval a lane; those that do not touch may share one."""
    ends: list[int] = []
    lanes = []
    for start, end in intervals:
        lane = next((lane for lane, last in enumerate(ends) if last < start), len(ends))
        ends[lane : lane + 1] = [end]
        lanes.append(lane)
    return lanes


def _bar(interval: Interval, lane: int, lanes: int, y: int, colour: str) -> str:
    start, end = (_LEFT + _UNIT * time for time in interval)
    height = 18 if lanes == 1 else 18 // lanes
    top = y + 2 + lane * (18 // lanes if lanes > 1 else 0)
    if start == end:
        return f'<circle cx="{start}" cy="{top + height / 2:g}" r="5" fill="{colour}"/>'
    return f'<rect x="{start}" y="{top}" width="{end - start}" height="{height - 1}" rx="3" fill="{colour}"/>'


def write() -> None:
    """Write all pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        (FOLDER / f"{picture.name}.svg").write_text(draw(picture), encoding="utf-8")


if __name__ == "__main__":
    write()
