"""Rules of both families in one program: each feeds the other, whatever runs them and however they are fed."""

from __future__ import annotations

from random import Random

import pytest

from cepheus.core.batch import EventBatch
from cepheus.core.errors import OptionError, RuleError, UnsupportedError
from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.core.time import MAX_TIME, SECOND
from cepheus.engine.assembly.mixed import MixedEngine
from cepheus.engine.assembly.registry import create
from cepheus.engine.base.interface import Engine
from cepheus.language import etalis, tesla
from cepheus.rules.check import Checked, check

DECLARATIONS = "event a(x: int). event b(x: int). event c(x: int)."
PROGRAMS = {
    "intervals feed TESLA": (
        "p(X, Y) <- (a(X) SEQ b(Y)).6 s. q(X) <- NOT(c(_)).[a(X), b(_)].",
        """
        define T(x: int, n: int) from p(arg1=$x) and each c(x <= $x) within 5 s from p
        where x = $x and n = c.x
        define L(x: int) from c() and last q() within 8 s from c where x = q.arg1
        """,
    ),
    "TESLA feeds intervals": (
        "p(X, N) <- (T(X) OVERLAPS a(N)) OR (T(X) SEQ c(N)). q(X) <- T(X) CONTAINS b(_).",
        "define T(x: int) from b(x=$x) and last a(x=$x) within 4 s from b where x = $x",
    ),
    "to and fro": (
        "p(X, Y) <- (T(X) AND c(Y)).6 s.",
        """
        define T(x: int) from b() and last a() within 4 s from b where x = a.x
        define U(x: int) from p() and last b() within 5 s from p where x = b.x
        """,
    ),
    "side by side": (
        "p(X) <- (a(X) PAR b(X)) OR c(X).",
        "define T(x: int) from b(x=$x) and each a(x=$x) within 3 s from b where x = $x",
    ),
}
POLICIES = ["unrestricted", "recent", "recent, once, renewing", "chronological"]


def _checked(name: str, policy: str = "unrestricted") -> Checked:
    intervals, instants = PROGRAMS[name]
    return check(etalis.parse(f"policy {policy}. {DECLARATIONS} {intervals}") + tesla.parse(instants))


def _engine(program: Checked, name: str) -> Engine:
    return create(name, program.rules.all_rules, Schema({**program.composites, **program.inputs}.values()))


def _events(seed: int, *, ties: bool) -> list[Event]:
    random = Random(seed)
    times = sorted(random.choices(range(1, 15), k=14) if ties else random.sample(range(1, 25), k=14))
    return [
        Event(random.choice("abc"), time * SECOND, {"x": random.randint(1, 3)}, id=place)
        for place, time in enumerate(times)
    ]


def _outcome(events: list[Event]) -> list[str]:
    return sorted(f"{e.type} {sorted(e.attributes.items())} {e.start} {e.time} {e.id}" for e in events)


def _one_by_one(engine: Engine, events: list[Event]) -> list[Event]:
    made = [made for event in events for made in engine.feed_event(event)]
    return made + engine.advance(MAX_TIME).to_events()


def _in_batches(engine: Engine, events: list[Event], cuts: list[int]) -> list[Event]:
    made: list[Event] = []
    for start, end in zip([0, *cuts], [*cuts, len(events)], strict=True):
        made += engine.feed(EventBatch.from_events(events[start:end])).to_events()
    return made + engine.advance(MAX_TIME).to_events()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_batches_and_snapshots_do_not_matter(name: str, policy: str) -> None:
    program = _checked(name, policy)
    made = 0
    for seed in range(12):
        events = _events(seed, ties=bool(seed % 2))
        expected = _outcome(_one_by_one(_engine(program, "reference"), events))
        cuts = sorted(Random(seed).sample(range(1, len(events)), 2))
        assert _outcome(_in_batches(_engine(program, "reference"), events, cuts)) == expected
        first = _engine(program, "reference")
        before = [each for event in events[: cuts[0]] for each in first.feed_event(event)]
        second = create(first.name)
        second.restore(first.snapshot())
        assert _outcome(before + _one_by_one(second, events[cuts[0] :])) == expected
        made += len(expected)
    assert made > 20


@pytest.mark.parametrize("name", PROGRAMS)
def test_engines_agree(name: str) -> None:
    program = _checked(name)
    for seed in range(6):
        events = _events(seed, ties=bool(seed % 2))
        expected = _outcome(_one_by_one(_engine(program, "reference+interval-reference"), events))
        for engine in ("columns+interval-reference", "auto"):
            found = _in_batches(_engine(program, engine), events, [5])
            assert _outcome(found) == expected, f"{engine}, seed {seed}"


