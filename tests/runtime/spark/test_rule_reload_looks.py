"""What is made of rules that change, and of queries that fail: without Spark, by queries that only note what is asked.

That rules keep their state when they are taken over is tested with Spark, in ``test_rule_reload``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cepheus.core.errors import OptionError, RuleError
from cepheus.core.time import TimeUnit
from cepheus.rules.model import RuleSet
from cepheus.runtime.embedded.rule_sources import read_rules
from cepheus.runtime.spark import pipeline_run, rule_reload
from cepheus.runtime.spark.micro_batches import DetectionQuery, Progress
from cepheus.runtime.spark.pipeline_queries import await_all, start_all
from cepheus.runtime.spark.pipeline_rules import whole_rules_at
from cepheus.runtime.spark.rule_reload import FollowedRules

FIRE, HOT, COLD = (f"define {name}() from Temp()" for name in ("Fire", "Hot", "Cold"))


class SparkQuery:
    """Spark's handle on a query, of which none runs: what it is asked, and what made it fail."""

    recentProgress = ()  # noqa: N815  # as Spark calls it

    def __init__(self, failed: str | None = None) -> None:
        self.isActive = failed is None
        self.stops = self.waits = 0
        self._failed = failed

    def fail(self, reason: str) -> None:
        self._failed, self.isActive = reason, False

    def awaitTermination(self, timeout: float | None = None) -> bool:  # noqa: N802  # as Spark calls it
        self.waits += 1
        assert self.waits < 1000, "nor for ever by and by"
        if self.isActive:
            assert timeout is not None, "nobody may wait without limit for a query that runs"
            time.sleep(min(timeout, 0.001))
        elif self._failed is not None:
            raise RuntimeError(self._failed)
        return not self.isActive

    def stop(self) -> None:
        self.stops += 1
        self.isActive = False


