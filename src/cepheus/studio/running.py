"""What the page asks of events and runs: load, run, the timeline, values, the tree of why, why not."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path, PurePath
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from cepheus.core.errors import OptionError
from cepheus.core.event import Event, EventId
from cepheus.core.options import RunOptions
from cepheus.core.plain_event import event_told
from cepheus.core.time import MAX_TIME, MIN_TIME, format_time
from cepheus.explain.asked import asked_of
from cepheus.explain.reasons import Reasons, reasons
from cepheus.explain.why_not import WhyNot, why_not
from cepheus.formats.read import format_of
from cepheus.rules.model import Rule
from cepheus.rules.resolve import resolve
from cepheus.rules.resolved import Compute
from cepheus.studio.editing import Text, rules_told
from cepheus.studio.lanes import following, picture
from cepheus.studio.workspace import Loaded, Ran, Workspace, counts_of

MOST_REASONS = 400
"""How many events one tree of why holds."""

Time = Annotated[int, Field(ge=MIN_TIME, le=MAX_TIME)]
"""A time in microseconds."""


class Example(BaseModel):
    """The name of an example."""

    name: str


class File(BaseModel):
    """A file of events in one of the folders."""

    path: str


class View(BaseModel):
    """What the timeline is to show: a stretch of time in microseconds, how wide it is, and by which keys."""

    start: Time
    end: Time
    width: int = Field(default=1000, ge=50, le=8000)
    keys: dict[str, str] = Field(default_factory=dict)
    hidden: list[str] = Field(default_factory=list)


class Asked(BaseModel):
    """An event: its row among the loaded events, or among what was found."""

    row: int = Field(ge=0)
    found: bool = False


class Step(BaseModel):
    """From a time, and from the event at which one stands, to the next event of a lane or the one before."""

    name: str
    found: bool
    keys: dict[str, str] = Field(default_factory=dict)
    time: Time
    row: int | None = None
    back: bool = False


class Listed(BaseModel):
    """Which composite events to list: from which place on, how many, of which type."""

    first: int = Field(default=0, ge=0)
    count: int = Field(default=50, ge=1, le=500)
    type: str | None = None


class AskedNot(BaseModel):
    """A rule, and the moment in microseconds, or the row of the event, at which it should have fired."""

    rule: str
    at: Time | None = None
    row: int | None = Field(default=None, ge=0)


def routes(workspace: Workspace) -> APIRouter:
    """The routes of events and runs."""
    router = APIRouter(prefix="/api")

    @router.post("/example")
    def example(given: Example) -> dict[str, Any]:
        text = workspace.example(given.name)
        return {"text": text, "events": loaded_told(workspace.require_events())}

    @router.post("/open")
    def open_file(given: File) -> dict[str, Any]:
        return loaded_told(workspace.load([workspace.allowed(given.path)]))

    @router.post("/upload")
    async def upload(request: Request, name: str) -> dict[str, Any]:
        plain = PurePath(name).name
        format_of(plain)
        with tempfile.TemporaryDirectory(prefix="cepheus-studio-") as folder:
            path = Path(folder, plain)
            with path.open("wb") as file:
                async for chunk in request.stream():
                    file.write(chunk)
            return loaded_told(await run_in_threadpool(workspace.load, [path]))

    @router.post("/run")
    def run(given: Text) -> dict[str, Any]:
        return ran_told(workspace.run(given.text))

    @router.post("/timeline")
    def timeline(given: View) -> Response:
        return plain(pictured(workspace, given))

    @router.post("/step")
    def step(given: Step) -> dict[str, Any] | None:
        loaded, ran = workspace.require_events(), workspace.ran
        lanes = loaded.lanes if not given.found else workspace.require_run().lanes if ran else None
        lane = next((each for each in lanes.lanes(given.keys) if each.name == given.name), None) if lanes else None
        row = None if lane is None else following(lane, given.time, given.row, back=given.back)
        if row is None:
            return None
        return {"row": row, "event": event_told(_event(workspace, row, found=given.found))}

    @router.post("/found")
    def found(given: Listed) -> dict[str, Any]:
        return listed(workspace, given)

    @router.post("/event")
    def event(given: Asked) -> dict[str, Any]:
        return event_told(_event(workspace, given.row, found=given.found))

    @router.post("/why")
    def why(given: Asked) -> dict[str, Any]:
        return why_told(workspace, given.row)

    @router.post("/why-not")
    def told_why_not(given: AskedNot) -> dict[str, Any]:
        return _numbered(asked_why_not(workspace, given))

    return router


def loaded_told(loaded: Loaded) -> dict[str, Any]:
    """What the page is told of loaded events."""
    batch = loaded.batch
    return {
        "name": loaded.name,
        "count": len(batch),
        "skipped": loaded.skipped,
        "start": int(batch.times[0]) if len(batch) else 0,
        "end": int(batch.times[-1]) if len(batch) else 0,
        "types": [
            {"name": name, "count": len(lane.times), "attributes": list(loaded.lanes.attributes(name))}
            for name, lane in loaded.lanes.by_type.items()
        ],
        "labels": [
            {"title": title, "start": start, "end": end, "finds": list(finds)}
            for title, start, end, finds in loaded.labels
        ],
    }


def ran_told(ran: Ran) -> dict[str, Any]:
    """What the page is told of a run."""
    return {
        "seconds": ran.seconds,
        "count": len(ran.found),
        "counts": counts_of(ran.found),
        "rules": rules_told(ran.program.rules),
        "warnings": [each.message for each in ran.program.warnings],
        "ties": ran.found.ties.to_dict(),
    }


def plain(data: dict[str, Any]) -> Response:
    """An answer of plain values, written at once: nothing in it needs to be looked at one by one."""
    return Response(json.dumps(data, separators=(",", ":")), media_type="application/json")


def listed(workspace: Workspace, given: Listed) -> dict[str, Any]:
    """Composite events one after the other, with their rows."""
    found = workspace.require_run().found
    rows = np.arange(len(found))
    if given.type is not None:
        lane = workspace.require_run().lanes.by_type.get(given.type)
        rows = rows[:0] if lane is None else lane.rows
    chosen = rows[given.first : given.first + given.count].tolist()
    events = [{**event_told(found.slice(row, row + 1).to_events()[0]), "row": row} for row in chosen]
    return {"events": events, "total": len(rows)}


def pictured(workspace: Workspace, given: View) -> dict[str, Any]:
    """The part of the timeline that a view shows."""
    loaded, ran = workspace.require_events(), workspace.ran
    made = [] if ran is None else ran.lanes.lanes(given.keys)
    shown = [lane for lane in (*made, *loaded.lanes.lanes(given.keys)) if lane.type not in given.hidden]
    return {
        "start": given.start,
        "end": given.end,
        "lanes": picture(shown, given.start, given.end, given.width),
    }


def _event(workspace: Workspace, row: int, *, found: bool) -> Event:
    batch = workspace.require_run().found if found else workspace.require_events().batch
    if row >= len(batch):
        raise OptionError.of("studio", f"there is no event {row}")
    return batch.slice(row, row + 1).to_events()[0]


def why_told(workspace: Workspace, row: int) -> dict[str, Any]:
    """The tree of why of a composite event, with what aggregates counted and the factors of its probability."""
    ran = workspace.require_run()
    event = _event(workspace, row, found=True)
    known = {each.id: each for each in ran.found._needed(event) if each.id is not None}
    tree = reasons(event, known, asked_of(ran.program.rules.all_rules))
    told = {"tree": _tree(tree, [MOST_REASONS]), "counted": _counted(workspace, event), "factors": None}
    uncertain = event.probability != 1.0 or event.errors or any(each.errors for each in known.values())
    if uncertain and event.id is not None:
        told["factors"] = _factors(workspace, event.id)
    return told


def _tree(found: Reasons, left: list[int]) -> dict[str, Any]:
    left[0] -= 1
    parts = [_tree(part, left) for part in found.parts if left[0] > 0]
    return {
        "event": event_told(found.event),
        "parts": parts,
        "conditions": list(found.conditions),
        "unknown": [str(each) for each in found.unknown],
    }


def _counted(workspace: Workspace, event: Event) -> list[dict[str, Any]]:
    """The events that aggregates of the rule counted for a composite event."""
    ran = workspace.require_run()
    rule = next((each for each in ran.program.rules.rules if each.name == event.rule), None)
    if rule is None or not event.made_of:
        return []
    if not _aggregates(rule):
        return []
    first = event.made_of[0]
    terminator = first if isinstance(first, int) else None
    told = _ask(workspace, str(rule.name), terminator, None if terminator is not None else event.time)
    if all(each.id != event.id for each in told.fired):
        return []
    return [
        {
            "part": part.part,
            "says": part.says,
            "events": [event_told(each) for each in part.events],
            "count": part.count,
        }
        for part in told.parts
        if part.count and part.part.partition("(")[0] in _aggregates(rule)
    ]


def _aggregates(rule: Rule) -> set[str]:
    return {step.function for step in resolve(rule).steps if isinstance(step, Compute)}


def _factors(workspace: Workspace, composite: EventId) -> list[dict[str, Any]]:
    ran = workspace.require_run()
    verdict = ran.program.why(workspace.require_events().batch, composite)
    return [
        {
            "reason": factor.reason.value,
            "text": factor.text,
            "probability": factor.estimate.probability,
            "method": factor.estimate.method.value,
            "details": [[text, probability] for text, probability in factor.details],
        }
        for factor in verdict.factors
    ]


def asked_why_not(workspace: Workspace, given: AskedNot) -> WhyNot:
    """Why a rule of the last run did not fire."""
    if given.row is not None:
        event = _event(workspace, given.row, found=False)
        return _ask(workspace, given.rule, event.id, None)
    return _ask(workspace, given.rule, None, given.at)


def _ask(workspace: Workspace, rule: str, terminator: EventId | None, at: int | None) -> WhyNot:
    ran, loaded = workspace.require_run(), workspace.require_events()
    catalog = ran.program._catalog
    options = RunOptions()
    return why_not(catalog.checked.rules, catalog.types, loaded.batch, rule, options, at=at, terminator=terminator)


def _numbered(told: WhyNot) -> dict[str, Any]:
    """What is told of a rule that did not fire, its events as the page shows them."""
    data = told.to_json()
    data["terminator"] = None if told.terminator is None else event_told(told.terminator)
    data["fired"] = [event_told(event) for event in told.fired]
    for part, shown in zip(told.parts, data["parts"], strict=True):
        shown["events"] = [event_told(event) for event in part.events]
        for miss, written in zip(part.misses, shown["misses"], strict=True):
            written["event"] = event_told(miss.event)
    data["when"] = None if told.at is None else format_time(told.at)
    return data
