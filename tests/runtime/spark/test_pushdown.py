"""What Spark leaves out matches no rule; the many conditions are tried in one job."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from cepheus.core.options import RunOptions
from cepheus.core.values import INT_MAX, INT_MIN, Value
from cepheus.language.tesla import parse
from cepheus.rules import evaluate
from cepheus.rules.check import check
from cepheus.rules.resolve import resolve
from cepheus.runtime.spark.event_filters import event_filters, settled_inputs
from cepheus.runtime.spark.planning import SparkOptions, plan
from cepheus.runtime.spark.pushdown import Pushdown
from cepheus.runtime.spark.sources import Naming, schema_of, sources_of
from strategies.scratch_functions import DECLARED, RULES, register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = ("type", "time", "x", "y", "s", "b", "at", "small", "single")
SCHEMA = "type string, time bigint, x bigint, y double, s string, b boolean, at timestamp, small int, single float"
CONDITIONS = 150


@dataclass(frozen=True)
class Single:
    """One event, as constraints see it."""

    row: dict[str, Any]

    def attribute(self, event: str | None, name: str) -> Value | None:  # noqa: ARG002  # there is only one
        value: Value | None = self.row[name]
        return value

    def computed(self, name: str) -> Value | None:
        raise AssertionError(name)


def rows(random: Random, count: int) -> list[tuple[Any, ...]]:
    def maybe(value: Any) -> Any:
        return None if random.random() < 0.15 else value

    return [
        (
            "A",
            random.choice((0, 1, 5, 10**15)),
            maybe(random.choice((0, 1, 2, -1, INT_MAX, INT_MIN, 2**53 + 1))),
            maybe(random.choice((0.0, -0.0, 0.5, 1.0, 2.5, 1e300, -1e300, float(2**53)))),
            maybe(random.choice(("", "a", "ab", "B", "ü", "z"))),
            maybe(random.random() < 0.5),
            maybe(random.choice((0, 1_000_000, 1_700_000_000_000_000))),
            maybe(random.choice((0, 1, 2**31 - 1))),
            maybe(random.choice((0.0, 0.5, 0.25))),
        )
        for _ in range(count)
    ]


def constraint(random: Random) -> str:
    numbers = ("x", "y", "small", "single", "x", "y", "0", "1", "0.5", "2", "9007199254740992", "-1")
    operator = random.choice(("=", "!=", "<", "<=", ">", ">="))

    def number(depth: int = 0) -> str:
        if depth < 2 and random.random() < 0.35:
            return f"({number(depth + 1)} {random.choice('+-*/')} {number(depth + 1)})"
        return random.choice(numbers)

    match random.randrange(7):
        case 0:
            return f"s {random.choice(('=', '!='))} '{random.choice(('', 'a', 'ab', 'ü'))}'"
        case 1:
            return f"{random.choice(('contains', 'starts_with', 'ends_with'))}(s, '{random.choice(('a', 'b', ''))}')"
        case 2:
            return "b"
        case 3:
            return f"at {operator} timestamp '1970-01-01T00:00:01Z'"
        case 4:
            return f"0 {random.choice(('<', '<='))} {number()} {random.choice(('<', '<='))} 2"
        case 5:
            return f"length(s) {operator} 1"
        case _:
            return f"{number()} {operator} {number()}"


def joined(random: Random) -> str:
    one, other = constraint(random), constraint(random)
    options = (
        f"({one} or {other})",
        f"not ({one})",
        f"not ({one} and {other})",
        f"({one} and not ({other}) or x is null)",
        "x in (0, 1, y)",
        "s not in ('a', 'ab')",
        "(s is not null or x + y is null)",
    )
    return one if random.random() < 0.6 else random.choice(options)


def timed(spark: SparkSession, given: list[tuple[Any, ...]]) -> DataFrame:
    from pyspark.sql import functions as f

    raw = spark.createDataFrame(given, SCHEMA.replace("at timestamp", "at bigint"))
    return raw.withColumn("at", f.timestamp_micros("at"))


def test_nothing_that_matches_is_left_out(spark: SparkSession) -> None:
    from pyspark.sql import functions as f

    random = Random(4)
    given = rows(random, 300)
    frame = timed(spark, given)
    naming = Naming()
    conditions: list[Any] = []
    tests: list[tuple[str, list[Any]]] = []
    while len(tests) < CONDITIONS:
        text = " and ".join(joined(random) for _ in range(random.choice((1, 1, 2))))
        try:
            rules = parse(f"define P() from A({text})")
            sources = sources_of(frame, rules, naming)
            checked = check(rules, schema=schema_of(sources, naming, rules))
        except Exception:
            continue
        resolved = resolve(checked.rules.rules[0])
        filters = event_filters([resolved])
        inputs = settled_inputs(tuple(checked.inputs.values()), [], filters)
        pushdown = Pushdown(filters, {one.name: one for one in inputs}, naming, skip_bad=False)
        condition = pushdown.condition(sources[0], "A", False)
        tests.append((text, [evaluate.tester(c) for c in resolved.terminator.constraints]))
        conditions.append(f.lit(True) if condition is None else f.coalesce(condition.column, f.lit(False)))
    kept = frame.select(*(c.alias(f"c{n}") for n, c in enumerate(conditions))).collect()
    left_out = 0
    for row, through in zip(given, kept, strict=True):
        single = Single(dict(zip(COLUMNS, row, strict=True)))
        for number, (text, checks) in enumerate(tests):
            matches = all(check(single) for check in checks)
            assert through[number] or not matches, (text, row)
            left_out += not through[number]
    assert left_out > len(given) * CONDITIONS // 4


def test_a_regular_expression_is_left_to_the_engine(spark: SparkSession) -> None:
    """Spark's are those of Java: another dialect, and some of them take for ever."""
    frame = spark.createDataFrame([("A", 1, "aab", 5)], "type string, time bigint, s string, x bigint")
    naming = Naming()
    rules = parse("define P() from A(matches(s, '(a+)+$') and x > 3 and matches(s, 'b') = false)")
    sources = sources_of(frame, rules, naming)
    planned = plan(rules, sources, sources, SparkOptions(RunOptions(), naming, 2), ())
    assert {name: c.words for name, c in planned.pushed.items() if c} == {"A": "x > 3 and s is there and x is there"}
    (prepared,) = planned.sources
    text = prepared.frame._jdf.queryExecution().executedPlan().toString()
    assert "RLIKE" not in text.upper()


