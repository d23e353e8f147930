"""``cepheus bench`` finds the laboratory in a source tree, and says what to do where there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from command import Command, command
from hatchling.builders.wheel import WheelBuilder

from cepheus import __version__
from cepheus.cli.bench import source_tree

ROOT = Path(__file__).parents[2]


@pytest.fixture
def cepheus(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    return command(monkeypatch, capsys, tmp_path)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let the command believe that it was installed from a wheel."""
    place = tmp_path / "lib" / "site-packages" / "cepheus" / "cli" / "bench.py"
    monkeypatch.setattr(sys.modules["cepheus.cli.bench"], "__file__", str(place))


def laboratory(folder: Path, project: str) -> None:
    (folder / "benchmarks").mkdir()
    (folder / "benchmarks" / "command.py").write_text("raise AssertionError('it must not be imported')\n")
    (folder / "pyproject.toml").write_text(project)


def test_in_a_source_tree_the_command_is_that_of_the_laboratory(cepheus: Command) -> None:
    assert source_tree() == ROOT
    done = cepheus("bench", "--help")
    assert done.code == 0
    assert "Usage: cepheus bench [OPTIONS] [what]" in done.out
    assert "--workload" in done.out
    wrong = cepheus("bench", "--workloads", "F-last")
    assert wrong.code == 2
    assert "--workload" in wrong.err


@pytest.mark.usefixtures("installed")
def test_what_is_installed_says_that_the_measurements_are_not_there(cepheus: Command) -> None:
    for arguments in ([], ["peers", "--quick"], ["--write-docs"]):
        done = cepheus("bench", *arguments)
        assert (done.code, done.out) == (1, "")
        assert done.err == (
            "error[source-tree]: the measurements come with the source tree of Cepheus, which is not here\n"
            "  hint: clone the repository, run 'make setup' in it, and then '.venv/bin/cepheus bench' or 'make bench'\n"
        )
    asked = cepheus("bench", "-h")
    assert asked.code == 0
    assert "The measurements come with the source tree" in asked.out


@pytest.mark.usefixtures("installed")
def test_what_is_installed_is_measured_from_within_a_source_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "docs" / "images")
    assert source_tree() == ROOT


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("project", ["[project]\nname = 'other'\n", "[tool.other]\n", "no TOML", ""])
def test_measurements_of_other_projects_are_not_ours(cepheus: Command, tmp_path: Path, project: str) -> None:
    laboratory(tmp_path, project)
    assert "which is not here" in cepheus("bench").err


@pytest.mark.usefixtures("installed")
def test_a_source_tree_of_another_version_is_refused(cepheus: Command, tmp_path: Path) -> None:
    laboratory(tmp_path, "[project]\nname = 'cepheus-cep'\nversion = '0.0.1'\n")
    done = cepheus("bench", "peers")
    assert done.code == 1
    assert (
        f"error[source-tree]: the source tree in '{tmp_path}' is Cepheus 0.0.1, and {__version__} is installed"
        in done.err
    )


def test_the_wheel_has_what_users_run_and_no_measurements() -> None:
    files = [file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()]
    assert "cepheus/cli/bench.py" in files
    assert "cepheus/py.typed" in files
    assert all(file.startswith("cepheus/") for file in files)
    assert not [file for file in files if file.startswith("cepheus/bench")]
