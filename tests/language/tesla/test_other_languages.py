"""What people write who know SQL, Python or EQL: each is told what to write instead, and that can be written."""

from __future__ import annotations

import pytest

import cepheus
from cepheus.core.errors import Diagnostic, RuleError


def finding(text: str) -> Diagnostic:
    """Give the only thing that is wrong with a rule."""
    with pytest.raises(RuleError) as caught:
        cepheus.compile(text)
    (found,) = caught.value.diagnostics
    return found


CONSTRAINTS: dict[str, tuple[str, str, str]] = {
    "name in 'a'": ("in", "the values stand in parentheses: name in (1, 2)", "name in ('a', 'b')"),
    "name not in 'a'": ("in", "the values stand in parentheses: name not in (1, 2)", "name not in ('a', 'b')"),
    "!open": ("!", "write {}", "not open"),
    "!starts_with(name, 'a')": ("!", "write not starts_with(..)", "not starts_with(name, 'a')"),
    "x > 3 && x < 9": ("&&", "write 'and'", "x > 3 and x < 9"),
    "x = 2 || x = 3": ("||", "write 'or'; texts are put together by concat(a, b)", "x = 2 or x = 3"),
    "x is not 3": ("is", "write {}, or x != ..", "x is not null"),
    "x isnull": ("isnull", "write {}, or x = ..", "x is null"),
    "name LIKE 'a%'": ("LIKE", "write {}", "starts_with(name, 'a')"),
    "name like '%a'": ("like", "write {}", "ends_with(name, 'a')"),
    "name like '%a%'": ("like", "write {}", "contains(name, 'a')"),
    "name like 'a'": ("like", "write {}", "name = 'a'"),
    "x not null": ("null", "write {}", "x is not null"),
    "name not like 'a%'": ("like", "write {}", "not starts_with(name, 'a')"),
    "name ilike 'A%'": ("ilike", "write {}", "starts_with(lower(name), 'a')"),
    "name like 'a_b%c'": ("like", "write {}: . is any character, .* any text", "matches(name, 'a.b.*c')"),
    "name like 'a.b_'": ("like", "write {}: . is any character, .* any text", "matches(name, 'a\\\\.b.')"),
    "name =~ 'a.*'": ("~", "write {}", "matches(name, 'a.*')"),
    "name ~ 'a.*'": ("~", "write {}", "matches(name, 'a.*')"),
    "name matches 'a.*'": ("matches", "write {}", "matches(name, 'a.*')"),
    "name rlike 'a.*'": ("rlike", "write {}", "matches(name, 'a.*')"),
    "name contains 'a'": ("contains", "write {}", "contains(name, 'a')"),
    "name starts with 'a'": ("starts", "write {}", "starts_with(name, 'a')"),
    "x BETWEEN 3 AND 5": ("BETWEEN", "write {}", "3 <= x <= 5"),
    "x not between 3 and 5": ("between", "write {}", "x < 3 or x > 5"),
    "time >= 5 ms": (
        "time >= 5 ms",
        "between two times lies a length of time: A.time - B.time > 5 ms",
        "time - timestamp '2026-01-31T12:00:00Z' > 5 ms",
    ),
    "x === 3": ("=", "comparisons are =, !=, <, <=, > and >=", "x = 3"),
    "x ≥ 3": ("≥", "write >=", "x >= 3"),
    "x % 2 = 0": ("%", "a percent sign may only follow a number; a remainder is {}", "mod(x, 2)"),
    "x ** 2 > 4": ("*", "a power is written {}", "pow(x, 2)"),
    "x > 1_000": ("_000", "write {}", "1000"),
    "x = 0x10": ("x10", "write {}", "16"),
    "name = 'it''s'": ("'s'", "a quotation mark in a string is written {}", "\\'"),
    "len(name) > 3": ("len", "write length(s)", "length(name) > 3"),
    "name.startswith('a')": (
        "startswith",
        "functions have no dot before them: starts_with(name, ..)",
        "starts_with(name, 'a')",
    ),
    "now() > time": ("now", "'time' is the time of the event; a window looks back", "x = 1"),
    "x > :limit": (":", "a parameter is written $limit", "x > 1"),
    "host.id = 3": (
        "host",
        "a name with a dot stands in backquotes: {}; events that can be referred to here: A",
        "`host.id`",
    ),
    "host.id.name = 'b'": (".", "a name with dots stands in backquotes: {}", "`host.id.name`"),
}
"""By a constraint: what is marked, the hint, and what of it can be written, or else what it advises to write."""

