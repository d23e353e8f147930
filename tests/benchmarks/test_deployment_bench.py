"""cepheus bench deployment: figures run, are summed up and set beside what the papers say."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import pytest

from benchmarks.papers.claims.model import Verdict, names_of
from benchmarks.papers.deployment.claims import rule_deployment_claims, strategy_claims
from benchmarks.papers.deployment.command import Reading, judged
from benchmarks.papers.deployment.figures import AS_THE_PAPERS, FIGURES, FULL, QUICK, base_of, figure_of
from benchmarks.papers.deployment.page import NAME, write_page
from benchmarks.papers.deployment.sweep import Job, Result, add, curves, jobs_of, missing, name_of, with_strategy
from cepheus.core.errors import OptionError
from cepheus.core.event import Event
from cepheus.core.schema import EventType, Schema
from cepheus.core.time import MILLISECOND, SECOND
from cepheus.engine.reference.engine import ReferenceEngine
from cepheus.runtime.network.protocol.strategy import Delivery, Masters, Strategy
from cepheus.runtime.network.simulation.experiment import Feed, Outcome, publications, run_plan, set_up
from cepheus.runtime.network.simulation.scenario import Plan, Rates, draw
from cepheus.runtime.network.simulation.simulator import Network

Told = Counter[tuple[str, str, tuple[object, ...]]]
"""How often each sink was told of each composite event: by the sink, the type and the events it was made of."""

_UNDER_WAY = SECOND
"""What happens in the last second may still be under way when a simulation ends."""


def test_every_figure_has_claims() -> None:
    for figure in FIGURES:
        assert Reading().claims(figure)
        assert not Reading(exact=True).claims(figure), "the papers did not run that"
    judged = [claim.key for claim in (*strategy_claims(), *rule_deployment_claims())]
    assert judged.count(judged[0]) == 1
    assert len(judged) == len({*judged})
    with pytest.raises(OptionError, match="no figure"):
        figure_of("9")


def test_claims_are_about_points_of_their_figures() -> None:
    """Every sample that a claim needs is one that a figure's simulations give."""
    for exponential in (False, True):
        base = base_of(exponential=exponential)
        given = {
            name_of(measure, job.scenario)
            for figure in FIGURES.values()
            for job in jobs_of(figure, base, (1,))
            for measure in ("traffic", "delay", "composites", "published")
        }
        for claim in strategy_claims(exponential=exponential):
            for part in claim.parts:
                assert {*names_of(part.quantity)} <= given, claim.key


def test_exact_runs_deliver_the_same_in_every_strategy() -> None:
    """Every strategy tells every sink the composite events of one engine that sees all events, each as often."""
    busy = replace(QUICK, slowest=0.5, each_share=0.3, window=SECOND, delay=30 * MILLISECOND)
    jobs = _options(jobs_of(figure_of("10"), busy, (1, 2)))
    assert {job.strategy for job in jobs} == set(Strategy)
    wanted = {seed: _by_one_engine(draw(busy, seed)) for seed in {job.seed for job in jobs}}
    assert all(each.total() > 100 for each in wanted.values())
    for job in jobs:
        told = _by_network(draw(job.scenario, job.seed))
        assert told == wanted[job.seed], f"{job.scenario.options}, seed {job.seed}"
    for job in jobs_of(figure_of("10"), replace(busy, options=AS_THE_PAPERS), (1,)):
        # where nothing can go wrong, nothing would be shown
        assert _by_network(draw(job.scenario, job.seed)) != wanted[job.seed]


def _options(jobs: list[Job]) -> list[Job]:
    """The same simulations with all masters and deliveries that their strategies have."""
    found = []
    for job in jobs:
        for masters in Masters if job.strategy.pulls else (Masters.ADAPTIVE,):
            for delivery in (Delivery.ON_THE_WAY,) if job.strategy.many_trees else Delivery:
                options = replace(job.scenario.options, masters=masters, delivery=delivery, adapt_every=2 * SECOND)
                found.append(Job(replace(job.scenario, options=options), job.seed))
    return found


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


def test_what_is_known_is_not_run_again() -> None:
    jobs = jobs_of(figure_of("11"), QUICK, (1, 2))
    samples: dict[str, dict[int, float]] = {}
    assert missing([*jobs, *jobs], samples) == jobs
    outcome = Outcome(1, 100.0, 0.0, None, None, 9, 0, 0.0, 0.0, 1)
    for job in jobs[::2]:
        add(samples, Result(job, outcome))
    assert missing(jobs, samples) == jobs[1::2]


def _samples(delays: dict[Strategy, tuple[float | None, ...]]) -> dict[str, dict[int, float]]:
    """Make up results of figure 10: for each strategy the delay of every seed, None where no composite event arose."""
    samples: dict[str, dict[int, float]] = {}
    for strategy, each in delays.items():
        for seed, delay in enumerate(each, 1):
            outcome = Outcome(seed, 100.0, 0.0, delay, delay, 9, 0 if delay is None else 9, 0.0, 0.0, 1)
            add(samples, Result(Job(with_strategy(FULL, strategy), seed), outcome))
    return samples


def test_delays_are_means_over_the_runs_that_have_one(tmp_path: Path) -> None:
    some, all_of_them, none = (None, 20.0, 30.0, None, None), (10.0, 10.0, 10.0, 10.0, 10.0), (None,) * 5
    samples = _samples(dict.fromkeys(Strategy, some) | {Strategy.MT: all_of_them, Strategy.CENTR: none})
    found = curves(figure_of("10"), FULL, samples)
    few, many = found.delay[Strategy.ST, 0], found.delay[Strategy.MT, 0]
    assert (few.mean, few.runs, many.mean, many.runs) == (25.0, 2, 10.0, 5)
    assert (Strategy.CENTR, 0) not in found.delay
    assert found.traffic[Strategy.CENTR, 0].runs == 5
    verdicts = {each.claim.sentence: each.verdict for each in judged("10", Reading(), samples)}
    assert verdicts["Centr and ST have almost the same delay."] is Verdict.NOT_MEASURED
    assert verdicts["ST_PP has a slightly higher delay than ST."] is Verdict.CONFIRMED, "the same in each pair of runs"
    (tmp_path / NAME).write_text("# Head\n\n<!-- figures -->\n\n<!-- figure: 11 -->\nkept\n", encoding="utf-8")
    page, picture = write_page(tmp_path, ["10"], samples)
    text = page.read_text(encoding="utf-8")
    assert "| 100 ± 0/s, n/a | 100 ± 0/s, 25.0 ± 63.5 ms (2 of 5 runs) | 100 ± 0/s, 10.0 ± 0.0 ms |" in text
    assert text.index("figure: 10") < text.index("figure: 11")
    assert "kept" in text
    assert picture.read_text(encoding="utf-8").startswith("<?xml")


def test_both_readings_of_the_rates_keep_within_their_bounds() -> None:
    means = {}
    for reading in Rates:
        for gap in (5, 10_000):
            scenario = replace(QUICK, types=2000, slowest=1 / gap, rates=reading)
            rates = [source.rate for source in draw(scenario, 1).sources]
            assert 1 / gap <= min(rates) < max(rates) <= 10
            means[reading, gap] = sum(rates) / len(rates)
    assert means[Rates.EXPONENTIAL, 10_000] == pytest.approx(1.0, rel=0.1)
    assert means[Rates.LOGARITHMIC, 10_000] == pytest.approx(0.87, rel=0.1)
    assert means[Rates.LOGARITHMIC, 5] == pytest.approx(2.5, rel=0.1)
