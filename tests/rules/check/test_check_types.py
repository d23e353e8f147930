import pytest
from check_helpers import brief, checked, error, errors

from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.core.values import ValueType

X = "event X(n: int, d: double, s: string, b: bool, t: timestamp)\n"


def test_comparing_different_types() -> None:
    assert error(X + "define A() from X(s > 45)") == (
        "type-mismatch",
        "s > 45",
        "these cannot be compared: X.s is a string (declared at line 1), 45 is a number",
        "a string is written in quotes: '45'",
    )
    assert error(X + "define A() from X(d = '4.5')")[3] == "a number is written without quotes: 4.5"
    assert error(X + "define A() from X(t > 45)")[3] == "a time is written timestamp '2026-01-31T12:00:00Z'"
    assert error(X + "define A() from X(0 < n = s)")[1:] == (
        "n = s",
        "these cannot be compared: X.n is an int (declared at line 1), X.s is a string (declared at line 1)",
        "compare values of one type; an int and a double are both numbers",
    )


def test_parameters_have_the_type_of_what_they_are_bound_to() -> None:
    text = X + "define A() from X(s=$p) and last X(d=$p) as Y within 1 s from X"
    assert error(text)[2] == (
        "these cannot be compared: Y.d is a double (declared at line 1), $p is a string (declared at line 1)"
    )


@pytest.mark.parametrize(
    "constraint",
    [
        "n = d",
        "n < 3.5",
        "s < 'x'",
        "b = true",
        "b != false",
        "b",
        "t > timestamp '2026-01-01T00:00:00Z'",
        "t - time > 5",
        "t + 5 > time",
        "5 + t > time",
        "t - 5 = time",
        "t - (time - t) > t",
        "-n * 2 / d > 1",
        "abs(n) + mod(d, 2) > sqrt(2)",
        "hour(t) = 3",
        "contains(s, 'x')",
        "coalesce(n, 1.5) > 2",
        "coalesce(s, 'x') = 'y'",
    ],
)
def test_what_fits(constraint: str) -> None:
    assert checked(X + f"define A() from X({constraint})").warnings == ()


@pytest.mark.parametrize(
    ("constraint", "code", "place"),
    [
        ("b > true", "no-order", "b > true"),
        ("b <= b = true", "no-order", "b <= b"),
        ("s + 1 > 2", "arithmetic", "s"),
        ("-s > 2", "arithmetic", "s"),
        ("t * 2 = t", "arithmetic", "t"),
        ("t + t > t", "arithmetic", "t + t"),
        ("n - t > t", "arithmetic", "n - t"),
        ("t + d > t", "arithmetic", "d"),
        ("b + 1 > 2", "arithmetic", "b"),
        ("n", "not-a-condition", "n"),
        ("lower(s)", "not-a-condition", "lower(s)"),
        ("length(n) = 2", "argument-type", "n"),
        ("hour(n) = 2", "argument-type", "n"),
        ("abs(s) = 2", "argument-type", "s"),
        ("coalesce(s, 2) = 'x'", "argument-type", "2"),
        ("matches(s, n)", "argument-type", "n"),
    ],
)
def test_what_does_not_fit(constraint: str, code: str, place: str) -> None:
    assert error(X + f"define A() from X({constraint})")[:2] == (code, place)


def test_messages_about_what_does_not_fit() -> None:
    assert error(X + "define A() from X(s + 1 > 2)")[2:] == (
        "arithmetic needs numbers, X.s is a string (declared at line 1)",
        "to put texts together, write concat(a, b)",
    )
    assert error(X + "define A() from X(t + t > t)")[2:] == (
        "'+' has no meaning here: X.t is a timestamp (declared at line 1), X.t is a timestamp (declared at line 1)",
        "of times, only TIME - TIME and TIME plus or minus an int of microseconds can be computed",
    )
    assert error(X + "define A() from X(t + d > t)")[2:] == (
        "a time is moved by a whole number of microseconds, X.d is a double (declared at line 1)",
        "use floor(d) or round(d)",
    )
    assert error(X + "define A() from X(length(n) = 2)")[2:] == (
        "'length' takes a string, X.n is an int (declared at line 1)",
        "write length(string)",
    )
    assert error(X + "define A() from X(coalesce(s, 2) = 'x')")[2:] == (
        "'coalesce' takes arguments of one type: X.s is a string (declared at line 1), 2 is a number",
        "replace one of them by a value of the other's type",
    )
    assert error(X + "define A() from X(n)")[2:] == (
        "a constraint must be true or false, X.n is an int (declared at line 1)",
        "compare it with something: 'n = ..'",
    )
    assert error(X + "define A() from X(b > true)")[2:] == (
        "'>' does not apply to bools: X.b is a bool (declared at line 1)",
        "bools compare with = and != only",
    )


