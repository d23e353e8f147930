"""Hidden rules, and streams that they label: rules over event types with attributes of uniform values.

Every number here is our own setting; ``Scenario`` names them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from cepheus.core.batch import EventBatch
from cepheus.core.time import SECOND
from cepheus.core.values import ValueType
from cepheus.learning.drafts import Absence, Bound, Condition, Draft, Link, Part, Place, Summary
from cepheus.learning.evaluate import firings
from cepheus.learning.history import History
from cepheus.learning.traces import TERMINATOR
from cepheus.learning.writing import write_rule
from cepheus.rules.model import Rule

TARGET = "Incident"
LONGEST = 2_000_000
"""No history is made longer than so many events."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What a hidden rule and its stream are like.

    ``types`` event types with three attributes each come at ``rate`` events a second; ``events`` of them take part in
    the rule, the terminator included, each with ``constraints`` conditions, within ``window`` seconds. ``noise`` is the
    share of labels that are missing, and of labels that are false. ``late`` is by how many seconds labels come late.
    ``length`` is how many events the history has, or more, if there are fewer than ``positives`` occurrences.
    """

    types: int = 25
    rate: float = 1.0
    events: int = 3
    constraints: int = 1
    window: float = 20.0
    parameters: int = 0
    ordered: bool = True
    negations: int = 0
    aggregates: int = 0
    positives: int = 1_000
    length: int = 1_000_000
    noise: float = 0.0
    late: float = 0.0
    window_known: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """A hidden rule, a history with labels and a fresh stream whose labels are exact."""

    scenario: Scenario
    rule: Rule
    history: EventBatch
    fresh: EventBatch
    occurrences: int


def stream(scenario: Scenario, length: int, rng: np.random.Generator) -> EventBatch:
    """Events of all types with uniform values: ``a`` and ``b`` from 0 to 100, ``c`` one of ten numbers."""
    times = np.cumsum(rng.exponential(1.0 / scenario.rate, length)) * SECOND
    return EventBatch(
        tuple(f"E{number}" for number in range(1, scenario.types + 1)),
        rng.integers(0, scenario.types, length).astype(np.int32),
        np.maximum.accumulate(times.astype(np.int64)) + np.arange(length),
        {
            ("a", ValueType.FLOAT): pa.array(np.round(rng.uniform(0, 100, length), 2)),
            ("b", ValueType.FLOAT): pa.array(np.round(rng.uniform(0, 100, length), 2)),
            ("c", ValueType.INT): pa.array(rng.integers(0, 10, length)),
        },
    )


def hidden(scenario: Scenario, rng: np.random.Generator) -> Draft:
    """A rule drawn at random; the condition on the terminator is set later, for the number of occurrences."""
    chosen = [
        f"E{number}"
        for number in rng.choice(
            scenario.types, scenario.events + scenario.negations + scenario.aggregates, replace=False
        )
        + 1
    ]
    window = round(scenario.window * SECOND)
    terminator, *others = chosen[: scenario.events]
    rest = chosen[scenario.events :]
    draft = Draft(terminator, _conditions(rng, scenario.constraints))
    reference = TERMINATOR
    links = scenario.parameters
    for name in others:
        conditions: tuple[Condition, ...] = _conditions(rng, scenario.constraints)
        if links:
            conditions, links = (Link("c", "=", TERMINATOR, "c"), *conditions), links - 1
        draft = draft.with_part(Place(name, name, window, reference, conditions))
        reference = name if scenario.ordered else TERMINATOR
    for name in rest[: scenario.negations]:
        draft = draft.with_part(Absence(name, window, TERMINATOR, _conditions(rng, 1)))
    for name in rest[scenario.negations :]:
        part: Part = Summary("Avg", name, "a", window, ">", float(np.round(rng.uniform(45, 60), 1)), TERMINATOR)
        draft = draft.with_part(part)
    return draft


def _conditions(rng: np.random.Generator, count: int) -> tuple[Condition, ...]:
    """Conditions that about half of the events fit."""
    found = []
    for attribute in rng.permutation(["a", "b"])[:count]:
        threshold = float(np.round(rng.uniform(35, 65)))
        found.append(Bound(str(attribute), ">" if rng.random() < 0.5 else "<", threshold))
    return tuple(found)


def draw(scenario: Scenario, seed: int, fresh: int = 100_000) -> Case:
    """A hidden rule with the wanted number of occurrences, its history and a fresh stream.

    If it occurs too rarely for that, both are made longer.
    """
    rng = np.random.default_rng(seed)
    draft = hidden(scenario, rng)
    batch, later = stream(scenario, scenario.length, rng), stream(scenario, fresh, rng)
    history, other = History.of(batch), History.of(later)
    rule = write_rule(draft, history, TARGET, "hidden", {}, _all(draft))
    rows = firings([rule], history, (history.span[0], history.span[1] + 1), 0)[0]
    longer = min(1.1 * scenario.positives / max(len(rows), 1), LONGEST / scenario.length)
    if len(rows) < 0.9 * scenario.positives and longer > 1:
        whole = replace(scenario, length=round(scenario.length * longer))
        return draw(whole, seed, min(round(fresh * longer), LONGEST // 2))
    if len(rows) > scenario.positives:  # one more condition on the terminator makes occurrences as rare as wanted
        values = (
            history.batch.columns["c", ValueType.INT].to_numpy()[rows],
            history.batch.columns["b", ValueType.FLOAT].to_numpy()[rows],
        )
        share = scenario.positives / len(rows)
        free = "b" if not any(each.attribute == "b" for each in draft.conditions) else "a"
        column = values[1] if free == "b" else history.batch.columns["a", ValueType.FLOAT].to_numpy()[rows]
        old = [each for each in draft.conditions if each.attribute == free]
        if not old:
            draft = replace(
                draft,
                conditions=(*draft.conditions, Bound(free, ">", float(np.round(np.quantile(column, 1 - share), 1)))),
            )
        rule = write_rule(draft, history, TARGET, "hidden", {}, _all(draft))
        rows = firings([rule], history, (history.span[0], history.span[1] + 1), 0)[0]
    truth = firings([rule], other, (other.span[0], other.span[1] + 1), 0)[0]
    return Case(
        scenario,
        rule,
        _labelled(batch, _noisy(batch.times[rows], batch, scenario, rng)),
        _labelled(later, later.times[truth]),
        len(rows),
    )


def shuffled(scenario: Scenario, seed: int, *, of_one_type: bool) -> EventBatch:
    """A stream with labels that mean nothing: at events drawn at random, of all types or of one."""
    rng = np.random.default_rng(seed)
    batch = stream(scenario, scenario.length, rng)
    at = np.flatnonzero(batch.codes == 0) if of_one_type else np.arange(len(batch))
    return _labelled(batch, np.sort(batch.times[rng.choice(at, scenario.positives, replace=False)]))


def labelled_by(rule: Rule, batch: EventBatch, after: int) -> EventBatch:
    """A stream with a label at everything that a rule finds in it, moved to begin after a time."""
    moved = replace(batch, times=batch.times + (after - int(batch.times[0])))
    span = (int(moved.times[0]), int(moved.times[-1]) + 1)
    rows = firings([rule], History.of(moved), span, 0)[0]
    return _labelled(moved, moved.times[rows])


def _all(draft: Draft) -> frozenset[str]:
    return frozenset(place.name for place in draft.places)


def _noisy(
    times: np.ndarray[tuple[int], np.dtype[np.int64]], batch: EventBatch, scenario: Scenario, rng: np.random.Generator
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    kept = times[rng.random(len(times)) >= scenario.noise]
    false = rng.choice(batch.times, round(scenario.noise * len(times)), replace=False)
    labels = np.concatenate([kept, false])
    if scenario.late:
        labels = labels + (rng.uniform(0, scenario.late, len(labels)) * SECOND).astype(np.int64)
    return np.sort(labels)


def _labelled(batch: EventBatch, times: np.ndarray[tuple[int], np.dtype[np.int64]]) -> EventBatch:
    labels = EventBatch((TARGET,), np.zeros(len(times), np.int32), times.astype(np.int64))
    whole = EventBatch.concat([batch, labels])
    return whole.take(np.argsort(whole.times, kind="stable"))
