"""Figure 6 of the overview chapter: automata against columns as sequences grow longer.

1000 rules; every event concerns exactly 1% of them, and every state of every rule is equally likely to be reached;
windows of 15 s on average between neighbours. The chapter does not state its rate of events; here it is 100 a second,
so that each-within makes up to a few hundred composite events per event and not millions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from benchmarks.measuring.timing import Say, Spread, best_spread, feed_singly, spread, timed
from benchmarks.workloads.sequences import balanced_rules, rule_text, types_of
from benchmarks.workloads.streams import chapter
from benchmarks.workloads.subject import Subject
from cepheus.core.batch import EventBatch
from cepheus.core.errors import CepheusError

ENGINES = ("columns", "automata")
SELECTIONS = ("each", "last")
_OBJECTS = 20_000
"""So many composite events are made Python objects, to see how long one takes."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured: rules, sequence lengths, and events to fill the windows, to feed at once and singly."""

    rules: int = 1000
    lengths: tuple[int, ...] = (2, 3, 4, 5, 6)
    filling: int = 13_000
    together: int = 20_000
    singly: int = 2_000


FULL = Scale()
QUICK = Scale(rules=100, lengths=(2, 3), filling=600, together=600, singly=200)


@dataclass(frozen=True, slots=True)
class Figure6Point:
    """One engine on one set of rules: microseconds per event fed singly, CPU time per event fed in a batch."""

    engine: str
    selection: str
    length: int
    rules: int
    events: int
    composites: int
    singly: Spread
    batch_microseconds: float
    means: tuple[float, ...] = ()
    """The mean of single events in each run."""
    object_microseconds: float = 0.0
    """CPU time of making a Python object of a composite event, which those of single events are."""

    @property
    def for_objects(self) -> float:
        """Microseconds of a single event that making Python objects takes, about."""
        return self.object_microseconds * self.composites_per_event

    @property
    def composites_per_event(self) -> float:
        """How many composite events an event makes on average."""
        return self.composites / self.events


def figure6(repeat: int, say: Say, scale: Scale = FULL) -> list[Figure6Point]:
    """Measure every engine there is, each selection policy and every length; all engines must find the same number."""
    points: list[Figure6Point] = []
    for selection in SELECTIONS:
        for length in scale.lengths:
            subject, events = sequence_case(length, selection, scale)
            found: list[Figure6Point] = []
            for engine in ENGINES:
                if subject.runs_on(engine):
                    say(f"{engine}, {selection}-within, sequences of {length}")
                    found.append(_best(subject, events, engine, selection, length, scale, repeat))
            if len({point.composites for point in found}) > 1:
                counts = ", ".join(f"{point.engine} {point.composites}" for point in found)
                raise CepheusError.of("measurement", f"{selection}-within, sequences of {length}: {counts}")
            points += found
    return points


def sequence_case(length: int, selection: str, scale: Scale) -> tuple[Subject, EventBatch]:
    """Rules of a length and events for them."""
    concerned = scale.rules // 100
    subject = Subject.of(rule_text(balanced_rules(scale.rules, length, concerned=concerned, seed=length), selection))
    count = scale.filling + scale.together + scale.singly
    return subject, subject.batch(chapter(count, seed=100 + length, types=types_of(scale.rules, length, concerned)))


def _best(
    subject: Subject, events: EventBatch, engine: str, selection: str, length: int, scale: Scale, repeat: int
) -> Figure6Point:
    runs = [_run(subject, events, engine, scale) for _ in range(repeat)]
    return Figure6Point(
        engine=engine,
        selection=selection,
        length=length,
        rules=scale.rules,
        events=scale.together + scale.singly,
        composites=runs[0].composites,
        singly=best_spread([run.singly for run in runs]),
        batch_microseconds=1e6 * min(run.batch for run in runs) / scale.together,
        means=tuple(run.singly.mean for run in runs),
        object_microseconds=1e6 * min(run.object for run in runs),
    )


class _Run(NamedTuple):
    """The times of events fed singly; CPU seconds of those fed together, and of an object; all composite events."""

    singly: Spread
    batch: float
    object: float
    composites: int


def _run(subject: Subject, events: EventBatch, name: str, scale: Scale) -> _Run:
    """Feed some events together and the others singly."""
    engine = subject.engine(name)
    filled, fed = scale.filling, scale.filling + scale.together
    engine.feed(events.slice(0, filled))
    timing, found = timed(partial(engine.feed, events.slice(filled, fed)))
    together = len(found)
    some = found.slice(0, min(together, _OBJECTS))
    objects, _ = timed(some.to_events)
    del found
    taken, singly = feed_singly(engine, events.slice(fed, len(events)).to_events())
    return _Run(spread(taken), timing.cpu, objects.cpu / max(1, len(some)), together + singly)
