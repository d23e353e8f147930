"""Every code that the kernel numbers a policy or an aggregate with does there what its record means, or is refused.

A member of ``PolicyCode``, ``OverNumbers`` or ``OverWords`` without a branch in the kernel would take the way of
another, or come to nothing. Policies and aggregates that are added are found here without being named.
"""

from __future__ import annotations

from enum import IntEnum

import pytest

import cepheus
from cepheus import Event, RuleError
from cepheus.core.values import as_float
from cepheus.kernel.aggregates import OverNumbers, OverSeries, OverWords
from cepheus.kernel.program import PolicyCode
from cepheus.rules.aggregates import AGGREGATES, AggregateFunction, Form
from cepheus.rules.policies import POLICIES, Policy

ENGINES = ["columns", "automata"]
VALUES = [3, 1, 4, 1, 5, 9, 2, 6]
"""Of these, no two policies take the same, and no two aggregates over all of them come to the same."""
STREAM = [*(Event("A", time, {"x": value}) for time, value in enumerate(VALUES, 1)), Event("B", 20)]
FUNCTIONS = [record for record in AGGREGATES.values() if record.form in (Form.OVER_NUMBERS, Form.OVER_WORDS)]
SERIES = {record.name for record in AGGREGATES.values() if record.form is Form.OVER_SERIES}


def found(rule: str, engine: str) -> list[float] | None:
    """What an engine finds, as a sorted list; None if it refuses the rule."""
    try:
        batch = cepheus.compile("event A(x: int) event B() " + rule).detect(STREAM, engine=engine)
    except RuleError:
        return None
    return sorted(as_float(event.attributes["n"] or 0) for event in batch.to_events())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("count", ["", "1 ", "2 ", "3 "])
@pytest.mark.parametrize("policy", list(Policy))
def test_policies_choose_what_they_mean(policy: Policy, count: str, engine: str) -> None:
    if count and not POLICIES[policy].counts:
        return
    rule = f"define R(n: int) from B() and {count}{policy.value} A(x=$x) within 30 us from B where n=$x"
    meant = sorted(POLICIES[policy].meaning(VALUES, int(count or 1)))
    assert found(rule, "reference") == meant
    given = found(rule, engine)
    assert given == meant or (given is None and (policy.name not in PolicyCode.__members__ or engine == "automata"))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("record", FUNCTIONS, ids=lambda record: record.name)
def test_aggregates_come_to_what_they_mean(record: AggregateFunction, engine: str) -> None:
    result = "int" if record.result is None else record.result.value
    argument = None if record.argument is None else record.argument.example
    told = "" if argument is None else f", {argument}"
    rule = f"define R(n: {result}) from B() where n={record.name}(A().x within 30 us from B{told})"
    meant = [record.given(None if argument is None else float(argument))(VALUES)]
    assert meant != [None]
    assert found(rule, "reference") == meant
    assert found(rule, engine) == meant


@pytest.mark.parametrize(
    ("codes", "records"),
    [
        (PolicyCode, {policy.name for policy in Policy}),
        (OverNumbers, {record.name for record in FUNCTIONS if record.form is Form.OVER_NUMBERS}),
        (OverSeries, SERIES),
        (OverWords, {record.name for record in FUNCTIONS if record.form is Form.OVER_WORDS}),
    ],
)
def test_codes_have_records(codes: type[IntEnum], records: set[str]) -> None:
    assert {*codes.__members__} <= records