VALUES = ("timestamp", "300000000", "mod(", "pow(", "1000", "16", "`host")


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_constraints(constraint: str) -> None:
    marked, hint, advice = CONSTRAINTS[constraint]
    found = finding(f"define F() from A({constraint})")
    assert found.span is not None
    assert (found.span.text, found.hint) == (marked, hint.format(advice))
    if advice == "\\'":
        advice = "name = 'it\\'s'"
    elif advice.startswith(VALUES):
        advice = f"{'time' if advice.startswith('timestamp') else 'x'} >= {advice}"
    assert cepheus.compile(f"define F() from A({advice})").warnings == ()


PATTERNS: dict[str, tuple[str, str, str]] = {
    "A(x = $x) and $x > 3 or $x < 1": (
        "or",
        "conditions with 'or' stand in parentheses, {}; for one event or another, write two rules",
        "and (a or b)",
    ),
    "A() and x > 3": ("x", "write it with its event, such as '{}'", "A.x"),
    "A() and last B() within 5 min": ("", "say which event the window ends at: {}", "within 5 min from A"),
    "A() and last B() within 5 min before A": (
        "before",
        "say which event the window ends at: {}",
        "within 5 min from A",
    ),
    "A() and last B() within 5 min after A": (
        "within 5 min after A",
        "the later event comes first, and looks back: from {}; or begin with 'from 5 min after A(..)' "
        "and look back from now",
        "B() and last A() within 5 min from B",
    ),
    "A() followed by B()": (
        "followed",
        "the later event comes first, and looks back: from {}",
        "B() and last A() within 5 min from B",
    ),
    "A() -> B()": (
        "-",
        "the later event comes first, and looks back: from {}",
        "B() and last A() within 5 min from B",
    ),
    "A, B": (
        ",",
        "every further event has its selection and its window: {}",
        "and last B(..) within 5 min from A",
    ),
    "A() within 5 min": (
        "within",
        "the first event has no window; the others have one: {}",
        "A(..) and last B(..) within 5 min from A",
    ),
    "every A()": (
        "A",
        "the first event is the terminator: every one counts, so it takes no selection",
        "A()",
    ),
    "A a": ("a", "another name for the event is written {}", "A as a"),
    "A() and no B() within 5 min from A": ("B", "write {}", "not B(..) within 5 min from A"),
    "A() and some B() within 5 min from A": ("B", "write each B(..), last B(..) or first B(..)", "A()"),
    "A() and !B() within 5 min from A": ("!", "write not B(..)", "A()"),
    "A() and at least 3 B() within 5 min from A": (
        "least",
        "count them: {}",
        "3 <= Count(B(..) within 5 min from A)",
    ),
    "A() and 3 B() within 5 min from A": (
        "B",
        "write 3 last B(..), or {}",
        "3 <= Count(B(..) within 5 min from A)",
    ),
    "A() and last 3 B() within 5 min from A": ("3", "the number comes first: 3 last B(..)", "A()"),
    "A() and Count(*) > 3": ("*", "say which events: {}", "Count(B() within 5 min from A)"),
    "A() and last B() within '5 min' from A": (
        "'5 min'",
        "write it without quotation marks: {}",
        "within 5 min from A",
    ),
    "A() and last B() within 1h30m from A": ("h30m", "write one number and one unit, such as {}", "90 min"),
    "A() where x > 3": (
        ">",
        "'where' gives the new event its attributes; a condition goes into the parentheses of an event: {}",
        "A(x > 3)",
    ),
    "A() having count > 3": (
        "having",
        "compare the aggregate in the pattern: {}",
        "and Count(B(..) within 5 min from A) > 3",
    ),
    "A() and Count(B within 1 s from A) > 3 group by x": (
        "group",
        "bind what they have in common: {}",
        "A(key=$k) and $n = Count(B(key=$k) within 5 min from A)",
    ),
    "A() and exists B() within 5 min from A": (
        "B",
        "write {}, or not B(..) for what must not be there",
        "last B(..) within 5 min from A",
    ),
    "A() and top 3 B() by x within 5 min from A": (
        "3",
        "the number comes first: 3 top B(..) by .. within 5 min from A",
        "A()",
    ),
    "A() and all 3 B() within 5 min from A": (
        "3",
        "write all 3.. B(..) for at least so many, all 3..3 for exactly so many",
        "A()",
    ),
    "A() and last(3) B() within 5 min from A": ("3", "the number comes first: 3 last B(..)", "A()"),
    "A() and last B()": ("", "say in which window: {}", "within 5 min from A"),
    "A() and last B() since start": (
        "since",
        "only aggregates go back to the start; give it a long window: within 365 days from A",
        "A()",
    ),
    "A() and not (B() within 5 min from A)": (
        "B",
        "write {}, without the parentheses",
        "not B(..) within 5 min from A",
    ),
    "A() and (last B() within 5 min from A or last C() within 5 min from A)": (
        "B",
        "events do not stand in parentheses; for one event or another, write two rules",
        "A()",
    ),
    "A() and Count(B() per room within 5 min from A) > 3": (
        "per",
        "bind the group: {}",
        "last B(room=$r) per room within 5 min from A and $n = Count(B(room=$r) within 5 min from A)",
    ),
    "A() and count(distinct B.x within 5 min from A) > 3": (
        "B",
        "write {}",
        "CountDistinct(B(..).x within 5 min from A)",
    ),
    "A() and last B() within 1 h 30 min from A": (
        "30",
        "a length of time has one unit, such as {}: within 1 h from A",
        "90 min",
    ),
    "after 5 min A()": ("5", "write {}", "5 min after A(..)"),
    "5 min after last A()": (
        "last",
        "every A sets a time of its own; to wait from the last one: {}",
        "5 min after A(..) and not A(..) as Later between A and now",
    ),
    "every hour and last B() within 1 h from now": (
        "hour",
        "write how many: every 1 hour; from 09:00 says when it begins",
        "every 1 hour",
    ),
    "every 10 min and 2 top B(k = $k) per k by 3 within 1 h from now": (
        "per",
        "say what the groups are ranked by, and then which groups: 10 top Trip(route=$r) by $n per route",
        "every 10 min and 2 top B(k = $k) by 3 per k within 1 h from now",
    ),
    "every 10 min per room": (
        "per",
        "a choice has groups: and last B(..) per room within 10 min from now",
        "every 10 min and last B(..) per room within 10 min from now",
    ),
}
"""By a pattern: what is marked, the hint, and what of it can be written."""

