from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from worlds_live import RULES, Record, essence, events, expected, lines_of, live, payloads, run, run_until

from cepheus.core.errors import EventError, OptionError, SnapshotError
from cepheus.core.options import RunOptions
from cepheus.runtime.live import lanes
from cepheus.runtime.live.contract import Messages, Position, Surroundings
from cepheus.runtime.live.counts import Link
from cepheus.runtime.live.description import Clock, NamedSink, NamedSource, When
from cepheus.runtime.live.processing import Processing
from cepheus.runtime.live.rules_at_work import catalog_of
from cepheus.runtime.live.run import LiveRun
from cepheus.runtime.live.sinks.file import ToFile
from cepheus.runtime.live.sources.file import FromFile
from cepheus.runtime.live.sources.scripted import ABORT, END, LOST, AbortedError, Scripted, Steps

EVENTS = events(120)
ANSWER = essence(expected(EVENTS))
LATENESS = RunOptions.of(engine="reference", time_unit="s", lateness="5 s", threads=1)


def test_what_is_found_is_what_the_reference_finds(tmp_path: Path) -> None:
    counts = run(live(tmp_path, Scripted((*payloads(EVENTS), END), together=7)))
    assert essence(lines_of(tmp_path / "out.jsonl")) == ANSWER
    assert counts.links["in"].passed == len(EVENTS)
    assert sum(counts.composites.values()) == len(ANSWER)


@pytest.mark.parametrize("when", list(When))
def test_a_run_that_broke_down_goes_on_where_it_was(tmp_path: Path, when: When) -> None:
    given = payloads(EVENTS)
    steps: Steps = (*given[:30], ABORT, *given[30:31], ABORT, *given[31:90], ABORT, *given[90:], END)
    described = live(tmp_path, Scripted(steps, together=5, passed=set()), when=when, every=0.0001)
    for _ in range(3):
        with pytest.raises(AbortedError):
            run(described)
    run(described)
    assert essence(lines_of(tmp_path / "out.jsonl")) == ANSWER


def test_a_lost_connection_is_opened_again_where_it_was(tmp_path: Path) -> None:
    given = payloads(EVENTS)
    steps: Steps = (*given[:30], LOST, *given[30:90], LOST, *given[90:], END)
    counts = run(live(tmp_path, Scripted(steps, together=4, passed=set())))
    assert essence(lines_of(tmp_path / "out.jsonl")) == ANSWER
    assert counts.links["in"].reconnects == 2


def test_running_again_after_the_end_changes_nothing(tmp_path: Path) -> None:
    described = live(tmp_path, Scripted((*payloads(EVENTS), END)), options=LATENESS)
    run(described)
    first = (tmp_path / "out.jsonl").read_text()
    run(described)
    assert (tmp_path / "out.jsonl").read_text() == first
    assert essence(map(json.loads, first.splitlines())) == ANSWER


def test_what_is_no_event_goes_to_the_dead_letters(tmp_path: Path) -> None:
    good = payloads(EVENTS)
    bad = [
        b"garbage",
        b"\xff\xfe",
        b'{"type": "Temp", "time": 5, "area": 7, "value": 1.5}',
        b'{"type": "Temp"}',
        b"[1]",
    ]
    steps: Steps = tuple(good[:40] + bad + good[40:])
    letters = NamedSink("dead", ToFile(tmp_path / "dead.jsonl"))
    for together in (1, 200):
        folder = tmp_path / str(together)
        letters = NamedSink("dead", ToFile(folder / "dead.jsonl"))
        counts = run(live(folder, Scripted((*steps, END), together=together), dead_letters=letters))
        assert essence(lines_of(folder / "out.jsonl")) == ANSWER
        found = lines_of(folder / "dead.jsonl")
        assert counts.links["in"].bad == len(found) == len(bad)
        assert sorted(letter["message"] for letter in found) == [str(n) for n in range(40, 45)]
        assert {letter["error"]["code"] for letter in found} >= {"json", "utf-8", "type", "event"}
        assert sum("payload_base64" in letter for letter in found) == 1


def test_bad_events_can_stop_a_run(tmp_path: Path) -> None:
    with pytest.raises(EventError, match="JSON"):
        run(live(tmp_path, Scripted((b"garbage", END)), stop_on_bad=True))


def test_late_events_are_counted_and_kept(tmp_path: Path) -> None:
    mixed = [*EVENTS[:50], {**EVENTS[0], "area": "late"}, *EVENTS[50:]]
    letters = NamedSink("dead", ToFile(tmp_path / "dead.jsonl"))
    counts = run(live(tmp_path, Scripted((*payloads(mixed), END)), dead_letters=letters))
    assert counts.late == 1
    assert lines_of(tmp_path / "dead.jsonl")[0]["error"]["code"] == "late"
    assert essence(lines_of(tmp_path / "out.jsonl")) == ANSWER


