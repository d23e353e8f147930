"""Mistakes in ETALIS text: what is said, where, and what to do about it."""

from __future__ import annotations

import pytest

from cepheus.core.errors import RuleError
from cepheus.core.time import TimeUnit
from cepheus.language.etalis import parse
from cepheus.rules.check import check
from cepheus.rules.interval.model import Combined, Lasting, Operator, TimePoint

ONE = [
    ("e(X) <- a(X) b(X).", "syntax", "b", "an operator is missing before it"),
    ("e(X) <- a(X) SQE b(X).", "syntax", "SQE", "did you mean 'SEQ'?"),
    ("e <- (a SEQ b.", "syntax", ".", "the '(' before it is not closed"),
    ("e <- a SEQ b).", "syntax", ")", "nothing is open here that it could close"),
    ("e <- a SEQ", "syntax", "SEQ", "end the statement with a full stop"),
    ("e <- a WHERE X > 3 SEQ b.", "syntax", "SEQ", None),
    ("rise: e <- a.", "syntax", ":", "a rule's name is written LABEL name:"),
    ("e <- (a SEQ b).20 fortnights.", "unit", "20 fortnights", "write one of us, ms, s, min, h, day, week"),
    ("unit fortnight. e <- a.", "unit", "fortnight", "write one of us, ms, s, min, h, day, week"),
    ("e <- (a SEQ b).0.5 us.", "duration", "0.5 us", None),
    ("e(X) <- a(X) WHERE X > foo(3).", "function", "foo(3)", "did you mean 'floor'?"),
    (
        "e(A) <- a(P) WHERE A = AVG(P).",
        "function",
        "AVG(P)",
        "an aggregate needs a window: AVG(P, stock(X, P, _) WITHIN 10 s)",
    ),
    (
        "e <- a WHERE COUNT(a(_)) > 3.",
        "function",
        "COUNT(a(_))",
        "an aggregate needs a window: COUNT(stock(X, _, _) WITHIN 10 s)",
    ),
    (
        "e(COUNT(a(_) WITHIN 5 s)) <- a(_).",
        "misplaced-aggregate",
        "COUNT(a(_) WITHIN 5 s)",
        "write N = COUNT(a(_) WITHIN 5 s) in WHERE of a rule for events, and N in its head",
    ),
    (
        "p(1 + MAX(X, a(X) WITHIN 5 s)) :- q(_).",
        "misplaced-aggregate",
        "MAX(X, a(X) WITHIN 5 s)",
        "write N = MAX(X, a(X) WITHIN 5 s) in WHERE of a rule for events, and N in its head",
    ),
    ("event a(x: int).e(X) <- a(X).", "syntax", ".", "write a space behind it, or a new line"),
    ("p(1).q(2).", "syntax", ".", "write a space behind it, or a new line"),
    (
        "e(X) <- a(X).f(X) <- b(X).",
        "syntax",
        ".",
        "write a space behind it, or a new line; a window is written (p).20 s, a negation NOT(p).[q, r]",
    ),
    ("e <- NOT(a).b.", "syntax", "b", "a window is written (p).20 s, a negation NOT(p).[q, r]"),
    ("e <- a SEQ b POLICY recent, shorter, longer.", "policy", "longer", "keep one of the two"),
    (
        "e(N) <- a WHERE N = COUNT(3, a WITHIN 5 s).",
        "aggregate",
        "COUNT(3, a WITHIN 5 s)",
        "write COUNT(stock(X, _, _) WITHIN 10 s)",
    ),
    ("policy newest. e <- a.", "policy", "newest", "write one of unrestricted, recent, chronological"),
    ("e <- a POLICY recent, greatest.", "policy", "greatest", "write greatest Volume, with a variable of the rule"),
    ("e <- a POLICY unrestricted, once.", "policy", "unrestricted, once", "write policy unrestricted"),
    ("road(a, [b, X]).", "fact", "[b, X]", "a rule is written head <- pattern, or head :- conditions"),
    ("e(X) <- a(X) WHERE X = 1 | X = 2.", "syntax", "|", "a bar stands in a list, [H|T]; an alternative is written OR"),
    ("e(X) <- a([X|2]).", "list", "2", "write [H|T]"),
    ("e(X) <- a([X + 1]).", "argument", "X + 1", "name it with a variable and say in WHERE what that equals"),
    ("e(X) <- a(X) WHERE [X].", "not-a-condition", "[X]", "write X in [..] or L = [..]"),
    ("e(X) <- a([X, [Y).", "syntax", ")", "the '[' before it is not closed"),
    ("e([_]) <- a.", "anonymous", "_", "give the variable a name"),
    ("e <- a SEQ.", "syntax", ".", "an event is missing behind 'SEQ'"),
    ("e <- (a SEQ).", "syntax", ")", "an event is missing behind 'SEQ'"),
    ("e <- SEQ b.", "syntax", "SEQ", "an event is missing behind '<-'"),
    ("e(X) <- a(X) WHERE X > .", "syntax", ".", "a value is missing behind '>'"),
    ("e(X) <- a(X) WHERE .", "syntax", ".", "a condition is missing behind 'WHERE'"),
    ("e(X,) <- a(X).", "syntax", ")", "a value is missing behind ','"),
    (
        "e <- a, b.",
        "syntax",
        ",",
        "write AND for events in any order, SEQ for one after the other; conditions of WHERE have commas",
    ),
    ("<- a.", "syntax", "<-", "what the rule defines stands before it, as in alarm(X) <- .."),
    ("e -> a.", "syntax", ">", "the arrow of a rule points to what it defines: head <- pattern"),
    ("event a(x int).", "syntax", "int", "an attribute is declared with a colon, as in x: int"),
    ("event a(x: int y: int).", "syntax", "y", "a comma is missing before it"),
    ("event a.", "syntax", ".", "write a()"),
    (
        "e(X) <- a(" + "[" * 70 + "X" + "]" * 70 + ").",
        "nesting",
        "[" * 65 + "X" + "]" * 65,
        "use fewer brackets: put the parts of the list side by side",
    ),
    (
        "e(X) <- a(X) WHERE 1 < " + " + ".join(["X"] * 300) + " < 7.",
        "nesting",
        " + ".join(["X"] * 101),
        "split the rule into several",
    ),
    (
        "policy recent, chronological. e <- a.",
        "policy",
        "chronological",
        "write one of once, renewing, onesided, shorter, longer, greatest, least",
    ),
    ("limit -5. e <- a.", "fact-limit", "limit -5", "write a whole number"),
    ("e(X) <- a(X) WHERE X + 1.", "not-a-condition", "X + 1", "compare it"),
    ("e(X) <- a(X) WHERE 3.", "not-a-condition", "3", "compare it with something"),
    ("policy recent. policy recent. e <- a.", "repeated", "policy recent.", "keep one of the two"),
    ("e(X) <- a(X + 1).", "argument", "X + 1", "name it with a variable and say in WHERE what that equals"),
    ("e <- (a AND b) CNOT c.", "negation", "CNOT", "write (q SEQ r) CNOT p"),
    ("near(X, b).", "fact", "X", "a rule is written head <- pattern, or head :- conditions"),
    ("e <- a; f <- b.", "character", ";", "statements end with a full stop"),
    ("e($x) <- a.", "character", "$", "variables begin with a capital letter, without a dollar sign"),
    ('e <- a("GO).', "string", '"GO).', 'close it with ", or write \\n for a new line'),
    ("e <- a. /* never", "comment", "/*", "write */"),
    ("event a(x: number).", "type", "number", "write int, double, string, bool, timestamp or list"),
]


