"""Small rules whose probability can be worked out on paper, by both engines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import pytest
from possible_worlds import Case

from cepheus.core.batch import EventBatch
from cepheus.core.calculus import DEFAULT_CALCULUS, Calculus
from cepheus.core.distribution import Discrete, Distribution, Mixture, Normal, Samples, Uniform
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.values import Value
from cepheus.engine.assembly.registry import create

TYPES = """
event A(x: double, y: double)
event B(x: double, k: string, n: int)
event C(z: double)
event S(a: double)
"""
P, QUANTILE = NormalDist().cdf, NormalDist().inv_cdf
STANDARD = Normal(0.0, 1.0)
FLAT, LOPSIDED = Uniform(-1.0, 1.0), Uniform(-1.0, 2.0)
COIN = Discrete(((0.0, 0.5), (1.0, 0.5)))
THREE = Discrete(((0.0, 0.5), (1.0, 0.25), (-2.0, 0.25)))
MIXED = Mixture(((0.75, STANDARD), (0.25, Uniform(-3.0, 3.0))))
DRIFT = "error B.x ~ N(0, 1) + shared N(0, 4) per k\n"
ORTHANT = 0.25 + math.asin(0.8) / math.tau
"""Two Gaussians with a correlation of 4 / 5 are both above their means."""

PRINTED = Calculus(negation="as-printed")
NEAREST = Calculus(choice="as-printed")
Expected = dict[tuple[int, ...], float]


def a(time: int, error: Distribution | None = STANDARD, x: float = 0.0, p: float = 1.0) -> Event:
    return Event("A", time, {"x": x, "y": 0.0}, errors={} if error is None else {"x": error}, probability=p)


def b(time: int, error: Distribution | None = STANDARD, x: float = 0.0, p: float = 1.0, k: str = "p") -> Event:
    attributes: dict[str, Value | None] = {"x": x, "k": k, "n": 1}
    return Event("B", time, attributes, errors={} if error is None else {"x": error}, probability=p)


def c(time: int, z: float, error: Distribution | None = None, p: float = 1.0) -> Event:
    return Event("C", time, {"z": z}, errors={} if error is None else {"z": error}, probability=p)


def s(time: int, error: Distribution | None = None) -> Event:
    return Event("S", time, {"a": 0.0}, errors={} if error is None else {"a": error})


def fits(time: int, probability: float) -> Event:
    """A B whose x is above 0 with a probability."""
    return b(time, x=QUANTILE(probability))


@dataclass(frozen=True)
class OnPaper:
    """A rule without its name, what happens, and what comes of it, by the places of the events it is made of."""

    rule: str
    events: Sequence[Event]
    expected: Expected
    calculus: Calculus = DEFAULT_CALCULUS
    declared: str = ""


BEHIND = "within 50 us from"
BETWEEN = P(1) - 0.5
ON_PAPER = {
    # what is shared: terminator, negations, counts, chosen events, rivals, whether something occurred
    "constraint and negation": OnPaper(
        f"A(x=$v and x>0) and not C(z<$v) {BEHIND} A", [c(1, 1.0), a(2)], {(1,): BETWEEN}
    ),
    "that occurs or not": OnPaper(
        f"A(x=$v and x>0) and not C(z<$v) {BEHIND} A", [c(1, 1.0), a(2, p=0.5)], {(1,): 0.5 * BETWEEN}
    ),
    "two negations": OnPaper(
        f"A(x=$v) and not B(x>$v) {BEHIND} A and not C(z>$v) {BEHIND} A",
        [b(1, None, 1.0), c(1, -1.0), a(2)],
        {(2,): P(-1)},
    ),
    "negation and count": OnPaper(
        f"A(x=$v) and not C(z>$v) {BEHIND} A and 1 <= Count(B(x<$v) {BEHIND} A)",
        [c(1, 0.0), b(1, None, 1.0), a(2)],
        {(2,): P(-1)},
    ),
    "rivals for one parameter": OnPaper(
        f"A(x=$v) and last B($v-1 < x < $v+1) {BEHIND} A",
        [b(1, None, 0.0), b(2, None, 1.0), a(3)],
        {(2, 1): P(2) - 0.5, (2, 0): 0.5 - P(-1)},
    ),
    "the greatest of three": OnPaper(f"A(x=$v) and not B(x>$v) {BEHIND} A", [b(1), b(2), a(3)], {(2,): 1 / 3}),
    "of three even ones": OnPaper(
        f"A(x=$v) and not B(x>$v) {BEHIND} A", [b(1, FLAT), b(2, FLAT), a(3, FLAT)], {(2,): 1 / 3}
    ),
    "rivals above one of them": OnPaper(
        f"B(x=$v) as T and last B(x>$v) as E {BEHIND} T", [b(1), b(2), b(3)], {(1, 0): 0.5, (2, 1): 0.5, (2, 0): 1 / 6}
    ),
    "a chosen event and a negation": OnPaper(
        f"S() and last B(x>0) {BEHIND} S and not B(x>1) {BEHIND} S", [b(1), s(2)], {(1, 0): BETWEEN}
    ),
    "a chosen event and a count": OnPaper(
        f"S() and last B(x>0) {BEHIND} S and 2 <= Count(B(x>0) {BEHIND} S)", [b(1), b(2), s(3)], {(2, 1): 0.25}
    ),
    "an event twice": OnPaper(
        f"S() and each B(x>0) as E {BEHIND} S and each B(x>0) as F {BEHIND} S",
        [b(1), b(2), s(3)],
        {(2, 0, 0): 0.5, (2, 1, 1): 0.5, (2, 0, 1): 0.25, (2, 1, 0): 0.25},
    ),
    "a count and a negation of one event": OnPaper(
        f"S() and 1 <= Count(B() {BEHIND} S) and not B(k='q') {BEHIND} S", [b(1, None, p=0.5), s(2)], {(1,): 0.5}
    ),
    "that contradict one another": OnPaper(
        f"S() and 1 <= Count(B() {BEHIND} S) and not B(k='q') {BEHIND} S", [b(1, None, p=0.5, k="q"), s(2)], {}
    ),
    "above an average of others": OnPaper(
        f"B(x=$v) as T and $v < Avg(B().x {BEHIND} T)",
        [b(1), b(2)],
        {(1,): 0.5},
    ),
    # last and first over worlds
    "last": OnPaper(f"S() and last B(x>0) {BEHIND} S", [b(1), b(2), s(3)], {(2, 1): 0.5, (2, 0): 0.25}),
    "first": OnPaper(f"S() and first B(x>0) {BEHIND} S", [b(1, p=0.5), b(2), s(3)], {(2, 0): 0.25, (2, 1): 0.375}),
    "two first": OnPaper(
        f"S() and 2 first B(x>0) {BEHIND} S", [b(1), b(2), b(3), s(4)], {(3, 0): 0.5, (3, 1): 0.5, (3, 2): 0.375}
    ),
    "last of one time": OnPaper(f"S() and last B(x>0) {BEHIND} S", [b(1), b(1), s(3)], {(2, 1): 0.5, (2, 0): 0.25}),
    "between what is chosen": OnPaper(
        f"S() and last B(x>0) as E {BEHIND} S and not C(z>0) between E and S",
        [b(1), c(2, 0.0, STANDARD), b(3), s(4)],
        {(3, 2): 0.5, (3, 0): 0.125},
    ),
    "what is least": OnPaper(
        f"S() and last B(x>0) {BEHIND} S min probability 0.3", [fits(1, 0.5), fits(2, 0.2), s(3)], {(2, 0): 0.4}
    ),
    "the nearest above it": OnPaper(
        f"S() and last B(x>0) {BEHIND} S min probability 0.3",
        [fits(1, 0.5), fits(2, 0.2), s(3)],
        {(2, 0): 0.5},
        NEAREST,
    ),
    # consumption by what is delivered
    "both that may be last are gone": OnPaper(
        f"S() and last B(x>0) {BEHIND} S consuming B", [b(1), b(2), s(3), s(4)], {(2, 1): 0.5, (2, 0): 0.25}
    ),
    "but not who is not delivered": OnPaper(
        f"S() and last B(x>0) {BEHIND} S consuming B min probability 0.4",
        [b(1), b(2), s(3), s(4)],
        {(2, 1): 0.5, (3, 0): 0.5},
    ),
    "gone for aggregates": OnPaper(
        f"S() and each B(x>0) {BEHIND} S and 2 <= Count(B() {BEHIND} S) consuming B",
        [b(1), b(2), s(3), s(4)],
        {(2, 0): 0.5, (2, 1): 0.5},
    ),
    # a shared bias
    "two readings of a sensor": OnPaper(
        f"S() and 2 <= Count(B(x>0) {BEHIND} S)", [b(1, None), b(2, None), s(3)], {(2,): ORTHANT}, declared=DRIFT
    ),
    "a negation of the same sensor": OnPaper(
        f"B(x>0 and k=$k) as E and not B(x>0 and k=$k) {BEHIND} E",
        [b(1, None), b(2, None)],
        {(0,): 0.5, (1,): 0.5 - ORTHANT},
        declared=DRIFT,
    ),
    "of another one": OnPaper(
        f"B(x>0 and k=$k) as E and not B(x>0 and k!=$k) {BEHIND} E",
        [b(1, None, k="q"), b(2, None)],
        {(0,): 0.5, (1,): 0.25},
        declared=DRIFT,
    ),
    # negations as printed multiply, whatever they share
    "printed": OnPaper(
        f"S() and not C(z>0) {BEHIND} S",
        [c(1, 0.0, STANDARD), c(1, 0.0, STANDARD), c(1, -99.0), s(2)],
        {(3,): 0.75},
        PRINTED,
    ),
    "printed, nobody possible": OnPaper(f"S(a<9) and not C(z>0) {BEHIND} S", [c(1, -1.0), s(2)], {(1,): 1.0}, PRINTED),
    "printed, shared": OnPaper(
        f"A(x=$v and x>0) and not C(z<$v) {BEHIND} A", [c(1, 1.0), a(2)], {(1,): 0.5 * P(1)}, PRINTED
    ),
    # ties, edges, limits
    "a tie of single values": OnPaper("A(x>=1)", [a(1, COIN, 1.0)], {(0,): 0.5}),
    "none beyond it": OnPaper("A(x>1)", [a(1, COIN, 1.0)], {}),
    "another value": OnPaper("A(x!=1)", [a(1, COIN, 1.0)], {(0,): 0.5}),
    "greatest of ties": OnPaper(
        f"S() and 1 <= Max(B().x {BEHIND} S)", [b(1, COIN, 1.0), b(1, COIN, 1.0), s(2)], {(2,): 0.75}
    ),
    "above the greatest of ties": OnPaper(f"S() and 1 < Max(B().x {BEHIND} S)", [b(1, COIN, 1.0), s(2)], {}),
    "the end of an interval": OnPaper("A(x>1)", [a(1, FLAT)], {}),
    "all of an interval": OnPaper("A(x>-1)", [a(1, FLAT)], {(0,): 1.0}),
    "no variance": OnPaper("A(x>=0)", [a(1, Normal(1.0, 0.0), 1.0)], {(0,): 1.0}),
    "no variance, beyond": OnPaper("A(x>0)", [a(1, Normal(1.0, 0.0), 1.0)], {}),
    "an error with a mean": OnPaper("A(x>0)", [a(1, Normal(2.0, 1.0))], {(0,): P(-2)}),
    # distributions that are shared
    "a mixture": OnPaper("A(x>0.5)", [a(1, MIXED)], {(0,): 0.75 * P(-0.5) + 0.25 * 2.5 / 6}),
    "a mixture, shared": OnPaper(
        f"A(x=$v and x>0) and not C(z<$v) {BEHIND} A", [c(1, 1.0), a(2, MIXED)], {(1,): 0.75 * BETWEEN + 0.25 / 6}
    ),
    "single values, shared": OnPaper(
        f"A(x=$v) and last B($v-1 < x < $v+1) {BEHIND} A",
        [b(1, None, 0.0), b(2, None, 0.9), a(3, THREE)],
        {(2, 1): 0.5},
    ),
    "samples, shared": OnPaper(
        f"A(x=$v and x>-0.7) and not C(z<$v) {BEHIND} A", [c(1, -0.2), a(2, Samples((0.0, 0.5, 1.0)))], {(1,): 1 / 3}
    ),
    "evenly spread, shared": OnPaper(
        f"A(x=$v) and not C(z<$v) {BEHIND} A", [c(1, 0.5), c(1, -0.5), a(2, LOPSIDED)], {(2,): 0.5}
    ),
    # aggregates
    "an average over nothing": OnPaper(
        f"S() and 30 < Avg(B().x {BEHIND} S)", [b(1, None, 40.0, 0.5), b(1, None, 10.0, 0.5), s(2)], {(2,): 0.25}
    ),
    "a sum over nothing": OnPaper(f"S() and -1 < Sum(B().x {BEHIND} S)", [b(1, None, -40.0, 0.5), s(2)], {(1,): 0.5}),
    "no member": OnPaper(f"S() and Count(B(x>0) {BEHIND} S) = 0", [b(1), b(2), s(3)], {(2,): 0.25}),
    "who decides for itself": OnPaper(
        f"S() and 2 < Last(B(x>1).x {BEHIND} S)", [b(1, x=1.5), b(2, x=1.5), s(3)], {(2,): P(-0.5) + P(-0.5) ** 2}
    ),
    "a least value of who may be there": OnPaper(
        f"S() and Min(B().x {BEHIND} S) < 0.5",
        [b(1, p=0.5), b(2, x=1.0), s(3)],
        {(2,): 1 - (1 - 0.5 * P(0.5)) * P(0.5)},
    ),
}


@pytest.mark.parametrize("name", ON_PAPER)
@pytest.mark.parametrize("engine", ["reference", "columns"])
def test_what_is_worked_out_on_paper(engine: str, name: str) -> None:
    paper = ON_PAPER[name]
    case = Case.of(f"{TYPES}{paper.declared}define R() from {paper.rule}", paper.events)
    running = create(RunOptions(engine=engine, calculus=paper.calculus), case.checked.rules.rules, case.schema)
    found = {
        tuple(int(part) for part in event.made_of): event.probability
        for event in running.feed(EventBatch.from_events(list(case.events))).to_events()
    }
    assert found == pytest.approx(paper.expected, abs=1e-8)


@pytest.mark.parametrize("engine", ["reference", "columns"])
@pytest.mark.parametrize(("least", "expected"), [(0.4, [("L", 0.5), ("R", P(-1))]), (0.6, [])])
def test_what_feeds_a_rule_is_delivered_and_counts_as_certain(
    engine: str, least: float, expected: list[tuple[str, float]]
) -> None:
    text = (
        f"rule R1 define L(v: double) from A(x>0) where v=A.x min probability {least}\nrule R2 define R() from L(v>1)"
    )
    case = Case.of(TYPES + text, [a(1)])
    running = create(RunOptions(engine=engine), case.checked.rules.rules, case.schema)
    found = running.feed(EventBatch.from_events(list(case.events))).to_events()
    assert [event.type for event in found] == [kind for kind, _ in expected]
    assert [event.probability for event in found] == pytest.approx([p for _, p in expected], abs=1e-9)
