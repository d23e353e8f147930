"""Every example of the ETALIS paper, with the results it states."""

from __future__ import annotations

import pytest
from interval_runs import checked, in_order, model, run, stream

from cepheus.core.errors import RuleError

# Figure 1 shows instances of P1, P2 and P3 on a time line; these are such that every pattern of the figure occurs.
FIGURE_1 = stream("p3@[1,2] p1@[1,3] p2@[2,5] p3@[4,5] p1@[4,5] p2@5 p3@[5,6]")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("(p1).3", [(1, 3), (4, 5)]),
        ("(p2).2", [(5, 5)]),
        ("(p2).=3", [(2, 5)]),
        ("p1 SEQ p3", [(1, 5), (1, 6)]),
        ("p2 AND p3", [(1, 5), (2, 5), (2, 6), (4, 5), (5, 6)]),
        ("p1 PAR p2", [(1, 5), (2, 5)]),
        ("p2 OR p3", [(1, 2), (2, 5), (4, 5), (5, 5), (5, 6)]),
        ("p1 DURING (0 SEQ 6)", [(0, 6)]),
        ("p1 EQUALS p3", [(4, 5)]),
        ("NOT(p3).[p1, p1]", [(1, 5)]),
        ("NOT(p3).[p3, p3]", [(1, 5), (1, 6)]),
        ("NOT(p1).[p3, p3]", [(1, 5), (1, 6)]),
        ("p3 STARTS p1", [(1, 3)]),
        ("p3 FINISHES p2", [(2, 5)]),
        ("p2 MEETS p3", [(2, 6), (5, 6)]),
    ],
)
def test_figure_1(pattern: str, expected: list[tuple[int, int]]) -> None:
    program = checked(f"e <- {pattern}.")
    assert sorted((start, end) for _, _, start, end in run(program, FIGURE_1)) == expected
    assert in_order(model(program, FIGURE_1)) == in_order(run(program, FIGURE_1))


def test_working_day_and_bankruptcies() -> None:
    program = checked(
        """
        workingDay() <- NOT(marketCloses())[marketOpens(), marketCloses()].
        dieTogether(X, Y) <- (bankrupt(X) SEQ bankrupt(Y)) DURING workingDay().
        """
    )
    events = stream("marketOpens@1 bankrupt(lehman)@2 bankrupt(washington)@4 marketCloses@6 bankrupt(x)@7")
    assert run(program, events) == [("workingDay", (), 1, 6), ("dieTogether", ("lehman", "washington"), 1, 6)]


def test_the_printed_rule_on_bankruptcies_does_not_bind_its_second_variable() -> None:
    with pytest.raises(RuleError, match="does not bind Y"):
        checked("dieTogether(X, Y) <- (bankrupt(X)) DURING workingDay().")


def test_indirect_acquisition() -> None:
    program = checked("indirectlyAcquires(X, Y) <- buys(Z, Y) AND buys(X, Z).")
    events = stream("buys(citigroup,wachovia)@1 buys(bank,other)@2 buys(holding,citigroup)@3")
    assert run(program, events) == [("indirectlyAcquires", ("holding", "wachovia"), 1, 3)]


def test_remarkable_increase_within_seven_days() -> None:
    program = checked("remarkableIncrease(X) <- (prize(X, Y1) SEQ prize(X, Y2)).7 WHERE Y2 > Y1 * 1.5.")
    events = stream("prize(a,10)@1 prize(b,10)@2 prize(a,16)@5 prize(b,14)@6 prize(a,20)@9")
    assert run(program, events) == [("remarkableIncrease", ("a",), 1, 5)]


SECTION_6 = stream("a@1 a@2 a@3 b@4 b@5 c@6")
HIERARCHY = "ie1 <- a SEQ b. e <- ie1 SEQ c."
CHAIN = "e <- a SEQ b SEQ c."


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("recent", [("ie1", 3, 4), ("ie1", 3, 5), ("e", 3, 6)]),
        ("chronological", [("ie1", 1, 4), ("ie1", 2, 5), ("e", 1, 6)]),
        ("recent, once", [("ie1", 3, 4), ("ie1", 2, 5), ("e", 2, 6)]),  # the closing sentence of 6.1
    ],
)
def test_section_6_policies_on_points(policy: str, expected: list[tuple[str, int, int]]) -> None:
    found = run(checked(HIERARCHY, policy), SECTION_6)
    assert [(name, start, end) for name, _, start, end in found] == expected
    chain = run(checked(CHAIN, policy), SECTION_6)
    assert [(name, start, end) for name, _, start, end in chain] == expected[-1:]


def test_section_6_unrestricted() -> None:
    found = [(name, start, end) for name, _, start, end in run(checked(HIERARCHY), SECTION_6)]
    assert set(found) == {("ie1", s, e) for s in (1, 2, 3) for e in (4, 5)} | {("e", s, 6) for s in (1, 2, 3)}
    assert len(found) == 9


@pytest.mark.parametrize(
    ("policy", "chosen"),
    [
        ("recent, longer", "long"),
        ("recent, shorter", "short"),
        ("recent, greatest Vol", "short"),
        ("recent, least Vol", "long"),
    ],
)
def test_section_6_recent_on_intervals(policy: str, chosen: str) -> None:
    events = stream("a(long,1000)@[1,30] a(short,10000)@[15,30] b@[35,50]")
    found = run(checked("e(X) <- a(X, Vol) SEQ b.", policy), events)
    assert [arguments for _, arguments, _, _ in found] == [(chosen,)]


@pytest.mark.parametrize(
    ("policy", "chosen"),
    [
        ("chronological, longer", "long"),
        ("chronological, shorter", "short"),
        ("chronological, greatest Vol", "long"),
        ("chronological, least Vol", "short"),
        ("chronological", "short"),
    ],
)
def test_section_6_chronological_on_intervals(policy: str, chosen: str) -> None:
    events = stream("a(short,1000)@[1,20] a(long,10000)@[1,30] b@[35,50]")
    found = run(checked("e(X) <- a(X, Vol) SEQ b.", policy), events)
    assert [arguments for _, arguments, _, _ in found] == [(chosen,)]


def test_section_7_stock_ticker() -> None:
    program = checked(
        """
        ce1 <- (stock("GO", Pr1, Vol1) SEQ stock("GO", Pr2, Vol2)) WHERE Pr1 < 1.20 * Pr2.
        ce2 <- (stock("MS", Pr1, Vol1) SEQ stock("MS", Pr2, Vol2)) WHERE Pr1 < 1.20 * Pr2.
        ce3 <- ce1 OR ce2.
        ce4 <- (ce1 AND ce2).20.
        ce5 <- ce1 PAR ce2.
        ce6 <- NOT(ce2)[ce1, ce1].
        """
    )
    events = stream(
        "stock(GO,10,1)@1 stock(MS,10,1)@2 stock(GO,12,1)@3 stock(MS,11,1)@5 stock(GO,9,1)@6 stock(GO,9,1)@9"
    )
    assert in_order(run(program, events)) == in_order(model(program, events))
    names = [name for name, _, _, _ in run(program, events)]
    assert set(names) == {"ce1", "ce2", "ce3", "ce4", "ce5", "ce6"}