class Stream:
    """Rules that are followed for so many sinks; ``rules`` is what is read next, by whatever way."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, sinks: int = 1) -> None:
        monkeypatch.setattr(rule_reload, "refuse_changes", self._refuse_changes)
        monkeypatch.setattr(rule_reload, "_SETTLED", 0.0)
        self.read: Callable[[], RuleSet] = lambda: read_rules(FIRE)
        self.refused: set[str] = set()
        self.asked: list[tuple[str, ...]] = []
        self.started: list[tuple[str, ...]] = []
        self.handles: list[SparkQuery] = []
        self.ended = 0
        self.plan: Callable[[RuleSet], Any] = lambda rules: SimpleNamespace(flow=1, planned=names(rules))
        starts = [(f"checkpoint{number}", self._start) for number in range(sinks)]
        self.followed = FollowedRules(starts, self._read, self._plan)

    def _read(self) -> RuleSet:
        return self.read()

    def _plan(self, rules: RuleSet) -> Any:
        return self.plan(rules)

    def _start(self, found: Any, before: Progress | None) -> DetectionQuery:
        self.started.append(found.planned)
        self.handles.append(SparkQuery())
        return DetectionQuery(cast("Any", self.handles[-1]), before or Progress(), self._end_between)

    def _end_between(self) -> None:
        self.ended += 1

    def _refuse_changes(self, planned: tuple[str, ...], _flow: object, checkpoint: str) -> None:
        self.asked.append(planned)
        if self.refused & {*planned}:
            raise OptionError.of("checkpoint", f"{checkpoint} refuses {', '.join(planned)}")

    def write(self, *texts: str) -> None:
        self.read = lambda: read_rules("\n".join(texts))

    def looks(self, count: int) -> list[bool]:
        return [self.followed.look() for _ in range(count)]


def names(rules: RuleSet) -> tuple[str, ...]:
    return tuple(rule.composite.name for rule in rules.rules)


def test_a_change_is_taken_over_when_two_looks_have_found_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream(monkeypatch)
    progress = stream.followed.queries[0].progress
    stream.write(HOT)
    assert stream.looks(1) == [False]
    stream.write(FIRE, HOT)
    assert stream.looks(3) == [False, True, False]
    assert stream.started == [("Fire",), ("Fire", "Hot")]
    assert stream.followed.queries[0].progress is progress


def test_what_was_there_for_a_moment_is_not_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream(monkeypatch)
    for text in (HOT, FIRE, HOT, COLD, FIRE, COLD):
        stream.write(text)
        assert not stream.followed.look()
    stream.write("define Broken(")
    assert not stream.followed.look()
    stream.write(COLD)
    assert not stream.followed.look(), "there was a mistake between the two"
    assert stream.ended == 0


def test_a_change_is_looked_at_again_before_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now, looks = [0.0], list[float]()

    def wait(query: SparkQuery, timeout: float | None = None) -> bool:
        now[0] += timeout or 0
        if now[0] > 200:
            query.isActive = False
        return not query.isActive

    def read() -> RuleSet:
        looks.append(now[0])
        return read_rules(HOT)

    stream = Stream(monkeypatch)
    monkeypatch.setattr(rule_reload, "_SETTLED", 1.0)
    monkeypatch.setattr(rule_reload, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(SparkQuery, "awaitTermination", wait)
    stream.read = read
    stream.followed.follow(60)
    assert looks == [60, 61, 121, 181]
    assert stream.started == [("Fire",), ("Hot",)]


@pytest.mark.parametrize("empty", ["", "\n \n"])
def test_an_empty_file_is_refused_and_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path, empty: str
) -> None:
    (tmp_path / "fire.tesla").write_text(FIRE)
    hot = tmp_path / "hot.tesla"
    hot.write_text(empty)
    stream = Stream(monkeypatch)
    stream.read = lambda: whole_rules_at((str(tmp_path),), cast("Any", None), TimeUnit.US)
    with caplog.at_level(logging.ERROR, "cepheus.spark"):
        assert stream.looks(4) == [False] * 4
    assert len(caplog.records) == 1
    assert "hot.tesla: error[empty-file]: the rule file is empty" in caplog.text
    assert stream.ended == 0, "the rules of before stay at work"
    hot.write_text(HOT)
    assert stream.looks(2) == [False, True]
    hot.write_text("// withdrawn")
    assert stream.looks(2) == [False, True]
    assert stream.started == [("Fire",), ("Fire", "Hot"), ("Fire",)]


@pytest.mark.parametrize("nothing", ["// nothing", "event Temp(value: double)"])
def test_no_rule_at_all_is_refused_before_any_query_ends(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path, nothing: str
) -> None:
    (tmp_path / "fire.tesla").write_text(nothing)
    stream = Stream(monkeypatch)
    stream.read = lambda: whole_rules_at((str(tmp_path),), cast("Any", None), TimeUnit.US)
    assert stream.looks(3) == [False] * 3
    assert [record.getMessage().count("error[no-rules]") for record in caplog.records] == [1]
    assert stream.ended == 0
    (tmp_path / "fire.tesla").unlink()
    with pytest.raises(RuleError, match="there is no rule"):
        stream.read()


def test_rules_that_cannot_be_read_are_an_error_of_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def denied(_folder: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", denied)
    with pytest.raises(OptionError, match=r"cannot read the rules: .*Permission denied"):
        whole_rules_at((str(tmp_path),), cast("Any", None), TimeUnit.US)


def test_what_a_checkpoint_refuses_is_tried_again_only_when_it_changes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stream = Stream(monkeypatch)
    stream.refused = {"Hot"}
    stream.write(HOT)
    assert stream.looks(6) == [False] * 6
    assert (stream.ended, stream.started) == (1, [("Fire",), ("Fire",)])
    assert [record.getMessage().count("checkpoint0 refuses Hot") for record in caplog.records] == [1]
    stream.write(HOT, COLD)
    assert stream.looks(4) == [False] * 4
    assert stream.asked == [("Hot",), ("Hot", "Cold")]
    for text in (FIRE, HOT):  # back, and forth
        stream.write(text)
        stream.looks(3)
    assert stream.asked == [("Hot",), ("Hot", "Cold"), ("Hot",)]
    stream.write(COLD)
    assert stream.looks(2) == [False, True]


def test_rules_whose_planning_fails_for_a_while_are_taken_over_later(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream(monkeypatch)
    planned = stream.plan

    def unreadable(_rules: RuleSet) -> Any:
        raise OptionError.of("source", "Spark cannot read 'in'")

    stream.plan = unreadable
    stream.write(HOT)
    assert stream.looks(3) == [False] * 3
    stream.plan = planned
    assert stream.followed.look()


@pytest.mark.parametrize("failed", [0, 1, 2])
def test_whichever_query_fails_is_told_of_and_the_others_are_stopped(
    monkeypatch: pytest.MonkeyPatch, failed: int
) -> None:
    stream = Stream(monkeypatch, sinks=3)
    stream.handles[failed].fail("the disk is full")
    with pytest.raises(RuntimeError, match="the disk is full"):
        stream.followed.follow(60)
    assert not any(handle.isActive for handle in stream.handles)


def test_a_query_that_fails_after_another_has_ended_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream(monkeypatch, sinks=3)
    first, second, third = stream.handles
    first.isActive = False  # it was to read what was there

    def await_then_fail(_timeout: float | None) -> bool:
        third.fail("the disk is full")
        return not second.isActive

    monkeypatch.setattr(second, "awaitTermination", await_then_fail)
    with pytest.raises(RuntimeError, match="the disk is full"):
        stream.followed.follow(60)
    assert second.stops == 1


def test_what_nobody_expects_of_new_rules_stops_all_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream(monkeypatch, sinks=2)

    def fails(_rules: RuleSet) -> Any:
        raise ValueError("the source cannot be listed")

    stream.plan = fails
    stream.write(HOT)
    with pytest.raises(ValueError, match="cannot be listed"):
        stream.followed.follow(0.001)
    assert [handle.stops for handle in stream.handles] == [1, 1]


def test_a_query_that_cannot_start_with_new_rules_leaves_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream(monkeypatch, sinks=2)
    stream.write(HOT)
    start = stream._start

    def second_fails(found: Any, before: Progress | None) -> DetectionQuery:
        if len(stream.started) == 3:
            raise OptionError.of("sink", "the sink is gone")
        return start(found, before)

    stream.followed._starts = [("checkpoint0", second_fails), ("checkpoint1", second_fails)]
    with pytest.raises(OptionError, match="the sink is gone"):
        stream.followed.follow(0.001)
    assert len(stream.handles) == 3
    assert stream.handles[2].stops == 1, "the one with the new rules"


def test_queries_that_began_before_one_that_cannot_are_stopped() -> None:
    begun = SparkQuery()

    def fails() -> Any:
        raise OptionError.of("sink", "there is no such folder")

    with pytest.raises(OptionError, match="no such folder"):
        start_all([lambda: cast("Any", begun), fails])
    assert begun.stops == 1


def test_all_queries_are_awaited_with_a_last_glance() -> None:
    queries = [SparkQuery(), SparkQuery()]
    glances: list[list[bool]] = []

    def glance() -> None:
        glances.append([query.isActive for query in queries])
        queries[len(glances) % 2].isActive = False

    await_all(cast("Any", queries), 0.001, glance)
    assert glances == [[True, True], [True, False], [False, False]]


@pytest.mark.parametrize("ours", [True, False], ids=["micro-batches", "operator"])
def test_a_pipeline_without_reload_tells_of_any_query_that_fails(monkeypatch: pytest.MonkeyPatch, ours: bool) -> None:
    handles = [SparkQuery(), SparkQuery("the disk is full"), SparkQuery()]
    waiting = iter(handles)

    def started(*_: object) -> Any:
        handle = next(waiting)
        return DetectionQuery(cast("Any", handle), Progress(), lambda: None) if ours else handle

    monkeypatch.setattr(pipeline_run, "_started", started)
    pipeline = SimpleNamespace(
        is_stream=True, reload=None, sinks=[1, 2, 3], spark=SimpleNamespace(metrics=None, name="fire")
    )
    with pytest.raises(RuntimeError, match="the disk is full"):
        pipeline_run.run_pipeline(cast("Any", pipeline), cast("Any", SimpleNamespace(metrics="cepheus")))
    assert [handle.isActive for handle in handles] == [False] * 3
