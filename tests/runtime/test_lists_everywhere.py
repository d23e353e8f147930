"""Lists on their way in and out: files, tables, single events, background knowledge; and where they are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepheus
from cepheus.core.batch import EventBatch
from cepheus.core.errors import CepheusError, EventError, OptionError, RuleError
from cepheus.core.event import Event
from cepheus.core.values import Value
from cepheus.formats.intake import IntakeOptions
from cepheus.formats.read import open_files
from cepheus.formats.write import EventWriter
from cepheus.runtime.network.transport.publishing import columns_of

RULES = "event path(hops: list, cost: int). turn([H|T], T, N) <- path([H|T], N) WHERE length(T) > 0."
PATHS: list[tuple[Value, ...]] = [("a", "b"), ("a",), ("b", "c", "d")]
DICTS = [{"type": "path", "time": n, "hops": list(hops), "cost": n} for n, hops in enumerate(PATHS, 1)]
FOUND: list[tuple[Value, ...]] = [(("a", "b"), ("b",), 1), (("b", "c", "d"), ("c", "d"), 3)]


def _values(batch: EventBatch) -> list[tuple[Value | None, ...]]:
    return [tuple(event.attributes.values()) for event in batch.to_events()]


@pytest.mark.parametrize("engine", ["goals", "interval-reference"])
@pytest.mark.parametrize(
    "given",
    [
        lambda: DICTS,
        lambda: [{"type": d["type"], "time": d["time"], "args": [d["hops"], d["cost"]]} for d in DICTS],
        lambda: [Event("path", n, {"hops": hops, "cost": n}) for n, hops in enumerate(PATHS, 1)],
        lambda: pd.DataFrame(DICTS),
        lambda: pa.Table.from_pylist(DICTS),
        lambda: pa.Table.from_pylist([{**d, "hops": json.dumps(d["hops"])} for d in DICTS]),
    ],
)
def test_events_in_memory(given: Callable[[], Any], engine: str) -> None:
    assert _values(cepheus.compile(RULES).detect(given(), engine=engine)) == FOUND


def test_single_events() -> None:
    program = cepheus.compile("turn(H) <- path([H|_], _).")
    session = program.start()
    made = [m for d in DICTS for m in session.feed({"type": "path", "time": d["time"], "args": [d["hops"], 1]})]
    assert [event.attributes["arg1"] for event in made] == ["a", "a", "b"]


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv", "out.parquet", "out.arrow", "out.events"])
def test_files(name: str, tmp_path: Path) -> None:
    events = EventBatch.from_events([Event("path", n, {"hops": hops, "cost": n}) for n, hops in enumerate(PATHS, 1)])
    with EventWriter(tmp_path / name) as writer:
        writer.write(events)
    assert _values(cepheus.compile(RULES).detect(tmp_path / name)) == FOUND
    opened = open_files([tmp_path / name], IntakeOptions(keep_all=True, numbered=False))
    told = opened[0].batch().to_events()[0].attributes["hops"]
    assert told == (("a", "b") if name in ("out.jsonl", "out.events") else '["a", "b"]')


def test_a_parquet_file_of_lists(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(DICTS), tmp_path / "in.parquet")
    undeclared = RULES.partition(". ")[2]
    assert _values(cepheus.compile(undeclared).detect(tmp_path / "in.parquet")) == FOUND


def test_complex_events_are_written_with_lists(tmp_path: Path) -> None:
    made = cepheus.compile("turn([H, [N]]) <- path([H|_], N).").detect(DICTS)
    with EventWriter(tmp_path / "out.jsonl", intervals=frozenset({"turn"})) as writer:
        writer.write(made)
    first = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert first["args"] == [["a", [1]]]
    assert made.to_dicts()[0]["arg1"] == ("a", (1,))


def _csv(folder: Path) -> object:
    (folder / "route.csv").write_text('name,hops\nr1,"[""a"", ""b""]"\nr2,[]\n')
    return folder / "route.csv"


@pytest.mark.parametrize(
    "given",
    [
        lambda _: [("r1", ["a", "b"]), ("r2", [])],
        lambda _: [("r1", ("a", "b")), ("r2", ())],
        lambda _: pd.DataFrame({"name": ["r1", "r2"], "hops": [["a", "b"], []]}),
        _csv,
    ],
)
def test_background_knowledge(given: Callable[[Path], Any], tmp_path: Path) -> None:
    text = "e(N, T) <- at(X) WHERE route(N, [X|T])."
    program = cepheus.compile(text, knowledge={"route": given(tmp_path)})
    assert _values(program.detect([{"type": "at", "time": 1, "args": ["a"]}])) == [("r1", ("b",))]


def test_a_column_of_texts_one_of_which_is_no_list_has_none(tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_text("a\n[1]\n[x]\n")
    program = cepheus.compile("e(X) <- a WHERE k(X).", knowledge={"k": tmp_path / "k.csv"})
    assert _values(program.detect([{"type": "a", "time": 1, "args": []}])) == [("[1]",), ("[x]",)]


@pytest.mark.parametrize(
    ("hops", "message"),
    [
        ([1, None], "path.hops: a list holds null"),
        ([{"a": 1}], "path.hops: a list holds an object"),
        ([2**64], "path.hops: a list holds an integer that does not fit in 64 bits"),
        ([float("inf")], "path.hops: a list holds inf"),
        (3, "path.hops: 3 is not a list"),
        ("a", "path.hops: 'a' is not a list"),
    ],
)
def test_what_is_no_list(hops: object, message: str) -> None:
    event = {"type": "path", "time": 1, "hops": hops, "cost": 1}
    program = cepheus.compile(RULES)
    for feed in (lambda: program.detect([event]), lambda: program.start().feed(event)):
        with pytest.raises(EventError) as raised:
            feed()
        assert message in str(raised.value)


def test_a_list_nested_too_deep_is_refused() -> None:
    deep: list[object] = []
    for _ in range(64):
        deep = [deep]
    with pytest.raises(EventError, match="nested more than 64 deep"):
        cepheus.compile(RULES).detect([{"type": "path", "time": 1, "hops": deep, "cost": 1}])


def test_facts_that_are_no_values() -> None:
    with pytest.raises(OptionError, match="a row of 'k': a list holds null"):
        cepheus.compile("e(X) <- a WHERE k(X).", knowledge={"k": [([None],)]})  # type: ignore[list-item]


def test_rules_of_tesla_read_no_lists() -> None:
    with pytest.raises(RuleError) as declared:
        cepheus.compile("event P(hops: list, n: int) define E(h: string) from P() where h = P.hops")
    assert "list-attribute" in [finding.code for finding in declared.value.diagnostics]
    passed_by = cepheus.compile("event P(hops: list, n: int) define E(n: int) from P() where n = P.n")
    given = {"type": "P", "time": 1, "hops": [1], "n": 2}
    assert _values(passed_by.detect([given])) == [(2,)]
    untold = cepheus.compile("define E(h: string) from P() where h = P.hops")
    session = cepheus.compile("define E() from P(hops = $h) and last Q(hops = $h) within 1 s from P").start()
    for feed in (lambda: untold.detect([given]), lambda: session.feed(given)):
        with pytest.raises(CepheusError, match="list"):
            feed()


def test_a_network_carries_no_lists() -> None:
    with pytest.raises(EventError, match="the attribute 'hops' has lists, which a network does not carry"):
        columns_of(EventBatch.from_events([Event("path", 1, {"hops": (1,)})]))


def test_an_uncertain_argument_is_refused_where_a_rule_reads_it() -> None:
    given = {"type": "a", "time": 1, "args": [1, {"value": 2.0, "error": "N(0, 1)"}]}
    assert _values(cepheus.compile("e(X) <- a(X, _).").detect([given])) == [(1,)]
    with pytest.raises(EventError) as raised:
        cepheus.compile("e(X) <- a(_, X).").detect([given])
    assert "rules of ETALIS take events as certain, but a.arg2, which they read, has an error" in str(raised.value)
    assert "let a rule of TESLA read it" in str(raised.value)
