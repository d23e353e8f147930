"""Every block of the documentation that can run is run."""

import doctest
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from blocks import PAGES, ROOT, Block, agrees, blocks, prepare, run, steps

import cepheus
from benchmarks.command import app as laboratory
from cepheus.cli import app
from cepheus.language import etalis
from cepheus.language.tesla import parse
from cepheus.rules.check import check

NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


def of_language(language: str) -> list[Block]:
    return [block for page in PAGES for block in blocks(page) if block.language == language]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_commands_print_what_the_page_shows_and_code_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__page__"}
    for block in blocks(page):
        if block.title is not None:
            (tmp_path / block.title).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block.title).write_text(block.text, encoding="utf-8")
        if block.language == "console":
            for step in steps(block):
                printed = run(step.command, tmp_path)
                assert agrees(step.shown, printed), f"{block.place}: $ {step.command}\n{printed}"
        elif block.language == "python":
            exec(compile(block.text, block.place, "exec"), names)
        elif block.language == "pycon":
            examples = doctest.DocTestParser().get_doctest(block.text, names, block.place, str(page), block.line)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
            assert runner.run(examples, clear_globs=False).failed == 0, block.place
            names |= examples.globs


@pytest.mark.parametrize("block", of_language("tesla"), ids=lambda block: block.place)
def test_rules_shown_are_right(block: Block) -> None:
    rules = parse(block.text, block.place)
    assert rules.rules or rules.declarations
    check(rules, closed=False)


@pytest.mark.parametrize("block", of_language("etalis"), ids=lambda block: block.place)
def test_etalis_rules_shown_are_right(block: Block) -> None:
    check(etalis.parse(block.text, block.place), closed=False)


@pytest.mark.parametrize("name", ["quickstart.py", "subscriptions.py"])
def test_example_scripts_run(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
    assert capsys.readouterr().out.splitlines() == EXPECTED[name]


EXPECTED = {
    "quickstart.py": ["Fire {'area': 'A1', 'temp': 51.0} made of events (1, 0)"],
    "subscriptions.py": [
        "hot: A1 51.0",
        "FIRE: A1 51.0",
        "too late: Temp 150",
        "cold: A3",
        "Counts(events=5, late=1, composite={'Fire': 1, 'Cold': 1}, ties=TieCounts(decided=0, passed_over=0, "
        "at_least=False, uncounted=()), skipped=0)",
    ],
}


def test_example_rules_are_in_canonical_layout() -> None:
    files = [str(path) for path in sorted((ROOT / "examples").glob("*/*.tesla"))]
    assert len(files) == 6
    done = subprocess.run(
        [sys.executable, "-m", "cepheus", "fmt", "--check", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_every_command_and_option_is_documented() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    for name, command in {**group.commands, "bench": typer.main.get_command(laboratory)}.items():
        assert f"## cepheus {name}" in text, name
        for parameter in command.params:
            for option in parameter.opts if parameter.param_type_name == "option" else []:
                assert f"`{option}" in text or f", `{option}`" in text, f"{name} {option}"


def test_every_public_name_is_in_the_api_reference() -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for name in cepheus.__all__:
        assert name == "__version__" or f"::: cepheus.{name}\n" in text or f".{name}\n" in text, name