def test_several_sources_have_events_with_names_of_their_own(tmp_path: Path) -> None:
    smoke = [event for event in EVENTS if event["type"] == "Smoke"]
    temps = [event for event in EVENTS if event["type"] == "Temp"]
    described = live(tmp_path, Scripted((*payloads(smoke), END)))
    options = RunOptions.of(engine="reference", time_unit="s", lateness="1000 s")
    both = (*described.sources, NamedSource("temps", Scripted((*payloads(temps), END))))
    run(replace(described, sources=both, options=options))
    found = lines_of(tmp_path / "out.jsonl")
    assert essence(found) == ANSWER
    assert all(fire["from"][0].startswith("in:") and fire["from"][1].startswith("temps:") for fire in found)


def test_little_room_holds_readers_up_and_loses_nothing(tmp_path: Path) -> None:
    counts = run(live(tmp_path, Scripted((*payloads(EVENTS), END), together=10), ahead=1, batch=1))
    assert essence(lines_of(tmp_path / "out.jsonl")) == ANSWER
    assert counts.waiting == 0


def test_rules_may_change_between_runs(tmp_path: Path) -> None:
    given = payloads(EVENTS)
    steps: Steps = (*given[:60], ABORT, *given[60:], END)
    script = Scripted(steps, passed=set())
    first = live(tmp_path, script, every=0.0001)
    with pytest.raises(AbortedError):
        run(first)
    more = RULES + "\ndefine Hot(area: string) from Temp(value > 49) where area = Temp.area"
    run(replace(first, rules=more))
    found = lines_of(tmp_path / "out.jsonl")
    assert essence(each for each in found if each["type"] == "Fire") == ANSWER
    hot = [event for event in EVENTS[60:] if event.get("value") == 50.0]
    assert len([each for each in found if each["type"] == "Hot"]) == len(hot)


def test_state_of_other_options_is_refused(tmp_path: Path) -> None:
    described = live(tmp_path, Scripted((*payloads(EVENTS), END)))
    run(described)
    other = replace(described, options=RunOptions.of(engine="reference", time_unit="s", lateness="9 s"))
    with pytest.raises(OptionError, match="other options"):
        run(other)
    assert run(other, fresh=True).links["in"].passed == len(EVENTS)


def test_one_folder_one_run(tmp_path: Path) -> None:
    from cepheus.runtime.live.state import StateFolder

    held = StateFolder(tmp_path / "state")
    with pytest.raises(OptionError, match="another process"):
        run(live(tmp_path, Scripted((END,))))
    held.close()


def test_damaged_state_is_refused(tmp_path: Path) -> None:
    described = live(tmp_path, Scripted((*payloads(EVENTS), END)))
    run(described)
    path = tmp_path / "state" / "state"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(SnapshotError, match="damaged"):
        run(described)


def test_files_are_read_line_by_line(tmp_path: Path) -> None:
    text = b"\n".join(payloads(EVENTS[:50])) + b"\n\n" + b"\n".join(payloads(EVENTS[50:]))
    (tmp_path / "in.jsonl").write_bytes(text)
    run(live(tmp_path, FromFile(tmp_path / "in.jsonl", follow=False)))
    assert essence(lines_of(tmp_path / "out.jsonl")) == ANSWER


def test_a_lane_that_is_ahead_makes_no_other_late(tmp_path: Path) -> None:
    """All of one lane comes before the first message of the other, of which it is known that more is there."""
    described = live(tmp_path, Scripted((END,)), options=LATENESS)
    processing = Processing(described, catalog_of(described.rules, described.options), None)
    lanes = [payloads(EVENTS[start::2]) for start in (0, 1)]

    def messages(lane: int, start: int, end: int, *, more: bool) -> Messages:
        part = lanes[lane][start:end]
        return Messages({}, range(start, start + len(part)), part, lane=str(lane), origins=[""] * len(part), more=more)

    script = [[messages(0, 0, 0, more=True)], [messages(1, 0, 0, more=True)], [messages(0, 0, 60, more=False)]]
    script += [[messages(1, start, start + 20, more=start < 40)] for start in range(0, 60, 20)]
    for together in (script, [[each for part in script for each in part]]):
        processing = Processing(described, catalog_of(described.rules, described.options), None)
        done = [processing.work([("in", each) for each in part]) for part in together]
        assert not sum(each.late for each in done)
        found = [json.loads(line) for each in (*done, processing.end()) for line in each.output().lines]
        assert essence(found) == ANSWER
    processing = Processing(described, catalog_of(described.rules, described.options), None)
    late = processing.work([("in", messages(lane, 0, 60, more=False)) for lane in (0, 1)]).late
    assert late  # nobody said that there was more


