from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from cepheus.core.batch import EventBatch
from cepheus.core.errors import LimitError, OptionError, SnapshotError, UnsupportedError
from cepheus.core.event import Event
from cepheus.core.schema import Schema
from cepheus.engine.assembly.registry import create, names
from cepheus.engine.automata.engine import AutomataEngine, read_instances, write_instances
from cepheus.engine.base.capabilities import AUTOMATA, CAPABILITIES, support_matrix
from cepheus.engine.base.interface import Engine
from cepheus.language.tesla import parse
from cepheus.plan.pattern.constructs import Construct
from cepheus.rules.check import check

MINUTE = 60_000_000


def add(engine: AutomataEngine, text: str) -> AutomataEngine:
    checked = check(parse(text))
    engine.deploy(checked.rules.rules, Schema({**checked.inputs, **checked.composites}.values()))
    return engine


def made_of(engine: AutomataEngine, events: Sequence[Event]) -> list[tuple[object, ...]]:
    return [event.made_of for event in engine.feed(EventBatch.from_events(events)).to_events()]


def stream(text: str, **attributes: int) -> list[Event]:
    """Give events from words like ``A@3``, with ids that say the same."""
    return [Event(word[0], int(word[2:]), attributes, id=word) for word in text.split()]


def test_the_walk_through_of_the_paper() -> None:
    engine = add(
        AutomataEngine(),
        """
        define Touch(room: string, painting: string)
        from   Vibration(painting=$p and value>3.0) and
               each PeopleNear(painting=$p) within 2 min. from Vibration
        where  room=Vibration.room and painting=Vibration.painting
        """,
    )

    def near(name: str, minutes: float) -> Event:
        return Event("PeopleNear", int(minutes * MINUTE), {"painting": "Mona"}, id=name)

    def vibration(name: str, minutes: float, value: float) -> Event:
        return Event("Vibration", int(minutes * MINUTE), {"room": "6", "painting": "Mona", "value": value}, id=name)

    steps = [near("P1", 1), vibration("V1", 2.5, 1.0), near("P2", 3.5), near("P3", 4), vibration("V2", 4.5, 5.0)]
    alive, found = [], []
    for event in steps:
        found += [composite.made_of for composite in engine.feed_event(event)]
        alive.append(engine.instances)
    assert found == [("V2", "P2"), ("V2", "P3")]
    assert alive == [1, 1, 1, 2, 2]  # P1 expires before P2; P2 and P3 wait for further vibrations


CHAIN = "define R() from T() and last A() within 9 us from T and last B() within 9 us from A"


def test_the_last_event_is_chosen_even_if_nothing_precedes_it() -> None:
    assert made_of(add(AutomataEngine(), CHAIN), stream("B@1 A@2 T@3")) == [("T@3", "A@2", "B@1")]
    assert made_of(add(AutomataEngine(), CHAIN), stream("A@2 B@2 A@3 T@4")) == [("T@4", "A@3", "B@2")]
    only_early = "define R() from T() and last A() within 9 us from T and last B() within 1 us from A"
    assert made_of(add(AutomataEngine(), only_early), stream("B@1 A@2 A@5 T@6")) == []


def test_newer_instances_replace_older_ones_under_last() -> None:
    engine = add(AutomataEngine(), "define R() from T() and last A() within 1 h from T")
    made_of(engine, stream(" ".join(f"A@{time}" for time in range(1000))))
    assert engine.instances == 2  # that of 998 is what another event of time 999 would choose
    each = add(AutomataEngine(), "define R() from T() and each A() within 1 h from T")
    made_of(each, stream(" ".join(f"A@{time}" for time in range(1000))))
    assert each.instances == 1000


def test_newer_instances_replace_those_of_the_same_key_only() -> None:
    rule = "event A(x: int) event T(x: int) define R() from T(x=$a) and last A(x=$a) within 1 h from T"
    engine = add(AutomataEngine(), rule)
    events = [Event("A", time, {"x": time % 3}, id=time) for time in range(300)]
    assert made_of(engine, [*events, Event("T", 300, {"x": 1}, id="t")]) == [("t", 298)]
    assert engine.instances == 6  # the latest of each key, and the one before it


def test_events_of_one_moment_do_not_precede_one_another() -> None:
    engine = add(AutomataEngine(), "define R() from T() and last A() within 9 us from T")
    assert made_of(engine, stream("A@1 A@2 A@2 T@2 T@3")) == [("T@2", "A@1"), ("T@3", "A@2")]
    loop = add(AutomataEngine(), "define R() from A() as e0 and each A() as e1 within 9 us from e0")
    assert made_of(loop, stream("A@1 A@2 A@2 A@3")) == [
        *[("A@2", "A@1")] * 2,
        *[("A@3", "A@1"), ("A@3", "A@2"), ("A@3", "A@2")],
    ]


