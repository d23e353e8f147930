"""``cepheus explain`` from the outside."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

RUN = [sys.executable, "-m", "cepheus", "explain"]


def explain(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*RUN, *arguments], cwd=folder, capture_output=True, text=True, check=False, encoding="utf-8")


def test_trees_on_stdout_and_a_drawing_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.tesla").write_text("define A(x: int) from B(x > 1) where x = B.x", encoding="utf-8")
    (tmp_path / "c.tesla").write_text("define C() from A()", encoding="utf-8")
    done = explain("a.tesla", "c.tesla", "--svg", "rules.svg", folder=tmp_path)
    assert done.returncode == 0
    assert done.stdout == (
        "rule A makes A(x: int)\n"
        "├── when B arrives   the terminator: it decides the rule, at its time\n"
        "│   └── x > 1\n"
        "├── make A(x: int) at the time of B\n"
        "│   └── x = B.x\n"
        "└── looks at B alone\n"
        "\n"
        "rule C makes C()\n"
        "├── when A arrives   the terminator: it decides the rule, at its time\n"
        "├── make C() at the time of A\n"
        "└── looks at A alone\n"
    )
    assert done.stderr == "drawn to rules.svg\n"
    title = ElementTree.parse(tmp_path / "rules.svg").find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert title.text == "Rules A, C"


def test_wrong_rules_are_reported_and_nothing_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "a.tesla").write_text("define A() from B() and last C() within 1 s from D", encoding="utf-8")
    done = explain("a.tesla", "--svg", "rules.svg", folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[unknown-event]: no event of the pattern is called 'D'" in done.stderr
    assert not (tmp_path / "rules.svg").exists()


def test_a_drawing_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.tesla").write_text("define A() from B()", encoding="utf-8")
    done = explain("a.tesla", "--svg", "missing/rules.svg", folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "error[file]: 'missing/rules.svg' cannot be written: no such file or directory\n"
