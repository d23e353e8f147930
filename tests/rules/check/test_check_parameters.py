from check_helpers import checked, error, warning


def test_a_parameter_that_nothing_binds() -> None:
    assert error("define A() from B(x > $limit)") == (
        "unbound-parameter",
        "$limit",
        "$limit is used, but nothing binds it",
        "bind it in an event of the pattern with 'attribute=$limit'",
    )
    assert error("define A(x: double) from B() where x=$limit")[3] == "bind it in the pattern with 'attribute=$limit'"
    assert error("define A() from B(area=$area) and last C(k=$area and k != $arae) within 1 s from B")[1:] == (
        "$arae",
        "$arae is used, but nothing binds it",
        "did you mean '$area'?",
    )


def test_a_parameter_used_often_is_reported_once() -> None:
    assert error("define A() from B(x > $l and y > $l) and last C(x > $l) within 1 s from B")[1] == "$l"


def test_negated_and_aggregated_events_bind_nothing() -> None:
    assert error("define A(x: double) from B() and not C(v=$v) within 1 s from B where x=$v") == (
        "unbound-parameter",
        "$v",
        "$v is bound only inside a negated event, which does not take part and so cannot bind it",
        "bind it in an event that takes part, with 'attribute=$v'",
    )
    assert error("define A() from B() and 3 < Avg(C(v=$v).x within 1 s from B)")[2] == (
        "$v is bound only inside an aggregated event, which does not take part and so cannot bind it"
    )


def test_a_parameter_may_be_bound_further_on() -> None:
    assert checked("define A() from B(x > $v) and last C(v=$v) within 1 s from B").warnings == ()


def test_only_an_equality_with_an_own_attribute_binds() -> None:
    for constraint in ("x+1=$v", "x<$v", "x=$v+1", "x=$v=y"):
        assert error(f"define A() from B({constraint})")[0] == "unbound-parameter"
    assert error("define A() from B() and last C(B.x=$v) within 1 s from B")[0] == "unbound-parameter"
    assert warning("define A() from B($v=x)")[0] == "unused-parameter"


def test_an_aggregate_bound_to_a_name_that_is_taken() -> None:
    average = "Avg(C().x within 1 s from B)"
    assert error(f"define A() from B(v=$v) and $v = {average}") == (
        "rebound-parameter",
        "$v",
        "$v is bound to B.v and cannot also be bound to an aggregate",
        "choose another name, and compare it with $v",
    )
    assert error(f"define A(x: double) from B() and $v = {average} and $v = {average} where x=$v") == (
        "rebound-parameter",
        "$v",
        "$v is bound to two aggregates",
        "choose another name for one of them",
    )


def test_aggregates_that_wait_for_each_other() -> None:
    text = """define A(x: double) from B()
        and $u = Avg(C(x > $v).x within 1 s from B)
        and $v = Avg(C(x > $u).x within 1 s from B)
        and $w = Avg(C(x > $v).x within 1 s from B)
        where x=$w"""
    assert error(text) == (
        "circular-aggregate",
        "$u",
        "$u, $v need one another's results",
        "compare the aggregates outside of one another",
    )
    assert error("define A() from B() and 3 < $u = Avg(C(x > $u).x within 1 s from B)")[2] == "$u needs its own result"


def test_aggregates_may_use_one_another_in_any_order() -> None:
    text = """define A(x: double) from B() and $u = Avg(C(x > $v).x within 1 s from B)
        and $v = Avg(C().x within 1 s from B) where x=$u"""
    assert checked(text).warnings == ()


def test_parameters_that_are_never_used() -> None:
    assert warning("define A() from B(area=$a)") == (
        "unused-parameter",
        "$a",
        "$a is bound here and never used",
        "use it in another event or in where, or leave the constraint out",
    )
    assert warning("define A() from B() and $n = Count(C() within 1 s from B)") == (
        "unused-parameter",
        "$n",
        "$n is bound to an aggregate and never used",
        "compare it or use it in where: attribute=$n",
    )
    assert checked("define A() from B() and 3 < $n = Count(C() within 1 s from B)").warnings == ()
