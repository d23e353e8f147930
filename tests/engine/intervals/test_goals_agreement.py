"""The goals engine against the reference: recorded cases, generated rules and streams, any way of feeding them."""

from __future__ import annotations

from random import Random

import pytest
from interval_runs import AS_RECORDED, Found, checked, deployed, found, in_order, run, run_batches
from test_recorded_cases import NAMES, _case

from cepheus.core.batch import EventBatch
from cepheus.core.errors import RuleError
from cepheus.core.event import Event
from cepheus.core.time import MAX_TIME
from cepheus.engine.goals.engine import GoalsEngine
from cepheus.rules.check import Checked
from strategies.interval_programs import POLICIES, events, program


def _generated(seed: int, policy: str) -> Checked | None:
    try:
        return checked(program(seed), policy)
    except RuleError as error:
        if all(finding.code == "unstratified" for finding in error.diagnostics):
            return None
        raise


def _stream(seed: int) -> list[Event]:
    return events(seed, 14 + seed % 20)


@pytest.mark.parametrize("policy", AS_RECORDED)
@pytest.mark.parametrize("name", NAMES)
def test_recorded_cases(name: str, policy: str) -> None:
    case = _case(name)
    rules = checked("\n".join(case["rules"]), AS_RECORDED[policy])
    assert in_order(run(rules, case["stream"], GoalsEngine())) == in_order(run(rules, case["stream"]))


@pytest.mark.parametrize("policy", POLICIES)
def test_generated_rules_give_what_the_reference_gives(policy: str) -> None:
    made = 0
    for seed in range(40):
        rules = _generated(seed, policy)
        if rules is not None:
            given = _stream(seed)
            expected, answer = run(rules, given), run(rules, given, GoalsEngine())
            if policy == "unrestricted":
                expected, answer = in_order(expected), in_order(answer)
            assert answer == expected, f"seed {seed}:\n{program(seed)}"
            made += bool(answer)
    assert made > 12


@pytest.mark.parametrize("policy", ["unrestricted", "recent", "recent, once, renewing", "chronological"])
def test_batches_and_snapshots_do_not_matter(policy: str) -> None:
    for seed in range(100, 125):
        rules = _generated(seed, policy)
        if rules is None:
            continue
        given = _stream(seed)
        expected = run(rules, given, GoalsEngine())
        random = Random(seed)
        cuts = sorted(random.sample(range(len(given) + 1), 3))
        parts = [given[start:end] for start, end in zip([0, *cuts], [*cuts, len(given)], strict=True)]
        assert run_batches(rules, parts, GoalsEngine()) == expected, f"seed {seed}"
        engine = deployed(rules, GoalsEngine())
        made: list[Found] = []
        for each in given:
            made += map(found, engine.feed_event(each))
            if random.random() < 0.3:
                other = GoalsEngine()
                other.restore(engine.snapshot())
                engine = other
        assert [*made, *map(found, engine.advance(MAX_TIME).to_events())] == expected, f"seed {seed}"


@pytest.mark.parametrize("policy", ["recent", "recent, once", "chronological", "chronological, longer"])
def test_ids_and_parts_are_those_of_the_reference(policy: str) -> None:
    for seed in range(200, 220):
        rules = _generated(seed, policy)
        if rules is not None:
            batch = EventBatch.from_events(_stream(seed))
            answers = [deployed(rules, engine).feed(batch).to_events() for engine in (None, GoalsEngine())]
            reference, goals = ([(e.type, e.id, e.made_of, e.rule) for e in answer] for answer in answers)
            assert goals == reference, f"seed {seed}:\n{program(seed)}"


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_many_generated_rules(policy: str) -> None:
    for seed in range(1_000, 2_500):
        rules = _generated(seed, policy)
        if rules is not None:
            given = _stream(seed)
            assert in_order(run(rules, given, GoalsEngine())) == in_order(run(rules, given)), f"seed {seed}"
