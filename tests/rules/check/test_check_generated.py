"""Generated rules: valid ones pass, and whatever passes can be resolved."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from cepheus.core.errors import Diagnostic, RuleError
from cepheus.language.tesla import parse
from cepheus.rules.check import check
from cepheus.rules.resolve import resolve

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
    attributes = ("n", "d") if event_type == "C" else ("n", "d", "s")
    found = []
    chosen: list[str] = draw(st.lists(st.sampled_from(attributes), unique=True, max_size=3))
    for attribute in chosen:
        same = [name for name, bound in draft.parameters.items() if (bound == "s") == (attribute == "s")]
        if same and draw(st.booleans()):
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


NAMES = st.sampled_from(["A", "B", "C", "X", "n", "d", "s", "time"])
OPERANDS = st.one_of(
    st.sampled_from(["n", "d", "s", "time", "A.n", "B.d", "X.z", "$p", "$q", "$r", "1", "2.5", "'x'", "true"]),
    st.sampled_from(["n+1", "d-$p", "time-A.time", "s*2", "coalesce(n, 0)", "length(s)", "max(n, d)", "-n", "1/0"]),
)
COMPARISONS = st.builds("{} {} {}".format, OPERANDS, st.sampled_from(["=", "!=", "<", ">="]), OPERANDS)
CONTENTS = st.lists(st.one_of(COMPARISONS, OPERANDS), max_size=3).map(" and ".join)
EVENTS = st.builds("{}({}){}".format, NAMES, CONTENTS, st.sampled_from(["", "", " as X", " as Y"]))
SCOPES = st.builds(str.format, st.sampled_from(["within 1 s from {}", "within 0 s from {}", "between {} and B"]), NAMES)
WINDOWS = st.builds("within 1 s from {}".format, NAMES)
AGGREGATES = st.builds("{}({}.{} {})".format, st.sampled_from(["Avg", "Sum", "Max", "Last"]), EVENTS, NAMES, SCOPES)
PARTS = st.one_of(
    st.builds("last {} {}".format, EVENTS, WINDOWS),
    st.builds("not {} {}".format, EVENTS, SCOPES),
    st.builds("${} = {}".format, st.sampled_from(["p", "q"]), AGGREGATES),
    st.builds("{} < {}".format, OPERANDS, AGGREGATES),
)
RULES = st.builds(
    "define {}(n: int, d: double) from {} where n={}, d={}".format,
    NAMES,
    st.builds(lambda first, rest: " and ".join([first, *rest]), EVENTS, st.lists(PARTS, max_size=4)),
    OPERANDS,
    st.one_of(OPERANDS, AGGREGATES),
)


@given(st.lists(RULES, min_size=1, max_size=3), st.booleans())
def test_whatever_passes_can_be_resolved(texts: list[str], declared: bool) -> None:
    text = (DECLARED if declared else "") + ";\n".join(texts)
    found: tuple[Diagnostic, ...] = ()
    try:
        for rule in check(parse(text, "generated")).rules.rules:
            resolve(rule)
    except RuleError as refused:
        found = refused.diagnostics
    assert all(diagnostic.span is not None for diagnostic in found)