def test_expired_sequences_are_dropped_with_time() -> None:
    rule = "define R() from T() and each A() within 5 us from T and each B() within 9 us from A"
    engine = add(AutomataEngine(), rule)
    made_of(engine, stream("B@1 B@2 A@3"))
    assert engine.instances == 4  # two begun by B, two of B and A
    engine.advance(9)
    assert engine.instances == 2  # no T can come within 5 us from A
    engine.advance(11)
    assert engine.instances == 1
    engine.advance(12)
    assert engine.instances == 0


def test_choices_open_to_the_terminator_join_the_branches_of_a_tree() -> None:
    rule = """event A(x: int) event B(x: int) event C(x: int) event T(x: int)
        define R() from T() and each A() within 9 us from T and 2 last B(x > A.x) within 9 us from A
        and first C(x=$c) within 9 us from A and last B(x < $c) as D within 9 us from T"""
    engine = add(AutomataEngine(), rule)
    values = {"B@1": 1, "B@2": 5, "B@3": 2, "C@4": 9, "C@5": 3, "A@6": 1, "A@7": 4, "T@8": 0}
    events = [Event(name[0], int(name[2:]), {"x": x}, id=name) for name, x in values.items()]
    assert made_of(engine, events) == [
        ("T@8", "A@6", "B@2", "C@4", "B@3"),
        ("T@8", "A@6", "B@3", "C@4", "B@3"),
        ("T@8", "A@7", "B@2", "C@4", "B@3"),
    ]


def test_consumed_events_are_gone_for_sequences_that_began_before() -> None:
    rule = "define R() from T() and last A() within 9 us from T and each B() within 9 us from A consuming B"
    engine = add(AutomataEngine(), rule)
    events = stream("B@1 A@2 T@3 B@4 A@5 T@6")
    assert made_of(engine, events) == [("T@3", "A@2", "B@1"), ("T@6", "A@5", "B@4")]


def test_composite_events_enter_sequences() -> None:
    rules = """define P(n: int) from A() where n=1;
        define Q() from B() and each P() within 9 us from B and last P() as E within 9 us from P"""
    engine = add(AutomataEngine(), rules)
    found = engine.feed(EventBatch.from_events(stream("A@1 A@2 A@3 B@4"))).to_events()
    assert [event.type for event in found] == ["P", "P", "P", "Q", "Q"]
    assert [event.made_of for event in found[3:]] == [
        ("B@4", found[1].id, found[0].id),
        ("B@4", found[2].id, found[1].id),
    ]


def test_rules_come_and_go_while_running() -> None:
    engine = add(AutomataEngine(), "rule One " + CHAIN)
    made_of(engine, stream("B@1 A@2"))
    add(engine, "rule Two define S() from T() and each A() within 9 us from T")
    assert made_of(engine, stream("T@3")) == [("T@3", "A@2", "B@1")]  # Two has seen no A
    assert made_of(engine, stream("A@4 T@5")) == [("T@5", "A@4", "B@1"), ("T@5", "A@4")]
    engine.withdraw("One")
    assert made_of(engine, stream("T@6")) == [("T@6", "A@4")]
    add(engine, "rule One " + CHAIN)
    assert made_of(engine, stream("T@7 A@8 T@9")) == [("T@7", "A@4"), ("T@9", "A@4"), ("T@9", "A@8")]
    with pytest.raises(OptionError, match="'One' is already deployed"):
        add(engine, "rule One " + CHAIN)
    with pytest.raises(OptionError, match="no rule named 'Three'"):
        engine.withdraw("Three")


def test_a_snapshot_holds_the_instances() -> None:
    engine = add(AutomataEngine(), CHAIN)
    made_of(engine, stream("B@1 A@2 B@3 A@4 B@4"))
    saved = engine.snapshot()
    again = AutomataEngine()
    again.restore(saved)
    assert again.instances == engine.instances == 6
    assert again.snapshot() == saved
    rest = stream("A@5 T@6 T@15")
    assert made_of(again, rest) == made_of(engine, rest) == [("T@6", "A@5", "B@4")]


def test_a_damaged_snapshot_is_refused() -> None:
    saved = add(AutomataEngine(), CHAIN).snapshot()
    with pytest.raises(SnapshotError, match="damaged"):
        AutomataEngine().restore(saved[:-1])
    with pytest.raises(SnapshotError, match="was made by 'columns'"):
        AutomataEngine().restore(create("columns").snapshot())


