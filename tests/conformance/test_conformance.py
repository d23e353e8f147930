from __future__ import annotations

import pytest
from conformance_suite import Case, load_cases, outcome

import cepheus
from cepheus.core.errors import UnsupportedError
from cepheus.engine.assembly.registry import names
from cepheus.engine.base.capabilities import CAPABILITIES
from cepheus.plan.pattern.constructs import things_of

CASES = load_cases()
WITHOUT_TIMERS = ("automata", "matching")


@pytest.fixture(params=names())
def engine(request: pytest.FixtureRequest, case: Case) -> str:
    """The name of an engine that runs the case; one that does not must refuse it as its table says."""
    name = str(request.param)
    (support,) = [each for each in CAPABILITIES if each.name == name]
    if any(not support.runs(thing) for thing, _ in things_of(case.model)):
        with pytest.raises(UnsupportedError):
            cepheus.compile(case.rules).start(engine=name, **case.options)
        pytest.skip(f"{name} refuses it")
    return name


@pytest.fixture(autouse=True)
def _expect_refusals(request: pytest.FixtureRequest) -> None:
    """What an engine refuses by the support matrix it must refuse in every case."""
    callspec = getattr(request.node, "callspec", None)
    given = {} if callspec is None else callspec.params
    if "case" in given and given["case"].name.startswith("timers") and given.get("engine") in WITHOUT_TIMERS:
        request.node.add_marker(pytest.mark.xfail(raises=UnsupportedError, strict=True, reason="no timers"))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_all_at_once(case: Case, engine: str) -> None:
    program = cepheus.compile(case.rules)
    found = program.detect(case.events, engine=engine, **case.options)
    assert outcome(found.to_dicts("us")) == outcome(case.expected)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_one_by_one(case: Case, engine: str) -> None:
    session = cepheus.compile(case.rules).start(engine=engine, **case.options)
    found = [composite.to_dict() for event in case.events for composite in session.feed(event)]
    found += session.close().to_dicts("us")
    assert outcome(found) == outcome(case.expected)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_killed_and_restored_before_every_event(case: Case, engine: str) -> None:
    program = cepheus.compile(case.rules)
    session = program.start(engine=engine, **case.options)
    found = []
    for event in case.events:
        session = program.start(snapshot=session.snapshot())
        found += [composite.to_dict() for composite in session.feed(event)]
    found += session.close().to_dicts("us")
    assert outcome(found) == outcome(case.expected)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_in_threads(case: Case) -> None:
    program = cepheus.compile(case.rules)
    found = program.detect(case.events, engine="columns", threads=3, **case.options)
    assert outcome(found.to_dicts("us")) == outcome(case.expected)


def test_the_suite_is_not_empty() -> None:
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)
