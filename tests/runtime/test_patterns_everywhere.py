"""Regular expressions on every engine and host: the same answers, and none that takes for ever."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

import pytest

import cepheus
from cepheus.core.distribution import Normal
from cepheus.core.event import Event
from cepheus.core.values import Value
from cepheus.language.tesla import parse, parse_event_pattern
from cepheus.rules.check import check
from cepheus.rules.regular_expressions import fault_in, fits
from cepheus.runtime.network.protocol.interests import matches
from cepheus.runtime.network.protocol.messages import AttachSink, AttachSource, DeployRules, Publish, Tick
from cepheus.runtime.network.protocol.strategy import Filter, Options, Strategy
from cepheus.runtime.network.simulation.simulator import Network

Found = set[tuple[int, int]]
"""Which text, counted from 1, fits which pattern, counted from 0."""

ATOMS = ("a", "b", ".", "[ab]", "[^a]", r"\d", r"\w", r"\s", r"\p{L}", "é", r"\n", r"\x00", r"\x{1F600}", "(?i:A)")
TEXTS = ("", "a", "b", "aa", "ab", "ba", "abab", "é", "É", "7", " ", "\n", "a\n", "\0", "a\0b", "😀", "a😀", "aab7 é")


def quoted(pattern: str) -> str:
    """Write a pattern as a string of a rule."""
    return "'" + pattern.replace("\\", "\\\\").replace("'", "\\'") + "'"


def random_pattern(random: Random, depth: int = 0) -> str:
    parts = []
    for _ in range(random.randrange(1, 4)):
        part = random.choice(ATOMS)
        if depth < 2 and random.random() < 0.3:
            part = f"({random_pattern(random, depth + 1)}|{random_pattern(random, depth + 1)})"
        parts.append(part + random.choice(("", "", "*", "+", "?", "{1,2}")))
    return "".join(parts)


def events(texts: tuple[str, ...]) -> list[Event]:
    return [Event("X", number, {"n": number, "s": text}) for number, text in enumerate(texts, 1)]


def number(value: Value | None) -> int:
    assert isinstance(value, int)
    return value


def pair(event: Event) -> tuple[int, int]:
    """Tell from a composite event which text fits which pattern."""
    return number(event["n"]), int(event.type[1:])


def rules(patterns: tuple[str, ...], more: str = "") -> str:
    return ";\n".join(
        f"define P{k}(n: int) from X(matches(s, {quoted(pattern)}){more}) where n = X.n"
        for k, pattern in enumerate(patterns)
    )


def on_engine(engine: str, *, singly: bool = False, threads: int = 1) -> Callable[..., Found]:
    def run(patterns: tuple[str, ...], texts: tuple[str, ...]) -> Found:
        program = cepheus.compile("event X(n: int, s: string)\n" + rules(patterns))
        if singly:
            session = program.start(engine=engine)
            made = [composite for event in events(texts) for composite in session.feed(event)]
        else:
            made = program.detect(events(texts), engine=engine, threads=threads).to_events()
        return {pair(event) for event in made}

    return run


def with_uncertain_events(patterns: tuple[str, ...], texts: tuple[str, ...]) -> Found:
    given = [Event("X", e.time, {**e.attributes, "v": 1.0}, errors={"v": Normal(0, 1)}) for e in events(texts)]
    made = cepheus.compile(rules(patterns, " and v > 0")).detect(given).to_events()
    assert all(0.8 < event.probability < 0.9 for event in made)
    return {pair(event) for event in made}


def in_etalis(engine: str) -> Callable[..., Found]:
    def run(patterns: tuple[str, ...], texts: tuple[str, ...]) -> Found:
        text = "\n".join(f"p({n}, N) <- x(N, S) WHERE matches(S, {quoted(p)})." for n, p in enumerate(patterns))
        return etalis(text, texts, engine, {})

    return run


def by_knowledge(engine: str) -> Callable[..., Found]:
    def run(patterns: tuple[str, ...], texts: tuple[str, ...]) -> Found:
        text = "known(K, S) :- pattern(K, P), said(S), matches(S, P).\np(K, N) <- x(N, S) WHERE known(K, S)."
        return etalis(text, texts, engine, {"pattern": list(enumerate(patterns)), "said": [(t,) for t in set(texts)]})

    return run


def etalis(text: str, texts: tuple[str, ...], engine: str, knowledge: dict[str, list[tuple[int | str, ...]]]) -> Found:
    given = [{"type": "x", "time": n, "args": [n, text]} for n, text in enumerate(texts, 1)]
    made = cepheus.compile(text, knowledge=knowledge).detect(given, engine=engine).to_events()
    return {(number(event["arg2"]), number(event["arg1"])) for event in made}


def by_subscription(patterns: tuple[str, ...], texts: tuple[str, ...]) -> Found:
    found: Found = set()

    def note(k: int, event: Event) -> None:
        found.add((event.time, k))

    session = cepheus.compile("define Never() from X(n < 0)").start()
    for k, pattern in enumerate(patterns):
        session.subscribe(f"X(matches(s, {quoted(pattern)}))", partial(note, k))
    session.feed(events(texts))
    return found


def by_interests(patterns: tuple[str, ...], texts: tuple[str, ...]) -> Found:
    wanted = [parse_event_pattern(f"X(matches(s, {quoted(pattern)}))") for pattern in patterns]
    return {(event.time, k) for event in events(texts) for k, pattern in enumerate(wanted) if matches(pattern, event)}


def in_a_network(patterns: tuple[str, ...], texts: tuple[str, ...]) -> Found:
    network = Network({("p1", "p2"): 10}, Options(Strategy.ST, Filter.EXACT))
    network.start()
    network.post(1, "p2", AttachSource("s", ("X",)), "s")
    network.post(1, "p1", DeployRules("r", check(parse(rules(patterns))).rules.rules), "d")
    for number in range(len(patterns)):
        network.post(1, "p1", AttachSink(f"k{number}", parse_event_pattern(f"P{number}()")), f"k{number}")
    network.run()
    for event in events(texts):
        network.post(100 * event.time, "p2", Publish("s", (event,), event.time - 1), "s")
    network.post(10_000, "p2", Tick(9_000))
    network.run()
    return {pair(event) for event in (receipt.event for receipt in network.receipts)}


HOSTS: dict[str, Callable[..., Found]] = {
    "reference": on_engine("reference"),
    "columns": on_engine("columns"),
    "columns singly": on_engine("columns", singly=True),
    "columns in threads": on_engine("columns", threads=2),
    "automata": on_engine("automata"),
    "uncertain": with_uncertain_events,
    "goals": in_etalis("goals"),
    "interval-reference": in_etalis("interval-reference"),
    "knowledge of goals": by_knowledge("goals"),
    "knowledge of interval-reference": by_knowledge("interval-reference"),
    "subscription": by_subscription,
    "interests": by_interests,
    "network": in_a_network,
}


@pytest.mark.parametrize("host", HOSTS)
def test_the_same_texts_fit_everywhere(host: str) -> None:
    random = Random(13)
    patterns = tuple(random_pattern(random) for _ in range(60))
    assert [pattern for pattern in patterns if fault_in(pattern)] == []
    expected = {(n, k) for n, text in enumerate(TEXTS, 1) for k, p in enumerate(patterns) if fits(text, p)}
    assert len(expected) > 150
    assert HOSTS[host](patterns, TEXTS) == expected


@pytest.mark.parametrize("host", HOSTS)
def test_no_pattern_takes_for_ever(host: str) -> None:
    """An engine that goes back and tries again would not come to an end."""
    texts = ("a" * 5_000 + "b", "a" * 5_000)
    assert HOSTS[host](("(a+)+$", "(a|aa)+", "(?:a*)*c"), texts) == {(2, 0), (2, 1)}


def test_a_pattern_that_comes_with_an_event_and_is_none_is_undefined() -> None:
    program = cepheus.compile(
        "define Fits(n: int) from X(matches(s, p)) where n = X.n;"
        "define Misses(n: int) from X(matches(s, p) = false) where n = X.n"
    )
    patterns = ("a.", "a", "a(", "a(?=b)b", "a{,3}", "a{99999999999999999999}", "(" * 5000)
    given = [Event("X", n, {"n": n, "s": "ab", "p": pattern}) for n, pattern in enumerate(patterns)]
    found = [(event.type, event["n"]) for event in program.detect(given).to_events()]
    assert found == [("Fits", 0), ("Misses", 1)]