def test_each_family_sees_what_the_other_makes() -> None:
    engine = _engine(_checked("to and fro"), "reference")
    given = [("a", 1, 7), ("b", 3, 8), ("c", 4, 9)]
    events = [Event(kind, time * SECOND, {"x": x}, id=place) for place, (kind, time, x) in enumerate(given)]
    made = [made for event in events for made in engine.feed_event(event)]
    assert [(e.type, tuple(e.attributes.values()), e.start, e.time) for e in made] == [
        ("T", (7,), SECOND, 3 * SECOND),
        ("p", (7, 9), SECOND, 4 * SECOND),
        ("U", (8,), SECOND, 4 * SECOND),
    ]


def test_the_order_does_not_depend_on_batches() -> None:
    program = check(
        etalis.parse(f"policy recent. {DECLARATIONS} p(X) <- a(X) AND c(X).")
        + tesla.parse(
            "define T(x: int) from p(arg1=$x) where x = $x;"
            "define U(x: int) from c(x=$x) and not a(x=$x) within 1 s from c where x = $x"
        )
    )
    for seed in range(6):
        events = _events(seed, ties=False)
        one_by_one = [made.id for made in _one_by_one(_engine(program, "reference"), events)]
        assert [made.id for made in _in_batches(_engine(program, "reference"), events, [1, 2, 7])] == one_by_one


def test_what_is_decided_late_reaches_the_other_family_before_the_next_event() -> None:
    program = check(
        etalis.parse("n(N) <- a(_) WHERE N = COUNT(a(_) WITHIN 10 s).")
        + tesla.parse(
            "define T(n: int) from n() where n = n.arg1;"
            "define U(n: int) from c() and last T() within 1 s from c where n = T.n"
        )
    )
    engine = _engine(program, "reference")
    events = [Event(kind, time, {"arg1": x}, id=x) for kind, time, x in [("a", 1, 1), ("a", 1, 2), ("c", 2, 3)]]
    made = [made for event in events for made in engine.feed_event(event)]
    assert [(e.type, e.attributes) for e in made] == [("n", {"arg1": 2}), ("T", {"n": 2}), ("U", {"n": 2})]


def test_rules_of_both_families_come_and_go() -> None:
    program = _checked("side by side")
    engine = _engine(program, "reference")
    assert isinstance(engine, MixedEngine)
    engine.withdraw("T")
    engine.set_factor("p", 0.5)
    (made,) = engine.feed_event(Event("c", 1, {"x": 1}))
    assert (made.type, made.probability) == ("p", 0.5)
    engine.withdraw("p")
    assert engine.feed_event(Event("c", 2, {"x": 1})) == []
    with pytest.raises(OptionError, match="no rule named 'p'"):
        engine.withdraw("p")


def test_an_engine_of_one_family_refuses_the_other() -> None:
    program = _checked("side by side")
    with pytest.raises(UnsupportedError, match="does not run interval rules"):
        create("reference").deploy(program.rules.interval_rules, Schema())
    with pytest.raises(OptionError, match="there is no engine 'colums'"):
        create("colums+goals", program.rules.all_rules)


@pytest.mark.parametrize(
    ("intervals", "instants", "code"),
    [
        ("p(X) <- T(X).", "define T(x: int) from p() where x = p.arg1", "cycle"),
        ("p <- a SEQ b. n(N) <- a WHERE N = COUNT(a WITHIN 1 s). q(X) <- T(X) SEQ b.",
         "define T(x: int) from n() where x = n.arg1", "late-feedback"),
        ("p(X) <- a(X).", "define T() from a(value > 3)", "undeclared-order"),
        ("p(X) <- T(X, _).", "define T(x: int) from a() where x = 1", "arity"),
        ("LABEL T: p(X) <- T(X).", "define T(x: int) from a() where x = 1", None),
        ("LABEL r: p(X) <- T(X).", "rule r define T(x: int) from a() where x = 1", "duplicate-rule"),
    ],
)  # fmt: skip
def test_families_must_go_together(intervals: str, instants: str, code: str | None) -> None:
    rules = etalis.parse(intervals) + tesla.parse(instants)
    if code is None:
        assert [rule.name for rule in check(rules).rules.all_rules] == ["T_2", "T"]
        return
    with pytest.raises(RuleError) as raised:
        check(rules)
    assert code in {finding.code for finding in raised.value.diagnostics}
