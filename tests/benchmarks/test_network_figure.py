"""Figure 12 of the paper on uncertainty: networks of every size, timed beside pyAgrum."""

from __future__ import annotations

import random
from pathlib import Path

from typer.testing import CliRunner

from benchmarks.measuring.timing import Spread
from benchmarks.papers.uncertainty.bayes import QUICK, Figure12Point, enriched, figure12
from benchmarks.papers.uncertainty.report import network_bars
from cepheus.cli import app


def test_networks_of_every_size_are_timed() -> None:
    points = figure12(lambda _: None, QUICK)
    assert [point.added for point in points] == [0, 5]
    assert all(0 < point.evaluated.mean < point.edited.mean for point in points)
    assert all(point.pyagrum is not None for point in points)  # both find the same, or there would be none


def test_added_nodes_have_few_causes() -> None:
    network = enriched(20, random.Random(1))
    assert len(network.nodes) == 23
    assert max(len(node.parents) for node in network.nodes.values()) <= 3
    assert 0.0 < network.probability() < 1.0


def test_the_time_of_twenty_nodes_is_judged() -> None:
    quick, slow = Spread(100.0, 100.0, 200.0, 300.0), Spread(600.0, 500.0, 900.0, 1000.0)
    points = [
        Figure12Point(added, quick, quick, 1.0, time, (time.mean,), quick, None, 8)
        for added, time in ((10, quick), (20, slow))
    ]
    assert [(bar.measured, bar.verdict) for bar in network_bars(points)] == [("0.600 ms", "missed")]


def test_the_command_prints_and_draws_it(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        app, ["bench", "bayes", "--quick", "--write-docs", "--docs", str(tmp_path)], catch_exceptions=False
    )
    assert done.exit_code == 0
    assert "Evaluating networks (figure 12)" in done.output
    assert "## Evaluating networks (figure 12)" in (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert (tmp_path / "images" / "bench-figure12.svg").exists()
