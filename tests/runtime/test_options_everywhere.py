"""One way to run: every edge takes the same options, with the same meaning and the same errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import cepheus
import cepheus.spark
from cepheus.cli import app
from cepheus.core.calculus import Calculus
from cepheus.core.errors import CepheusError, OptionError
from cepheus.core.options import KEYWORDS, RunOptions
from cepheus.error_columns import Normal
from cepheus.runtime.spark.pipeline_file import DetectSpec, read_pipeline
from cepheus.runtime.spark.pipeline_run import detection_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULES = """
event Temp(area: string, value: double)
event Smoke(area: string)
define Fire(area: string, temp: double)
from   Smoke(area=$a) and last Temp(area=$a and value > 45) within 5 min from Smoke
where  area = Smoke.area and temp = Temp.value
"""
EVENTS: list[dict[str, object]] = [
    {"type": "Temp", "time": 10, "area": "A1", "value": 60.0, "n": 2, "key": "t1", "sd": 10.0, "chance": 1.0},
    {"type": "Temp", "time": 10, "area": "A1", "value": 50.0, "n": 1, "key": "t2", "sd": 10.0, "chance": 1.0},
    {"type": "Smoke", "time": 20, "area": "A1", "value": None, "n": 3, "key": "s", "sd": None, "chance": 0.5},
]
USUAL: dict[str, Any] = {"engine": "reference", "time_unit": "s", "sequence": "n", "id": "key"}
FIRE = ("Fire", 20, "A1", 60.0, 1.0, ("s", "t1"))

Answer = tuple[str, int, object, object, float, tuple[str, ...]]


@dataclass(frozen=True)
class Case:
    """Keywords besides the usual ones, what columns are called, and what every edge must say."""

    given: Mapping[str, Any] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    events: Sequence[Mapping[str, object]] = tuple(EVENTS)
    answers: tuple[Answer, ...] = (FIRE,)
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def keywords(self) -> dict[str, Any]:
        return {**USUAL, **self.given}

    @property
    def rows(self) -> list[dict[str, object]]:
        return [{self.renamed.get(name, name): value for name, value in event.items()} for event in self.events]


BAD: dict[str, object] = {**EVENTS[2], "time": 21, "area": None, "key": "bad"}
CASES = {
    "nothing more": Case(),
    "time": Case({"time": "at"}, {"time": "at"}),
    "type": Case({"type": "kind"}, {"type": "kind"}),
    "id": Case({"id": "name"}, {"key": "name"}),
    "sequence": Case({"sequence": "offset"}, {"n": "offset"}),
    "an offset is id and sequence": Case({"id": "n"}, answers=(("Fire", 20, "A1", 60.0, 1.0, ("3", "2")),)),
    "probability": Case({"probability": "chance"}, answers=(("Fire", 20, "A1", 60.0, 0.5, ("s", "t1")),)),
    "the usual probability": Case({}, {"chance": "probability"}, answers=(("Fire", 20, "A1", 60.0, 0.5, ("s", "t1")),)),
    "start": Case({"start": "since"}, {}, [{**event, "since": event["time"]} for event in EVENTS]),
    "limit": Case({"limit": 1}),
    "threads": Case({"threads": 2, "engine": "auto"}, refused={"spark": "on Spark the work is spread over tasks"}),
    "calculus": Case({"calculus": Calculus(draws=100, seed=3)}),
    "lateness": Case({"lateness": "10 s"}, events=[EVENTS[2], *EVENTS[:2]]),
    "on_bad_event": Case({"on_bad_event": "skip"}, events=[*EVENTS, BAD]),
    "strict": Case({"strict": True}),
    "sort": Case({"sort": True}, events=[EVENTS[2], *EVENTS[:2]]),
    "time_format": Case(
        {"time_format": "%d.%m.%Y %H:%M:%S", "time_unit": None},
        events=[{**event, "time": f"01.01.1970 00:00:{event['time']}"} for event in EVENTS],
        refused={"spark": "Spark reads times that are texts by functions of its own"},
    ),
}
UNCERTAIN = Case({"uncertain": {"value": Normal(sd="sd")}})

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "limit": ({"limit": 0}, "0 is not a number of composite events"),
    "threads": ({"threads": 0}, "0 is not a number of threads"),
    "engine": ({"engine": "referense"}, "there is no engine 'referense'"),
    "lateness": ({"lateness": "soon"}, "'soon' is not a duration"),
    "two meanings": ({"time": "type"}, "'type' is to be the time and the type of events"),
    "strict": ({"strict": True, "time_unit": None}, "the times are numbers without a unit"),
    "no such column": ({"time": "at"}, "at"),
    "time_format": ({"time_format": "%Q"}, "'%Q' is no way to write times"),
}


def in_memory(case: Case, _: Path) -> list[Answer]:
    return told(cepheus.compile(RULES).detect(case.rows, **case.keywords))


def in_a_table(case: Case, _: Path) -> list[Answer]:
    return told(cepheus.compile(RULES).detect(pa.Table.from_pylist(case.rows), **case.keywords))


def in_a_session(case: Case, _: Path) -> list[Answer]:
    with cepheus.compile(RULES).start(**case.keywords) as session:
        found = [session.feed(case.rows), session.close()]
    return [answer for batch in found for answer in told(batch)]


def in_json_lines(case: Case, folder: Path) -> list[Answer]:
    path = folder / "events.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in case.rows))
    return told(cepheus.compile(RULES).detect(path, **case.keywords))


def in_csv(case: Case, folder: Path) -> list[Answer]:
    pyarrow.csv.write_csv(pa.Table.from_pylist(case.rows), folder / "events.csv")
    return told(cepheus.compile(RULES).detect([folder / "events.csv"], **case.keywords))


def in_parquet(case: Case, folder: Path) -> list[Answer]:
    pq.write_table(pa.Table.from_pylist(case.rows), folder / "events.parquet")
    return told(cepheus.compile(RULES).detect_files(folder / "events.parquet", **case.keywords).all())


def on_the_command_line(case: Case, folder: Path) -> list[Answer]:
    (folder / "fire.tesla").write_text(RULES)
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in case.rows))
    arguments = ["detect", str(folder / "fire.tesla"), "--events", str(folder / "in.jsonl")]
    done = CliRunner().invoke(app, [*arguments, "-o", str(folder / "out.jsonl"), *flags(case.keywords)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    found = map(json.loads, (folder / "out.jsonl").read_text().splitlines())
    return [
        (
            f["type"],
            _seconds(f["time"]),
            f["area"],
            value_of(f["temp"]),
            round(f.get("probability", 1.0), 6),
            tuple(map(str, f["from"])),
        )
        for f in found
    ]


def _seconds(time: int | str) -> int:
    """A time as it is written: a number of the unit, without a unit a text."""
    return time if isinstance(time, int) else int(datetime.fromisoformat(time).timestamp())


LOCAL: dict[str, Callable[[Case, Path], list[Answer]]] = {
    "memory": in_memory,
    "table": in_a_table,
    "session": in_a_session,
    "json lines": in_json_lines,
    "csv": in_csv,
    "parquet": in_parquet,
    "command line": on_the_command_line,
}


def flags(keywords: Mapping[str, Any]) -> list[str]:
    """The keywords as a user of the command line writes them."""
    made = []
    for name, value in keywords.items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, Calculus):
            made += [flag, f"draws={value.draws}", flag, f"seed={value.seed}"]
        elif name == "uncertain":
            made += [flag, "value.sd=sd"]
        elif value is True:
            made.append(flag)
        elif value is not None:
            made += [flag, str(value)]
    return made


def toml(keywords: Mapping[str, Any]) -> str:
    """The keywords as a pipeline has them."""
    lines = ["provenance = true"]
    for name, value in keywords.items():
        if isinstance(value, Calculus):
            lines.append(f"calculus = {{ draws = {value.draws}, seed = {value.seed} }}")
        elif name == "uncertain":
            lines.append('uncertain.value = { sd = "sd" }')
        elif value is not None:
            lines.append(f"{name} = {json.dumps(value)}")
    return "\n".join(lines) + "\n"


def value_of(number: object) -> object:
    return number["value"] if isinstance(number, dict) else number


def told(found: cepheus.EventBatch) -> list[Answer]:
    return [
        (e.type, e.time // 1_000_000, e["area"], e["temp"], round(e.probability, 6), tuple(map(str, e.made_of)))
        for e in found.to_events()
    ]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("edge", LOCAL)
def test_an_option_means_the_same(edge: str, name: str, tmp_path: Path) -> None:
    case = CASES[name]
    if "spark" in case.refused and name == "threads":
        case = Case({**case.given, "threads": 1, "engine": "reference"})  # its kernels have tests of their own
    assert LOCAL[edge](case, tmp_path) == list(case.answers)


@pytest.mark.parametrize("edge", LOCAL)
def test_errors_in_columns_of_their_own(edge: str, tmp_path: Path) -> None:
    answers = LOCAL[edge](UNCERTAIN, tmp_path)
    ((*found, probability, _),) = [answer for answer in answers if answer[3] == 60.0]
    assert found == ["Fire", 20, "A1", 60.0]
    assert probability == pytest.approx(0.933193)
    assert sum(answer[4] for answer in answers) <= 1.0  # an earlier reading is the last one where this one is not hot


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("edge", LOCAL)
def test_a_wrong_option_is_refused_in_the_same_words(edge: str, name: str, tmp_path: Path) -> None:
    given, message = WRONG[name]
    with pytest.raises(CepheusError) as caught:
        LOCAL[edge](Case(given), tmp_path)
    assert message in str(caught.value)


def test_an_option_that_is_none() -> None:
    wrong: Any = {"tiem": "at"}
    for run in (cepheus.compile(RULES).start, lambda **kw: cepheus.compile(RULES).detect([], **kw)):
        with pytest.raises(OptionError, match=r"there is no option 'tiem'[\s\S]*did you mean 'time'"):
            run(**wrong)


def test_every_edge_has_every_option() -> None:
    help_text = CliRunner().invoke(app, ["detect", "--help"], env={"COLUMNS": "200", "TERM": "dumb"}).output
    assert [name for name in KEYWORDS if f"--{name.replace('_', '-')}" not in help_text] == []
    assert set(KEYWORDS) <= set(DetectSpec.__dataclass_fields__)


def on_spark(spark: SparkSession, case: Case) -> list[Answer]:
    frame = spark.createDataFrame(pa.Table.from_pylist(case.rows))
    return spark_answers(cepheus.spark.detect(RULES, frame, provenance=True, shards=2, **case.keywords))


def spark_answers(found: cepheus.spark.Detection) -> list[Answer]:
    rows = [row.asDict(recursive=True) for row in found.dataframe.collect()]
    return [
        (
            row["type"],
            int(row["time"].timestamp()),
            row["area"],
            value_of(row["temp"]),
            round(row.get("probability", 1.0), 6),
            tuple(row["from"]),
        )
        for row in rows
    ]


@pytest.mark.parametrize("name", CASES)
def test_an_option_means_the_same_on_spark(spark: SparkSession, name: str) -> None:
    case = CASES[name]
    if "spark" in case.refused:
        with pytest.raises(OptionError, match=case.refused["spark"]):
            on_spark(spark, case)
    else:
        assert on_spark(spark, case) == list(case.answers)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_option_is_refused_in_the_same_words_on_spark(spark: SparkSession, name: str) -> None:
    given, message = WRONG[name]
    with pytest.raises(CepheusError) as caught:
        on_spark(spark, Case(given))
    assert message in str(caught.value)


PIPELINE = """
rules = ["fire.tesla"]
[[sources]]
format = "parquet"
path = "events.parquet"
[[sinks]]
format = "noop"
[detect]
"""


def pipeline_of(case: Case, folder: Path) -> Any:
    (folder / "fire.tesla").write_text(RULES)
    pq.write_table(pa.Table.from_pylist(case.rows), folder / "events.parquet")
    (folder / "pipeline.toml").write_text(PIPELINE + toml(case.keywords))
    return read_pipeline(folder / "pipeline.toml")


@pytest.mark.parametrize("name", [*CASES, "uncertain"])
def test_a_pipeline_asks_for_the_same_run(name: str, tmp_path: Path) -> None:
    case = {**CASES, "uncertain": UNCERTAIN}[name]
    if "spark" in case.refused:
        with pytest.raises(OptionError, match=case.refused["spark"]):
            pipeline_of(case, tmp_path)
        return
    spec = pipeline_of(case, tmp_path).detect
    assert RunOptions.of(**{name: getattr(spec, name) for name in KEYWORDS}) == RunOptions.of(**case.keywords)


def test_a_pipeline_with_columns_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    renamed = {"time": "at", "type": "kind", "n": "offset", "key": "name"}
    case = Case({"time": "at", "type": "kind", "sequence": "offset", "id": "name"}, renamed)
    assert spark_answers(detection_of(spark, pipeline_of(case, tmp_path))) == [FIRE]
