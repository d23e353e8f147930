"""The conformance suite in Python: every case is written as Python text, run, and gives the same rules and answers."""

from __future__ import annotations

from typing import Any

import pytest
from conformance_suite import Case, load_cases, outcome

import cepheus
from cepheus.language.tesla import parse
from cepheus.typed import TypedRules, from_tesla, to_python, to_tesla

CASES = load_cases()


def from_python(text: str) -> TypedRules:
    """Run the text of a module and give its rules."""
    names: dict[str, Any] = {"__name__": "rules"}
    exec(compile(text, "<rules>", "exec"), names)
    rules: TypedRules = names["RULES"]
    return rules


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_case_written_in_python(case: Case) -> None:
    rules = from_python(to_python(case.rules))
    assert rules.model == parse(case.rules)
    found = cepheus.compile(rules).detect(case.events, engine="reference", **case.options)
    assert outcome(found.to_dicts("us")) == outcome(case.expected)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_to_python_objects_and_back(case: Case) -> None:
    rules = from_tesla(case.rules)
    assert parse(to_tesla(rules)) == parse(case.rules)
    assert from_tesla(to_tesla(rules)).model == rules.model
    assert from_python(to_python(rules)).model == rules.model
