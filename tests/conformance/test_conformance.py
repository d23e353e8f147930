from __future__ import annotations

import pytest
from conformance_suite import Case, load_cases, outcome

import cepheus
from cepheus.core.errors import UnsupportedError
from cepheus.engine.assembly.registry import names

CASES = load_cases()
WITHOUT_TIMERS = ("automata", "matching")


@pytest.fixture(params=names())
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def _expect_refusals(request: pytest.FixtureRequest) -> None:
    """What an engine refuses by the support matrix it must refuse in every case."""
    parameters = getattr(request.node, "callspec", None)
    case = None if parameters is None else parameters.params.get("case")
    if case is not None and "timers" in case.name and parameters.params.get("engine") in WITHOUT_TIMERS:
        request.node.add_marker(pytest.mark.xfail(raises=UnsupportedError, strict=True, reason="no timers"))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_all_at_once(case: Case, engine: str) -> None:
    program = cepheus.compile(case.rules)
    found = program.detect(case.events, engine=engine, time_unit="s", sequence=case.sequence)
    assert outcome(found.to_dicts()) == outcome(case.expected)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_one_by_one(case: Case, engine: str) -> None:
    session = cepheus.compile(case.rules).start(engine=engine, time_unit="s", sequence=case.sequence)
    found = [composite.to_dict() for event in case.events for composite in session.feed(event)]
    found += session.close().to_dicts()
    assert outcome(found) == outcome(case.expected)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_killed_and_restored_before_every_event(case: Case, engine: str) -> None:
    program = cepheus.compile(case.rules)
    session = program.start(engine=engine, time_unit="s", sequence=case.sequence)
    found = []
    for event in case.events:
        session = program.start(snapshot=session.snapshot())
        found += [composite.to_dict() for composite in session.feed(event)]
    found += session.close().to_dicts()
    assert outcome(found) == outcome(case.expected)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_in_threads(case: Case) -> None:
    program = cepheus.compile(case.rules)
    found = program.detect(case.events, engine="columns", time_unit="s", sequence=case.sequence, threads=3)
    assert outcome(found.to_dicts()) == outcome(case.expected)


def test_the_suite_is_not_empty() -> None:
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)
