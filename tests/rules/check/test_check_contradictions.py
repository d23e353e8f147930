import pytest
from check_helpers import brief, checked, error, errors, warning

CHANGE = "change one of the bounds, or write 'or' between them if either will do"
NO_EVENT = "no event can satisfy it: change it or leave it out"


def test_two_constraints_that_contradict_each_other() -> None:
    assert error("define A() from X(value > 5 and value < 3)") == (
        "never",
        "value < 3",
        "value < 3 can never hold together with value > 5",
        CHANGE,
    )


def test_a_constraint_that_contradicts_itself() -> None:
    assert error("define A() from X(5 < 3)") == ("never", "5 < 3", "5 < 3 can never hold", NO_EVENT)


def test_the_other_constraint_is_named_with_its_line() -> None:
    assert error("define A() from X(v > 5 and\nw = 2 and v < 3)")[2] == (
        "v < 3 can never hold together with v > 5 at line 1"
    )


@pytest.mark.parametrize(
    ("constraints", "place"),
    [
        ("x = 1 and x = 2", "x = 2"),
        ("x != x", "x != x"),
        ("x < x", "x < x"),
        ("x > x + 1", "x > x + 1"),
        ("area = 'a' and area = 'b'", "area = 'b'"),
        ("area > 'b' and area < 'a'", "area < 'a'"),
        ("x = 1 and x != 1", "x != 1"),
        ("x != 1 and x = 1", "x = 1"),
        ("x >= 1 and x <= 1 and x != 1", "x != 1"),
        ("x >= 3 and 3 > x", "3 > x"),
        ("5 < x < 3", "5 < x < 3"),
        ("7 < x <= 7", "7 < x <= 7"),
        ("1 < 2 < x < 2", "1 < 2 < x < 2"),
        ("2 < 1 < x", "2 < 1 < x"),
        ("b = true and b = false", "b = false"),
        ("b != true and b != false", "b != false"),
        ("false", "false"),
        ("x > 1/0", "x > 1/0"),
        ("x > 2*3 and x < -(-5)", "x < -(-5)"),
        ("x + 10 < 5 and x > 0", "x > 0"),
        ("y + 10 < x < y - 10", "y + 10 < x < y - 10"),
        ("x > y and x < y", "x < y"),
        ("x = y and x = 1 and y = 2", "y = 2"),
        ("x = 1 and y = 2 and x = y", "x = y"),
        ("x = y and x < y", "x < y"),
        ("'a' = 'b'", "'a' = 'b'"),
    ],
)
def test_what_can_never_hold(constraints: str, place: str) -> None:
    assert error(f"define A() from X({constraints})")[:2] == ("never", place)


@pytest.mark.parametrize(
    "constraints",
    [
        "x > 1 and x < 2",
        "x >= 1 and x <= 1",
        "x != 1 and x != 2",
        "area > 'a' and area < 'b'",
        "y - 10 < x < y + 10",
        "x = y and y = 1 and x = 1",
        "x > y and y > z",
        "x + 0.1 > 0.3 and x <= 0.2",
        "b != true and c != false",
        "x + 1 >= x",
        "x = x",
        "x * 2 > 5 and x * 3 < 3",
        "t > timestamp '2026-01-01T00:00:00Z' and t < timestamp '2026-01-01T00:00:01Z'",
    ],
)
def test_what_can_hold(constraints: str) -> None:
    assert checked(f"define A() from X({constraints})").warnings == ()


def test_ints_lie_between_ints() -> None:
    declared = "event X(n: int, d: double)\n"
    assert error(declared + "define A() from X(n > 1 and n < 2)")[:2] == ("never", "n < 2")
    assert error(declared + "define A() from X(n = 1.5)")[:2] == ("never", "n = 1.5")
    assert error(declared + "define A() from X(n >= 1.2 and n <= 1.8)")[:2] == ("never", "n <= 1.8")
    assert checked(declared + "define A() from X(n > 1 and n < 3 and n != 2.5 and d > 1 and d < 2)").warnings == ()
    instants = "t > timestamp '2026-01-01T00:00:00Z' and t < timestamp '2026-01-01T00:00:00.000001Z'"
    assert error(f"define A() from X({instants})")[0] == "never"


def test_all_events_that_take_part_count_together() -> None:
    text = "define A() from X(v=$v and $v > 5) and last Y(w=$v and w < 3) within 1 s from X"
    assert error(text)[1:3] == ("w < 3", "w < 3 can never hold together with $v > 5")
    text = "define A() from X(v > 5) and last X(v < 3) as Y within 1 s from X"
    assert checked(text).warnings == ()


def test_negated_and_aggregated_events_count_for_themselves() -> None:
    text = "define A() from X(v > 5) and not X(v < 3) within 1 s from X and 3 < Avg(X(v < 2).v within 1 s from X)"
    assert checked(text).warnings == ()
    assert error("define A() from X() and not Y(v > 5 and v < 3) within 1 s from X")[:2] == ("never", "v < 3")


def test_bounds_on_aggregates() -> None:
    average = "Avg(Y().v within 1 s from X)"
    assert error(f"define A() from X() and 5 < {average} < 3")[0] == "never"
    text = f"define A() from X() and 5 < $t = {average} and last Z(z=1 and $t < 3) within 1 s from X"
    assert error(text)[:2] == ("never", "$t < 3")


def test_one_error_for_each_value() -> None:
    text = "define A() from X(v > 5 and v < 3 and v < 2 and v = 1 and w = 1 and w = 2)"
    assert brief(errors(text)) == [("never", "v < 3", CHANGE), ("never", "w = 2", CHANGE)]


def test_type_errors_are_not_reported_as_contradictions() -> None:
    assert error("define A() from X(v > 5 and v < 'x')")[0] == "type-mismatch"
    assert error("define A() from X(1 = 'x')")[0] == "type-mismatch"


@pytest.mark.parametrize("constraint", ["true", "3 < 5", "1 < 2 < 3", "'a' != 'b'"])
def test_what_always_holds(constraint: str) -> None:
    assert warning(f"define A() from X({constraint})") == (
        "always",
        constraint,
        f"{constraint} always holds",
        "leave it out, or compare an attribute",
    )


def test_regular_expressions() -> None:
    found = errors("define A() from X(matches(s, 'ab(c'))")
    assert brief(found) == [
        ("regular-expression", "(", "write a backslash before a sign that stands for itself, such as \\\\( or \\\\*")
    ]
    assert found[0].message == "this is not a regular expression: this '(' is not closed at letter 3"
    assert error("define A() from X(matches(s, 'a{99999999999999999999}'))")[0] == "regular-expression"
    assert checked("define A() from X(matches(s, '[[a]b*') and matches(s, t))").warnings == ()


def test_the_place_in_a_regular_expression_is_found_behind_escapes() -> None:
    (found,) = errors(r"define A() from X(matches(s, '\\d\u00e9\'(?=\t)'))")
    assert found.span is not None
    assert (found.span.text, found.span.column) == ("(?=", 42)
    (found,) = errors(r"define A() from X(matches(s, '(a)\\1'))")
    assert found.span is not None
    assert (found.span.text, found.span.column) == (r"\\1", 34)
    assert found.message == r"'\1' at letter 4 is a backreference, which regular expressions here do not have"
