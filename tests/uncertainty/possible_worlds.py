"""Possible worlds, simulated: draw every error, run the certain engine on what is then true, and count.

All worlds go through one engine, one after the other, further apart in time than any rule can look. This is what the
calculus must agree with; it knows nothing of probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from cepheus.core.batch import EventBatch
from cepheus.core.calculus import Calculus
from cepheus.core.distribution import Biased
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.schema import EventType, Schema
from cepheus.core.values import ValueType, type_of
from cepheus.engine.assembly.registry import create
from cepheus.engine.reference.engine import ReferenceEngine
from cepheus.language.tesla import parse
from cepheus.rules.check import Checked, check
from cepheus.uncertainty.laws import law_of
from cepheus.uncertainty.verdict import Verdict

APART = 1_000_000
Made = tuple[str, tuple[int, ...]]
"""A composite event by its type and the numbers of the events it is made of."""


@dataclass(frozen=True)
class Case:
    """Rules, and a stream of events whose ids are their places."""

    text: str
    checked: Checked
    events: tuple[Event, ...]

    @classmethod
    def of(cls, text: str, events: Sequence[Event]) -> Case:
        """Read rules; the events get their places as ids."""
        numbered = (replace(event, id=place) for place, event in enumerate(events))
        return cls(text, check(parse(text)), tuple(numbered))

    @property
    def schema(self) -> Schema:
        """The types of all events."""
        return Schema([*self.checked.inputs.values(), *self.checked.composites.values()])


def shares(case: Case, worlds: int, seed: int) -> dict[Made, float]:
    """In what share of so many worlds each composite event comes about."""
    generator = np.random.default_rng(seed)
    drawn = _drawn(case, worlds, generator)
    count = len(case.events)
    there = generator.random((worlds, count)) < [event.probability for event in case.events]
    made = _fed(case, drawn, there)
    if not len(made):
        return {}
    assert made.provenance is not None
    parts = list(made.provenance.made_of)
    codes = np.fromiter((len(each) for each in parts), np.int64, len(parts)) * len(made.types) + made.codes
    found: dict[Made, float] = {}
    for code in np.unique(codes).tolist():  # those of one type, of equally many parts
        length, kind = divmod(code, len(made.types))
        rows = np.array([parts[row] for row in np.flatnonzero(codes == code).tolist()], np.int64) % count
        weights = count ** np.arange(length, dtype=np.int64)
        numbers, times = np.unique(rows @ weights, return_counts=True)
        for number, share in zip(numbers.tolist(), (times / worlds).tolist(), strict=True):
            found[made.types[kind], tuple((number // weights % count).tolist())] = share
    return found


def made_in_worlds(case: Case, drawn: list[dict[str, np.ndarray]], there: np.ndarray) -> Iterator[tuple[int, Made]]:
    """What comes about in which world: event by event, true values by world, and in which worlds it is there."""
    count = len(case.events)
    made = _fed(case, drawn, there)
    if not len(made):
        return
    assert made.provenance is not None
    for code, made_of in zip(made.codes.tolist(), made.provenance.made_of, strict=True):
        yield int(made_of[0]) // count, (made.types[code], tuple(int(part) % count for part in made_of))


def _fed(case: Case, drawn: list[dict[str, np.ndarray]], there: np.ndarray) -> EventBatch:
    """What the engine for certain events makes of all worlds."""
    certain = replace(case.checked, inputs=Schema([_certain(kind) for kind in case.checked.inputs.values()]))
    schema = Schema([*certain.inputs.values(), *(_certain(kind) for kind in certain.composites.values())])
    engine = create(RunOptions(engine="columns"), case.checked.rules.rules, schema)
    return engine.feed(_stream(case, drawn, there))


def _drawn(case: Case, worlds: int, generator: np.random.Generator) -> list[dict[str, np.ndarray]]:
    """The true values of what is uncertain, in each world, event by event."""
    declared = {
        (kind.name, attribute.name): attribute for kind in case.schema.values() for attribute in kind.attributes
    }
    drawn: list[dict[str, np.ndarray]] = []
    biases: dict[tuple[object, ...], np.ndarray] = {}
    for event in case.events:
        values: dict[str, np.ndarray] = {}
        for name, value in event.attributes.items():
            attribute = declared.get((event.type, name))
            error = event.errors.get(name) or (None if attribute is None else attribute.error)
            if error is None or not isinstance(value, int | float):
                continue
            own = error.own if isinstance(error, Biased) else error
            true = law_of(own, float(value)).draw(generator, worlds)
            if isinstance(error, Biased):
                key = (event.type, name, *(event.attributes[each] for each in error.per))
                if key not in biases:
                    biases[key] = law_of(error.bias, 0.0).draw(generator, worlds)
                true = true + biases[key]
            values[name] = true
        drawn.append(values)
    return drawn


def _stream(case: Case, drawn: list[dict[str, np.ndarray]], there: np.ndarray) -> EventBatch:
    """All worlds one after the other, in columns: there are many of them."""
    worlds, count = there.shape
    kept = np.flatnonzero(there.ravel())
    places, world = kept % count, kept // count
    types = tuple(dict.fromkeys(event.type for event in case.events))
    codes = np.array([types.index(event.type) for event in case.events], np.int32)
    times = np.array([event.time for event in case.events], np.int64)
    columns: dict[tuple[str, ValueType], pa.Array] = {}
    for name in dict.fromkeys(name for event in case.events for name in event.attributes):
        given = [event.attributes.get(name) for event in case.events]
        uncertain = [name in values for values in drawn]
        for kind in {type_of(value) for value in given if value is not None} | {ValueType.FLOAT}:
            own = [
                None if value is None or blurred or type_of(value) is not kind else value
                for value, blurred in zip(given, uncertain, strict=True)
            ]
            column = pa.array(own, kind.arrow)
            column = (column.dictionary_encode() if kind is ValueType.STRING else column).take(pa.array(places))
            if kind is ValueType.FLOAT and any(uncertain):
                numbers = np.zeros((worlds, count))
                for place, values in enumerate(drawn):
                    numbers[:, place] = values[name] if name in values else own[place] or 0.0
                missing = np.array([value is None for value in own]) & ~np.array(uncertain)
                column = pa.array(numbers[world, places], mask=missing[places])
            if column.null_count < len(column):
                columns[name, kind] = column
    return EventBatch(types, codes[places], world * APART + times[places], columns, ids=kept.astype(np.int64))


def _certain(kind: EventType) -> EventType:
    return replace(kind, attributes=tuple(replace(attribute, error=None) for attribute in kind.attributes))


def weighed(case: Case, calculus: Calculus = Calculus()) -> dict[Made, tuple[float, float]]:  # noqa: B008
    """What the calculus says of each composite event: its probability and the standard error of that."""
    found: dict[Made, tuple[float, float]] = {}

    def observe(event: Event, verdict: Verdict) -> None:
        estimate = verdict.estimate
        parts = tuple(int(part) for part in event.made_of)
        found[event.type, parts] = (event.probability, estimate.standard_error)

    engine = ReferenceEngine(calculus=calculus, observe=observe)
    engine.deploy(case.checked.rules.rules, case.schema)
    for event in case.events:
        engine.feed_event(event)
    return found


def differences(case: Case, worlds: int, seed: int, calculus: Calculus = Calculus()) -> list[str]:  # noqa: B008
    """Where calculus and simulation are more than four standard errors apart; worlds enough to be sure of it."""
    told, found = weighed(case, calculus), shares(case, worlds, seed)
    suspects = apart(told, found, worlds)
    for turn in range(1, 3):  # of many comparisons a few go astray by chance; they do not do so again
        if not suspects:
            return []
        worlds *= 4
        again = apart(told, shares(case, worlds, seed + 1000 * turn), worlds)
        suspects = {made: text for made, text in again.items() if made in suspects}
    return list(suspects.values())


def apart(told: dict[Made, tuple[float, float]], found: dict[Made, float], worlds: int) -> dict[Made, str]:
    """What is told beyond four standard errors of what so many worlds have."""
    suspects = {}
    for made in told.keys() | found.keys():
        probability, error = told.get(made, (0.0, 0.0))
        share = found.get(made, 0.0)
        middle = min(max(probability, 1.0 / worlds), 1.0 - 1.0 / worlds)
        slack = 4.0 * math.sqrt(middle * (1.0 - middle) / worlds + error**2) + 1.0 / worlds
        if abs(share - probability) > slack:
            suspects[made] = f"{made}: {probability:.5f} ± {error:.5f}, but {share:.5f} of {worlds} worlds"
    return suspects
