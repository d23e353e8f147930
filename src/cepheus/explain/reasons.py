"""Why a composite event was found: the events it was made of, down to those from outside, and what else had to hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rich.text import Text
from rich.tree import Tree

from cepheus.core.display import shown
from cepheus.core.event import Event, EventId
from cepheus.core.time import format_time
from cepheus.explain.asked import Asked


@dataclass(frozen=True, slots=True)
class Reasons:
    """An event, the reasons of the events it was made of, and in words what else its rule asked for.

    ``unknown`` are the ids of parts that are not at hand.
    """

    event: Event
    parts: tuple[Reasons, ...] = ()
    conditions: tuple[str, ...] = ()
    unknown: tuple[EventId, ...] = ()


def reasons(event: Event, known: Mapping[EventId, Event], asked: Asked) -> Reasons:
    """Find the reasons of an event among known ones, given by what provenance calls them, and what its rule asked for.

    >>> smoke = Event("Smoke", 60_000_000)
    >>> fire = Event("Fire", 60_000_000, rule="R1", made_of=(7, 8))
    >>> found = reasons(fire, {7: smoke}, {})
    >>> found.parts[0].event.type, found.unknown
    ('Smoke', (8,))
    """
    parts = tuple(reasons(known[part], known, asked) for part in event.made_of if part in known)
    conditions = () if event.rule is None else asked.get(event.rule, ())
    unknown = tuple(part for part in event.made_of if part not in known)
    return Reasons(event, parts, conditions, unknown)


def reasons_tree(found: Reasons, when: Callable[[int], str] = format_time) -> Tree:
    """Reasons as a tree to print with Rich; ``when`` writes a time."""
    root = Tree(event_line(found.event, when), guide_style="dim")
    _add(root, found, when)
    return root


def _add(branch: Tree, found: Reasons, when: Callable[[int], str]) -> None:
    for part in found.parts:
        _add(branch.add(event_line(part.event, when)), part, when)
    for unknown in found.unknown:
        branch.add(Text(f"event {unknown}, which is not at hand", "dim"))
    for condition in found.conditions:
        branch.add(Text(condition, "dim"))


def event_line(event: Event, when: Callable[[int], str] = format_time) -> Text:
    """An event in one line: when, what, with which values, and by which rule."""
    values = "  ".join(f"{name}={shown(value)}" for name, value in event.attributes.items())
    kind = (event.type, "bold cyan" if event.rule is not None else "cyan")
    by = (f"   by rule {event.rule}", "dim") if event.rule is not None else ""
    return Text.assemble((f"{when(event.time)} ", "dim"), kind, f"  {values}", by)
