"""cepheus simulate: scenarios from files, what it prints and draws, what it refuses."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from command import Command, command

from cepheus.runtime.network.simulation.experiment import run_plan
from cepheus.runtime.network.simulation.scenario_file import read_plan

_SMALL = """
duration = "2 s"
warm_up = "1 s"
[network]
processors = 4
neighbours = 2
[workload]
types = 6
rules = 3
subscriptions = 2
slowest = 1.0
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    return command(monkeypatch, capsys, tmp_path)


def test_random_scenarios(run: Command, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(_SMALL, encoding="utf-8")
    result = run("simulate", "small.toml", "--strategy", "ST", "--strategy", "MT", "--svg", "network.svg")
    assert result.code == 0, result.err
    assert "4 processors, 3 rules, 6 sources" in result.out
    (line,) = [line for line in result.out.splitlines() if "choices among simultaneous events" in line]
    assert line.count("not counted") == 2
    assert "Busiest links with MT" in result.out
    assert "Partial rules with MT" in result.out
    assert (tmp_path / "network.svg").read_text(encoding="utf-8").startswith("<svg")


def test_all_links_and_partial_rules(run: Command, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(
        _SMALL.replace("rules = 3", "rules = 15").replace("= 2\nslow", "= 15\nslow"), encoding="utf-8"
    )
    few, everything = (run("simulate", "small.toml", "--strategy", "MT", *more).out for more in ((), ("--all",)))
    (caption,) = [line for line in few.splitlines() if line.startswith("and ")]
    number, words = caption.removeprefix("and ").split(" ", 1)
    assert words.strip() == "more, with --all"
    parts = [text.partition("Partial rules")[2].count("│\n") for text in (few, everything)]
    assert parts[1] - parts[0] == int(number)


def test_where_no_sink_receives_anything_there_is_no_delay(run: Command, tmp_path: Path) -> None:
    (tmp_path / "nobody.toml").write_text(_SMALL.replace("subscriptions = 2", "subscriptions = 0"), encoding="utf-8")
    result = run("simulate", "nobody.toml", "--strategy", "ST")
    rows = {
        cells[1].strip(): cells[2].strip() for line in result.out.splitlines() if len(cells := line.split("│")) == 4
    }
    assert (rows["events received by sinks"], rows["mean delay"], rows["longest delay"]) == ("0", "n/a", "n/a")


def test_all_rules_may_select_each_event(tmp_path: Path) -> None:
    (tmp_path / "each.toml").write_text(_SMALL + "each_share = 1\n", encoding="utf-8")
    assert read_plan(tmp_path / "each.toml").scenario.each_share == 1.0


_RULE = "define B() from A()"
_CHAIN = "[network]\nlinks = [['a', 'b', '1 ms'], ['b', 'c', '1 ms']]\n"
_TROUBLE = """
[faults]
loss = 0.05
duplication = 0.1
extra_delay = "3 ms"
retry = "20 ms"
checkpoint_every = 50
crashes = [["p1", "500 ms", "200 ms"], ["p2", "1 s", "100 ms"]]
"""


def test_faults_change_nothing_but_the_price(tmp_path: Path) -> None:
    (tmp_path / "calm.toml").write_text(_SMALL, encoding="utf-8")
    (tmp_path / "trouble.toml").write_text(_SMALL + _TROUBLE, encoding="utf-8")
    calm, trouble = (run_plan(read_plan(tmp_path / name)) for name in ("calm.toml", "trouble.toml"))
    ids: list[Counter[tuple[str, object]]] = []
    for each in (calm, trouble):
        begin = min(receipt.event.time for receipt in each.network.receipts)
        early = [(receipt.sink, receipt.event) for receipt in each.network.receipts]
        ids.append(Counter((sink, event.id) for sink, event in early if event.time < begin + 1_500_000))
    assert ids[0] == ids[1]
    assert ids[0].total() > 20
    assert trouble.outcome.published == calm.outcome.published
    assert trouble.outcome.traffic > calm.outcome.traffic


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[faults]\nlos = 0.1", "did you mean 'loss'"),
        ("[faults]\nloss = 1.5", "'loss' is not a probability"),
        ("[faults]\ncrashes = ['p1']", "who, when, for how long"),
        ("[faults]\ncrashes = [['pp1', '1 s', '1 s']]", "no processor 'pp1'"),
        (
            "[network]\nlinks = [['a', 'b', '1 ms'], ['b', 'c', '1 ms']]\n[faults]\ncuts = [['a', 'c', '1 s', '1 s']]",
            "no link",
        ),
        ("[network]\nbandwidth = 1000\n[faults]\nloss = 0.1", "exclude one another"),
        ("duration = 'soon'", "not a duration"),
        ("duration = '0 s'", "'duration' is '0 s', which is no time"),
        ("heartbeat = '0 s'", "'heartbeat' is '0 s', which is no time"),
        ("adapt_every = '0 s'", "'adapt_every' is '0 s', which is no time"),
        ("[faults]\nretry = '0 s'", "'retry' is '0 s', which is no time"),
        ("strategi = 'ST'", "did you mean 'strategy'"),
        ("strategy = 'XX'", "not a choice"),
        ("[network]\ntopology = 'star'", "no topology"),
        ("network = 3", "'network' is a table"),
        ("[network]\nprocessors = 'x'", "'processors' must be an integer, not 'x'"),
        ("[network]\nprocessors = 0", "'processors' must be at least 1"),
        ("[network]\nneighbours = -1", "'neighbours' must not be negative"),
        ("[network]\nbandwidth = nan", "'bandwidth' must be a number"),
        ("[network]\nbandwidth = 0", "'bandwidth' must be more than 0"),
        ("[network]\nlinks = [['a', 'b']]", "two processors and a delay"),
        ("seed = 'a'", "'seed' must be an integer"),
        ("[workload]\nlength = 2.5", "'length' must be an integer, not 2.5"),
        ("[workload]\nlength = 200", "as many types"),
        ("[workload]\nslowest = 20", "not a rate below"),
        ("[workload]\neach_share = 5.0", "a number from 0 to 1"),
        ("[workload]\neach_share = -0.1", "'each_share' is not a probability"),
        ("[workload]\napart = 1", "true or false"),
        (f"rules = '{_RULE}'\nsource = 3", "[[source]]"),
        (f"rules = '{_RULE}'\n{_CHAIN}[[source]]\nprocessor = 'a'\ntypes = 3", "'types' must be a list of texts"),
        (
            f"rules = '{_RULE}'\n{_CHAIN}[[source]]\nprocessor = 'a'\ntypes = ['A']\nrate = 0",
            "'rate' must be more than 0",
        ),
        (
            f"rules = '{_RULE}'\n{_CHAIN}[[source]]\nprocessor = 'a'\ntypes = ['A']\nattributes = {{n = 3}}",
            "no list of values",
        ),
        ("x = ", "not TOML"),
    ],
)
def test_mistakes_are_told(run: Command, tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "bad.toml").write_text(text, encoding="utf-8")
    result = run("simulate", "bad.toml")
    assert result.code == 1
    assert words in result.err


def test_mistakes_have_their_lines_and_are_told_together(run: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("strategy = 'XX'\n[network]\n\nprocessors = 0\n", encoding="utf-8")
    result = run("simulate", "bad.toml")
    assert "bad.toml:1: error[scenario]: 'XX' is not a choice for strategy" in result.err
    assert "bad.toml:4: error[scenario]: 'processors' must be at least 1" in result.err
