"""cepheus bench deployment: figures run, are summed up and set beside what the papers say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.papers.deployment.figures import FIGURES, QUICK, figure_of
from benchmarks.papers.deployment.page import NAME, write_page
from benchmarks.papers.deployment.statements import STATEMENTS, verdicts
from benchmarks.papers.deployment.sweep import Curves, curves, jobs_of, run_jobs
from cepheus.core.errors import OptionError


@pytest.fixture(scope="module")
def found() -> Curves:
    figure = replace(figure_of("10"), vary=lambda scenario, _: scenario)
    return curves(list(run_jobs(jobs_of(figure, QUICK, 1, exact=True), 1, lambda _: None)))


def test_every_figure_has_statements() -> None:
    assert {statement.figure for statement in STATEMENTS} == set(FIGURES)
    with pytest.raises(OptionError, match="no figure"):
        figure_of("9")


def test_exact_runs_deliver_the_same_in_every_strategy(found: Curves) -> None:
    assert len(found.strategies) == 5
    assert all(estimate.mean > 0 for estimate in found.traffic.values())
    assert [words for words, _, _ in verdicts(found)]


def test_the_page_keeps_other_figures(found: Curves, tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("# Head\n\n<!-- figures -->\n\n<!-- figure: 11 -->\nkept\n", encoding="utf-8")
    page, picture = write_page(tmp_path, [found], "cepheus bench deployment")
    text = page.read_text(encoding="utf-8")
    assert text.index("figure: 10") < text.index("figure: 11")
    assert "kept" in text
    assert picture.read_text(encoding="utf-8").startswith("<?xml")