WHOLE = {
    "and (a or b)": "A(x = $x) and ($x > 3 or $x < 1)",
    "A.x": "A() and A.x > 3",
    "within 5 min from A": "A() and last B() within 5 min from A",
    "90 min": "A() and last B() within 90 min from A",
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns(pattern: str) -> None:
    marked, hint, advice = PATTERNS[pattern]
    found = finding(f"define F() from {pattern}")
    assert found.span is not None
    assert (found.span.text, found.hint) == (marked, hint.format(advice))
    rule = WHOLE.get(advice, advice).replace("..", "")
    if rule.startswith(("not", "3", "Count", "and", "last")):
        rule = f"A() and {rule.removeprefix('and ')}" + (" > 3" if rule.startswith("Count") else "")
    cepheus.compile(f"define F() from {rule}")


def test_what_works_gives_what_was_meant() -> None:
    counts = "$a = Count(B() within 1 s from A) and $b = Count(C() within 1 s from A)"
    program = cepheus.compile(f"define F() from A() and {counts} and $a/$b > 0.1")
    events = [{"type": "B", "time": 1}, {"type": "C", "time": 2}, {"type": "A", "time": 3}]
    events += [{"type": "C", "time": 10 + n} for n in range(20)] + [{"type": "A", "time": 40}]
    assert [event.time for event in program.detect(events).to_events()] == [3]


@pytest.mark.parametrize("name", ["null", "NULL", "None"])
def test_null_is_no_value(name: str) -> None:
    (warning,) = cepheus.compile(f"define F() from A(x = {name})").warnings
    assert warning.span is not None
    assert (warning.code, warning.span.text) == ("null", name)
    assert warning.hint == "x is null asks whether x is undefined, x is not null whether it is not"
    declared = finding(f"event A(x: int?) define F() from A(x = {name})")
    assert (declared.code, declared.hint) == ("unknown-attribute", warning.hint)


def test_names_of_habits_stay_names() -> None:
    rule = "define In(is: int) from Like(between_ = 1 and like = 2 and in = 3 and contains > 4) where is = Like.in"
    assert cepheus.compile(rule).warnings == ()


def test_a_missing_and_is_still_told() -> None:
    assert finding("define F() from A(x > 3 y < 4)").hint == "'and' is missing before it"
    assert finding("define F() from A(x > 3 open)").hint == "'and' is missing before it"
    assert finding("define F() from A() last B() within 1 s from A").hint == "'and' is missing before it"