def test_aggregates_take_what_they_can() -> None:
    for aggregate in ("Avg(X().n", "Sum(X().d", "Stddev(X().n", "Min(X().s", "Max(X().t", "First(X().b", "Count(X().b"):
        text = X + f"define A() from X() and $x = {aggregate} within 1 s from X)"
        assert [w.code for w in checked(text).warnings] == ["unused-parameter"]
    assert error(X + "define A(x: double) from X() and $x = Avg(X().s within 1 s from X) where x=$x") == (
        "aggregate-type",
        "s",
        "Avg is taken over numbers, X.s is a string (declared at line 1)",
        "Count, Mode, CountDistinct, First and Last take values of any type",
    )
    assert error(X + "define A() from X() and 3 < Max(X().b within 1 s from X)")[2] == (
        "Max is taken over numbers, strings or times, X.b is a bool (declared at line 1)"
    )


def test_results_of_aggregates() -> None:
    head = X + "define A(n: int, d: double, s: string, t: timestamp) from X() where "
    text = (
        head
        + """n=Sum(X().n within 1 s from X), d=Avg(X().n within 1 s from X),
        s=First(X().s within 1 s from X), t=Max(X().t within 1 s from X)"""
    )
    assert checked(text).warnings == ()
    text = (
        head
        + """n=Avg(X().n within 1 s from X), d=Count(X() within 1 s from X),
        s=Sum(X().n within 1 s from X), t=timestamp '2026-01-01T00:00:00Z'"""
    )
    assert brief(errors(text)) == [
        (
            "narrowing",
            "Avg(X().n within 1 s from X)",
            "use floor(Avg(X().n within 1 s from X)) or round(Avg(X().n within 1 s from X)), or define it as a double",
        ),
        ("assignment-type", "Sum(X().n within 1 s from X)", "assign another value, or define 's: double'"),
    ]


def test_assigning() -> None:
    head = X + "define A(n: int, d: double) from X(d=$d) where "
    assert checked(head + "n=X.n*2+1, d=X.n").warnings[0].code == "unused-parameter"
    assert error(head + "n=$d, d=$d") == (
        "narrowing",
        "$d",
        "'n' of A is an int (defined at line 2), $d is a double (declared at line 1)",
        "use floor($d) or round($d), or define it as a double",
    )
    assert error(head + "n=X.n/2, d=$d")[1:3] == (
        "X.n/2",
        "'n' of A is an int (defined at line 2), X.n/2 is a double",
    )
    assert error(head + "n=min(X.n, 2.5), d=$d")[1] == "2.5"
    assert error(head + "n=X.n, d=X.s") == (
        "assignment-type",
        "X.s",
        "'d' of A is a double (defined at line 2), X.s is a string (declared at line 1)",
        "assign another value, or define 'd: string'",
    )


def test_types_are_inferred_over_all_rules() -> None:
    text = "define A() from X(area = 'hall');\ndefine B() from X(area > 45)"
    assert error(text)[2] == (
        "these cannot be compared: X.area is a string (compared with 'hall' at line 1), 45 is a number"
    )


def test_no_cascades_after_a_type_error() -> None:
    assert error(X + "define A(n: int) from X() where n=X.s * 2")[:2] == ("arithmetic", "X.s")
    assert error("define A() from X(s + 'a' = 'b' and length(s) > 2)")[:2] == ("arithmetic", "'a'")


def inferred(text: str) -> str:
    return repr(checked(text).inputs)