@pytest.mark.parametrize(("text", "code", "place", "hint"), ONE)
def test_one_mistake(text: str, code: str, place: str, hint: str | None) -> None:
    with pytest.raises(RuleError) as raised:
        parse(text)
    (finding,) = raised.value.diagnostics
    assert finding.span is not None
    assert (finding.code, finding.span.text, finding.hint) == (code, place, hint)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(RuleError) as raised:
        parse("e(X) <- a(X) b(X).\nf <- c.\ng <- (a SEQ b.\nh(X) <- a(X) WHERE foo(X) > 3.")
    assert [finding.span and finding.span.line for finding in raised.value.diagnostics] == [1, 3, 4]


@pytest.mark.parametrize(
    "text",
    [
        "e <- " + "(" * 2000 + "a" + ")" * 2000 + ".",
        "e <- " + " SEQ ".join(["a"] * 2000) + ".",
        "e <- " + " OR ".join(["a"] * 2000) + ".",
        "e(X) <- a(X) WHERE " + " + ".join(["X"] * 2000) + " > 0.",
        "e(X) <- a(X) WHERE NOT " + "NOT " * 2000 + "X = 1.",
        "near(" + " + ".join(["X"] * 2000) + ") :- road(X).",
    ],
)
def test_deep_nesting_is_refused_not_overflown(text: str) -> None:
    with pytest.raises(RuleError, match="nested more than 100 deep") as raised:
        parse(text)
    assert len(raised.value.diagnostics) == 1


