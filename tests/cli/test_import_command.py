"""``cepheus import``: rules on stdout, refusals on stderr, and an exit code that says whether there were any."""

from pathlib import Path

import pytest
from command import Command, command

GOOD = 'sequence by user with maxspan=1m [process where name == "a"] [file where path : "/tmp/*"]'
WITHOUT_SPAN = 'sequence by user [any where name == "a"] [file where size > 3]'
PIPED = "process where true | head 5"
SIGMA = """
title: Many failures
name: many
correlation: {type: event_count, rules: [failed], group-by: [user], timespan: 5m, condition: {gte: 3}}
---
title: Failed
name: failed
logsource: {product: linux}
detection: {selection: {msg|contains: Failed}, condition: selection}
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    return command(monkeypatch, capsys, tmp_path)


def test_queries_become_rules_that_check_accepts(run: Command) -> None:
    Path("good.eql").write_text(GOOD)
    done = run("import", "eql", "good.eql", "-o", "rules.tesla")
    assert (done.code, done.out, done.err) == (0, "", "1 converted, 0 refused\n")
    assert run("check", "rules.tesla").code == 0


def test_what_is_refused_is_told_with_its_place_and_the_rest_is_printed(run: Command) -> None:
    Path("good.eql").write_text(GOOD)
    Path("piped.eql").write_text(PIPED)
    done = run("import", "eql", "good.eql", "piped.eql")
    assert done.code == 1
    assert "define Good(" in done.out
    assert "piped.eql:1:20: error[no-equivalent]: a pipe has no equivalent" in done.err
    assert "1 converted, 1 refused" in done.err


def test_options_say_what_queries_leave_open(run: Command) -> None:
    Path("query.eql").write_text(WITHOUT_SPAN)
    Path("types.tesla").write_text("event Log(user: int?, size: int?)")
    done = run("import", "eql", "query.eql", "--type", "Log", "--maxspan", "2h", "--declarations", "types.tesla")
    assert done.code == 0
    assert "within 2 h from" in done.out
    assert "define Query(`user`: int" in done.out or "define Query(user: int" in done.out


def test_correlations_are_read_with_their_base_rules_from_all_files(run: Command) -> None:
    correlation, base = SIGMA.split("---\n")
    Path("a.yml").write_text(correlation)
    Path("b.yml").write_text(base)
    done = run("import", "sigma", "a.yml", "b.yml")
    assert done.code == 0
    assert "define ManyFailures(" in done.out
    assert "define Failed(" not in done.out
    assert run("import", "sigma", "a.yml").code == 1
