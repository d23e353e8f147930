"""What can be watched: live runs here and elsewhere, streams of Spark by their checkpoints, nodes of a network."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheus
from cepheus.core.batch import EventBatch
from cepheus.core.errors import CepheusError, OptionError, RuleError
from cepheus.core.event import Event
from cepheus.rules.model import RuleSet
from cepheus.runtime.embedded.figures import MOST_MATCHES, MOST_TOLD, Figures
from cepheus.runtime.embedded.rule_changes import rule_text, rule_texts
from cepheus.runtime.live.control import ControlClient
from cepheus.runtime.live.live_file import read_live_file
from cepheus.runtime.live.run import LiveRun
from cepheus.runtime.spark.shard_files import StateFolder
from cepheus.runtime.spark.stream_notes import ABOUT, KEPT, PAUSE, About, StreamNotes, WatchFolder
from cepheus.studio.live import Following, Live, Sources
from cepheus.studio.watched_node import NodeRun
from cepheus.studio.workspace import Workspace

HOT, HOTTER = "define Hot() from Temp(value > 5)", "define Hot() from Temp(value > 7)"


def put(folder: Path, first: int, last: int) -> None:
    with (folder / "in.jsonl").open("a") as stream:
        for number in range(first, last):
            stream.write(json.dumps({"type": "Temp", "time": number, "value": number % 10}) + "\n")


def until(state: Callable[[], dict[str, Any]], wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    for _ in range(1500):
        found = state()
        if wanted(found):
            return found
        time.sleep(0.02)
    raise AssertionError(found)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.tesla").write_text(HOT)
    (tmp_path / "in.jsonl").touch()
    (tmp_path / "live.toml").write_text(
        'rules = ["rules.tesla"]\n[detect]\nengine = "reference"\ntime_unit = "s"\n'
        '[[sources]]\nkind = "file"\npath = "in.jsonl"\n[[sinks]]\nkind = "file"\npath = "out.jsonl"\n'
    )
    return tmp_path


def watching(folder: Path) -> Live:
    live = Live(Workspace.of([]), Sources(live=(folder / "live.toml",)))
    live.start(Following(text="", kind="live", source="live.toml"))
    return live


def written(folder: Path) -> list[int]:
    return [json.loads(line)["time"] for line in (folder / "out.jsonl").read_text().splitlines()]


def test_a_live_run_of_the_studio_is_paused_and_changed_and_loses_nothing(folder: Path) -> None:
    live = watching(folder)
    try:
        target = live.required()
        put(folder, 0, 20)
        told = until(lambda: target.state(0), lambda told: told["events"] == 20)
        assert (told["matched"], told["paused"], told["rules"]) == (8, False, ["Hot"])
        assert told["watermark"] == 19_000_000
        target.pause(paused=True)
        put(folder, 20, 40)
        told = until(lambda: target.state(8), lambda told: told["waiting"] == 20)
        assert (told["events"], told["matches"]) == (20, [])
        (change,) = target.plan(HOTTER)
        assert change["kind"] == "change"
        assert "+from   Temp(value>7)" in change["diff"]
        target.apply(HOTTER)
        target.pause(paused=False)
        told = until(lambda: target.state(8), lambda told: told["events"] == 40)
        assert [match["number"] for match in told["matches"]] == [9, 10, 11, 12]
        assert "value>7" in target.rules()["Hot"]
    finally:
        live.stop()
    assert written(folder) == [6, 7, 8, 9, 16, 17, 18, 19, 28, 29, 38, 39]


def test_a_run_that_was_stopped_while_it_was_paused_goes_on_where_it_was(folder: Path) -> None:
    for end in (20, 40):
        live = watching(folder)
        target = live.required()
        until(lambda target=target: target.state(0), lambda told: "file-1" in told["links"])  # type: ignore[misc]
        if end == 20:
            put(folder, 0, 20)
            until(lambda target=target: target.state(0), lambda told: told["events"] == 20)  # type: ignore[misc]
            target.pause(paused=True)
            put(folder, 20, 40)
            until(lambda target=target: target.state(0), lambda told: told["waiting"] == 20)  # type: ignore[misc]
        else:
            until(lambda target=target: target.state(0), lambda told: told["events"] == 20)  # type: ignore[misc]
        live.stop()
    assert written(folder) == [number for number in range(40) if number % 10 > 5]


@pytest.fixture
def elsewhere(folder: Path) -> Iterator[LiveRun]:
    """A run with a loop of its own, as another process has it."""
    loop = asyncio.new_event_loop()

    async def made() -> LiveRun:
        return LiveRun(read_live_file(folder / "live.toml"))

    run = loop.run_until_complete(made())
    thread = threading.Thread(target=lambda: loop.run_until_complete(run.run()))
    thread.start()
    while not (folder / "live-state" / "control").exists():
        time.sleep(0.01)
    yield run
    if thread.is_alive():
        loop.call_soon_threadsafe(run.stop)
    thread.join(timeout=20)
    loop.close()


def test_a_run_of_another_process_is_watched_and_goes_on(folder: Path, elsewhere: LiveRun) -> None:
    live = watching(folder)
    put(folder, 0, 10)
    told = until(lambda: live.required().state(0), lambda told: told["events"] == 10)
    assert "in a process of its own" in told["name"]
    assert [match["attributes"] for match in told["matches"]] == [{}] * 4
    with pytest.raises(CepheusError):
        live.required().apply("define Hot( from")
    assert live.required().state(0)["rules"] == ["Hot"]
    live.stop()
    put(folder, 10, 20)
    client = ControlClient(folder / "live-state")
    assert until(lambda: client.ask({"what": "state"}), lambda told: told["events"] == 20)["matched"] == 8
    client.close()
    assert not elsewhere.counts.stopping


def test_only_its_user_can_open_the_socket_and_what_makes_no_sense_is_refused(folder: Path, elsewhere: LiveRun) -> None:
    del elsewhere
    assert (folder / "live-state" / "control").stat().st_mode & 0o777 == 0o600
    client = ControlClient(folder / "live-state")
    for request in ({"what": "nothing"}, {}, {"what": "plan", "text": "define"}):
        with pytest.raises(OptionError):
            client.ask(request)
    assert client.ask({"what": "state"})["rules"] == ["Hot"]
    client.close()


def test_rules_that_are_refused_leave_those_at_work(folder: Path) -> None:
    live = watching(folder)
    try:
        target = live.required()
        put(folder, 0, 10)
        until(lambda: target.state(0), lambda told: told["events"] == 10)
        cycle = "define Hot() from Cold()\ndefine Cold() from Hot()"
        with pytest.raises(CepheusError):
            target.apply(cycle)
        put(folder, 10, 20)
        told = until(lambda: target.state(0), lambda told: told["events"] == 20)
        assert (told["matched"], told["rules"], told["error"]) == (8, ["Hot"], None)
    finally:
        live.stop()


def test_matches_are_numbered_and_bounded() -> None:
    figures = Figures(clock=lambda: 100.0)
    total = MOST_MATCHES + 3_500
    for first in range(0, total, 500):
        figures.count(1000, EventBatch.from_events(Event("A", number) for number in range(first, first + 500)))
    got: list[int] = []
    while told := figures.told(got[-1] if got else 0)["matches"]:
        assert len(told) <= MOST_TOLD
        assert [match["time"] for match in told] == [match["number"] - 1 for match in told]
        got += [match["number"] for match in told]
    assert got == list(range(total - MOST_MATCHES + 1, total + 1))
    assert figures.told(total)["by_type"] == {"A": total}
    assert figures.told(total)["rates"] == [[100, 47_000, total]]


# ---- Streams of Spark: their checkpoints as Spark and write_stream leave them -------------------------------------


class Done:
    """What a micro-batch did, as write_stream tells it."""

    def __init__(self, batch: int, found: int) -> None:
        self.batch, self.events, self.late, self.composites = batch, 10, 1, {"Hot": found}
        self.state_bytes, self.watermark, self.seconds = 2_000, 7_000_000, 0.5


def checkpoint(folder: Path) -> tuple[Path, StreamNotes]:
    made = folder / "checkpoint"
    for log in ("offsets", "commits"):
        (made / log).mkdir(parents=True)
    (folder / "out" / "_spark_metadata").mkdir(parents=True)
    about = About({"Hot": HOT}, "parquet", str(folder / "out"), None)
    return made, StreamNotes(StateFolder(str(made / "cepheus")), about, clock=lambda: 50.0, sleep=lambda _: None)


def batch(folder: Path, notes: StreamNotes, number: int, times: list[int]) -> None:
    """Let a micro-batch be planned, written and done."""
    rows = pa.table(
        {"type": ["Hot"] * len(times), "time": pa.array(times, pa.timestamp("us", "UTC")), "area": ["A"] * len(times)}
    )
    file = folder / "out" / f"part-{number}.parquet"
    pq.write_table(rows, file)
    log = {"path": file.as_uri().replace("file:///", "file:/"), "action": "add"}
    (folder / "checkpoint" / "offsets" / str(number)).write_text('v1\n{"batchWatermarkMs": 9000}\n0')
    (folder / "out" / "_spark_metadata" / str(number)).write_text(f"v1\n{json.dumps(log)}")
    notes.done(Done(number, len(times)))  # type: ignore[arg-type]
    (folder / "checkpoint" / "commits" / str(number)).write_text("v1\n{}")


def test_a_stream_of_spark_is_watched_by_its_checkpoint(tmp_path: Path) -> None:
    made, notes = checkpoint(tmp_path)
    notes.begin()
    batch(tmp_path, notes, 0, [1, 2])
    live = Live(Workspace.of([]), Sources(checkpoint=(made,)))
    live.start(Following(text="", kind="checkpoint", source="checkpoint"))
    target = live.required()
    told = target.state(0)
    assert (told["batches"], told["events"], told["late"], told["by_type"]) == (0, 10, 1, {"Hot": 2})
    assert (told["watermark"], told["rules"], told["matches"]) == (7_000_000, ["Hot"], [])
    batch(tmp_path, notes, 1, [3, 4, 5])
    told = target.state(0)
    assert [(match["type"], match["time"], match["attributes"]) for match in told["matches"]] == [
        ("Hot", time, {"area": "A"}) for time in (3, 4, 5)
    ]
    assert (told["by_type"], told["events"]) == ({"Hot": 5}, 20)
    assert target.state(3)["matches"] == []
    assert target.plan(HOTTER)[0]["kind"] == "change"
    with pytest.raises(CepheusError, match="when it is started"):
        target.apply(HOTTER)


def test_a_stream_that_is_told_to_wait_waits_and_one_that_is_stopped_does_not(tmp_path: Path) -> None:
    made, notes = checkpoint(tmp_path)
    notes.begin()
    files = WatchFolder(StateFolder(str(made / "cepheus")))
    live = Live(Workspace.of([]), Sources(checkpoint=(made,)))
    live.start(Following(text="", kind="checkpoint", source="checkpoint"))
    live.required().pause(paused=True)
    assert files.has(PAUSE)
    assert live.required().state(0)["paused"]
    looks: list[int] = []

    def slept(_: float) -> None:
        looks.append(1)
        if len(looks) == 3:
            live.required().pause(paused=False)

    notes.sleep = slept
    notes.wait_while_paused(lambda: True)
    assert len(looks) == 3
    live.required().pause(paused=True)
    notes.wait_while_paused(lambda: False)
    assert len(looks) == 3


def test_counts_go_on_over_restarts_and_a_batch_that_is_run_again_counts_once(tmp_path: Path) -> None:
    made, notes = checkpoint(tmp_path)
    notes.begin()
    for number in (0, 1, 1):
        notes.done(Done(number, 2))  # type: ignore[arg-type]
    again = StreamNotes(StateFolder(str(made / "cepheus")), notes.about)
    again.begin()
    again.done(Done(1, 2))  # type: ignore[arg-type]
    again.done(Done(KEPT + 1, 2))  # type: ignore[arg-type]
    files = WatchFolder(StateFolder(str(made / "cepheus")))
    assert files.batch(KEPT + 1)["totals"]["composites"] == {"Hot": 6}
    assert files.batches() == [0, KEPT + 1]
    assert files.read(ABOUT)["rules"] == {"Hot": HOT}


def test_a_checkpoint_of_sparks_own_operator_tells_what_spark_knows(tmp_path: Path) -> None:
    for log in ("offsets", "commits"):
        (tmp_path / log).mkdir()
    (tmp_path / "offsets" / "3").write_text('v1\n{"batchWatermarkMs": 9000}\n0')
    (tmp_path / "commits" / "2").write_text("v1\n{}")
    (tmp_path / "cepheus.json").write_text(json.dumps({"format": 2, "detections": [{"rules": {"Hot": "0"}}]}))
    live = Live(Workspace.of([]), Sources(checkpoint=(tmp_path,)))
    live.start(Following(text="", kind="checkpoint", source=tmp_path.name))
    told = live.required().state(0)
    assert (told["batches"], told["under_way"], told["watermark"]) == (2, 1, 9_000_000)
    assert (told["rules"], told["events"], told["can_pause"]) == (["Hot"], None, False)
    with pytest.raises(OptionError, match="cannot wait"):
        live.required().pause(paused=True)


def test_what_is_no_checkpoint_and_what_was_not_given_is_refused(tmp_path: Path) -> None:
    live = Live(Workspace.of([]), Sources(checkpoint=(tmp_path,)))
    with pytest.raises(OptionError, match="no checkpoint"):
        live.start(Following(text="", kind="checkpoint", source=tmp_path.name))
    for kind in ("live", "follow", "checkpoint", "node"):
        with pytest.raises(OptionError, match="not"):
            live.start(Following(text="", kind=kind, source="/etc/passwd"))


# ---- Nodes ---------------------------------------------------------------------------------------------------------


class Refusing:
    """A client of a node that withdraws rules and refuses new ones of a type."""

    def __init__(self) -> None:
        self.texts = {"Hot": "rule Hot define Hot() from Temp(value>45)", "Cold": "rule Cold define Cold() from Temp()"}

    def status(self) -> dict[str, Any]:
        return {"deployed": {name: {"composite": name, "text": text} for name, text in self.texts.items()}}

    def withdraw(self, names: list[str]) -> None:
        for name in names:
            del self.texts[name]

    def deploy(self, rules: str | RuleSet) -> None:
        found = cepheus.compile(rules, undeclared="allow").rules if isinstance(rules, str) else rules
        if any("60" in str(rule_text(rule)) for rule in found.all_rules):
            raise RuleError.of("network-rules", "the network refuses the rules")
        self.texts |= rule_texts(found)


def test_a_network_that_refuses_rules_goes_on_with_the_old_ones() -> None:
    target: Any = object.__new__(NodeRun)
    target._client = Refusing()
    with pytest.raises(CepheusError, match="refuses"):
        target.apply("rule Hot define Hot() from Temp(value > 60)")
    assert sorted(target.rules()) == ["Cold", "Hot"]
    assert "45" in target.rules()["Hot"]
