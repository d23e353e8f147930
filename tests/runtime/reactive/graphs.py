"""Random graphs of signals, made from a seed, beside what a naive recomputation of everything at every moment gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from cepheus.core.batch import EventBatch
from cepheus.core.event import Event as EventRecord
from cepheus.core.values import Value
from cepheus.reactive import Change, Reactor, Signal
from cepheus.rules.aggregates import AGGREGATES
from cepheus.rules.evaluate import evaluator
from cepheus.runtime.reactive.signals import FromEvents
from cepheus.typed import Event

WINDOWS = (1, 2, 3, 5, 8, 20)
FUNCTIONS = ("count", "sum", "avg", "min", "max", "first", "last", "stddev", "median", "mode", "countdistinct", "slope")


class Temp(Event):
    x: int
    y: float
    o: int | None
    s: str


class Smoke(Event):
    x: int
    y: float
    o: int | None
    s: str


KINDS: dict[str, type[Any]] = {"Temp": Temp, "Smoke": Smoke}
Naive = Callable[["History"], Value | None]
"""What a signal is worth after a history."""


@dataclass
class History:
    """All events so far, and the present time."""

    events: list[EventRecord]
    now: int

    def of(self, kind: str, least: int | None, name: str | None) -> list[EventRecord]:
        return [
            event
            for event in self.events
            if event.type == kind
            and (least is None or _number(event["x"]) >= least)
            and (name is None or event.attributes.get(name) is not None)
        ]


def _number(value: Value | None) -> int:
    assert isinstance(value, int)
    return value


@dataclass
class Graph:
    """Signals and, beside each, what it must be worth; ``windows`` are the lengths after which members leave."""

    reactor: Reactor
    signals: list[Signal[Any]] = field(default_factory=list)
    naive: list[Naive] = field(default_factory=list)
    windows: list[tuple[str, int]] = field(default_factory=list)

    def add(self, signal: Signal[Any], naive: Naive) -> None:
        self.signals.append(signal)
        self.naive.append(naive)


def make_graph(random: Random, reactor: Reactor, nodes: int) -> Graph:
    """A graph of so many signals: sources first, then what is computed from them."""
    graph = Graph(reactor)
    for _ in range(max(2, nodes // 2)):
        _add_source(graph, random)
    while len(graph.signals) < nodes:
        _add_computed(graph, random)
    return graph


def _add_source(graph: Graph, random: Random) -> None:
    name = random.choice(list(KINDS))
    kind = KINDS[name]
    least = random.choice((None, None, 0, 1))
    where = () if least is None else (kind.x >= least,)
    attribute = random.choice("xyos")
    what = random.random()
    if what < 0.4:
        graph.add(graph.reactor.latest(getattr(kind, attribute), *where), _latest(name, least, attribute))
        return
    if what < 0.5:
        graph.add(graph.reactor.count(kind, *where), lambda history: len(history.of(name, least, None)))
        return
    function = random.choice(FUNCTIONS)
    if function not in ("count", "first", "last", "mode", "countdistinct", "min", "max") and attribute == "s":
        attribute = "y"
    length = random.choice(WINDOWS)
    graph.windows.append((name, length))
    signal = graph.reactor.aggregate(function, getattr(kind, attribute), *where, within=f"{length} us")
    graph.add(signal, _windowed(function, name, least, attribute, length))


def _latest(name: str, least: int | None, attribute: str) -> Naive:
    def compute(history: History) -> Value | None:
        found = history.of(name, least, attribute)
        return found[-1][attribute] if found else None

    return compute


def _windowed(function: str, name: str, least: int | None, attribute: str, length: int) -> Naive:
    def compute(history: History) -> Value | None:
        inside = [e for e in history.of(name, least, attribute) if e.time > history.now - length]
        return AGGREGATES[function]([e[attribute] for e in inside], [e.time for e in inside])

    return compute


def _add_computed(graph: Graph, random: Random) -> None:
    numbers = [n for n, s in enumerate(graph.signals) if s.kind is not None and s.kind.is_numeric]
    truths = [n for n, s in enumerate(graph.signals) if s.kind is not None and s.kind.value == "bool"]
    texts = [n for n, s in enumerate(graph.signals) if s.kind is not None and s.kind.value == "string"]
    what = random.random()
    if what < 0.1 and numbers and truths:
        _add_dynamic(graph, random.choice(truths), random.choice(numbers), random.choice(numbers))
    elif what < 0.4 and numbers:
        left, right = graph.signals[random.choice(numbers)], _operand(graph, random, numbers)
        sign = random.choice("+-*/")
        made = {
            "+": lambda: left + right,
            "-": lambda: left - right,
            "*": lambda: left * right,
            "/": lambda: left / right,
        }
        _add_derived(graph, made[sign]())
    elif what < 0.7 and numbers:
        left, right = graph.signals[random.choice(numbers)], _operand(graph, random, numbers)
        _add_derived(graph, random.choice((lambda: left > right, lambda: left <= right, lambda: left == right))())
    elif what < 0.8 and texts:
        _add_derived(graph, graph.signals[random.choice(texts)] == random.choice(("a", "b")))
    elif truths:
        left, right = graph.signals[random.choice(truths)], graph.signals[random.choice(truths)]
        _add_derived(graph, random.choice((lambda: left & right, lambda: left | right, lambda: ~left))())
    else:
        _add_source(graph, random)


def _operand(graph: Graph, random: Random, numbers: list[int]) -> Any:
    return graph.signals[random.choice(numbers)] if random.random() < 0.6 else random.choice((0, 1, 2.5, -1))


def _add_derived(graph: Graph, signal: Signal[Any]) -> None:
    """A signal that is an expression is worth what the reference engine makes of that expression."""
    compute = evaluator(signal.node)
    places = {name: next(n for n, s in enumerate(graph.signals) if s is leaf) for name, leaf in signal.leaves.items()}

    class Present:
        def __init__(self, history: History) -> None:
            self.history = history

        def attribute(self, event: str | None, name: str) -> Value | None:
            raise AssertionError((event, name))

        def computed(self, name: str) -> Value | None:
            return graph.naive[places[name]](self.history)

    graph.add(signal, lambda history: compute(Present(history)))


def _add_dynamic(graph: Graph, condition: int, one: int, other: int) -> None:
    """A signal that reads one signal or another, as a third says."""
    truth, left, right = (graph.signals[n] for n in (condition, one, other))

    def function() -> Any:
        return left.value if truth.value else right.value

    def naive(history: History) -> Value | None:
        found = graph.naive[one if graph.naive[condition](history) else other](history)
        return float(found) if isinstance(found, int) else found

    graph.add(graph.reactor.compute(function, float), naive)


def make_events(random: Random, count: int) -> list[EventRecord]:
    """Events with many ties, in order."""
    time, found = random.randrange(5), []
    for _ in range(count):
        time += random.choice((0, 0, 1, 1, 2, 7))
        values: dict[str, Value | None] = {
            "x": random.randrange(-1, 3),
            "y": random.choice((0.0, 0.5, 0.1, -2.25, 1e15, 0.1)),
            "s": random.choice("aab"),
        }
        if random.random() < 0.7:
            values["o"] = random.randrange(3)
        found.append(EventRecord(random.choice(list(KINDS)), time, values))
    return found


def check_graph(seed: int, *, nodes: int = 8, events: int = 25) -> int:
    """Feed a random graph in random batches, and compare every change of every signal; give how many there were."""
    random = Random(seed)
    reactor = Reactor()
    graph = make_graph(random, reactor, nodes)
    told: list[list[tuple[int, Value | None]]] = [[] for _ in graph.signals]
    for place, signal in enumerate(graph.signals):
        signal.observe(partial(_note, told[place]))
    stream = make_events(random, events)
    at = 0
    while at < len(stream):
        size = random.choice((1, 1, 2, 3, 5, 30))
        reactor.feed(EventBatch.from_events(stream[at : at + size]))
        at += size
    expected = _expected(graph, stream)
    assert told == expected, f"seed {seed}"
    for signal, changes in zip(graph.signals, expected, strict=True):
        assert signal.value == changes[-1][1] if changes else True
    return sum(map(len, told))


def _note(told: list[tuple[int, Value | None]], change: Change[Any]) -> None:
    told.append((change.time.microsecond, change.value))


def _expected(graph: Graph, stream: list[EventRecord]) -> list[list[tuple[int, Value | None]]]:
    """What every signal is worth at every moment, each computed anew from all that has come.

    Events of a type that no signal is made of do not come at all: time goes on with those that do.
    """
    heard = {signal.event for signal in graph.signals if isinstance(signal, FromEvents)}
    stream = [event for event in stream if event.type in heard]
    last = stream[-1].time if stream else -1
    leaving = {e.time + length for kind, length in graph.windows for e in stream if e.type == kind}
    moments = sorted([(t, 0, 0) for t in leaving if t <= last] + [(e.time, 1, n) for n, e in enumerate(stream)])
    before = [naive(History([], -1)) for naive in graph.naive]
    found: list[list[tuple[int, Value | None]]] = [[] for _ in graph.naive]
    for time, is_event, number in moments:
        come = number + 1 if is_event else sum(e.time < time for e in stream)
        history = History(stream[:come], time)
        for place, naive in enumerate(graph.naive):
            value = naive(history)
            if value != before[place]:
                found[place].append((time, value))
                before[place] = value
    return found
