"""What is made better about a draft that was found: parts that add nothing go, thresholds get their widest margins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from cepheus.learning.drafts import (
    Absence,
    Bound,
    Condition,
    Draft,
    Link,
    Part,
    Place,
    Summary,
    bind,
    column_at,
    members,
    summed,
    times_at,
)
from cepheus.learning.learners.windows import roundest_duration
from cepheus.learning.search import value
from cepheus.learning.state import Cut, State, Task, bound_of, cuts, places_of, settled
from cepheus.learning.traces import TERMINATOR


def tuned(state: State, task: Task, rounds: int = 2) -> State:
    """Prune and set thresholds, by turns."""
    for _ in range(rounds):
        before = value(state, task)
        state = pruned(state, task)
        state = with_best_thresholds(state, task)
        if value(state, task) <= before:
            break
    return pruned(state, task)


def pruned(state: State, task: Task) -> State:
    """Leave out, one after the other, what the draft is no worse without."""
    while True:
        smaller = [State.of(task, draft, bind(draft, task.traces)) for _, draft in without_each(state.draft)]
        best = max(smaller, key=lambda each: value(each, task), default=None)
        if best is None or value(best, task) < value(state, task):
            return state
        state = best


def without_each(draft: Draft) -> Iterator[tuple[Condition | Part, Draft]]:
    """Every condition and part that nothing else depends on, and the draft without it."""
    for condition in draft.conditions:
        yield condition, replace(draft, conditions=_without(draft.conditions, condition))
    for place, part in enumerate(draft.parts):
        for condition in part.conditions:
            lighter = replace(part, conditions=_without(part.conditions, condition))
            yield condition, replace(draft, parts=(*draft.parts[:place], lighter, *draft.parts[place + 1 :]))
        others = (*draft.parts[:place], *draft.parts[place + 1 :])
        if not isinstance(part, Place) or not any(_needs(other, part.name) for other in others):
            yield part, replace(draft, parts=others)


def _without(conditions: tuple[Condition, ...], gone: Condition) -> tuple[Condition, ...]:
    return tuple(each for each in conditions if each is not gone)


def _needs(part: Part, name: str) -> bool:
    return part.reference == name or any(isinstance(each, Link) and each.place == name for each in part.conditions)


def with_best_thresholds(state: State, task: Task) -> State:
    """Set every threshold and window where F1 is best, in the middle of what does the same."""
    for place in places_of(state.draft):
        for number in range(len(state.draft.conditions_of(place))):
            state = _better(state, task, _with_threshold(state, task, place, number))
    for number, part in enumerate(state.draft.parts):
        if isinstance(part, Place):
            state = _better(state, task, _with_window(state, task, number, part))
        elif isinstance(part, Absence):
            state = _better(state, task, _with_absence_window(state, task, number, part))
        else:
            state = _with_summary(state, task, number, part)
    return state


def _better(state: State, task: Task, other: Draft | None) -> State:
    if other is None:
        return state
    made = State.of(task, other, bind(other, task.traces))
    return made if value(made, task) >= value(state, task) - 1e-12 else state


def _with_threshold(state: State, task: Task, place: str, number: int) -> Draft | None:
    conditions = state.draft.conditions_of(place)
    condition = conditions[number]
    if condition.operator == "=":
        return None
    lighter = _conditions(state.draft, place, (*conditions[:number], *conditions[number + 1 :]))
    bindings = bind(lighter, task.traces)
    values = column_at(task.history, lighter, bindings, place, condition.attribute)
    column = task.history.types[lighter.type_of(place)].columns[condition.attribute]
    if isinstance(condition, Link):
        difference = values - column_at(task.history, lighter, bindings, condition.place, condition.other)
        values = np.abs(difference) if condition.operator == "near" else difference
    above = condition.operator == ">"
    best = max(cuts(task, bindings, values, above=above, final=True), key=lambda each: each.worth, default=None)
    if best is None:
        return None
    made: Condition
    if isinstance(condition, Bound):
        made = bound_of(column, best)
    else:
        if condition.operator == "near" and best.inner <= 0:
            return None
        margin = min(best.inner, best.outer), max(best.inner, best.outer)
        made = replace(condition, value=settled(best, whole=column.type.value == "int"), margin=margin)
    return _conditions(state.draft, place, (*conditions[:number], made, *conditions[number + 1 :]))


def _conditions(draft: Draft, place: str, conditions: tuple[Condition, ...]) -> Draft:
    if place == TERMINATOR:
        return replace(draft, conditions=conditions)
    return draft.changed(place, lambda part: replace(part, conditions=conditions))


def _replaced(draft: Draft, number: int, part: Part) -> Draft:
    return replace(draft, parts=(*draft.parts[:number], part, *draft.parts[number + 1 :]))


def _with_window(state: State, task: Task, number: int, part: Place) -> Draft | None:
    if task.hints.window is not None:
        return None
    wide = _replaced(state.draft, number, replace(part, within=task.horizon))
    bindings = bind(wide, task.traces)
    gap = times_at(task.history, wide, bindings, part.reference) - times_at(task.history, wide, bindings, part.name)
    best = max(cuts(task, bindings, gap.astype(np.float64), above=False, final=True), key=_worth, default=None)
    if best is None:
        return None
    within = roundest_duration(int(best.inner), int(min(best.outer, 2**62)))
    return _replaced(state.draft, number, replace(part, within=within, margin=(best.inner, best.outer)))


def _worth(cut: Cut) -> float:
    return cut.worth


def _with_absence_window(state: State, task: Task, number: int, part: Absence) -> Draft | None:
    """The window of a negation, by the gap to the nearest event that it rules out."""
    if task.hints.window is not None:
        return None
    lighter = replace(state.draft, parts=(*state.draft.parts[:number], *state.draft.parts[number + 1 :]))
    bindings = bind(lighter, task.traces)
    wide = replace(part, within=task.horizon)
    owner, numbers = members(task.history, lighter, bindings, wide)
    times = times_at(task.history, lighter, bindings, part.reference)
    gap = (times[owner] - task.history.types[part.type].times[numbers]).astype(np.float64)
    nearest = np.full(len(bindings), float(task.horizon + 1))
    np.minimum.at(nearest, owner, gap)
    best = max(cuts(task, bindings, nearest, above=True, final=True), key=_worth, default=None)
    if best is None:
        return None
    # the trace with the nearest event that is kept has it just outside the window, that at ``outer`` just inside
    within = roundest_duration(int(max(best.outer, 1)), int(best.inner))
    return _replaced(state.draft, number, replace(part, within=within, margin=(best.outer, best.inner)))


def _with_summary(state: State, task: Task, number: int, part: Summary) -> State:
    lengths = [part.within]
    if task.hints.window is None:
        lengths += [round(part.within * factor) for factor in (0.8, 0.9, 0.95, 0.98, 1.02, 1.05, 1.1, 1.25)]
        lengths += [roundest_duration(round(part.within * 0.9), round(part.within * 1.1))]
    lighter = replace(state.draft, parts=(*state.draft.parts[:number], *state.draft.parts[number + 1 :]))
    bindings = bind(lighter, task.traces)
    for within in dict.fromkeys(min(each, task.horizon) for each in lengths):
        tried = replace(part, within=within)
        values = summed(task.history, lighter, bindings, tried)
        above = part.operator == ">"
        best = max(cuts(task, bindings, values, above=above, final=True), key=_worth, default=None)
        if best is not None:
            margin = min(best.inner, best.outer), max(best.inner, best.outer)
            made = replace(tried, value=settled(best, whole=part.attribute is None), margin=margin)
            state = _better(state, task, _replaced(state.draft, number, made))
    return state
