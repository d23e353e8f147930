"""Each construct of the language: other spellings give the canonical text."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

import pytest

from cepheus.core.errors import RuleError
from cepheus.core.time import DAY, SECOND
from cepheus.core.values import INT_MAX, INT_MIN, ValueType
from cepheus.language.tesla import (
    format_event_pattern,
    format_expression,
    format_pattern,
    format_rules,
    parse,
    parse_event_pattern,
    parse_pattern,
)
from cepheus.rules.expressions import Arithmetic, AttributeRef, Constant, Negative
from cepheus.rules.model import Aggregation, RuleSet, Selection


def constraints(text: str) -> str:
    """Give the canonical text of the constraints of an event."""
    return format_event_pattern(parse_event_pattern(f"A({text})"))[2:-1]


def items(text: str) -> str:
    """Give the canonical text of what follows the terminator of a pattern."""
    return " ".join(format_pattern(parse_pattern(f"A and {text}")).split()).removeprefix("A() and ")


@pytest.mark.parametrize("text", ["", "  \n", ";", ";;", "-- nothing", "/* nothing */ # here"])
def test_an_empty_text_has_no_rules(text: str) -> None:
    assert parse(text) == RuleSet()
    assert format_rules(parse(text)) == ""


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("x=1", "x=1"),
        ("x==1, y!=2 and z<>3", "x=1 and y!=2 and z!=3"),
        ("x=<1, x<=1, x=>1, x>=1, x<1, x>1", "x<=1 and x<=1 and x>=1 and x>=1 and x<1 and x>1"),
        ("1<x<y<=$z", "1 < x < y <= $z"),
        ("active", "active"),
        ("contains(name, 'x') and starts_with(name, 'y')", "contains(name, 'x') and starts_with(name, 'y')"),
        ("x>Temp.value*2", "x>Temp.value*2"),
        ("x = a+b*c-(d-e)/f", "x=a+b*c-(d-e)/f"),
        ("x = ((a+b))*((c))", "x=(a+b)*c"),
        ("x = a-(b+c)", "x=a-(b+c)"),
        ("x = (a-b)-c", "x=a-b-c"),
        ("x = a - -3", "x=a- -3"),
        ("x = a*-3", "x=a*-3"),
        ("x = -a*b", "x=-a*b"),
        ("x = -(a*b)", "x=-(a*b)"),
        ("x = -(3)", "x=-(3)"),
        ("x = - - 3", "x=-(-3)"),
        ("x = -(-a)", "x=-(-a)"),
        ("x = 1.50e3", "x=1500.0"),
        ("x = .5", "x=0.5"),
        ("x = 1e22", "x=1e+22"),
        ("x = 18%", "x=18"),
        ("x = 18.5 %", "x=18.5"),
        ("x = TRUE and y = False", "x=true and y=false"),
        ('x = "a\'b"', "x='a\\'b'"),
        ("x = 'tab\\t, quote\\', slash\\\\, \\u00e9, \\U0001F600'", "x='tab\\t, quote\\', slash\\\\, é, 😀'"),
        ("x = \u201cA1\u201d and y = \u2018B\u2019", "x='A1' and y='B'"),
        ("x = '\\u0000\\n'", "x='\\u0000\\n'"),
        ("x < timestamp '2026-01-31T10:00:00Z'", "x<timestamp '2026-01-31T10:00:00Z'"),
        ("x < timestamp '2026-01-31T10:00:00+01:00'", "x<timestamp '2026-01-31T09:00:00Z'"),
        ("x < timestamp '-9000000000000000000 us'", "x<timestamp '-9000000000000000000 us'"),
        ("v=\\$x", "v=$x"),
        ("ABS(x) > Max(y, 3, Min(z, 4))", "abs(x)>max(y, 3, min(z, 4))"),
        ("min > 3 and last < 4 and Count = 5", "min>3 and last<4 and Count=5"),
        ("timestamp > 3 and probability < 4 and event = rule", "timestamp>3 and probability<4 and event=rule"),
        ("each > first and x = 5-last", "each>first and x=5-last"),
        ("x = 5-last and abs(y) > 1", "x=5-last and abs(y)>1"),
        ("B.min > B.last", "B.min>B.last"),
    ],
)
def test_constraints(text: str, canonical: str) -> None:
    assert constraints(text) == canonical
    assert constraints(canonical) == canonical


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("each B within 5 min from A", "each B() within 5 min from A"),
        ("LAST B() WITHIN 5 Min. FROM A", "last B() within 5 min from A"),
        ("first B() within 90s from A", "first B() within 90 s from A"),
        ("3 last B() within 1.5 h from A", "3 last B() within 90 min from A"),
        ("3-last B() within 2 days from A", "3 last B() within 2 day from A"),
        ("12-First B within 1 week from A", "12 first B() within 1 week from A"),
        ("2-last B as C within 0.5 ms from A", "2 last B() as C within 500 us from A"),
        ("not B(x=$a) within 1 m from A", "not B(x=$a) within 1 min from A"),
        ("not B as C between A and D", "not B() as C between A and D"),
        ("Count(B() within 5 min from A) >= 3", "Count(B() within 5 min from A) >= 3"),
        ("Count(B()) within 5 min from A) >= 3", "Count(B() within 5 min from A) >= 3"),
        ("$t = Avg(B.y within 5 min from A)", "$t = Avg(B().y within 5 min from A)"),
        ("t == avg(B() as C.y between A and D)", "$t = Avg(B() as C.y between A and D)"),
        ("Sum(T(x>1).(price*volume) between A and D) > 1", "Sum(T(x>1).(price*volume) between A and D) > 1"),
        ("1 < $t = Max(B().y within 1 s from A) < 9", "1 < $t = Max(B().y within 1 s from A) < 9"),
        ("Last(B().y within 1 s from A) = 2", "Last(B().y within 1 s from A) = 2"),
        ("min(1, 2) < Min(B(x=max(1, y)).y within 1 s from A)", "min(1, 2) < Min(B(x=max(1, y)).y within 1 s from A)"),
        ("45 = Stddev(B() within 1 s from A).y", "45 = Stddev(B().y within 1 s from A)"),
        ("A.x = First(B().y within 1 s from A)", "A.x = First(B().y within 1 s from A)"),
        ("last Day(x=1) within 1 day from A", "last Day(x=1) within 1 day from A"),
        ("each Count(x=1) within 1 s from A", "each Count(x=1) within 1 s from A"),
        ("each timestamp(x=1) within 1 s from Probability", "each timestamp(x=1) within 1 s from Probability"),
        ("last < Avg(B().last within 1 s from A)", "last < Avg(B().last within 1 s from A)"),
    ],
)
def test_items_of_a_pattern(text: str, canonical: str) -> None:
    assert items(text) == canonical
    assert items(canonical) == canonical


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (
            "event Temp(area:string, value : DOUBLE?, t:timestamp, n:long, f:float, b:boolean, i:integer)",
            "event Temp(area: string, value: double?, t: timestamp, n: int, f: double, b: bool, i: int)\n",
        ),
        ("event Smoke();event Rain()", "event Smoke()\nevent Rain()\n"),
        (
            "define F(last: int, min: int) from A() where last=1, min=A.min",
            "define F(last: int, min: int)\nfrom   A()\nwhere  last=1 and min=A.min\n",
        ),
        (
            "define F(n: int) from A() where F.n=Count(B() within 1 s from A)+1 consuming A, B min probability 0.3",
            "define F(n: int)\nfrom   A()\nwhere  n=Count(B() within 1 s from A)+1\n"
            "consuming A, B\nmin probability 0.3\n",
        ),
        (
            "define F() from A() min probability 1 event G()",
            "event G()\n\ndefine F()\nfrom   A()\nmin probability 1.0\n",
        ),
        (
            "define F(x: int) from A() where x=event event G() rule R define H() from rule_",
            "event G()\n\ndefine F(x: int)\nfrom   A()\nwhere  x=event\n\nrule R\ndefine H()\nfrom   rule_()\n",
        ),
        (
            "define F() from A() and 3 top B() by `rule` per event within 5 s from A",
            "define F()\nfrom   A() and\n       3 top B() by rule per event within 5 s from A\n",
        ),
        (
            "define F() from A() and A.`last` not in (1) error A.rule ~ N(0, 1) + shared N(0, 4) per s",
            "error A.rule ~ N(0, 1) + shared N(0, 4) per s\n\ndefine F()\nfrom   A() and\n       A.last not in (1)\n",
        ),
        (
            "define F(x: int) from A() where x=A.event rule event_ define G() from B /* c */ # d",
            "define F(x: int)\nfrom   A()\nwhere  x=A.event\n\nrule event_\ndefine G()\nfrom   B()\n",
        ),
        (
            "define F(x: int) from A() where x=rule define G() from B",
            "define F(x: int)\nfrom   A()\nwhere  x=rule\n\ndefine G()\nfrom   B()\n",
        ),
    ],
)
def test_statements(text: str, canonical: str) -> None:
    assert format_rules(parse(text)) == canonical
    assert parse(canonical) == parse(text)


def test_long_assignments_stand_one_to_a_line() -> None:
    name = "n" * 60
    text = f"define F({name}: int, b: int)\nfrom   A()\nwhere  {name}=A.{name} and\n       b=A.b\n"
    assert format_rules(parse(text)) == text


def test_integers_reach_their_limits() -> None:
    event = parse_event_pattern(f"A(x={INT_MIN}, x={INT_MAX})")
    assert constraints(f"x={INT_MIN}, x={INT_MAX}") == f"x={INT_MIN} and x={INT_MAX}"
    assert event.constraints[0] != event.constraints[1]


def test_a_minus_belongs_to_the_number_behind_it() -> None:
    x, three = AttributeRef(None, "x"), Constant(3, ValueType.INT)
    assert parse_event_pattern("A(x-3)").constraints == (Arithmetic("-", x, three),)
    assert parse_event_pattern("A(-3)").constraints == (Constant(-3, ValueType.INT),)
    assert parse_event_pattern("A(-(3))").constraints == (Negative(three),)
    assert format_expression(Negative(three)) == "-(3)"


def test_durations_are_exact() -> None:
    windows = [
        item.window.duration
        for item in parse_pattern("A and last B within 0.000001 s from A and last C within 106751991 d from A").items
        if isinstance(item, Selection)
    ]
    assert windows == [1, 106751991 * DAY]
    assert (
        parse_pattern("A and last B within 0001.50 s from A").items[0]
        == parse_pattern("A and last B within 1500 ms from A").items[0]
    )
    assert SECOND == 1_000_000


def test_the_last_name_before_an_aggregate_is_bound() -> None:
    item = parse_pattern("A and $u = $t = Avg(B().y within 1 s from A)").items[0]
    assert isinstance(item, Aggregation)
    assert item.parameter == "t"
    assert item.comparison is not None
    assert len(item.comparison.operands) == 2


def test_spans_cover_what_messages_underline() -> None:
    text = (
        "rule R define F(n: int) from Smoke(area=$a) and 2 last Temp(-v > ($a+1)) as T within 5 min. from Smoke and "
        "30 < $t = Avg(X().y within 1 s from T) where F.n = abs(T.v) consuming T, Smoke min probability 0.5;"
    )
    rule = parse(text).rules[0]
    selection, aggregation = rule.pattern.items
    assert isinstance(selection, Selection)
    assert isinstance(aggregation, Aggregation)
    constraint = selection.event.constraints[0]
    spans = {
        "rule": rule.span,
        "composite": rule.composite.span,
        "attribute": rule.composite.attributes[0].span,
        "terminator": rule.pattern.terminator.span,
        "equality": rule.pattern.terminator.constraints[0].span,
        "selection": selection.span,
        "event": selection.event.span,
        "constraint": constraint.span,
        "window": selection.window.span,
        "aggregation": aggregation.span,
        "aggregate": aggregation.aggregate.span,
        "comparison": aggregation.comparison.span if aggregation.comparison else None,
        "assignment": rule.assignments[0].span,
        "value": rule.assignments[0].value.span,
    }
    assert {name: span.text if span else None for name, span in spans.items()} == {
        "rule": text.removesuffix(";"),
        "composite": "F",
        "attribute": "n",
        "terminator": "Smoke",
        "equality": "area=$a",
        "selection": "2 last Temp(-v > ($a+1)) as T within 5 min. from Smoke",
        "event": "Temp",
        "constraint": "-v > ($a+1)",
        "window": "within 5 min. from Smoke",
        "aggregation": "30 < $t = Avg(X().y within 1 s from T)",
        "aggregate": "Avg(X().y within 1 s from T)",
        "comparison": "30 < $t = Avg(X().y within 1 s from T)",
        "assignment": "F.n",
        "value": "abs(T.v)",
    }
    assert [span.text for span in rule.consuming_spans] == ["T", "Smoke"]


@pytest.mark.parametrize("pattern", ["A", "A( )", "A(x=(1))", "A(x=Avg(B(y>1).y within 1 s from A)) as C", "A as C"])
def test_a_rule_ends_where_its_terminator_ends(pattern: str) -> None:
    rule = parse(f" define F() from {pattern} ; event G()").rules[0]
    assert rule.span is not None
    assert rule.span.text == f"define F() from {pattern}"
    assert rule.pattern.span is not None
    assert rule.pattern.span.text == pattern


def test_texts_parse_in_several_threads_at_once() -> None:
    texts = [f"define F{number}() from A(x={number})\n" * 50 for number in range(8)]
    with ThreadPoolExecutor(4) as pool:
        parsed = list(pool.map(parse, texts))
    assert [rules.rules[-1].composite.name for rules in parsed] == [f"F{number}" for number in range(8)]
    assert all(
        rule.span and rule.span.source.text == text
        for rules, text in zip(parsed, texts, strict=True)
        for rule in rules.rules
    )
    assert gc.isenabled()


def test_a_byte_order_mark_is_a_space() -> None:
    assert parse("\ufeffevent A()") == parse("event A()")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000 + "x" + ")" * 10_000,
        "-" + " -" * 10_000 + "x",
        "x" + "+x" * 10_000,
        "x=" + "abs(" * 10_000 + "x" + ")" * 10_000,
        "x=" + "min(1, " * 5_000,
        "Avg(B(" * 3_000,
        "x" + "<x" * 20_000 + ")",
        "\u201c" * 20_000,
        "'" * 20_001,
        "/*" * 20_000,
        "x='" + "\\" * 20_001,
        "$" * 5_000,
        "x=" + "9" * 100_000,
        "x=" + "9" * 100_000 + ".5e9",
        "x=1e" + "9" * 10_000,
        "\x00" * 2_000,
        " " * 200_000 + "(",
    ],
    ids=lambda text: text[:12],
)
def test_hostile_text_is_an_error(text: str) -> None:
    with pytest.raises(RuleError):
        parse_event_pattern(f"A({text})")
    with pytest.raises(RuleError):
        parse(f"define F() from A({text})")


def test_long_lists_are_fine() -> None:
    event = parse_event_pattern("A(" + ", ".join(["x=1"] * 20_000) + ")")
    assert len(event.constraints) == 20_000
    pattern = parse_pattern("A" + " and last B within 1 s from A" * 5_000)
    assert len(pattern.items) == 5_000


def test_a_hundred_levels_are_fine() -> None:
    assert constraints("x=" + "(" * 99 + "y" + ")" * 99) == "x=y"
    assert constraints("x=y" + "+y" * 99) == "x=y" + "+y" * 99