def test_plain_comparisons_reach_the_files(spark: SparkSession, tmp_path: Any) -> None:
    path = str(tmp_path / "events")
    events = spark.createDataFrame([("A", 1, 5.0), ("B", 2, 50.0)], "type string, time bigint, value double")
    events.write.parquet(path)
    frame = spark.read.parquet(path)
    naming = Naming()
    rules = parse("define P() from A(value > 45) and last B(value < 3) within 5 s from A")
    sources = sources_of(frame, rules, naming)
    planned = plan(rules, sources, sources, SparkOptions(RunOptions(), naming, 2), ())
    (prepared,) = planned.sources
    text = prepared.frame._jdf.queryExecution().executedPlan().toString()
    assert "PushedFilters" in text
    assert "GreaterThan(value,45.0)" in text
    assert "LessThan(v" in text  # Spark cuts long lists
    assert "ReadSchema: struct<type:string,time:bigint,value:double>" in text
    assert {name: c.words for name, c in planned.pushed.items() if c} == {
        "A": "value > 45 and value is there",
        "B": "value < 3 and value is there",
    }


def test_an_argument_that_a_function_does_without_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    for name, needed in (("either", frozenset()), ("cube", frozenset({"x"}))):
        (rule,) = check(parse(DECLARED + RULES[name])).rules.rules
        assert event_filters([resolve(rule)])[0].needed == needed


@pytest.mark.parametrize(
    ("condition", "needed"),
    [
        ("not (5 < x < y)", {"x"}),
        ("not (5 < x and x < y)", set()),
        ("not (x < y)", {"x", "y"}),
        ("5 < x < y", {"x", "y"}),
        ("(5 < x < y) = false", {"x"}),
    ],
)
def test_a_chain_that_must_not_hold_needs_only_what_all_its_links_need(condition: str, needed: set[str]) -> None:
    text = f"event A(x: int?, y: int?); define P() from A({condition})"
    assert event_filters([resolve(check(parse(text)).rules.rules[0])])[0].needed == needed
