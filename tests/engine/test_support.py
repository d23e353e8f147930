"""The support matrix is what refuses: where it says no, a rule is refused in its words; where it says yes, it runs."""

from __future__ import annotations

import pytest

import cepheus
from cepheus import Event, UnsupportedError
from cepheus.engine.base.capabilities import (
    CAPABILITIES,
    INTERVAL_CAPABILITIES,
    interval_things,
    things,
)
from cepheus.kernel.instructions import MAX_STACK
from cepheus.kernel.program import MAX_POSITIONS
from cepheus.language import etalis, sql, tesla
from cepheus.plan.pattern.constructs import Construct, require_rules
from cepheus.plan.support import Support, Thing, words_of
from cepheus.rules.aggregates import AggregateFunction
from cepheus.rules.policies import Policy
from cepheus.runtime.network.protocol.strategy import check_supported
from cepheus.typed import udf


@pytest.fixture(autouse=True, scope="module")
def _own_function() -> None:
    @udf
    def doubled_here(value: float) -> float:
        return 2 * value


DECLARED = "event T(s: string, x: double) event A(s: string, x: double)\n"
LONG = " and ".join(f"last A() as A{n} within 1 s from {f'A{n - 1}' if n else 'T'}" for n in range(MAX_POSITIONS))
DEEP = "(x + " * MAX_STACK + "x" + ")" * MAX_STACK
BELIEF = "network R { node T given R { YES: {YES: 1, NO: 0} NO: {YES: 0.5, NO: 0.5} } }"
AHEAD = "each A(x <= $y) within 1 s from T and each A(x=$y) as B within 1 s from A"
EXAMPLES: dict[Construct, str] = {
    Construct.WINDOWS: "define R() from T() and each A() within 1 s from T",
    Construct.PARAMETERS: f"define R() from T() and {AHEAD}",
    Construct.GROUPS: "define R() from T() and last A() per s within 1 s from T",
    Construct.RANKINGS: "define R() from T() and top A() by x within 1 s from T",
    Construct.COLLECTIONS: "define R() from T() and all A() as Bs within 1 s from T",
    Construct.CONDITIONS: "define R() from T(s = 'b' or x > 0)",
    Construct.RENAMED: "event L(code: string from id); define R() from T()",
    Construct.TIMERS: "define R() from 50 us after A()",
    Construct.SINCE_START: "define R() from T() and 0 < Count(A() since start)",
    Construct.NEGATION: "define R() from T() and not A(x > 5) within 1 s from T",
    Construct.CONSUMPTION: "define R() from T() and last A() within 1 s from T consuming A",
    Construct.HIERARCHIES: "define R() from T(); define Q() from R()",
    Construct.INTERVAL_RULES: "define R() from T()",
    Construct.ROW_QUERIES: "define R() from T()",
    Construct.TIES_ORDERED: "ties ordered; define R() from T()",
    Construct.PROBABILITIES: "define R() from T() min probability 0.5",
    Construct.ERRORS: "error T.x ~ N(0, 1); define R() from T(x > -10)",
    Construct.BELIEFS: f"rule R define R() from T(); {BELIEF}",
    Construct.LOCAL_FUNCTIONS: "define R() from T(doubled_here(x) > -10)",
    Construct.TEXT_FUNCTIONS: "define R() from T(contains(s, 'a'))",
    Construct.FUNCTIONS_OF_TWO_TEXTS: "define R() from T(s=$s) and each A(contains(s, $s)) within 1 s from T",
    Construct.ORDER_OF_TWO_TEXTS: "define R() from T(s=$s) and each A(s <= $s) within 1 s from T",
    Construct.EXTREMES_OF_TEXTS: "define R() from T() and Max(A().s within 1 s from T) = 'a'",
    Construct.LONG_PATTERNS: f"define R() from T() and {LONG}",
    Construct.DEEP_EXPRESSIONS: f"define R() from T({DEEP} > 0)",
}
ELSEWHERE = {
    *(Construct.UNTOLD_TYPES, Construct.OTHER_TYPE, Construct.UNCERTAIN_FORMS),  # events decide
    Construct.FULL_PROVENANCE,  # an option decides
    Construct.OTHER_GROUPS,  # no policy of today
    Construct.OTHER_TOTALS,  # who runs no totals refuses them as such
}
EVENTS = [
    *(Event("A", time, {"s": "a", "x": 1.0}, id=time) for time in range(MAX_POSITIONS + 1)),
    Event("T", 100, {"s": "a", "x": 1.0}, id=100),
]


def example(thing: Thing) -> str:
    match thing:
        case AggregateFunction(name=name, needs_value=needs, argument=argument):
            told = "" if argument is None else f", {argument.example}"
            return f"define R() from T() and 0 <= {name}(A(){'.x' if needs else ''} within 1 s from T{told})"
        case Policy(value=word):
            return f"define R() from T() and {word} A() within 1 s from T"
        case _:
            return EXAMPLES[thing]  # type: ignore[index]


def run(thing: Thing, support: Support) -> None:
    rules = tesla.parse(DECLARED + example(thing))
    if thing is Construct.INTERVAL_RULES:
        rules += etalis.parse("q(X) <- a(X).")
    if thing is Construct.ROW_QUERIES:
        rules += sql.parse("SELECT * FROM A MATCH_RECOGNIZE (ORDER BY time MEASURES x AS x PATTERN (P)) AS Q")
    program = cepheus.compile(rules, undeclared="allow")
    if support.name == "network":
        check_supported(program.rules)
        return
    if support.name == "spark":
        require_rules(support, program.rules)  # as Spark does before it plans
    engine = "auto" if support.name == "spark" else support.name
    assert len(program.detect(EVENTS, engine=engine)) > 0


TESTED = [thing for thing in things() if thing not in ELSEWHERE]


@pytest.mark.parametrize("support", CAPABILITIES, ids=lambda support: support.name)
@pytest.mark.parametrize("thing", TESTED, ids=words_of)
def test_what_the_table_says_is_so(thing: Thing, support: Support) -> None:
    if support.runs(thing):
        run(thing, support)
        return
    with pytest.raises(UnsupportedError) as refused:
        run(thing, support)
    finding = refused.value.diagnostics[0]
    expected = support.refusal(thing, None).diagnostics[0]
    assert (finding.message, finding.hint) == (expected.message, expected.hint)
    assert finding.span is not None


@pytest.mark.parametrize("support", INTERVAL_CAPABILITIES, ids=lambda support: support.name)
@pytest.mark.parametrize("thing", [t for t in interval_things() if isinstance(t, AggregateFunction)], ids=words_of)
def test_what_the_table_says_of_aggregates_over_intervals_is_so(thing: AggregateFunction, support: Support) -> None:
    value = "X, " if thing.needs_value else ""
    program = cepheus.compile(f"r(Y) <- b(_) WHERE Y = {thing.name.upper()}({value}a(X) WITHIN 9 us).")
    events = [{"type": "a", "time": n, "args": [n]} for n in range(3)] + [{"type": "b", "time": 5, "args": [0]}]
    if support.runs(thing):
        expected = thing([0, 1, 2])
        assert [made["arg1"] for made in program.detect(events, engine=support.name).to_events()] == [expected]
        return
    with pytest.raises(UnsupportedError) as refused:
        program.detect(events, engine=support.name)
    finding = refused.value.diagnostics[0]
    assert finding.message == support.refusal(thing, None).diagnostics[0].message
    assert finding.span is not None