def test_long_lists_of_conditions_are_not_deep() -> None:
    for word in (" AND ", ", ", " OR "):
        assert len(parse("e(X) <- a(X) WHERE " + word.join(["X > 1"] * 2000) + ".").interval_rules) == 1


def test_a_comparison_with_a_negative_number_is_no_arrow() -> None:
    (rule,) = parse("e(X) <- a(X) WHERE X <-3.").interval_rules
    assert "'<'" in repr(rule.pattern)


@pytest.mark.parametrize(
    ("text", "unit", "duration"),
    [
        ("(a SEQ b).20", TimeUnit.S, 20_000_000),
        ("(a SEQ b).20", TimeUnit.US, 20),
        ("(a SEQ b).20 ms", TimeUnit.S, 20_000),
        ("(a SEQ b).1.5 min", TimeUnit.US, 90_000_000),
    ],
)
def test_units(text: str, unit: TimeUnit, duration: int) -> None:
    pattern = parse(f"e <- {text}.", unit=unit).interval_rules[0].pattern
    assert isinstance(pattern, Lasting)
    assert pattern.duration == duration


def test_the_unit_of_a_file_goes_before_that_of_the_command() -> None:
    pattern = parse("e <- 0 SEQ 6. unit min.", unit=TimeUnit.S).interval_rules[0].pattern
    assert pattern == Combined(Operator.SEQ, TimePoint(0), TimePoint(360_000_000))


@pytest.mark.parametrize(
    ("one", "other"),
    [("a SEQ b", "b AFTER a"), ("a SEQ b", "a before b"), ("a MEETS b", "b MET BY a"), ("a DURING b", "b contains a"),
     ("a STARTS b", "b Started By a"), ("a FINISHES b", "b finished_by a"), ("a OVERLAPS b", "b OVERLAPPED BY a"),
     ("NOT(c).[a, b]", "(a SEQ b) CNOT c"), ("NOT(c)[a, b]", "NOT(c).[a, b]"), ("a SEQ b AND c", "((a SEQ b) AND c)")],
)  # fmt: skip
def test_two_ways_to_write_one_thing(one: str, other: str) -> None:
    assert parse(f"e <- {one}.").interval_rules == parse(f"e <- {other}.").interval_rules


