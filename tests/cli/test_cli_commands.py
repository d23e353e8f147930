from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from command import FIRE, Command, command

import cepheus as package
from cepheus.cli import app
from cepheus.core.calculus import Calculus
from cepheus.core.options import KEYWORDS
from cepheus.error_columns import Normal
from cepheus.runtime.spark.pipeline_file import Pipeline


@pytest.fixture
def cepheus(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    return command(monkeypatch, capsys, tmp_path)


def test_version(cepheus: Command) -> None:
    assert cepheus("--version").out == f"cepheus {package.__version__}\n"


def test_check_of_right_rules(cepheus: Command) -> None:
    done = cepheus("check", "fire.tesla")
    assert (done.code, done.out, done.err) == (0, "1 rule in 1 file: no errors\n", "")


def test_check_tells_all_errors_of_all_files(cepheus: Command) -> None:
    Path("a.tesla").write_text("define A( from B()")
    Path("b.tesla").write_text("define C() from B() and last D()")
    done = cepheus("check", "a.tesla", "b.tesla", "none.tesla")
    assert (done.code, done.out) == (1, "")
    assert "a.tesla:1:11: error[syntax]" in done.err
    assert "b.tesla:1:" in done.err
    assert "there is no file 'none.tesla'" in done.err


def test_check_looks_at_files_together(cepheus: Command) -> None:
    Path("types.tesla").write_text("event Smoke(area: string); event Temp(area: string, value: double)")
    assert cepheus("check", "types.tesla", "fire.tesla").code == 0
    Path("types.tesla").write_text("event Smoke(area: string)")
    done = cepheus("check", "types.tesla", "fire.tesla")
    assert done.code == 1
    assert "Temp" in done.err


def test_check_as_json(cepheus: Command) -> None:
    assert json.loads(cepheus("check", "fire.tesla", "--json").out) == []
    Path("a.tesla").write_text("define A(x: int) from B(y = 1) where x = $z")
    done = cepheus("check", "a.tesla", "--json")
    assert (done.code, done.err) == (1, "")
    (finding,) = json.loads(done.out)
    assert (finding["file"], finding["line"], finding["column"], finding["text"]) == ("a.tesla", 1, 42, "$z")
    assert finding["severity"] == "error"


def test_check_of_bytes_that_are_not_text(cepheus: Command) -> None:
    Path("a.tesla").write_bytes(b"-- fine\ndefine \xff")
    done = cepheus("check", "a.tesla")
    assert done.code == 1
    assert done.err.startswith("a.tesla:2: error[utf-8]: byte 0xff is not UTF-8 text")


def test_check_of_a_folder(cepheus: Command) -> None:
    Path("rules").mkdir()
    done = cepheus("check", "rules")
    assert done.code == 1
    assert "'rules' is a folder" in done.err


def test_events_in_place_of_rules(cepheus: Command) -> None:
    Path("a.tesla").write_text("define A() from B()")
    Path("b.csv").write_text("type,time\nB,1\n")
    done = cepheus("detect", "a.tesla", "b.csv")
    assert done.code == 1
    assert "'b.csv' is a file of events, and rules are read here" in done.err
    assert "--events b.csv" in done.err


def test_fmt_rewrites_in_place_once(cepheus: Command) -> None:
    before = "-- why\ndefine A() from B()   and last C() within 5 min from B"
    Path("a.tesla").write_text(before)
    Path("a.tesla").chmod(0o640)
    listed = cepheus("fmt", "a.tesla", "--check")
    assert (listed.code, listed.out) == (1, "would reformat a.tesla\n")
    shown = cepheus("fmt", "a.tesla", "--diff")
    assert shown.code == 1
    assert "-define A() from B()   and last C() within 5 min from B" in shown.out.splitlines()
    assert Path("a.tesla").read_text() == before
    done = cepheus("fmt", "a.tesla")
    assert (done.code, done.err) == (0, "reformatted a.tesla\n")
    after = Path("a.tesla").read_text()
    assert after.startswith("-- why\n")
    assert after != before
    assert Path("a.tesla").stat().st_mode & 0o777 == 0o640
    again = cepheus("fmt", "a.tesla")
    assert (again.code, again.err, Path("a.tesla").read_text()) == (0, "", after)
    assert cepheus("fmt", "a.tesla", "--check").code == 0


def test_fmt_leaves_a_broken_file_alone_and_does_the_others(cepheus: Command) -> None:
    Path("bad.tesla").write_text("define A( from B()")
    done = cepheus("fmt", "bad.tesla", "fire.tesla")
    assert done.code == 1
    assert "bad.tesla:1:11: error[syntax]" in done.err
    assert "reformatted fire.tesla" in done.err
    assert Path("bad.tesla").read_text() == "define A( from B()"


def test_doctor(cepheus: Command) -> None:
    done = cepheus("doctor")
    assert done.code == 0
    names = [line.split()[1] for line in done.out.splitlines() if line.startswith("ok")]
    assert {"cepheus", "python", "pyarrow", "numba", "engines", "cores", "memory"} <= set(names)
    (engines,) = [line for line in done.out.splitlines() if "engines" in line]
    assert all(name in engines for name in ("columns", "reference", "goals", "interval-reference"))


def test_doctor_tells_what_is_missing(cepheus: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["cepheus.cli.doctor"]
    monkeypatch.setattr(module, "_OPTIONAL", {"no-such-part": "nothing"})
    done = cepheus("doctor")
    assert done.code == 0
    assert "missing no-such-part" in done.out
    monkeypatch.setattr(module, "_REQUIRED", ("no-such-package",))
    assert cepheus("doctor").code == 1


def test_an_unforeseen_error_is_an_apology(cepheus: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("something odd")

    monkeypatch.setattr("cepheus.runtime.embedded.rule_sources.read_rules", fail)
    done = cepheus("check", "fire.tesla")
    assert done.code == 1
    assert done.err.startswith(f"Sorry, this is a bug in Cepheus {package.__version__}: something odd\n")
    assert "CEPHEUS_DEBUG=1" in done.err


def test_full_memory_is_no_bug(cepheus: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("cepheus.runtime.embedded.rule_sources.read_rules", fill)
    done = cepheus("check", "fire.tesla")
    assert done.code == 1
    assert done.err.startswith("The memory of this machine is full: give fewer events at a time")


def test_an_interruption_exits_with_130(cepheus: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cepheus.runtime.embedded.rule_sources.read_rules", interrupt)
    done = cepheus("check", "fire.tesla")
    assert (done.code, done.err) == (130, "interrupted\n")


def test_debug_shows_the_trace(tmp_path: Path) -> None:
    code = (
        "import cepheus.runtime.embedded.rule_sources as s; s.read_rules = None; from cepheus.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "check", "x.tesla"],
        cwd=tmp_path,
        env={**os.environ, "CEPHEUS_DEBUG": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "fire.tesla").write_text(FIRE)
    pipeline = f"{sys.executable} -m cepheus check fire.tesla | true"
    done = subprocess.run(["bash", "-c", pipeline], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_shell_completes_commands(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cepheus"],
        cwd=tmp_path,
        env={**os.environ, "_CEPHEUS_COMPLETE": "complete_bash", "COMP_WORDS": "cepheus de", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.split()) == (0, ["detect", "demo", "deploy"])


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_version_and_help_need_nothing_heavy(tmp_path: Path, option: str) -> None:
    code = (
        f"import sys; sys.argv = ['cepheus', '{option}']\n"
        "from cepheus.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'pyarrow', 'numba', 'matplotlib', 'pandas', 'lark', 'benchmarks'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_findings_are_coloured_on_a_terminal_only(cepheus: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.tesla").write_text("define A( from B()")
    assert "\x1b" not in cepheus("check", "a.tesla").err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[1;31merror[syntax]:\x1b[0m" in cepheus("check", "a.tesla").err
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in cepheus("check", "a.tesla").err


def test_a_hint_names_only_a_file_that_is_called_much_the_same(cepheus: Command) -> None:
    Path("events.jsonl").write_text("")
    assert "hint" not in cepheus("check", "hot.tesla").err  # that both end in .tesla makes fire.tesla no candidate
    assert "did you mean 'fire.tesla'?" in cepheus("check", "fier.tesla").err
    assert "did you mean 'fire.tesla'?" in cepheus("check", "fire").err
    assert "did you mean 'events.jsonl'?" in cepheus("detect", "fire.tesla", "--events", "evnts.jsonl").err
    assert "hint" not in cepheus("detect", "fire.tesla", "--events", "log.jsonl").err


PIPELINE = """
rules = ["fire.tesla"]
[[sources]]
format = "json"
path = "events.jsonl"
[[sinks]]
format = "parquet"
path = "fires"
composite = "Fire"
"""


def test_a_pipeline_is_checked_with_its_rules(cepheus: Command) -> None:
    Path("p.toml").write_text(PIPELINE)
    assert cepheus("run", "--check", "p.toml").err == "p.toml: no errors\n"
    Path("p.toml").write_text(PIPELINE.replace('"Fire"', '"Fier"'))
    outcome = cepheus("run", "--check", "p.toml")
    assert outcome.code != 0
    assert outcome.err.startswith("p.toml:9: error[pipeline]: no rule defines 'Fier'")
    Path("fire.tesla").write_text("define Fire( from Smoke()")
    outcome = cepheus("run", "--check", "p.toml")
    assert outcome.code != 0
    assert "fire.tesla:1:" in outcome.err
    assert "error[syntax]" in outcome.err


def test_options_of_a_pipeline_given_on_the_command_line(cepheus: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are those of every run, go before those of the file, and are refused in the same words as everywhere."""
    Path("p.toml").write_text(PIPELINE + '[detect]\nlimit = 7\nlateness = "1 s"\ntime_unit = "s"\n')
    seen: list[Pipeline] = []

    def look(_: Path, pipeline: Pipeline) -> tuple[()]:
        seen.append(pipeline)
        return ()

    monkeypatch.setattr("cepheus.runtime.spark.pipeline_file.check_pipeline", look)
    given = ["--limit", "9", "--time-unit", "ms", "--calculus", "draws=7", "--uncertain", "x.sd=e", "--strict"]
    assert cepheus("run", "--check", "p.toml", *given).code == 0
    detect = seen[0].detect
    assert (detect.limit, detect.lateness, detect.time_unit, detect.strict) == (9, "1 s", "ms", True)
    assert detect.calculus == Calculus(draws=7)
    assert detect.uncertain == {"x": Normal(sd="e")}
    assert "spread over tasks" in cepheus("run", "--check", "p.toml", "--threads", "2").err
    assert "'soon' is not a duration" in cepheus("run", "--check", "p.toml", "--lateness", "soon").err


def test_every_run_has_the_same_options() -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    for name in ("detect", "run"):
        assert {parameter.name for parameter in group.commands[name].params} >= {*KEYWORDS}, name


def test_why_of_an_event_that_is_certain(cepheus: Command) -> None:
    Path("events.events").write_text("Temp@1 (area='A1', value=50)\nSmoke@2 (area='A1')\n")
    options = ("--events", "events.events", "--time-unit", "s")
    assert cepheus("detect", "fire.tesla", *options, "--out", "found.jsonl").code == 0
    (found,) = [json.loads(line)["id"] for line in Path("found.jsonl").read_text().splitlines()]
    done = cepheus("explain", "fire.tesla", "--why", found, *options)
    assert done.code == 0
    assert done.out == f"{found}: 1.000000, the product of\n1.000000  rule: Fire found it in 1, 0\n"


@pytest.mark.parametrize("command", ["check", "detect"])
def test_a_warning_that_many_rules_deserve_is_printed_once(cepheus: Command, command: str) -> None:
    rules = "e(X) <- a(X) SEQ b(X).\nf(X) <- a(X) AND b(X).\ng(X) <- (a(X) SEQ b(X)).5 s.\n"
    Path("one.etalis").write_text(rules)
    Path("two.etalis").write_text("h(X) <- b(X) SEQ a(X).\n")
    Path("events.jsonl").write_text('{"type": "a", "time": 1, "args": [1]}\n{"type": "b", "time": 2, "args": [1]}\n')
    options = ("--events", "events.jsonl", "--out", "found.jsonl") if command == "detect" else ()
    done = cepheus(command, "one.etalis", "two.etalis", *options)
    assert done.code == 0
    assert done.err.count("unbounded-state") == 1
    assert "one.etalis:1:1: warning[unbounded-state]: rule 'e' remembers all its events for ever" in done.err
    assert (
        "  hint: write a window around the pattern, (p).20 min, or choose POLICY recent\n"
        "  the same of f(X) (one.etalis:2:1), h(X) (two.etalis:1:1)\n"
    ) in done.err


def test_each_warning_is_told_to_programs(cepheus: Command) -> None:
    Path("one.etalis").write_text("e(X) <- a(X) SEQ b(X).\nf(X) <- a(X) AND b(X).\n")
    told = json.loads(cepheus("check", "one.etalis", "--json").out)
    assert [(finding["code"], finding["line"]) for finding in told] == [("unbounded-state", 1), ("unbounded-state", 2)]


def test_why_not_tells_of_each_part(cepheus: Command) -> None:
    Path("events.jsonl").write_text(
        '{"type": "Temp", "time": 10, "area": "A1", "value": 44.8}\n{"type": "Smoke", "time": 60, "area": "A1"}\n'
    )
    found = cepheus("why-not", "fire.tesla", "--events", "events.jsonl", "--at", "60", "--time-unit", "s")
    assert found.code == 0
    assert "value 44.8 is below 45" in found.out
    as_json = cepheus("why-not", "fire.tesla", "--events", "events.jsonl", "--event", "1", "--time-unit", "s", "--json")
    assert json.loads(as_json.out)["parts"][1]["outcome"] == "failed"


def test_why_not_asks_for_a_moment(cepheus: Command) -> None:
    Path("events.jsonl").write_text('{"type": "Smoke", "time": 60, "area": "A1"}\n')
    found = cepheus("why-not", "fire.tesla", "--events", "events.jsonl")
    assert found.code == 1
    assert "name either a moment or an event" in found.err