@pytest.mark.parametrize("name", ["columns", "automata"])
def test_a_snapshot_after_rules_have_come_and_gone(name: str) -> None:
    checked = check(
        parse(
            """event A(x: int, s: string) event T(x: int)
            rule One define P() from T() and each A(x > 0) within 9 us from T;
            rule Two define Q() from T() and each A(contains(s, 'a')) within 9 us from T;
            rule Three define S() from T()"""
        )
    )
    one, two, three = checked.rules.rules
    schema = Schema({**checked.inputs, **checked.composites}.values())

    def again(engine: Engine) -> Engine:
        saved = engine.snapshot()
        restored = create(name)
        restored.restore(saved)
        return restored

    def feed(engine: Engine, kind: str, time: int) -> list[tuple[object, ...]]:
        made = engine.feed_event(Event(kind, time, {"x": 1, "s": "ab"} if kind == "A" else {"x": 1}, id=time))
        return [event.made_of for event in made]

    engine = create(name, [one, three], schema)
    assert feed(engine, "A", 1) == []  # no rule has read A.s yet
    engine.deploy([two], schema)
    engine = again(engine)
    assert feed(engine, "T", 2) == [(2, 1), (2,)]
    engine.withdraw("One")
    engine.withdraw("Two")
    engine = again(again(engine))  # no rule needs A any more
    engine.deploy([two], schema)
    assert feed(engine, "A", 3) == []
    assert feed(again(engine), "T", 4) == [(4,), (4, 3)]


@pytest.mark.parametrize("change", ["rule", "state", "width", "row"])
def test_a_snapshot_of_other_instances_is_refused(change: str) -> None:
    engine = add(AutomataEngine(), CHAIN)
    made_of(engine, stream("B@1 A@2"))
    events, saved = read_instances("automata", engine.snapshot())
    one = next(instances for instances in saved if instances.records.shape == (1, 3))
    other = {
        "rule": replace(one, rule="S"),
        "state": replace(one, state=3),
        "width": replace(one, records=one.records[:, :2]),
        "row": replace(one, records=one.records + np.array([0, 1, 0])),
    }[change]
    with pytest.raises(SnapshotError, match="does not hold what it should"):
        AutomataEngine().restore(write_instances("automata", events, [other]))
    AutomataEngine().restore(write_instances("automata", events, [one]))


def test_too_many_composite_events_are_refused() -> None:
    engine = add(AutomataEngine(limit=2), "define R() from T() and each A() within 9 us from T")
    with pytest.raises(LimitError, match="rule 'R' would make more than 2 composite events"):
        made_of(engine, stream("A@1 A@2 A@3 T@4"))
    assert made_of(engine, stream("T@11")) == [("T@11", "A@2"), ("T@11", "A@3")]


def test_an_explosion_of_sequences_is_refused() -> None:
    rule = "define R() from T() and each A() within 1 h from T and each B() within 1 h from A"
    engine = add(AutomataEngine(pool_words=1 << 14), rule)
    events = stream(" ".join([*(f"B@{time}" for time in range(100)), *(f"A@{time}" for time in range(100, 200))]))
    with pytest.raises(LimitError, match="no room is left for the event sequences that rule 'R' has begun") as caught:
        made_of(engine, events)
    assert caught.value.diagnostics[0].span is not None
    assert engine.instances % 100 == 0  # the event that found no room has left nothing behind
    hour = 3600 * 1_000_000
    later = [Event("B", 2 * hour, id="b"), Event("A", 2 * hour + 1, id="a"), Event("T", 2 * hour + 2, id="t")]
    assert made_of(engine, later) == [("t", "a", "b")]


@pytest.mark.parametrize(
    ("pattern", "place", "construct"),
    [
        ("T(s=$s) and each A(s < $s) within 1 s from T", "s", Construct.ORDER_OF_TWO_TEXTS),
        ("T(s=$s) and each A(contains(s, $s)) within 1 s from T", "contains(s, $s)", Construct.FUNCTIONS_OF_TWO_TEXTS),
        ("T() and Max(A().s within 1 s from T) = 'x'", "s", Construct.EXTREMES_OF_TEXTS),
    ],
)
def test_what_is_not_supported_is_refused_when_deployed(pattern: str, place: str, construct: Construct) -> None:
    engine = AutomataEngine()
    with pytest.raises(UnsupportedError) as caught:
        add(engine, f"event T(s: string) event A(s: string) define R() from {pattern}")
    (refusal,) = caught.value.diagnostics
    assert refusal.span is not None
    assert refusal.span.text == place
    assert refusal.message == f"the fast engines do not support {construct.value}"
    assert refusal.hint == f"{AUTOMATA.instead[construct]}, or choose the engine reference"
    assert made_of(engine, stream("A@1 T@2")) == []  # nothing of the rule is left


def test_every_engine_has_a_row_in_the_table_of_capabilities() -> None:
    assert {*names(), "network", "spark"} == {support.name for support in CAPABILITIES}
    no = "no: use First or Last"  # of columns, device and automata
    row = f"| Min and Max of strings | {no} | {no} | {no} | yes | yes | yes | yes |"
    assert row in support_matrix()


def test_auto_never_takes_automata() -> None:
    assert create("auto").name == "columns"
