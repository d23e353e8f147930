"""Programs in the ETALIS language and streams for them, generated from a seed.

Everything a program is made of comes from small sets, so that events meet often: three types of inputs with one
argument of two values, times of a dozen instants with ties, two levels of complex events, recursion now and then.
"""

from __future__ import annotations

from random import Random

from cepheus.core.event import Event
from cepheus.core.time import SECOND

_COMMON = ("SEQ",) * 4 + ("AND",) * 3 + ("OR", "PAR") * 2
_RELATIONS = ("EQUALS", "MEETS", "DURING", "STARTS", "FINISHES", "OVERLAPS")
_INVERSES = ("AFTER", "CONTAINS", "MET BY", "STARTED BY", "FINISHED BY", "OVERLAPPED BY")
OPERATORS = (*_COMMON, *_RELATIONS, *_INVERSES)
POLICIES = (
    "unrestricted",
    "recent",
    "recent, once",
    "recent, once, renewing",
    "recent, once, renewing, onesided",
    "recent, onesided, longer",
    "recent, longer",
    "recent, shorter",
    "recent, once, greatest X",
    "chronological",
    "chronological, renewing",
    "chronological, onesided",
    "chronological, longer",
    "chronological, shorter",
    "chronological, least X",
)


def program(seed: int, *, extensions: bool = True) -> str:
    """Write a program of two or three rules; with ``extensions`` also aggregates, facts and points in time."""
    random = Random(seed)
    facts = extensions and random.random() < 0.3
    rules = ["good(1). good(X) :- fine(X), NOT bad(X). fine(2). fine(3). bad(3)."] if facts else []
    rules.append(
        f"p(X) <- {_pattern(random, ('a', 'b', 'c'), random.choice((1, 1, 2)), facts=facts, extensions=extensions)}."
    )
    rules.append(f"q(X, Y) <- {_pair(random, facts=facts, extensions=extensions)}.")
    if random.random() < 0.3:
        window = _window(random)
        rules.append(f"p(X) <- (p(X) SEQ {random.choice('abc')}(X)){window}.")
    return "\n".join(rules)


def events(seed: int, count: int = 12, *, span: int = 10) -> list[Event]:
    """Make a stream in order, with times in seconds; some events are intervals."""
    random = Random(seed)
    made = []
    for _ in range(count):
        time = random.randint(0, span)
        start = time - random.randint(0, min(3, time)) if random.random() < 0.3 else time
        made.append((time, start, random.choice("abc"), random.randint(1, 2)))
    made.sort(key=lambda each: each[0])
    return [
        Event(name, time * SECOND, {"arg1": value}, id=place, start=start * SECOND)
        for place, (time, start, name, value) in enumerate(made)
    ]


def program_over_one_type(seed: int) -> str:
    """Write rules that have one type on both sides of an operator, each with a policy of its own.

    Arguments are left open now and then, so that different events of an instant give equal matches.
    """
    random = Random(seed)
    operators = [operator for operator in OPERATORS if operator != "OR"]
    rules = []
    for head, kind in (("q", random.choice("ab")), ("r", random.choice("abq"))):
        right = f"{random.choice((kind, kind, 'c'))}({random.choice(('X', '_', '1'))}, Z)"
        pattern = f"{kind}({random.choice(('X', '_', '2'))}, Z) {random.choice(operators)} {right}"
        if random.random() < 0.2:
            pattern = f"({pattern}) OR {kind}(_, Z)"
        elif random.random() < 0.2:
            pattern = f"({pattern}) {random.choice(operators)} {kind}(_, {random.choice('ZX')})"
        pattern = f"({pattern}){_window(random)}"
        shown = "X" if "X" in pattern and " OR " not in pattern else "Z"
        rules.append(f"{head}({shown}, Z) <- {pattern} POLICY {_policy(random)}.")
    operator = random.choice(operators)
    pattern = f"q({random.choice('_X')}, Z) {operator} {random.choice('cqr')}(_, Z)"
    rules.append(f"s(Z) <- ({pattern}).8 POLICY {_policy(random)}.")
    return "\n".join(rules)


def _policy(random: Random) -> str:
    return random.choice(POLICIES).replace(" X", " Z")


def pairs_of_values(seed: int, count: int = 12, *, span: int = 6) -> list[Event]:
    """Make a stream of events with two arguments, many of them at one time."""
    random = Random(seed)
    values = [random.randint(1, 2) for _ in range(count)]
    return [
        Event(event.type, event.time, {**event.attributes, "arg2": value}, id=event.id, start=event.start)
        for event, value in zip(events(seed, count, span=span), values, strict=True)
    ]


def _window(random: Random) -> str:
    return random.choice(["", "", f".{random.randint(1, 6)}", f".={random.randint(1, 4)}"])


def _pattern(random: Random, types: tuple[str, ...], depth: int, *, facts: bool, extensions: bool) -> str:
    """Write a pattern that binds X."""
    if depth == 0 or random.random() < 0.15:
        return f"{random.choice(types)}(X)"
    choice = random.random()
    if choice < 0.2:
        local = f"Z{random.randrange(10**6)}"  # of this negation alone
        negated = random.choice(
            [f"{random.choice(types)}(X)", f"{random.choice(types)}(_)", f"(a({local}) SEQ b({local}))"]
        )
        first, second = (_pattern(random, types, depth - 1, facts=facts, extensions=extensions) for _ in "12")
        text = f"NOT({negated}).[{first}, {second}]"
    elif choice < 0.26 and extensions:
        points = sorted(random.sample(range(12), 2))
        text = (
            f"{_pattern(random, types, depth - 1, facts=facts, extensions=False)} DURING ({points[0]} SEQ {points[1]})"
        )
    else:
        left, right = (_pattern(random, types, depth - 1, facts=facts, extensions=extensions) for _ in "12")
        text = f"({left}) {random.choice(OPERATORS)} ({right})"
    text = f"({text}){_window(random)}"
    if random.random() < 0.2:
        conditions = ["X > 1", "X < 2", "X != 3"]
        if facts:
            conditions += ["good(X)", "NOT good(X)"]
        if extensions:
            conditions += [f"COUNT({random.choice('abc')}(X) WITHIN {random.randint(0, 6)}) > 1"]
        text = f"({text} WHERE {random.choice(conditions)})"
    return text


def _pair(random: Random, *, facts: bool, extensions: bool) -> str:
    """Write a pattern that binds X and Y, over complex and other events."""
    types = ("p", "a", "b")
    left = _pattern(random, types, 1, facts=facts, extensions=extensions)
    right = f"{random.choice(types)}(Y)"
    if random.random() < 0.25:
        return f"(NOT({random.choice('abc')}(X)).[{left}, {right}]){_window(random)}"
    operator = random.choice([operator for operator in OPERATORS if operator != "OR"])
    text = f"(({left}) {operator} {right}){_window(random)}"
    return f"{text} WHERE X <= Y" if random.random() < 0.2 else text