def test_inferred_types() -> None:
    assert inferred("define A() from X(v > 45)") == "Schema(X(v: double))"
    assert inferred("define A() from X(v = 'x')") == "Schema(X(v: string))"
    assert inferred("define A() from X(v)") == "Schema(X(v: bool))"
    assert inferred("define A() from X(v < time)") == "Schema(X(v: timestamp))"
    assert inferred("define A() from X(v = w)") == "Schema(X(v, w))"
    assert inferred("define A() from X(v + w = 2)") == "Schema(X(v: double, w: double))"
    assert inferred("define A() from X(v - time > 5)") == "Schema(X(v: timestamp))"
    assert inferred("define A() from X(time - v > 5)") == "Schema(X(v: timestamp))"
    assert inferred("define A() from X(time - v > time)") == "Schema(X(v: int))"
    assert inferred("define A(n: int) from X() where n=X.v") == "Schema(X(v: int))"
    assert inferred("define A(n: int) from X() where n=2*abs(X.v)-X.w") == "Schema(X(v: int, w: int))"
    assert inferred("define A(n: double) from X() where n=X.v") == "Schema(X(v: double))"
    assert inferred("define A() from X() and 3 < Avg(Y().v within 1 s from X)") == "Schema(X(), Y(v: double))"
    assert inferred("define A() from X() and 3 < Count(Y() within 1 s from X)") == "Schema(X(), Y())"


def test_types_travel_through_equalities_in_both_directions() -> None:
    text = "define A() from X(v=$v) and last Y(w=$v) within 1 s from X; define B() from Y(w > 3)"
    assert inferred(text) == "Schema(X(v: double), Y(w: double))"
    text = "define A(n: int) from X(v=$v) and last Y(w=$v) within 1 s from X where n=Y.w"
    assert inferred(text) == "Schema(X(v: int), Y(w: int))"
    text = "event Z(n: int)\ndefine A() from Z(n=$n) and last X(v=$n) within 1 s from Z"
    assert repr(checked(text, closed=False).inputs) == "Schema(Z(n: int), X(v: int))"


def test_sums_are_decided_by_what_is_known_elsewhere() -> None:
    text = "define A() from X(v - w > 5); define B() from X(v > time)"
    assert inferred(text) == "Schema(X(v: timestamp, w: timestamp))"
    text = "define A(d: int) from X() where d=X.v - X.w; define B() from X(w < time)"
    assert inferred(text) == "Schema(X(v: timestamp, w: timestamp))"


def test_attributes_of_equal_but_unknown_type_are_told() -> None:
    text = "define A() from X(v=$v) and last Y(w=$v) within 1 s from X"
    assert checked(text).equal_types == (frozenset({("X", "v"), ("Y", "w")}),)


def test_optional_attributes() -> None:
    text = "define A() from X(coalesce(v, 0) > 3 and w > 2 and coalesce(w, 0) > 1)"
    assert [(a.name, a.optional) for a in checked(text).inputs["X"].attributes] == [("v", True), ("w", False)]
    text = "event X(v: double?, w: int)\ndefine A() from X()"
    assert [(a.name, a.optional) for a in checked(text).inputs["X"].attributes] == [("v", True), ("w", False)]


def test_inputs_from_a_schema_have_the_attributes_that_are_read() -> None:
    data = Schema([EventType("X", (Attribute("v", ValueType.INT), Attribute("w", ValueType.BOOL, optional=True)))])
    assert repr(checked("define A() from X(v > 3)", schema=data).inputs) == "Schema(X(v: int))"
    assert repr(checked("define A() from X(w)", schema=data).inputs) == "Schema(X(w: bool?))"


def test_inputs_are_closed_when_types_are_declared() -> None:
    assert checked(X + "define A() from X()").inputs.closed
    assert not checked("define A() from X()").inputs.closed
    assert not checked(X + "define A() from Y()", closed=False).inputs.closed


def test_composite_types_are_no_inputs() -> None:
    text = "define A(v: double) from X() where v=X.v; define B() from A(v > 3) and last Y() within 1 s from A"
    result = checked(text)
    assert repr(result.inputs) == "Schema(X(v: double), Y())"
    assert repr(result.composites) == "Schema(A(v: double), B())"
