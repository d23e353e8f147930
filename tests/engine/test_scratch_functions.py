"""A function or an aggregate that was added to the language and to nothing else: right where it runs, else refused."""

from __future__ import annotations

import subprocess
import sys

import pytest

import cepheus
from cepheus import Event, UnsupportedError
from cepheus.core.distribution import Normal
from strategies.scratch_functions import DECLARED, EVENTS, EXPECTED, RULES, register


@pytest.fixture(autouse=True)
def scratch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the scratch functions in the language."""
    register(monkeypatch)


def found(name: str, engine: str, threads: int = 1) -> list[object]:
    program = cepheus.compile(DECLARED + RULES[name])
    return [made["y"] for made in program.detect(EVENTS, engine=engine, threads=threads).to_events()]


@pytest.mark.parametrize("name", list(RULES))
def test_the_reference_runs_it_and_auto_falls_back_to_that(name: str) -> None:
    assert found(name, "reference") == EXPECTED[name]
    assert found(name, "auto") == EXPECTED[name]
    assert found(name, "auto", threads=2) == EXPECTED[name]


@pytest.mark.parametrize("name", list(RULES))
@pytest.mark.parametrize(("engine", "threads"), [("columns", 1), ("columns", 2), ("automata", 1)])
def test_engines_without_a_form_of_it_refuse_it_by_name_and_place(name: str, engine: str, threads: int) -> None:
    with pytest.raises(UnsupportedError) as refused:
        found(name, engine, threads)
    (finding,) = refused.value.diagnostics
    kind = "aggregate" if name == "Range" else "function"
    assert finding.message == f"the fast engines do not support the {kind} '{name}'"
    assert finding.span is not None
    assert finding.hint is not None
    assert "reference" in finding.hint


@pytest.mark.parametrize("name", list(RULES))
def test_uncertain_events_are_left_to_the_reference(name: str) -> None:
    blurred = [
        Event(e.type, e.time, e.attributes, id=e.id, errors={"x": Normal(0.0, 1e-12)} if e.type == "B" else {})
        for e in EVENTS
    ]
    program = cepheus.compile(DECLARED + RULES[name])
    assert [made["y"] for made in program.detect(blurred).to_events()] == EXPECTED[name]
    with pytest.raises(UnsupportedError, match=name):
        program.detect(blurred, engine="columns")


def test_interval_rules_have_it_where_python_is_asked() -> None:
    for engine in ("interval-reference", "goals", "auto"):
        program = cepheus.compile("r(Y) <- a(X) WHERE Y = cube(X), cube(X) > 8.")
        events = [{"type": "a", "time": n, "args": [n]} for n in range(5)]
        assert [made["arg1"] for made in program.detect(events, engine=engine).to_events()] == [27.0, 64.0]


def test_interval_rules_refuse_an_aggregate_that_the_kernel_lacks() -> None:
    program = cepheus.compile("r(Y) <- b(_) WHERE Y = RANGE(X, a(X) WITHIN 9 us).")
    events = [{"type": "a", "time": n, "args": [n]} for n in range(5)] + [{"type": "b", "time": 5, "args": [0]}]
    for engine in ("interval-reference", "auto"):
        assert [made["arg1"] for made in program.detect(events, engine=engine).to_events()] == [4]
    with pytest.raises(UnsupportedError, match="the goals engine does not support the aggregate 'Range'") as refused:
        program.detect(events, engine="goals")
    assert refused.value.diagnostics[0].span is not None


CRASH = """
import sys
import cepheus
from cepheus.core.values import ValueType
from cepheus.rules.functions import FUNCTIONS, Function, Kind
FUNCTIONS["cube"] = Function("cube", (Kind.NUMBER,), ValueType.FLOAT, lambda number: number**3, "the third power")
rules = "event A(x: double) define R(y: double) from A(cube(x) > 8) where y = cube(A.x)"
events = [{"type": "A", "time": n, "x": 1e300 * n if n % 2 else float(n)} for n in range(5)]
try:
    cepheus.compile(rules).detect(events, engine=sys.argv[1])
except cepheus.UnsupportedError as refused:
    print(refused.diagnostics[0].message)
"""


@pytest.mark.parametrize("engine", ["columns", "automata"])
def test_nothing_crashes(engine: str) -> None:
    """It once did, with the whole process: a number was taken for the code of a text."""
    run = subprocess.run([sys.executable, "-c", CRASH, engine], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "the fast engines do not support the function 'cube'"
