"""What the page asks of other numbers in the rules: the knobs, what they would find, a sweep over one of them."""

from __future__ import annotations

import time as clock
from dataclasses import replace
from typing import Any

import numpy as np
from fastapi import APIRouter
from pydantic import BaseModel, Field

from cepheus.core.batch import EventBatch
from cepheus.core.errors import OptionError
from cepheus.core.time import MINUTE
from cepheus.explain.what_if import Knob, KnobKind, knob_named, knobs, sweep, turned
from cepheus.rules.check import check
from cepheus.rules.model import RuleSet
from cepheus.studio.lanes import Lanes, picture
from cepheus.studio.running import Time, View
from cepheus.studio.workspace import Workspace, counts_of, engine_for, program_of

MOST_STEPS = 60
"""How many values a sweep tries."""

NEAR = MINUTE
"""How far from a label what is found may lie."""


class Knobs(BaseModel):
    """A rule text."""

    text: str


class Turned(Knobs):
    """A rule text with some of its knobs turned, and what the timeline shows."""

    values: dict[str, float]
    view: View | None = None


class Swept(Knobs):
    """A knob of a rule text, between which values and in how many steps it is tried; labels are times or stretches."""

    knob: str
    low: float
    high: float
    steps: int = Field(default=15, ge=2, le=MOST_STEPS)
    labels: list[list[Time]] = Field(default_factory=list, max_length=100_000)
    use_labels: bool = False


def routes(workspace: Workspace) -> APIRouter:
    """The routes of what-if."""
    router = APIRouter(prefix="/api")
    last: list[tuple[object, dict[str, Any], Lanes]] = []

    def tried(given: Turned) -> tuple[dict[str, Any], Lanes]:
        """What the turned rules find; kept for as long as one only looks elsewhere."""
        key = given.text, tuple(sorted(given.values.items())), id(workspace.require_events().batch)
        if not last or last[0][0] != key:
            rules = original = program_of(given.text).rules
            for name, value in given.values.items():
                rules = turned(rules, knob_named(original, name), value)
            began = clock.perf_counter()
            found = _found(workspace, rules)
            told = {"counts": counts_of(found), "seconds": clock.perf_counter() - began}
            last[:] = [(key, told, Lanes.of(found, found=True))]
        return last[0][1], last[0][2]

    @router.post("/knobs")
    def all_knobs(given: Knobs) -> list[dict[str, Any]]:
        return [_told(knob) for knob in knobs(program_of(given.text).rules)]

    @router.post("/turn")
    def turn(given: Turned) -> dict[str, Any]:
        told, lanes = tried(given)
        if given.view is None:
            return {**told, "lanes": []}
        view, ran = given.view, workspace.ran
        changed = lanes.lanes(view.keys)
        shown = [*changed, *([] if ran is None else ran.lanes.lanes(view.keys))]
        return {**told, "lanes": picture(shown, view.start, view.end, view.width), "changed": len(changed)}

    @router.post("/sweep")
    def swept(given: Swept) -> dict[str, Any]:
        rules = program_of(given.text).rules
        knob = knob_named(rules, given.knob)
        values = np.linspace(given.low, given.high, given.steps)
        if knob.whole:
            values = np.unique(np.round(values))
        found = sweep(
            rules,
            knob,
            [float(value) for value in values],
            lambda changed: _found(workspace, changed),
            labels=_labels(workspace, given, rules, knob),
            tolerance=NEAR,
        )
        workspace.swept = given.text, found
        return found.to_json()

    return router


def _told(knob: Knob) -> dict[str, Any]:
    data = knob.to_json()
    lengths = knob.kind in (KnobKind.WINDOW, KnobKind.TIMER)
    return {**data, "unit": "time" if lengths else "number", "shown": knob.shown()}


def _found(workspace: Workspace, rules: RuleSet) -> EventBatch:
    """What changed rules find in the loaded events."""
    program = program_of("")
    changed = replace(program, checked=check(rules, closed=False))
    batch = workspace.require_events().batch
    return changed.detect(batch, engine=engine_for(batch))


def _labels(workspace: Workspace, given: Swept, rules: RuleSet, knob: Knob) -> list[tuple[int, int]] | None:
    """The stretches of time in which the rule should have fired; a single time is one, too."""
    if not given.use_labels:
        return None
    composite = next(rule.composite.name for rule in rules.rules if rule.name == knob.rule)
    stretches = [(min(one), max(one)) for one in given.labels if one]
    if not stretches:
        loaded = workspace.require_events()
        stretches = [(start, end) for _, start, end, finds in loaded.labels if composite in finds]
    if not stretches:
        hint = f"name the times at which {composite} should have been found"
        raise OptionError.of("studio", f"no label says when {composite} should be found", hint=hint)
    return stretches
