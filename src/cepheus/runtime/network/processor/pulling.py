"""Push and pull: who opens windows for whom, which awakenings are open, which events a child still owes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from cepheus.core.time import MAX_TIME, MIN_TIME
from cepheus.core.values import Value
from cepheus.engine.matching.matcher import Matcher
from cepheus.engine.matching.store import Record
from cepheus.plan.partial import Span, shared_values, span_around
from cepheus.runtime.network.processor.sharing import Origin, Shared
from cepheus.runtime.network.protocol.messages import Awaken


@dataclass(slots=True)
class Slave:
    """A partial rule that waits to be asked: its children, the window a master's event opens, the shared values."""

    name: str
    children: tuple[str, ...]
    span: Span
    pairs: tuple[tuple[str, str], ...]
    covered: list[tuple[int, int]] = field(default_factory=list)

    def uncovered(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the parts of a span that have not been asked for, and count them as asked for."""
        gaps = []
        start = first
        for low, high in self.covered:
            if high < start:
                continue
            if low > last:
                break
            if low > start:
                gaps.append((start, low - 1))
            start = max(start, high + 1)
        if start <= last:
            gaps.append((start, last))
        if gaps:
            self.covered = _union([*self.covered, (first, last)])
        return gaps


@dataclass(slots=True)
class _Master:
    """The partial rule that pushes, and those that its events wake."""

    matcher: Matcher
    slaves: list[Slave]


@dataclass(slots=True)
class Request:
    """An awakening that has not been answered by all: what it holds up from when on.

    ``answers`` is the awakening of the father that will be answered in turn: its number, its partial rule and span. It
    is answered after all that the father asked for before, so such requests are over one after the other.
    """

    number: int
    holds: int
    waiting: set[int]
    answers: tuple[int, str, int, int] | None = None


@dataclass(slots=True)
class Pulling:
    """The awakenings of one tree at one processor."""

    masters: dict[str, list[_Master]] = field(default_factory=dict)
    forwards: dict[str, list[Slave]] = field(default_factory=dict)
    requests: dict[int, Request] = field(default_factory=dict)
    by_awakening: dict[int, list[Request]] = field(default_factory=dict)
    for_father: dict[int, Request] = field(default_factory=dict)
    count: int = 0

    def adopt(self, shared: Shared, since: int | None = MIN_TIME) -> None:
        """Take over the masters and slaves of a new program; what was asked for before may be asked for again."""
        self.masters, self.forwards = {}, {}
        for origin in shared.origins:
            if origin.pulled:
                self.forwards[origin.name] = [
                    Slave(origin.parts[label].name, children, _below(origin, label), ())
                    for label, children in origin.labels.items()
                ]
            elif origin.master is not None:
                matcher = Matcher.of_pattern(origin.parts[origin.master].pattern, since)
                slaves = [
                    Slave(
                        origin.parts[label].name,
                        children,
                        span_around(origin.rule, origin.master, label),
                        shared_values(origin.rule, origin.master, label),
                    )
                    for label, children in origin.labels.items()
                    if label in origin.waiting
                ]
                self.masters.setdefault(matcher.type, []).append(_Master(matcher, slaves))

    @property
    def holds(self) -> int:
        """The time from which evaluation must wait for answers; MAX_TIME if nothing is open."""
        if self.for_father:
            return MIN_TIME
        return min([request.holds for request in self.requests.values()]) if self.requests else MAX_TIME

    def wake(self, tree: str, record: Record) -> list[tuple[str, Awaken]]:
        """Return the awakenings that an event of a master calls for."""
        found: list[tuple[str, Awaken]] = []
        asked_before = False
        for master in self.masters.get(record.type, ()):
            if not master.matcher.accepts(record):
                continue
            for slave in master.slaves:
                first, last = _shift(record.time, -slave.span.past), _shift(record.time, slave.span.future)
                values = tuple((mine, record.event.attributes.get(theirs)) for theirs, mine in slave.pairs)
                if slave.pairs and any(value is None for _, value in values):
                    continue
                known: tuple[tuple[str, Value], ...] = tuple((n, v) for n, v in values if v is not None)
                gaps = [(first, last)] if known else slave.uncovered(first, last)
                asked_before = asked_before or gaps != [(first, last)]
                found += self._ask(tree, slave, gaps, known)
        if asked_before:  # the rest of a window, perhaps on behalf of a later event
            for request in self.requests.values():
                request.holds = min(request.holds, record.time)
        self._open([message.number for _, message in found], record.time, None)
        return found

    def forward(self, tree: str, awaken: Awaken) -> list[tuple[str, Awaken]]:
        """The awakenings with which one is passed on; if nothing is open then, it can be answered at once."""
        found: list[tuple[str, Awaken]] = []
        for slave in self.forwards.get(awaken.part, ()):
            top = slave.span == Span(0, 0)
            values = awaken.values if top else ()
            first, last = _shift(awaken.first, -slave.span.past), _shift(awaken.last, slave.span.future)
            gaps = [(first, last)] if values else slave.uncovered(first, last)
            found += self._ask(tree, slave, gaps, values)
        answers = (awaken.number, awaken.part, awaken.first, awaken.last)
        self._open([message.number for _, message in found], MIN_TIME, answers)
        return found

    def answered(self, number: int) -> list[Request]:
        """Note an answer; give the requests for which it was the last."""
        complete = []
        for request in self.by_awakening.pop(number, ()):
            request.waiting.discard(number)
            if not request.waiting and request.answers is None:
                complete.append(request)
        for request in self.for_father.values():
            if request.waiting:
                break
            complete.append(request)
        for request in complete:
            del self.requests[request.number]
            self.for_father.pop(request.number, None)
        return complete

    def slaves(self) -> list[Slave]:
        """All partial rules that wait to be asked."""
        waked = [slave for masters in self.masters.values() for master in masters for slave in master.slaves]
        return [*waked, *(slave for group in self.forwards.values() for slave in group)]

    def forget(self, before: int) -> None:
        """Drop what was asked for before a time."""
        for slave in self.slaves():
            slave.covered = [span for span in slave.covered if span[1] >= before]

    def _ask(
        self, tree: str, slave: Slave, gaps: Iterable[tuple[int, int]], values: tuple[tuple[str, Value], ...]
    ) -> list[tuple[str, Awaken]]:
        found = []
        for first, last in gaps:
            for child in slave.children:
                self.count += 1
                found.append((child, Awaken(tree, self.count, slave.name, first, last, values)))
        return found

    def _open(self, numbers: list[int], holds: int, answers: tuple[int, str, int, int] | None) -> None:
        if not numbers and (answers is None or not self.for_father):
            return
        self.count += 1
        self.restore(Request(self.count, holds, set(numbers), answers))

    def restore(self, request: Request) -> None:
        """Count a request among those that are open, after all that were made before it."""
        self.requests[request.number] = request
        if request.answers is not None:
            self.for_father[request.number] = request
        for number in request.waiting:
            self.by_awakening.setdefault(number, []).append(request)


def _below(origin: Origin, label: str) -> Span:
    """How far before the events at an origin's root those of one of its parts can lie."""
    if label == origin.root:
        return Span(0, 0)
    return Span(span_around(origin.rule, origin.root, label).past, 0)


def _shift(time: int, by: int) -> int:
    return max(MIN_TIME, min(MAX_TIME - 1, time + by))


def _union(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join spans that touch."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return joined
