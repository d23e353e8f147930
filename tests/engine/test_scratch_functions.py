"""A function or an aggregate that was added to the language and to nothing else: right where it runs, else refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

import cepheus
from cepheus import Event, UnsupportedError
from cepheus.core.distribution import Normal
from cepheus.core.values import ValueType
from cepheus.kernel.instructions import DatePart
from cepheus.rules.function_record import CalendarPart, Compiled, Function, Kind, TextTable
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


WHERE = {
    "clamp": ("double?", "clamp(A.x, 1, 2.5)", [1.0, 1.0, 2.0, 2.5, 2.5]),
    "clamp of integers": ("int?", "clamp(A.n, 1, 3)", [1, 1, 2, 3, 3]),
    "clamp between nothing": ("int?", "clamp(A.n, 3, A.n)", [None, None, None, 3, 4]),
    "inverse": ("double?", "inverse(A.n)", [None, 1.0, 0.5, 1 / 3, 0.25]),
    "is_even": ("bool?", "is_even(A.n)", [True, False, True, False, True]),
    "is_even of doubles": ("bool?", "is_even(A.x + 0.5)", [False] * 5),
    "quarter": ("int?", "quarter(A.time)", [0] * 5),
    "moved": ("double?", "moved(A.time, A.n)", [0.0, 2.0, 4.0, 6.0, 8.0]),
    "vowels": ("int?", "vowels(A.s)", [1] * 5),
    "left": ("string?", "left(A.s, 1)", ["a"] * 5),
}
NUMBERED = [Event("A", n, {"x": float(n), "n": n, "s": "ab"}, id=n) for n in range(5)]


@pytest.mark.parametrize("case", list(WHERE))
@pytest.mark.parametrize("engine", ["reference", "columns", "automata", "auto"])
def test_one_record_is_enough_for_every_engine(case: str, engine: str) -> None:
    kind, call, expected = WHERE[case]
    rule = f"event A(x: double, n: int, s: string) define R(y: {kind}) from A() where y = {call}"
    made = cepheus.compile(rule).detect(NUMBERED, engine=engine).to_events()
    assert repr([event.attributes.get("y") for event in made]) == repr(expected)


def test_one_record_is_enough_for_interval_rules() -> None:
    text = "r(X, Y) <- a(X) OR b(X) OR c(X) WHERE Y = clamp(X, 1, 3).\n"
    text += "s(X, Y) <- a(X) OR b(X) OR c(X) WHERE Y = is_even(X), inverse(X) < 1."
    given = [("a", 0), ("a", 1), ("b", 2.5), ("a", 7), ("c", "b")]
    events = [{"type": kind, "time": n, "args": [value]} for n, (kind, value) in enumerate(given)]
    made = {
        engine: [repr(event.attributes) for event in cepheus.compile(text).detect(events, engine=engine).to_events()]
        for engine in ("interval-reference", "goals", "auto")
    }
    assert made["goals"] == made["auto"] == made["interval-reference"]
    assert len(made["goals"]) == 6


def test_what_numba_cannot_compile_is_refused_or_left_to_python() -> None:
    program = cepheus.compile("event A(x: double) define R(y: double) from A() where y = worded(A.x)")
    events = [Event("A", n, {"x": n / 3}, id=n) for n in range(3)]
    for engine in ("reference", "auto"):
        assert [e["y"] for e in program.detect(events, engine=engine).to_events()] == [0.0, 0.3333, 0.6667]
    with pytest.raises(UnsupportedError, match="the fast engines do not support the function 'worded'") as refused:
        program.detect(events, engine="columns")
    assert refused.value.diagnostics[0].span is not None
    program = cepheus.compile("r(Y) <- a(X) WHERE Y = worded(X).")
    given = [{"type": "a", "time": n, "args": [n / 3]} for n in range(3)]
    assert [e["arg1"] for e in program.detect(given, engine="goals").to_events()] == [0.0, 0.3333, 0.6667]


def test_a_number_that_varies_has_no_table_of_texts() -> None:
    program = cepheus.compile(
        "event A(x: double, n: int, s: string) define R(y: string) from A() where y = left('ab', A.n)"
    )
    with pytest.raises(UnsupportedError, match="the function 'left'"):
        program.detect(NUMBERED, engine="columns")
    assert [e["y"] for e in program.detect(NUMBERED).to_events()] == ["", "a", "ab", "ab", "ab"]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Function("f", (Kind.STRING,), ValueType.INT, len, "", lowering=Compiled()),
        lambda: Function("f", (Kind.NUMBER,), ValueType.STRING, str, "", lowering=Compiled()),
        lambda: Function("f", (Kind.STRING,), ValueType.FLOAT, float, "", lowering=TextTable()),
        lambda: Function("f", (Kind.NUMBER,), ValueType.INT, int, "", lowering=TextTable()),
        lambda: Function("f", (Kind.NUMBER,), ValueType.INT, int, "", lowering=CalendarPart(DatePart.DAY)),
    ],
)
def test_a_record_that_says_what_cannot_be_is_refused(wrong: Callable[[], Function]) -> None:
    with pytest.raises(ValueError, match="the function 'f' cannot be run as its record says"):
        wrong()


CRASH = """
import sys
import cepheus
from cepheus.core.values import ValueType
from cepheus.rules.function_record import Function, Kind
from cepheus.rules.functions import FUNCTIONS
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
