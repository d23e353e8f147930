"""cepheus bench deployment: figures run, are summed up and set beside what the papers say."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import pytest

from benchmarks.papers.deployment.figures import FIGURES, QUICK, figure_of
from benchmarks.papers.deployment.page import NAME, write_page
from benchmarks.papers.deployment.statements import STATEMENTS, verdicts
from benchmarks.papers.deployment.sweep import Curves, Result, curves, jobs_of, run_jobs
from cepheus.core.errors import OptionError
from cepheus.core.event import Event
from cepheus.core.schema import EventType, Schema
from cepheus.core.time import MILLISECOND, SECOND
from cepheus.engine.reference.engine import ReferenceEngine
from cepheus.runtime.network.protocol.strategy import Strategy
from cepheus.runtime.network.simulation.experiment import Feed, Outcome, publications, run_plan, set_up
from cepheus.runtime.network.simulation.scenario import Plan, draw
from cepheus.runtime.network.simulation.simulator import Network

Told = Counter[tuple[str, str, tuple[object, ...]]]
"""How often each sink was told of each composite event: by the sink, the type and the events it was made of."""

_UNDER_WAY = SECOND
"""What happens in the last second may still be under way when a simulation ends."""


@pytest.fixture(scope="module")
def found() -> Curves:
    figure = replace(figure_of("10"), vary=lambda scenario, _: scenario)
    return curves(list(run_jobs(jobs_of(figure, QUICK, 1, exact=True), 1, lambda _: None)))


def test_every_figure_has_statements() -> None:
    assert {statement.figure for statement in STATEMENTS} == set(FIGURES)
    with pytest.raises(OptionError, match="no figure"):
        figure_of("9")


def test_exact_runs_deliver_the_same_in_every_strategy() -> None:
    """Every strategy tells every sink the composite events of one engine that sees all events, each as often."""
    busy = replace(QUICK, slowest=0.5, each_share=0.3, window=SECOND, delay=30 * MILLISECOND)
    jobs = jobs_of(figure_of("10"), busy, 2, exact=True)
    assert {job.strategy for job in jobs} == set(Strategy)
    wanted = {seed: _by_one_engine(draw(busy, seed)) for seed in {job.seed for job in jobs}}
    assert all(each.total() > 100 for each in wanted.values())
    for job in jobs:
        told = _by_network(draw(job.scenario, job.seed))
        assert told == wanted[job.seed], f"{job.strategy.value}, seed {job.seed}"
    for job in jobs_of(figure_of("10"), busy, 1, exact=False):  # where nothing can go wrong, nothing would be shown
        assert _by_network(draw(job.scenario, job.seed)) != wanted[job.seed]


def _by_network(plan: Plan) -> Told:
    """Simulate a plan as experiments do; give what sinks were told, but for what may still be under way."""
    network = Network(plan.links, plan.scenario.options, plan.processors)
    set_up(plan, network)
    feed = Feed(plan, network)
    feed.begin()
    network.run(feed.end)
    last = feed.end - _UNDER_WAY
    return Counter((each.sink, *_named(each.event)) for each in network.receipts if each.event.time <= last)


def _by_one_engine(plan: Plan) -> Told:
    """Feed the events of a plan to one engine; give what the sinks of the plan subscribed to."""
    engine = ReferenceEngine()
    engine.deploy(plan.rules, Schema(EventType(source.type) for source in plan.sources))
    last = plan.scenario.warm_up + plan.scenario.duration - _UNDER_WAY
    stream = [event for _, _, event in takewhile(lambda each: each[0] <= last, publications(plan, 0))]
    assert len({event.time for event in stream}) == len(stream), "the order of simultaneous events is another matter"
    made = [composite for event in stream for composite in engine.feed_event(event)]
    return Counter((sink, *_named(event)) for event in made for sink, _, kind in plan.sinks if event.type == kind)


def _named(event: Event) -> tuple[str, tuple[object, ...]]:
    return event.type, tuple(event.made_of or ())


def test_a_run_without_composite_events_has_no_delay() -> None:
    nobody = run_plan(draw(replace(QUICK, subscriptions=0.0), 1)).outcome
    assert (nobody.composites, nobody.delay, nobody.worst_delay) == (0, None, None)


def _results(delays: dict[Strategy, tuple[float | None, ...]], figure: str = "10") -> list[Result]:
    """Make up results: for each strategy the delay of every seed, None where no composite event arose."""
    jobs = {(job.strategy, job.seed): job for job in jobs_of(figure_of(figure), QUICK, 5, exact=True)}
    return [
        Result(jobs[strategy, seed], Outcome(seed, 100.0, 0.0, delay, delay, 9, 0 if delay is None else 9, 0.0, 0.0, 1))
        for strategy, each in delays.items()
        for seed, delay in enumerate(each, 1)
    ]


def test_delays_are_means_over_the_runs_that_have_one(tmp_path: Path) -> None:
    some, all_of_them, none = (None, 20.0, 30.0, None, None), (10.0, 10.0, 10.0, 10.0, 10.0), (None,) * 5
    found = curves(_results(dict.fromkeys(Strategy, some) | {Strategy.MT: all_of_them, Strategy.CENTR: none}))
    few, many = found.delay[Strategy.ST, 0], found.delay[Strategy.MT, 0]
    assert (few.mean, few.runs, many.mean, many.runs) == (25.0, 2, 10.0, 5)
    assert (Strategy.CENTR, 0) not in found.delay
    assert found.traffic[Strategy.CENTR, 0].runs == 5
    judged = {words: (confirmed, why) for words, confirmed, why in verdicts(found)}
    assert judged["MT strategies show lower delays than ST strategies."][0] is True
    assert judged["Centr and ST behave almost identically in delay."] == (
        None,
        "no delay to compare: Centr had no composite event",
    )
    (tmp_path / NAME).write_text("# Head\n\n<!-- figures -->\n", encoding="utf-8")
    page = write_page(tmp_path, [found], "cepheus bench deployment")[0]
    text = page.read_text(encoding="utf-8")
    assert "| 100.0/s, n/a | 100.0/s, 25.0 ± 63.5 ms (2 of 5 runs) | 100.0/s, 10.0 ms |" in text
    assert "| Centr and ST behave almost identically in delay. | not judged |" in text


def test_a_steady_delay_is_judged_by_the_points_that_have_one() -> None:
    figure = figure_of("11")
    jobs = jobs_of(figure, QUICK, 1, exact=True)
    delays = dict(zip(figure.values, (20.0, None, 22.0, None), strict=True))
    outcome = Outcome(1, 100.0, 0.0, None, None, 9, 0, 0.0, 0.0, 1)
    found = curves([Result(job, replace(outcome, delay=delays[job.x])) for job in jobs])
    assert verdicts(found)[0][1:] == (True, "ST 20.0 to 22.0 ms (2 of 4 points)")
    found = curves([Result(job, outcome) for job in jobs])
    assert verdicts(found)[0][1:] == (None, "no delay to compare: ST had no composite event")


def test_the_page_keeps_other_figures(found: Curves, tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("# Head\n\n<!-- figures -->\n\n<!-- figure: 11 -->\nkept\n", encoding="utf-8")
    page, picture = write_page(tmp_path, [found], "cepheus bench deployment")
    text = page.read_text(encoding="utf-8")
    assert text.index("figure: 10") < text.index("figure: 11")
    assert "kept" in text
    assert picture.read_text(encoding="utf-8").startswith("<?xml")
