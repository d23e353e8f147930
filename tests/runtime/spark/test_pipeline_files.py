from __future__ import annotations

from pathlib import Path

import pytest

from cepheus.core.error_columns import Normal, Uniform
from cepheus.core.errors import OptionError, RuleError
from cepheus.runtime.spark.pipeline_file import check_pipeline, read_pipeline

GOOD = """
rules = ["fire.tesla"]

[[sources]]
format = "json"
path = "events.jsonl"
options = { multiLine = true }

[[sinks]]
format = "parquet"
path = "s3a://bucket/fires"
composite = "Fire"
"""


def write(folder: Path, text: str) -> Path:
    (folder / "fire.tesla").write_text("define Fire() from Smoke()")
    path = folder / "pipeline.toml"
    path.write_text(text)
    return path


def findings(folder: Path, text: str) -> list[str]:
    with pytest.raises(OptionError) as caught:
        read_pipeline(write(folder, text))
    return [f"{d.place.line if d.place else None}: {d.message}" for d in caught.value.diagnostics]


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    pipeline = read_pipeline(write(tmp_path, GOOD))
    assert pipeline.rules == (str(tmp_path / "fire.tesla"),)
    assert pipeline.sources[0].path == str(tmp_path / "events.jsonl")
    assert pipeline.sources[0].options == {"multiLine": "true"}
    assert pipeline.sinks[0].path == "s3a://bucket/fires"
    assert not pipeline.is_stream


def test_all_that_is_wrong_is_told_with_its_line(tmp_path: Path) -> None:
    text = GOOD.replace('format = "json"', 'fromat = "json"').replace("composite", 'mode = "overwrit"\ncomposit')
    assert findings(tmp_path, text + '\n[detect]\nshards = "two"\ntime_unit = "h"\n') == [
        "4: this source has no format",
        "5: this source has no key 'fromat'",
        "12: 'overwrit' is not a choice for mode",
        "13: this sink has no key 'composit'",
        "16: 'shards' must be an integer, not 'two'",
        "17: 'h' is not a choice for time unit",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rules = [", "None: the file is not TOML"),
        (GOOD.replace("fire.tesla", "water.tesla"), "2: there is no rule file 'water.tesla'"),
        (GOOD.replace("[[sinks]]", "[[sink]]"), "9: a pipeline has no key 'sink'"),
        (GOOD + 'checkpoint = "here"\n', "13: 'checkpoint' is for streams"),
        (GOOD.replace("options", "stream = true\noptions"), "10: a sink of a stream has a checkpoint"),
        (GOOD + '[[sources]]\nformat = "csv"\n', "13: with several sources, each says its event type"),
        (GOOD + '[[sources]]\nformat = "csv"\ntype = "Temp"\n', "4: this source does not say its event type"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, expected: str) -> None:
    assert any(finding.startswith(expected) for finding in findings(tmp_path, text))


def test_provenance_is_asked_for_as_everywhere(tmp_path: Path) -> None:
    for written, expected in (("true", True), ("false", False), ('"full"', "full")):
        pipeline = read_pipeline(write(tmp_path, GOOD + f"\n[detect]\nprovenance = {written}\n"))
        assert pipeline.detect.provenance == expected
    assert findings(tmp_path, GOOD + '\n[detect]\nprovenance = "some"\n') == [
        "15: 'some' is not a choice for provenance"
    ]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="there is no file"):
        read_pipeline(tmp_path / "nothing.toml")


def test_errors_of_attributes_are_named_in_tables(tmp_path: Path) -> None:
    good = '\n[detect.uncertain]\nvalue = { sd = "value_sd" }\nkm = { low = -1, high = "above" }\n'
    assert read_pipeline(write(tmp_path, GOOD + good)).detect.uncertain == {
        "value": Normal(sd="value_sd"),
        "km": Uniform(-1, "above"),
    }
    bad = "\n[detect.uncertain]\nvalue = { mean = 1 }\nkm = { sd = true }\nv = { high = 1 }\n"
    assert findings(tmp_path, GOOD + bad) == [
        "15: a Normal error takes either a standard deviation or a variance",
        "16: the error of 'km' has keys or values that no error has",
        "17: the error of 'v' has keys or values that no error has",
    ]
    assert findings(tmp_path, GOOD + '\n[detect]\nuncertain = "value"\n') == ["15: 'uncertain' is a table"]


def test_the_rules_are_checked_without_spark(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    assert check_pipeline(path, read_pipeline(path)) == ()
    for rules, expected in (
        ("define Fire() from Smoke(", "syntax"),
        ("define Fire() from Smoke() and last Temp() within 5 s from Smok", "unknown-event"),
    ):
        (tmp_path / "fire.tesla").write_text(rules)
        with pytest.raises(RuleError) as caught:
            check_pipeline(path, read_pipeline(path))
        assert [finding.code for finding in caught.value.diagnostics] == [expected]


def test_types_that_only_the_data_has_are_no_mistake(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    (tmp_path / "fire.tesla").write_text("event Temp(value: double) define Fire() from Smoke()")
    assert check_pipeline(path, read_pipeline(path)) == ()


def test_sinks_take_what_rules_define(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace('"Fire"', '"Fier"'))
    with pytest.raises(OptionError) as caught:
        check_pipeline(path, read_pipeline(path))
    (finding,) = caught.value.diagnostics
    assert (str(finding.place), finding.message) == (f"{path}:12", "no rule defines 'Fier'")
    assert finding.hint == "did you mean 'Fire'?"