def test_a_lane_that_falls_behind_later_is_not_taken_to_be_where_another_is(tmp_path: Path) -> None:
    described = live(tmp_path, Scripted((END,)), options=LATENESS)
    processing = Processing(described, catalog_of(described.rules, described.options), None)

    def messages(lane: int, part: list[Record], *, more: bool) -> Messages:
        start = EVENTS.index(part[0]) if part else 0
        numbers = range(start, start + len(part))
        return Messages({}, numbers, payloads(part), lane=str(lane), origins=[""] * len(part), more=more)

    script = [messages(2, [], more=True), messages(0, EVENTS[70:], more=False), messages(1, [], more=True)]
    script += [messages(2, EVENTS[:20], more=False), messages(1, EVENTS[20:45], more=True)]
    script += [messages(1, EVENTS[45:70], more=False)]
    done = [processing.work([("in", each)]) for each in script]
    assert not sum(each.late for each in done)
    found = [json.loads(line) for each in (*done, processing.end()) for line in each.output().lines]
    assert essence(found) == ANSWER


class Laned:
    """A source that gives what a test puts into its queue, in lanes."""

    def __init__(self) -> None:
        self.given: asyncio.Queue[Messages | None] = asyncio.Queue()

    def build(self, _around: Surroundings) -> Laned:
        return self

    def put(self, lane: int, part: list[Record], *, more: bool) -> None:
        start = EVENTS.index(part[0]) if part else 0
        numbers = range(start, start + len(part))
        self.given.put_nowait(
            Messages({}, numbers, payloads(part), lane=str(lane), origins=[""] * len(part), more=more)
        )

    async def open(self, _position: Position) -> None: ...

    async def read(self) -> Messages | None:
        return await self.given.get()

    async def acknowledge(self, _position: Position) -> None: ...

    async def close(self) -> None: ...


def test_a_pause_makes_nothing_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a run is paused no lane gives anything, which is not held against it afterwards."""
    monkeypatch.setattr(lanes, "PATIENCE_SECONDS", 0.5)

    async def at_work() -> int:
        source = Laned()
        whole = LiveRun(live(tmp_path, source, options=LATENESS))
        task = asyncio.create_task(whole.run())
        source.put(0, [], more=True)
        source.put(1, [], more=True)
        source.put(0, EVENTS[60:90], more=True)
        source.put(1, EVENTS[:5], more=True)
        async with asyncio.timeout(20):
            while whole.counts.links.get("in", Link("source")).passed < 35 or whole.counts.waiting:
                await asyncio.sleep(0.01)
        assert (await whole.ask({"what": "pause", "paused": True}))["paused"]
        source.put(0, EVENTS[90:], more=True)
        source.put(1, EVENTS[5:60], more=False)
        source.put(0, [], more=False)
        source.given.put_nowait(None)
        await asyncio.sleep(1.0)
        assert whole.counts.health(0.1)[1]["status"] == "paused"
        await whole.ask({"what": "pause", "paused": False})
        return (await task).late

    assert asyncio.run(at_work()) == 0
    assert essence(lines_of(tmp_path / "out.jsonl")) == ANSWER


def test_what_a_silent_lane_holds_back_is_let_go_though_nothing_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "PATIENCE_SECONDS", 0.2)
    source = Laned()
    source.put(1, [], more=True)
    source.put(0, EVENTS, more=False)
    described = live(tmp_path, source, options=LATENESS)
    asyncio.run(run_until(described, lambda: len(lines_of(tmp_path / "out.jsonl")) > 5, 20.0))


def test_time_does_not_go_on_by_itself_while_a_lane_is_behind(tmp_path: Path) -> None:
    async def at_work() -> int:
        source = Laned()
        whole = LiveRun(live(tmp_path, source, options=LATENESS, clock=Clock.WALL, idle=0.05))
        task = asyncio.create_task(whole.run())
        source.put(0, EVENTS[:20], more=True)
        await asyncio.sleep(0.5)
        source.put(0, EVENTS[20:], more=False)
        source.given.put_nowait(None)
        return (await task).late

    assert asyncio.run(at_work()) == 0
    assert essence(lines_of(tmp_path / "out.jsonl")) == ANSWER