HABITS: dict[str, tuple[str, str, str]] = {
    "e(X) <- a(X, Par) WHERE Par > 3.": (
        "Par",
        "'Par' is a word of the language in any case: call the variable otherwise, such as {}",
        "Par1",
    ),
    "e(Seq) <- a(Seq).": (
        "Seq",
        "'Seq' is a word of the language in any case: call the variable otherwise, such as {}",
        "Seq1",
    ),
    "e(X) <- a(X) WHERE X in (1, 2).": (",", "a list is written in brackets: {}", "X in [1, 2]"),
    "e(X) <- a(X) WHERE X not in [1, 2].": ("not", "write NOT X in [..]", "NOT X in [1, 2]"),
    "e(X) <- a(X) WHERE X >= 5 ms.": (
        "ms",
        "units stand in windows alone: write the number, which is 5000 if the other is in microseconds",
        "X >= 5000",
    ),
    "e(X) <- a(X) WHERE !starts_with(X, 'a').": (
        "!",
        "write NOT before a condition, != for 'not equal'",
        "NOT starts_with(X, 'a')",
    ),
    "e(X) <- a(X) WHERE X > 3 && X < 5.": ("&&", "write AND", "X > 3 AND X < 5"),
    "e(X) <- a(X) WHERE X > 3 || X < 2.": (
        "|",
        "a bar stands in a list, [H|T]; an alternative is written OR",
        "X > 3 OR X < 2",
    ),
    "e(X) <- a(X) WHERE X is not null.": (
        "not",
        "a null is no value: an event matches only if the arguments that the rule reads have one",
        "X > 3",
    ),
    "e(X) <- a(X) WHERE X IS NULL.": (
        "NULL",
        "a null is no value: an event matches only if the arguments that the rule reads have one",
        "X > 3",
    ),
    "e(X) <- a(X) WHERE X LIKE 'a%'.": (
        "LIKE",
        "write starts_with(X, '..'), ends_with, contains or matches(X, '..')",
        "matches(X, 'a.*')",
    ),
    "e(X) <- a(X) WHERE X matches 'a.*'.": ("matches", "write {}", "matches(X, 'a.*')"),
    "e(X) <- a(X) WHERE X contains 'a'.": ("contains", "write {}", "contains(X, 'a')"),
    "e(X) <- a(X) WHERE X BETWEEN 3 AND 5.": ("BETWEEN", "write {}", "3 <= X <= 5"),
    "e(X) <- a(X) WHERE host.id = X.": (
        ".",
        "give the argument of the event a variable, as in login(Id), and compare that",
        "X = 3",
    ),
    "e(X) <- a(X) WHERE x > 3.": ("3", "'x' is a text; a variable begins with a capital letter", "X > 3"),
    "e(X) <- a(X) WHERE X =:= 2.": (":", "comparisons are =, !=, <, <=, > and >=", "X = 2"),
    "e(X) <- a(X) WHERE X = 'it''s'.": ("'s'", "a quotation mark in a string is written \\'", "X = 'it\\'s'"),
    "e(X) <- a(X) WHERE X % 2 = 0.": (
        "X",
        "end the statement with a full stop; % begins a comment, and a remainder is {}",
        "mod(X, 2)",
    ),
    "e(X) <- a(x: X).": (":", "arguments go by their order and have no names: write the variable alone", "X > 3"),
    "e(X) :- a(X) SEQ b(X).": ("SEQ", "a rule over events is written with an arrow: head <- pattern", "X > 3"),
    "e(X) <- a(X) -> b(X).": ("-", "one event after the other is written a SEQ b", "X > 3"),
    "e(X) <- a(X) SEQ b(X) within 5 min.": (
        "within",
        "a window is written behind the pattern in parentheses: (p).20 s",
        "X > 3",
    ),
    "e(X) <- every a(X).": ("a", "leave it out: every event counts, as far as the policy allows", "X > 3"),
    "define F() from a(x) .": (
        "F",
        "rules of TESLA, define .. from .., stand in a file of their own that ends with .tesla",
        "X > 3",
    ),
}
"""By a rule as others would write it: what is marked, the hint, and a condition that it advises."""


@pytest.mark.parametrize("text", HABITS)
def test_habits_from_other_languages(text: str) -> None:
    marked, hint, advice = HABITS[text]
    with pytest.raises(RuleError) as caught:
        check(parse(text))
    (found,) = caught.value.diagnostics
    assert found.span is not None
    assert (found.span.text, found.hint) == (marked, hint.format(advice))
    if "(" not in advice and " " not in advice:
        advice = f"X != {advice}, {advice} = X"
    if advice.startswith("mod"):
        advice += " = 0"
    check(parse(f"e(X) <- a(X, Par1, Seq1) WHERE {advice}."))
