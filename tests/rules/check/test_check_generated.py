"""Generated rules: valid ones pass, and whatever passes can be resolved."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from cepheus.core.errors import Diagnostic, RuleError
from cepheus.language.tesla import parse
from cepheus.rules.check import check
from cepheus.rules.model import RuleSet
from cepheus.rules.resolve import resolve
from strategies.rules import rule_sets, valid_rule_sets

DECLARED = "event A(n: int, d: double, s: string) event B(n: int, d: double, s: string) event C(n: int, d: double)\n"
TYPES = ("A", "B", "C")


@dataclass
class Draft:
    """A valid rule in the making: events so far, parameters so far with their attribute."""

    events: list[tuple[str, str]]
    parameters: dict[str, str]
    parts: list[str]


@st.composite
def valid_rules(draw: st.DrawFn) -> str:
    draft = Draft([], {}, [])
    first = draw(st.sampled_from(TYPES))
    draft.parts.append(f"{first}({constraints(draw, draft, first, may_bind=True)}) as E0")
    draft.events.append((first, "E0"))
    for number in range(1, draw(st.integers(1, 6))):
        draft.parts.append(part(draw, draft, number))
    last = draft.events[-1][1]
    total = draw(st.sampled_from(["Sum(A().n", "Count(B()", "Max(C().n"]))
    return (
        f"define Found(d: double, n: int) from {' and '.join(draft.parts)} "
        f"where d=E0.n + {last}.d, n={total} within 1 min from {last})"
    )


def part(draw: st.DrawFn, draft: Draft, number: int) -> str:
    kind = draw(st.sampled_from(["selection", "selection", "negation", "between", "aggregate"]))
    event_type = draw(st.sampled_from(TYPES))
    reference = draw(st.sampled_from(draft.events))[1]
    window = f"within {draw(st.integers(1, 90))} s from {reference}"
    if kind == "selection":
        policy = draw(st.sampled_from(["each", "last", "first", "2 last", "3-first"]))
        content = constraints(draw, draft, event_type, may_bind=True)
        draft.events.append((event_type, f"E{number}"))
        return f"{policy} {event_type}({content}) as E{number} {window}"
    content = constraints(draw, draft, event_type, may_bind=False)
    if kind == "aggregate":
        draft.parameters[f"p{number}"] = "d"
        function = draw(st.sampled_from(["Avg", "Sum", "Min", "Max", "Stddev", "First", "Last"]))
        return f"0 <= $p{number} = {function}({event_type}({content}).d {window})"
    if kind == "between" and len(draft.events) > 1:
        return f"not {event_type}({content}) between {draft.events[0][1]} and {draft.events[-1][1]}"
    return f"not {event_type}({content}) {window}"


def constraints(draw: st.DrawFn, draft: Draft, event_type: str, *, may_bind: bool) -> str:
    attributes = ["n", "d"] if event_type == "C" else ["n", "d", "s"]
    found = []
    chosen: list[str] = draw(st.lists(st.sampled_from(attributes), unique=True, max_size=3))
    for attribute in chosen:
        same = [name for name, bound in draft.parameters.items() if (bound == "s") == (attribute == "s")]
        reuse: bool = draw(st.booleans())
        if same and reuse:
            found.append(f"{attribute} {draw(st.sampled_from(['!=', '<=', '>=']))} ${draw(st.sampled_from(same))}")
        elif may_bind and draw(st.booleans()):
            name = f"q{len(draft.parameters)}"
            draft.parameters[name] = attribute
            found.append(f"{attribute} = ${name}")
        else:
            found.append(f"{attribute} > {repr('x') if attribute == 's' else draw(st.integers(-9, 9))}")
    return " and ".join(found)


@given(valid_rules())
def test_valid_rules_pass_and_resolve(text: str) -> None:
    result = check(parse(DECLARED + text, "generated"))
    (rule,) = result.rules.rules
    assert resolve(rule).name == "Found"
    assert list(result.inputs) == ["A", "B", "C"]
    assert {warning.code for warning in result.warnings} <= {"unused-parameter"}


@st.composite
def nearly_valid_rules(draw: st.DrawFn) -> str:
    """A valid rule in which a word or two have been replaced."""
    text = draw(valid_rules())
    for _ in range(draw(st.integers(1, 2))):
        words = list(re.finditer(r"\$\w+|\b(?:[ABC]|E\d|[nds])\b", text))
        word = words[draw(st.integers(0, len(words) - 1))]
        other = draw(st.sampled_from(["A", "C", "E0", "E1", "E9", "n", "d", "s", "time", "$q0", "$q1", "$p1", "$none"]))
        text = text[: word.start()] + other + text[word.end() :]
    return text


def refused_or_resolved(rules: RuleSet) -> tuple[Diagnostic, ...]:
    try:
        for rule in check(rules).rules.rules:
            resolve(rule)
    except RuleError as refused:
        return refused.diagnostics
    return ()


@given(nearly_valid_rules(), st.booleans())
def test_what_passes_can_be_resolved_and_what_does_not_is_shown(text: str, declared: bool) -> None:
    try:
        rules = parse((DECLARED if declared else "") + text, "generated")
    except RuleError:
        return
    assert all(diagnostic.span is not None for diagnostic in refused_or_resolved(rules))


@given(valid_rule_sets())
def test_valid_rule_sets_pass_and_resolve(rules: RuleSet) -> None:
    assert refused_or_resolved(rules) == ()


@settings(max_examples=30)  # drawing nonsense takes long
@given(rule_sets())
def test_nonsense_is_refused_or_can_be_resolved(rules: RuleSet) -> None:
    assert all(diagnostic.message for diagnostic in refused_or_resolved(rules))
