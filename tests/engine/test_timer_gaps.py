"""A time far from the one before it: a rule with ``every`` says so, before it fills the memory with its moments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

import cepheus
from cepheus.core.batch import EventBatch
from cepheus.core.errors import LimitError
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.core.time import SECOND
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.interface import Engine
from cepheus.language.tesla import parse
from cepheus.rules.check import check
from cepheus.runtime.embedded.session import Session

RULES = """event A(v: int)
define Rare(n: int) from every 1 min and $n = Count(A() within 1 min from now) where n=$n
define Beat(n: int) from every 10 s from 00:00:03 and $n = Count(A() within 10 s from now) where n=$n
"""
ENGINES = ("reference", "columns")
LIMIT = 100
WELL = [4, 5, 1003, 1003, 2012]
"""Times in seconds: Beat has 100 moments between the second and the third, and between the last two."""
ILL = [4, 5, 1003, 1003, 2013, 2020]
"""Beat has 101 moments between 1003 and 2013."""

Feed = Callable[[Engine, Sequence[int]], int]


def engine_of(name: str, rules: str = RULES) -> Engine:
    checked = check(parse(rules))
    schema = Schema([*checked.inputs.values(), *checked.composites.values()])
    return create(RunOptions(engine=name, limit=LIMIT), checked.rules.rules, schema)


def events(times: Sequence[int]) -> list[Event]:
    return [Event("A", time * SECOND, {"v": 1}, id=number) for number, time in enumerate(times)]


def at_once(engine: Engine, times: Sequence[int]) -> int:
    return len(engine.feed(EventBatch.from_events(events(times))))


def in_batches(engine: Engine, times: Sequence[int]) -> int:
    return sum(len(engine.feed(EventBatch.from_events([event]))) for event in events(times))


def one_by_one(engine: Engine, times: Sequence[int]) -> int:
    return sum(len(engine.feed_event(event)) for event in events(times))


def advancing(engine: Engine, times: Sequence[int]) -> int:
    found = one_by_one(engine, times[:1])
    return found + sum(len(engine.advance(time * SECOND)) for time in times[1:])


def restored(engine: Engine, times: Sequence[int]) -> int:
    found = one_by_one(engine, times[:3])
    again = engine_of(engine.name, "event A(v: int) define Other() from A(v=9)")
    again.restore(engine.snapshot())
    return found + one_by_one(again, times[3:])


@pytest.mark.parametrize("feed", [at_once, in_batches, one_by_one, advancing, restored])
@pytest.mark.parametrize("name", ENGINES)
def test_the_limit_is_exact_however_the_stream_is_cut(name: str, feed: Feed) -> None:
    assert feed(engine_of(name), WELL) == 200 + 33
    with pytest.raises(LimitError, match="'Beat' has 101 moments") as caught:
        feed(engine_of(name), ILL)
    [finding] = caught.value.diagnostics
    assert finding.code == "too-many-moments"
    assert "1970-01-01T00:16:43Z and 1970-01-01T00:33:33Z: more than 100" in finding.message
    if feed is not restored:  # snapshots do not keep where rules were written
        assert finding.span is not None
    assert "another unit" in str(finding.hint)


@pytest.mark.parametrize("name", ENGINES)
def test_the_first_event_may_be_at_any_time(name: str) -> None:
    for feed in (at_once, one_by_one):
        assert feed(engine_of(name), [1_760_000_000, 1_760_000_005]) == 1
    ahead = engine_of(name)
    assert not len(ahead.advance(5 * SECOND))
    assert one_by_one(ahead, [1_760_000_000]) == 0


@pytest.mark.parametrize("name", ENGINES)
def test_rules_without_regular_moments_may_wait_for_any_time(name: str) -> None:
    waiting = "event A(v: int)\ndefine Lost() from A(v=1) and not A() within 10 s after A"
    assert at_once(engine_of(name, waiting), [0, 1_760_000_000]) == 1


@pytest.mark.parametrize("name", ENGINES)
def test_a_rule_that_came_later_counts_and_one_that_has_gone_does_not(name: str) -> None:
    engine = engine_of(name, "event A(v: int) define Other() from A(v=9)")
    one_by_one(engine, [0, 1_000_000])
    checked = check(parse(RULES))
    engine.deploy(checked.rules.rules, Schema([*checked.inputs.values(), *checked.composites.values()]))
    with pytest.raises(LimitError, match="'Beat' has 101 moments"):
        engine.advance((1_000_000 + 1010) * SECOND)
    engine.withdraw("Beat")
    assert len(engine.advance((1_000_000 + 1010) * SECOND)) == 17
    with pytest.raises(LimitError, match="'Rare' has 101 moments"):
        engine.advance((1_000_000 + 1010 + 6060) * SECOND)


def session(name: str, **options: object) -> Session:
    return cepheus.compile(RULES).start(engine=name, limit=LIMIT, time_unit="s", **options)  # type: ignore[arg-type]


def given(times: Sequence[int]) -> list[dict[str, object]]:
    return [{"type": "A", "time": time, "v": 1} for time in times]


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("lateness", ["0 s", "1 min"])
def test_a_session_says_so_whichever_way_time_comes(name: str, lateness: str) -> None:
    def many(running: Session) -> None:
        running.feed(given(ILL))
        running.close()

    def single(running: Session) -> None:
        for event in given(ILL):
            running.feed(event)
        running.close()

    def advance(running: Session) -> None:
        running.feed(given(ILL[:4]))
        running.advance(2013)

    for way in (many, single, advance):
        running = session(name, lateness=lateness)
        with pytest.raises(LimitError, match="'Beat' has 101 moments"):
            way(running)


@pytest.mark.parametrize("name", ENGINES)
def test_the_end_of_a_session_is_no_time_of_the_stream(name: str) -> None:
    running = session(name)
    running.feed(given(WELL))
    assert len(running.close()) == 0


@pytest.mark.parametrize("name", ENGINES)
def test_a_time_until_which_a_run_goes_on_counts(name: str) -> None:
    program = cepheus.compile(RULES)
    options = {"engine": name, "limit": LIMIT, "time_unit": "s"}
    assert len(program.detect(given(WELL), until=2020, **options)) == 200 + 33 + 1  # type: ignore[arg-type]
    with pytest.raises(LimitError, match="'Beat' has 101 moments"):
        program.detect(given(WELL), until=3013, **options)  # type: ignore[arg-type]


def test_several_threads_and_the_usual_limit_say_so() -> None:
    program = cepheus.compile(RULES)
    stray = given([0, 1_760_000_000])
    assert len(program.detect(given([0, 86_400]), time_unit="s")) == 8640 + 1441
    for threads in (1, 2):
        with pytest.raises(LimitError, match=r"'Rare' has 29333333 moments .* more than 10000000"):
            program.detect(stray, time_unit="s", threads=threads)


def test_a_shard_of_spark_says_so() -> None:
    pytest.importorskip("pyspark")
    from cepheus.runtime.spark.shard import GroupJob

    checked = check(parse(RULES))
    schema = Schema(checked.inputs.values())
    options = RunOptions(engine="columns", limit=LIMIT)
    group = GroupJob(checked.rules.rules, schema, options, range(1), lasts=(0, 1000 * SECOND))
    assert len(group.finish(group.start())) == 100 + 17
    far = replace(group, lasts=(0, 1003 * SECOND))
    engine = far.start()
    with pytest.raises(LimitError, match="'Beat' has 101 moments"):
        far.finish(engine)
