"""The part of a live run that works on events, in a thread of its own: decode, feed, write down what was found."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.errors import Diagnostic, EventError
from cepheus.core.event import Event
from cepheus.core.options import OnBadEvent
from cepheus.core.schema import Attribute, EventType
from cepheus.core.time import MIN_TIME
from cepheus.core.values import ValueType, as_int
from cepheus.formats.event_fields import id_field_of
from cepheus.formats.problems import BadEvents
from cepheus.formats.rows import NumberedRows
from cepheus.formats.table import written_time
from cepheus.rules.check import check
from cepheus.runtime.embedded.catalog import Catalog
from cepheus.runtime.embedded.figures import Figures
from cepheus.runtime.embedded.rule_changes import RuleChange, rule_texts
from cepheus.runtime.embedded.session import Session
from cepheus.runtime.live.contract import Messages, Output
from cepheus.runtime.live.description import Live
from cepheus.runtime.live.lanes import Lanes
from cepheus.runtime.live.output import OutputKeys, output_of
from cepheus.runtime.live.rules_at_work import catalog_of, options_mark, restored_session
from cepheus.runtime.live.state import SavedState

DEAD_LETTER = "dead letter"
"""The type of what is written of a message or event that was refused."""


@dataclass(slots=True)
class Processed:
    """What became of some messages: composite events, and what was refused, by the name of the source."""

    found: list[Output] = field(default_factory=list)
    dead: list[tuple[str, str]] = field(default_factory=list)
    bad: dict[str, int] = field(default_factory=dict)
    late: int = 0

    def output(self) -> Output:
        """All composite events."""
        return join(self.found)

    def dead_letters(self) -> Output:
        """What was refused, each under a key that is the same whenever the message is read."""
        keys = [key for key, _ in self.dead]
        return Output(keys, [DEAD_LETTER] * len(keys), [line for _, line in self.dead])


def join(outputs: Sequence[Output]) -> Output:
    """Outputs one after the other."""
    if len(outputs) == 1:
        return outputs[0]
    return Output(
        [key for each in outputs for key in each.keys],
        [name for each in outputs for name in each.types],
        [line for each in outputs for line in each.lines],
    )


class Processing:
    """A session with the decoders of its sources; not for several threads at once."""

    def __init__(self, live: Live, catalog: Catalog, saved: SavedState | None) -> None:
        self._live = live
        options = live.options
        self._late: list[Event] = []
        self.notes: list[str] = []
        if saved is None:
            self.session = Session(catalog, options, on_late=self._late.append)
        else:
            self.session = restored_session(
                catalog, options, saved.session, saved.options, self._late.append, self.notes.append
            )
        self.latest: int | None = None
        self.figures = Figures()
        self.session.tap(self._tapped)
        self._closed = catalog.closed
        self._expect(catalog)
        self._lanes = Lanes(options.lateness or 0)
        self.keys = OutputKeys() if saved is None else OutputKeys(saved.repeats, saved.repeats_at)
        self._prefixed = len(live.sources) > 1

    def _tapped(self, fed: EventBatch, made: EventBatch, _until: int | None) -> None:
        if len(fed):
            self.latest = int(fed.times[-1])
        self.figures.count(len(fed), made)

    def _expect(self, catalog: Catalog) -> None:
        """Decode what rules want of events."""
        rules = catalog.checked.rules
        self._expected = catalog.expected
        self.texts = rule_texts(rules)
        intervals = bool(rules.interval_rules)
        self._heads = frozenset(rule.composite.name for rule in rules.interval_rules)
        self._decoders = {
            each.name: each.payload.build(catalog.expected, self._live.options, intervals=intervals)
            for each in self._live.sources
        }

    def change_to(self, text: str) -> RuleChange:
        """What would have to be done for the rules of a text to be at work."""
        wanted = catalog_of(f"{text}\n\n", self._live.options).checked.rules  # of two lines: no name of a file
        return RuleChange.of(self.session.rules, wanted)

    def change(self, change: RuleChange) -> None:
        """Withdraw rules and deploy others, between two events."""
        change.apply(self.session)
        self._expect(Catalog.of(check(self.session.rules, closed=self._closed)))

    def work(self, batches: Sequence[tuple[str, Messages]]) -> Processed:
        """Decode messages, feed their events, and give what was found."""
        done = Processed()
        for (source, lane, *_), run in groupby(batches, key=_alike):
            parts = [messages for _, messages in run]
            if any(part.more for part in parts):
                self._lanes.hear((source, lane))
            self.session.buffer.bound, self.session.buffer.pushed = self._lanes.bound, MIN_TIME
            self._one(source, _merged([part for part in parts if len(part)] or parts[-1:]), done)
            self._lanes.reached((source, lane), self.session.buffer.pushed)
            if not parts[-1].more:
                self._lanes.end((source, lane))
        self.session.buffer.bound = self._lanes.bound
        if self.session.buffer.is_held_back:  # a lane may have come further, or be over
            self._found(self.session.feed(EventBatch.empty()), done)
        return done

    @property
    def is_behind(self) -> bool:
        """Whether a lane is waited for: time must not go on by itself then."""
        return self._lanes.bound is not None

    @property
    def is_held_back(self) -> bool:
        """Whether events wait for a lane; ``work`` of nothing lets go of them once it is not waited for any more."""
        return self.session.buffer.is_held_back

    def held_up(self, seconds: float) -> None:
        """Learn that the run took nothing for so long: no lane was silent then."""
        self._lanes.held_up(seconds)

    def advance(self) -> Processed:
        """Let time go on to now, less what stragglers may take."""
        done = Processed()
        lateness = timedelta(microseconds=self._live.options.lateness or 0)
        self._found(self.session.advance(datetime.now(UTC) - lateness), done)
        return done

    def end(self) -> Processed:
        """All sources are over: process what waits, and let time run out."""
        done = Processed()
        self._found(self.session.close(), done)
        return done

    def state(self, sources: Mapping[str, object], sinks: Mapping[str, object], pending: Output) -> Callable[[], bytes]:
        """All that a run needs to go on from here; events need not wait until it has been made into bytes."""
        session, repeats, at = self.session.snapshot_later(), dict(self.keys.repeats), self.keys.at
        options = options_mark(self._live.options)
        return lambda: SavedState(session(), sources, sinks, repeats, at, pending, options).to_bytes()

    def _one(self, source: str, messages: Messages, done: Processed) -> None:
        if not len(messages):
            return
        decoded = self._decoders[source].decode(messages)
        bad = BadEvents(OnBadEvent.SKIP, keep=None)
        rows = NumberedRows(decoded.rows, decoded.numbers, bad, self._prefix(source, messages))
        self._found(self.session.feed(rows), done)
        faults: list[tuple[int, Diagnostic]] = list(decoded.faults.items())
        for finding in bad.diagnostics:
            line = finding.place.line if finding.place is not None else None
            faults.append((int(decoded.origins[(line or 1) - 1]), finding))
        if faults:
            self._refuse(source, messages, faults, done)

    def _prefix(self, source: str, messages: Messages) -> str | None:
        """What goes before the numbers of events, so that no two events of the run are called the same."""
        parts = [source] if self._prefixed else []
        parts += [messages.lane] if messages.lane is not None else []
        return "/".join(parts) or None

    def _found(self, composites: EventBatch, done: Processed) -> None:
        if len(composites):
            done.found.append(output_of(composites, self.keys, self._live.options.unit, self._heads))
        if self._late:
            done.late += len(self._late)
            for event in self._late:
                reason = {"code": "late", "message": "it came later than the lateness allows"}
                letter = {"error": reason, "event": self._as_read(event)}
                line = json.dumps(letter, default=str, ensure_ascii=False)
                done.dead.append((f"late:{event.id}", line))
            self._late.clear()

    def _as_read(self, event: Event) -> dict[str, Any]:
        """An event as the run's columns and unit have it: a run with the same options reads it as it was."""
        columns, unit = self._live.options.columns, self._live.options.unit
        expected = self._expected.get(event.type, EventType(event.type))
        written: dict[str, Any] = {columns.type: event.type, columns.time: written_time(event.time, unit)}
        for name, value in event.attributes.items():
            attribute = expected.attribute(name) or Attribute(name, None)
            moment = attribute.type is ValueType.TIMESTAMP and isinstance(value, int)
            plain = written_time(as_int(value), unit) if moment and value is not None else value
            error = event.errors.get(name)
            written[attribute.named_by_data] = plain if error is None else {"value": plain, "error": str(error)}
        if event.start is not None and event.start != event.time:
            written.setdefault(columns.start or "start", written_time(event.start, unit))
        if event.id is not None:
            written.setdefault(id_field_of(expected, columns), event.id)
        if event.sequence is not None and columns.sequence is not None:
            written[columns.sequence] = event.sequence
        if event.probability != 1.0:
            written[columns.probability] = event.probability
        if event.made_of:
            written["from"] = list(event.made_of)
        return written

    def _refuse(
        self, source: str, messages: Messages, faults: Sequence[tuple[int, Diagnostic]], done: Processed
    ) -> None:
        if self._live.stop_on_bad:
            _, finding = faults[0]
            raise EventError([finding])
        done.bad[source] = done.bad.get(source, 0) + len(faults)
        payloads = messages.payload_list()
        before: Counter[int] = Counter()
        for index, finding in faults:
            number = int(messages.numbers[index])
            before[number] += 1
            lane = "" if messages.lane is None else f"/{messages.lane}"
            letter = {
                "source": source,
                "message": f"{lane.lstrip('/')}:{number}".lstrip(":"),
                "error": {"code": finding.code, "message": finding.message, "hint": finding.hint},
                **_readable(payloads[index]),
            }
            key = f"{source}{lane}:{number}#{before[number]}"
            done.dead.append((key, json.dumps(letter, ensure_ascii=False)))


def _alike(batch: tuple[str, Messages]) -> tuple[str, str | None, bool, bool]:
    """What messages have in common that can be decoded together."""
    source, messages = batch
    return source, messages.lane, messages.joined is None, messages.origins is None


def _merged(parts: Sequence[Messages]) -> Messages:
    """Messages that came one after the other, as if they had come at once: decoding has a price for each call."""
    if len(parts) == 1:
        return parts[0]
    last = parts[-1]
    return replace(
        last,
        numbers=np.concatenate([np.asarray(part.numbers, np.int64) for part in parts]),
        payloads=[payload for part in parts for payload in part.payloads],
        joined=None if last.joined is None else b"\n".join([part.joined or b"" for part in parts]),
        origins=None if last.origins is None else [name for part in parts for name in part.origins or ()],
        received=parts[0].received,
    )


def _readable(payload: bytes) -> dict[str, str]:
    try:
        return {"payload": payload.decode()}
    except UnicodeDecodeError:
        return {"payload_base64": base64.b64encode(payload).decode()}
