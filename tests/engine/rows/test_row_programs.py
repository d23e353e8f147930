"""Queries as rules of a program: with other rules, over all events, out of order, deployed while it runs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

import cepheus
from cepheus.language import sql, tesla
from cepheus.rules.json_form import from_json, to_json

DIP = """SELECT * FROM Stock MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY time
  MEASURES FIRST(price) AS top, LAST(DOWN.price) AS bottom
  PATTERN (STRT DOWN+ UP+) {within}
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)) AS Dip"""
TWICE = """define Twice(symbol: string) from Dip(symbol=$s) and last Dip(symbol=$s) as Before within 1 min from Dip
  where symbol=$s"""


def _stock(prices: list[tuple[str, int]]) -> list[dict[str, Any]]:
    return [{"type": "Stock", "time": at, "symbol": name, "price": price} for at, (name, price) in enumerate(prices)]


def _events(seed: int, count: int = 60) -> list[dict[str, Any]]:
    random = Random(seed)
    return _stock([(random.choice("AB"), random.randint(1, 9)) for _ in range(count)])


def _fed(program: cepheus.Program, events: list[dict[str, Any]], cut: int) -> list[str]:
    found = []
    with program.start(time_unit="s") as session:
        for start in range(0, len(events), cut):
            found += session.feed(events[start : start + cut]).to_dicts()
        found += session.close().to_dicts()
    return sorted(map(repr, found))


def test_a_match_is_an_event_made_of_its_rows() -> None:
    program = cepheus.compile(DIP.format(within=""))
    found = program.detect(_stock([("A", 9), ("B", 3), ("A", 7), ("A", 8), ("A", 8)]), time_unit="s").to_events()
    (dip,) = found
    assert (dip.type, dip.time, dip.start, dip.made_of) == ("Dip", 3_000_000, 0, (0, 2, 3))
    assert dict(dip.attributes) == {"symbol": "A", "top": 9, "bottom": 7}


def test_a_clause_alone_reads_all_events_and_gives_matches() -> None:
    text = """MATCH_RECOGNIZE (ORDER BY time MEASURES LAST(type) AS last
      PATTERN (A B) DEFINE A AS type = 'Open', B AS x > 1)"""
    program = cepheus.compile(text)
    assert program.inputs.others is not None
    events = [
        {"type": "Open", "time": 1},
        {"type": "Shut", "time": 2, "x": 3},
        {"type": "Open", "time": 3},
        {"type": "Lock", "time": 4, "x": 0},
    ]
    (match,) = program.detect(events, time_unit="s").to_events()
    assert (match.type, match["last"], match.made_of) == ("Match", "Shut", (0, 1))


@pytest.mark.parametrize("seed", range(5))
def test_rules_read_matches_in_the_order_of_time_however_events_are_cut(seed: int) -> None:
    rules = sql.parse(DIP.format(within="WITHIN INTERVAL '20' SECOND")) + tesla.parse(TWICE)
    events = _events(seed)
    program = cepheus.compile(rules)
    wanted = _fed(program, events, len(events))
    dips = cepheus.compile(sql.parse(DIP.format(within="WITHIN INTERVAL '20' SECOND"))).detect(events, time_unit="s")
    twice = cepheus.compile(tesla.parse(f"event Dip(symbol: string, top: int, bottom: int) {TWICE}"))
    in_time = sorted(dips.to_events(), key=lambda dip: dip.time)
    alone = [*dips.to_dicts(), *twice.detect(in_time).to_dicts("s")]
    assert wanted == sorted(map(repr, alone))
    assert sum("Twice" in each.split(",")[0] for each in wanted) > 1
    for cut in (1, 7):
        assert _fed(program, events, cut) == wanted


@pytest.mark.parametrize("seed", range(3))
def test_queries_read_what_rules_make(seed: int) -> None:
    low = "define Low(symbol: string, price: int) from Stock(price < 5) where symbol=Stock.symbol, price=Stock.price"
    rules = tesla.parse(low)
    falling = """SELECT * FROM Low MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY time MEASURES count(*) AS n
      PATTERN (A B+) DEFINE B AS price < PREV(price)) AS Falling"""
    chained = """SELECT * FROM Falling MATCH_RECOGNIZE (ORDER BY time MEASURES sum(n) AS n PATTERN (A A)) AS Pair"""
    program = cepheus.compile(rules + sql.parse(falling) + sql.parse(chained))
    events = _events(seed, 90)
    wanted = _fed(program, events, len(events))
    assert {each.split("'")[3] for each in wanted} == {"Low", "Falling", "Pair"}
    for cut in (1, 13):
        assert _fed(program, events, cut) == wanted
    snapshots = []
    session = program.start(time_unit="s")
    for start in range(0, len(events), 10):
        snapshots += session.feed(events[start : start + 10]).to_dicts()
        session = program.start(time_unit="s", snapshot=session.snapshot())
    assert sorted(map(repr, snapshots + session.close().to_dicts())) == wanted


def test_events_may_come_late_and_rules_come_and_go() -> None:
    program = cepheus.compile(DIP.format(within=""))
    events = _events(7)
    wanted = sorted(map(repr, program.detect(events, time_unit="s").to_dicts()))
    shuffled = [event for pair in zip(events[1::2], events[::2], strict=True) for event in pair]
    session = program.start(time_unit="s", lateness="5s")
    found = session.feed([{**event, "id": events.index(event)} for event in shuffled]).to_dicts()
    assert sorted(map(repr, found + session.close().to_dicts())) == wanted
    with program.start(time_unit="s") as running:
        each = "SELECT * FROM Stock MATCH_RECOGNIZE (ORDER BY time MEASURES price AS p PATTERN (A)) AS Each"
        assert running.deploy(each) == ("Each",)
        assert [event.type for event in running.feed(events[0])] == ["Each"]
        running.withdraw("Each")
        assert running.feed(events[1]) == []
        with pytest.raises(cepheus.OptionError, match="deployed"):
            running.withdraw("Each")


def test_what_reads_matches_must_come_with_them() -> None:
    other = sql.parse(DIP.replace("Dip", "Other").format(within=""))
    running = cepheus.compile(tesla.parse(TWICE) + other).start()
    with pytest.raises(cepheus.OptionError, match="runs already"):
        running.deploy(DIP.format(within=""))


def test_time_alone_decides_where_within_ends_a_match() -> None:
    program = cepheus.compile(DIP.format(within="WITHIN INTERVAL '10' SECOND"))
    with program.start(time_unit="s") as session:
        assert not len(session.feed(_stock([("A", 9), ("A", 7), ("A", 8)])))
        assert not len(session.advance(9))
        assert [event["bottom"] for event in session.advance(10).to_events()] == [7]


def test_time_alone_does_not_end_what_waits_for_the_end_of_its_partition() -> None:
    text = """SELECT * FROM A MATCH_RECOGNIZE (ORDER BY time MEASURES LAST(x) AS x
      PATTERN (P (Q | $)) WITHIN INTERVAL '5' SECOND DEFINE Q AS x > 1) AS Last"""
    program = cepheus.compile(text)
    with program.start(time_unit="s") as session:
        session.feed({"type": "A", "time": 1, "x": 1})
        assert not len(session.advance(60))
        assert [event["x"] for event in session.close().to_events()] == [1]


STEPS = """SELECT {shown} FROM Stock MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY time
  MEASURES CLASSIFIER() AS step, MATCH_NUMBER() AS number, FINAL LAST(price) AS ends, LAST(price) AS so_far
  ALL ROWS PER MATCH {mode} AFTER MATCH {skip} PATTERN (STRT DOWN+ UP+)
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)) AS Step"""
PRICES = list(zip("ABAABBABABAABBAB", [5, 5, 4, 4, 3, 6, 6, 7, 8, 2, 9, 1, 9, 1, 1, 3], strict=True))


@pytest.mark.parametrize("skip", ["SKIP PAST LAST ROW", "SKIP TO NEXT ROW"])
@pytest.mark.parametrize("mode", ["", "WITH UNMATCHED ROWS"])
def test_all_rows_of_matches_are_events_of_their_own_times(mode: str, skip: str) -> None:
    text = STEPS.format(shown="*", mode=mode, skip=skip)
    declared = tesla.parse("event Stock(symbol: string, price: int)")
    events = _stock(PRICES)
    table = [{**event, "time": datetime.fromtimestamp(event["time"], UTC)} for event in events]
    wanted = cepheus.match_recognize(text, table, engine="reference").to_pylist()
    found = cepheus.compile(declared + sql.parse(text)).detect(events, time_unit="s").to_events()
    assert len({event.id for event in found}) == len(found) > 6
    given = [{**event.attributes, "time": event.time / 1e6} for event in found]
    wanted = [{**row, "time": row["time"].timestamp()} for row in wanted]
    names = ("symbol", "price", "step", "number", "ends", "so_far", "time")
    assert sorted(repr([row.get(name) for name in names]) for row in given) == sorted(
        repr([row[name] for name in names]) for row in wanted
    )
    for event in found:
        assert event.attributes.get("step") is None or len(event.made_of) > 2


def test_rows_of_matches_feed_rules_at_their_times() -> None:
    query = STEPS.format(shown="time, symbol AS name, step, price * 2 AS twice", mode="", skip="SKIP PAST LAST ROW")
    rule = """define Turn(low: int) from Step(step='UP') and last Step(step='DOWN') as Low within 1 min from Step
      where low=Low.twice"""
    program = cepheus.compile(sql.parse(query) + tesla.parse(rule))
    assert [each.name for each in program.composites["Step"].attributes] == ["name", "step", "twice"]
    found = program.detect(_stock(PRICES), time_unit="s").to_events()
    steps, turns = ([event for event in found if event.type == name] for name in ("Step", "Turn"))
    ups = [event.time for event in steps if event["step"] == "UP"]
    assert [event.time for event in turns] == sorted(ups)
    with pytest.raises(cepheus.RuleError, match="every event has"):
        cepheus.compile(query.replace("Stock", "events").replace("symbol AS name", "type"))


@pytest.mark.parametrize(
    ("rules", "code", "words"),
    [
        (DIP.replace("ORDER BY time", "ORDER BY price"), "order", "order of their time"),
        (DIP.replace("ORDER BY time", "ORDER BY time DESC"), "order", "order of their time"),
        (DIP.replace("AS top", "AS probability"), "reserved-name", "probability"),
        (DIP.replace("DOWN+ UP+", "DOWN+ UPP+"), "variable", "UP"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(rules: str, code: str, words: str) -> None:
    with pytest.raises(cepheus.RuleError, match=words) as told:
        cepheus.compile(sql.parse(rules.format(within=""), "dip.sql"))
    assert told.value.diagnostics[0].code == code
    assert told.value.diagnostics[0].span is not None


def test_declared_types_are_checked_all_at_once() -> None:
    declared = tesla.parse("event Stock(symbol: string, price: double)")
    wrong = DIP.format(within="").replace("price < PREV(price)", "prise < PREV(symbol)")
    with pytest.raises(cepheus.RuleError) as told:
        cepheus.compile(declared + sql.parse(wrong))
    assert [each.code for each in told.value.diagnostics] == ["column"]
    with pytest.raises(cepheus.RuleError, match="no event type 'Stok'"):
        cepheus.compile(declared + sql.parse(DIP.format(within="").replace("FROM Stock", "FROM Stok")))
    typed = cepheus.compile(declared + sql.parse(DIP.format(within="")))
    assert str(typed.composites["Dip"]) == "Dip(symbol: string?, top: double?, bottom: double?)"


def test_rows_made_of_their_own_matches_are_refused() -> None:
    back = tesla.parse("define Stock(symbol: string, price: int) from Dip() where symbol=Dip.symbol, price=Dip.top")
    with pytest.raises(cepheus.RuleError, match="made of its own matches, by way of 'Stock'"):
        cepheus.compile(back + sql.parse(DIP.format(within="")))


def test_matches_that_others_wait_for_are_warned_of() -> None:
    program = cepheus.compile(sql.parse(DIP.format(within="")) + tesla.parse(TWICE))
    assert [each.code for each in program.warnings] == ["endless-wait"]
    assert "DOWN+" in program.warnings[0].message
    bounded = cepheus.compile(sql.parse(DIP.format(within="WITHIN INTERVAL '5' SECOND")) + tesla.parse(TWICE))
    assert not bounded.warnings


def test_rules_survive_their_json_form() -> None:
    rules = cepheus.compile(DIP.format(within="WITHIN INTERVAL '5' SECOND")).rules
    assert cepheus.compile(from_json(to_json(rules))).rules == rules
    with pytest.raises(cepheus.RuleError, match="row_rules"):
        from_json({**to_json(rules), "row_rules": [{"is": "RowRule"}]})


def test_columns_without_values_are_told() -> None:
    text = "SELECT * FROM P MATCH_RECOGNIZE (ORDER BY time MEASURES LAST(x) AS x PATTERN (A) DEFINE A AS vale > 1)"
    rows = [{"type": "P", "time": time, "x": 1} for time in range(1_001)]
    with cepheus.compile(text).start(time_unit="s") as session:
        with pytest.warns(cepheus.CepheusWarning, match="no row of 1,001 has a value for 'vale'; rows wait until"):
            assert not len(session.feed(rows))
        with pytest.warns(cepheus.CepheusWarning, match="'vale'; it is null in all of them"):
            assert not len(session.close())
    with pytest.warns(cepheus.CepheusWarning, match=r"event P\(vale: string\?\)"):
        cepheus.compile(text).detect(rows[:1], time_unit="s")
    declared = "event P(x: int, vale: int?)"
    assert not len(cepheus.compile(tesla.parse(declared) + sql.parse(text)).detect(rows, time_unit="s"))


def test_types_that_only_the_data_tells_must_stay_the_same() -> None:
    text = "MATCH_RECOGNIZE (ORDER BY time MEASURES LAST(x) AS x PATTERN (A B) DEFINE B AS x > PREV(x))"
    with cepheus.compile(text).start(time_unit="s") as session:
        session.feed({"type": "P", "time": 1, "x": 1})
        with pytest.raises(cepheus.EventError, match="'x' is string here"):
            session.feed({"type": "Q", "time": 2, "x": "one"})


def test_uncertain_events_are_refused() -> None:
    program = cepheus.compile(DIP.format(within=""))
    event = {"type": "Stock", "time": 1, "symbol": "A", "price": {"value": 3, "error": "N(0, 1)"}}
    with pytest.raises(cepheus.EventError, match="MATCH_RECOGNIZE take events as certain"):
        program.detect([event], time_unit="s")


def test_files_of_sql_are_rules(tmp_path: Path) -> None:
    (tmp_path / "dip.sql").write_text(DIP.format(within="WITHIN INTERVAL '20' SECOND"))
    (tmp_path / "twice.tesla").write_text(TWICE)
    program = cepheus.compile([tmp_path / "dip.sql", tmp_path / "twice.tesla"])
    assert list(program.composites) == ["Twice", "Dip"]
    assert cepheus.compile(str(tmp_path / "dip.sql")).rules.row_rules


def test_what_the_end_decides_feeds_rules_too() -> None:
    """The last match ends with the input, and after its first row comes one of another partition that no match has."""
    query = DIP.format(within="")
    program = cepheus.compile(sql.parse(query) + tesla.parse("define Seen(top: int) from Dip() where top=Dip.top"))
    events = _stock([("A", 9), ("B", 5), ("A", 7), ("B", 6), ("A", 8)])
    found = program.detect(events, time_unit="s").to_events()
    assert [(event.type, event.time) for event in found] == [("Dip", 4_000_000), ("Seen", 4_000_000)]
