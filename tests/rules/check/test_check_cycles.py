from check_helpers import brief, checked, error, errors

HINT = "a composite event happens with its terminator; let another event be the terminator of one of these rules"


def test_a_cycle_is_spelled_out() -> None:
    text = "rule R1 define A() from B(); rule R2 define B() from C(); define C() from A(); define D() from A()"
    assert error(text) == (
        "cycle",
        "B",
        "rules 'R1', 'R2', 'C' make a cycle through terminators: A <- B <- C <- A",
        HINT,
    )


def test_a_rule_that_is_its_own_terminator() -> None:
    assert error("define A() from A() and last B() within 1 s from A")[2] == (
        "rule 'A' makes a cycle through terminators: A <- A"
    )


def test_a_rule_that_sets_its_own_timer() -> None:
    code, place, message, hint = error("define A() from B(); rule Again define A() from 5 s after A()")
    assert (code, place, message) == ("cycle", "A", "rule 'Again' makes a cycle through terminators: A <- A")
    assert hint is not None
    assert "every 5 min" in hint


def test_each_set_of_rules_gives_one_error() -> None:
    text = "define A() from B(); define B() from A(); define B() from C(); define C() from B(); define E() from E()"
    assert brief(errors(text)) == [("cycle", "B", HINT), ("cycle", "E", HINT)]


def test_recursion_through_other_events_is_fine() -> None:
    text = "define A() from X() and last A() within 1 s from X; define B() from A() and not B() within 1 s from A"
    assert list(checked(text).composites) == ["A", "B"]


def test_long_chains_and_long_cycles() -> None:
    count = 3000
    chain = "; ".join(f"define A{i}() from A{i + 1}()" for i in range(count))
    assert list(checked(chain).inputs) == [f"A{count}"]
    code, place, message, _ = error(f"{chain}; define A{count}() from A0()")
    assert (code, place) == ("cycle", "A1")
    assert message.endswith(f"A{count - 1} <- A{count} <- A0")
