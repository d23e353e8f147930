"""What the demo prints: what was found in each staged incident, and for some composite events why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from cepheus.core.event import Event, EventId
from cepheus.core.time import SECOND
from cepheus.core.values import Value
from cepheus.demo.scenario import Incident, Scenario, Stream
from cepheus.explain.rule_parts import Role, RuleParts
from cepheus.language.tesla.print import scope_text


def incident_table(stream: Stream, found: Sequence[Event]) -> Table:
    """For each staged incident, what was found and whether that is what should be found."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for heading in ("staged", "from", "to", "found", ""):
        table.add_column(heading)
    for incident in stream.incidents:
        table.add_row(incident.title, clock(incident.start), clock(incident.end), *_verdict(incident, found))
    stray = [event for event in found if not any(_during(incident, event) for incident in stream.incidents)]
    table.add_row("all the rest", "", "", _counted(stray), _mark(not stray))
    return table


def found_table(scenario: Scenario, found: Sequence[Event]) -> Table:
    """List the composite events by rule: how many, where, the first and the last."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for heading in ("rule", "composite event", "times", "first", "last", scenario.place):
        table.add_column(heading, justify="right" if heading == "times" else "left")
    groups: dict[tuple[str, str], list[Event]] = {}
    for event in found:
        groups.setdefault((event.rule or "", event.type), []).append(event)
    for (rule, kind), events in sorted(groups.items()):
        places = _in_order({event.attributes.get(scenario.place) for event in events})
        table.add_row(
            rule,
            Text(kind, "bold cyan"),
            str(len(events)),
            clock(events[0].time),
            clock(events[-1].time),
            ", ".join(places),
        )
    return table


def why(event: Event, known: Mapping[EventId, Event], rules: Mapping[str, RuleParts]) -> Tree:
    """Show what a composite event was made of, down to the primitive events, and what else had to hold."""
    root = Tree(event_line(event), guide_style="dim")
    _add_reasons(root, event, known, rules)
    return root


def first_of_each(found: Sequence[Event]) -> list[Event]:
    """Choose the composite events to explain: the first of each type, in order of time."""
    chosen: dict[str, Event] = {}
    for event in found:
        chosen.setdefault(event.type, event)
    return list(chosen.values())


def known_events(stream: Stream, found: Sequence[Event]) -> dict[EventId, Event]:
    """All events by what provenance calls them: primitive ones by position, composite ones by id."""
    known: dict[EventId, Event] = dict(enumerate(stream.events))
    known.update((event.id, event) for event in found if event.id is not None)
    return known


def clock(time: int) -> str:
    """Write a time of day.

    >>> clock(3_661_000_000)
    '01:01:01'
    """
    return f"{datetime.fromtimestamp(time // SECOND, UTC):%H:%M:%S}"


def _add_reasons(branch: Tree, event: Event, known: Mapping[EventId, Event], rules: Mapping[str, RuleParts]) -> None:
    for part_id in event.made_of:
        part = known[part_id]
        _add_reasons(branch.add(event_line(part)), part, known, rules)
    for condition in rules[event.rule].conditions if event.rule is not None else ():
        assert condition.scope is not None
        constraints = " and ".join((*condition.content, *(link.text for link in condition.links)))
        where = f"{condition.type}({constraints}) {scope_text(condition.scope)}"
        if condition.role is Role.NEGATED:
            branch.add(Text(f"and no {where}", "dim"))
        elif condition.role is Role.COLLECTED:
            branch.add(Text(f"and {condition.policy} {where}", "dim"))
        else:
            held = f", and {condition.condition}" if condition.condition else ""
            named = f"{condition.name} = " if condition.name.startswith("$") else ""
            branch.add(Text(f"and {named}{condition.policy} over {where}{held}", "dim"))


def event_line(event: Event) -> Text:
    """An event in one line: when, what, with which values, and by which rule."""
    values = "  ".join(f"{name}={_value(value)}" for name, value in event.attributes.items())
    kind = (event.type, "bold cyan" if event.rule is not None else "cyan")
    by = (f"   by rule {event.rule}", "dim") if event.rule is not None else ""
    return Text.assemble((f"{clock(event.time)} ", "dim"), kind, f"  {values}", by)


def _in_order(places: set[Value | None]) -> list[str]:
    """Sort places, as texts: numbers by size, names by alphabet."""
    numbers = sorted(place for place in places if isinstance(place, int | float))
    return [*map(_value, numbers), *sorted(place for place in places if isinstance(place, str))]


def _value(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _during(incident: Incident, event: Event) -> bool:
    return incident.start <= event.time <= incident.end


def _verdict(incident: Incident, found: Sequence[Event]) -> tuple[str, Text]:
    inside = [event for event in found if _during(incident, event)]
    return _counted(inside), _mark({event.type for event in inside} == set(incident.finds))


def _counted(events: Sequence[Event]) -> str:
    counts = Counter(event.type for event in events)
    return ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items())) or "nothing"


def _mark(right: bool) -> Text:
    return Text("as it should be", "green") if right else Text("not as it should be", "bold red")
