"""A constraint is called impossible only if it is: compared with trying all small values."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cepheus.core.errors import RuleError
from cepheus.core.values import Value
from cepheus.language.tesla import parse
from cepheus.rules import evaluate
from cepheus.rules.check import check
from cepheus.rules.model import Rule

INTS = "event X(n: int, m: int)\n"
DOUBLES = "event X(n: double, m: double)\n"
OPERATORS = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
NUMBERS = st.integers(-3, 3)
TERMS = st.one_of(
    NUMBERS.map(str),
    st.sampled_from(["n", "m"]),
    st.builds("{} {} {}".format, st.sampled_from(["n", "m"]), st.sampled_from(["+", "-"]), st.integers(0, 3)),
)
PAIRS = st.builds("{} {} {}".format, TERMS, OPERATORS, TERMS)
CHAINS = st.builds("{} {} {} {} {}".format, TERMS, OPERATORS, TERMS, OPERATORS, TERMS)
SIMPLE = st.builds("n {} {}".format, OPERATORS, NUMBERS)


class Values:
    """An event with the given attributes."""

    def __init__(self, n: float, m: float) -> None:
        self._values = {"n": n, "m": m}

    def attribute(self, event: str | None, name: str) -> Value | None:
        assert event is None
        return self._values[name]

    def computed(self, name: str) -> Value | None:
        raise AssertionError(name)


def never(declaration: str, constraints: list[str]) -> tuple[bool, Rule]:
    rules = parse(f"{declaration}define A() from X({' and '.join(constraints)})", "generated")
    codes = set()
    try:
        check(rules)
    except RuleError as refused:
        codes = {diagnostic.code for diagnostic in refused.diagnostics}
    assert codes <= {"never"}
    return bool(codes), rules.rules[0]


def can_hold(rule: Rule, domain: list[float]) -> bool:
    tests = [evaluate.tester(constraint) for constraint in rule.pattern.terminator.constraints]
    return any(all(test(Values(n, m)) for test in tests) for n in domain for m in domain)


@given(st.lists(PAIRS | CHAINS, min_size=1, max_size=4))
def test_ints(constraints: list[str]) -> None:
    impossible, rule = never(INTS, constraints)
    assert not (impossible and can_hold(rule, [*range(-12, 13)]))


@given(st.lists(PAIRS | CHAINS, min_size=1, max_size=4))
def test_doubles(constraints: list[str]) -> None:
    impossible, rule = never(DOUBLES, constraints)
    assert not (impossible and can_hold(rule, [half / 2 for half in range(-20, 21)]))


@given(st.lists(SIMPLE, min_size=1, max_size=4))
def test_bounds_on_one_value_are_decided_exactly(constraints: list[str]) -> None:
    impossible, rule = never(INTS, constraints)
    assert impossible is not can_hold(rule, [*range(-5, 6)])
    impossible, rule = never(DOUBLES, constraints)
    assert impossible is not can_hold(rule, [half / 2 for half in range(-9, 10)])
