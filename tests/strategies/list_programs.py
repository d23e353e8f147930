"""Programs of ETALIS whose events have lists, and streams for them, generated from a seed.

Lists are of up to three elements out of few, so that they meet often: numbers, a text, a truth, lists of these.
"""

from __future__ import annotations

from random import Random

from cepheus.core.event import Event
from cepheus.core.lists import list_value
from cepheus.core.time import SECOND
from cepheus.core.values import Value
from strategies.interval_programs import OPERATORS, POLICIES

_ELEMENTS: tuple[Value, ...] = (1, 1, 2, 2, 2.0, 2.5, True, "x", (), (1,), (1, 2))
_LITERALS = ("1", "2", "2.0", "true", "'x'", "[]", "[1]", "[1, 2]")
_FACTS = """
known([1, 2], 1). known([2], 2). known([], 1). known([[1], 2], 2). known([true, 1], 1).
tail(T) :- known([_|T], _).
tail([X, X]) :- known([X], _).
inside(E) :- known(L, _), E in L.
plain(L) :- known(L, _), NOT nested([L|_]).
nested([L]) :- known(L, _), [[_|_]|_] = L.
"""

_AFTER_OR = (
    "X != 2",
    "W = [X]",
    "W = [1, 2]",
    "W in [[], [1]]",
    "COUNT(b([_|_], _) WITHIN 5) = 0",
    "W = COUNT(b(_, X) WITHIN 5)",
)
"""Conditions around an OR of which one side has a variable W."""


def list_program(seed: int) -> str:
    """Write a program of three or four rules with a policy each."""
    random = Random(seed)
    rules = [_FACTS]
    left, right = _atom(random, "X"), _atom(random, random.choice("XXY"))
    window = random.choice([".4", ".8", ""])
    both = f"({left} {random.choice([o for o in OPERATORS if o != 'OR'])} {right}){window}"
    if random.random() < 0.25:
        both = f"(NOT({_atom(random, random.choice('XZ'))}).[{left}, {right}]){window}"
    rules.append(f"p(X, {_made(random)}) <- {both}{_where(random)} POLICY {_policy(random)}.")
    rules.append(f"q({_made(random)}) <- {_atom(random, 'X')}{_where(random)}.")
    rules.append(f"r(X, L) <- (p(X, L) {random.choice(['SEQ', 'AND', 'PAR'])} q(M)).6{_members(random)}.")
    if random.random() < 0.3:
        rules.append(f"o(X) <- (a(X, W) OR {_atom(random, 'X')}) WHERE {random.choice(_AFTER_OR)}.")
    if random.random() < 0.4:
        rules.append(f"q([X|L]) <- (q(L) SEQ a(X, _)).6 WHERE length(L) < 3 POLICY {_policy(random)}.")
    return "\n".join(rules)


def list_events(seed: int, count: int, *, span: int = 9) -> list[Event]:
    """Make a stream in order of events with a value and a list each, or the list first; some are intervals."""
    random = Random(seed)
    made = []
    for time in sorted(random.randint(0, span) for _ in range(count)):
        start = time - random.randint(0, min(3, time)) if random.random() < 0.3 else time
        values = random.choice(_ELEMENTS), _list(random)
        name = random.choice("aabbccd")
        made.append((name, start, time, values if name != "d" else (values[1], values[0])))
    return [
        Event(name, end * SECOND, {"arg1": one, "arg2": other}, id=place, start=start * SECOND)
        for place, (name, start, end, (one, other)) in enumerate(made)
    ]


def _list(random: Random) -> Value:
    found = list_value(random.choice(_ELEMENTS) for _ in range(random.choice((0, 1, 1, 2, 2, 3))))
    assert found is not None
    return found if random.random() < 0.9 else "[1]"


def _policy(random: Random) -> str:
    return random.choice([policy for policy in POLICIES if not policy.endswith(" X")])


def _atom(random: Random, variable: str) -> str:
    """Write an atom that binds a variable."""
    own = f"{variable}{random.randrange(10**6)}"
    if random.random() < 0.2:
        return random.choice([f"d([{variable}|_], {variable})", f"d([[_]|{own}], {variable})", f"d({variable}, _)"])
    patterns = [
        f"({variable}, _)",
        f"({variable}, [])",
        f"({variable}, {random.choice(_LITERALS[5:])})",
        f"({variable}, [{variable}|_])",
        f"(_, [{variable}|_])",
        f"(_, [{variable}])",
        f"(_, [_, {variable}|{own}])",
        f"(_, [{variable}, {variable}])",
        f"(_, [{random.choice(_LITERALS)}, {variable}])",
        f"(_, [[{variable}|_]|_])",
        f"(_, [_|{variable}])",
        f"(_, {variable})",
        f"([_|_], [{variable}|{own}])",
    ]
    return random.choice("abc") + random.choice(patterns)


def _made(random: Random) -> str:
    return random.choice(["[X]", "[X|[1, 2]]", "[X, [X], 2.0]", "X", "[[X]|[]]", "[]", "[X, 1 + 1]"])


def _where(random: Random) -> str:
    if random.random() < 0.4:
        return ""
    return " WHERE " + random.choice(
        [
            "X != 2",
            "X = [1]",
            "length(X) > 0",
            "X in [1, 2, [1], 2.5]",
            "tail(X)",
            "NOT tail(X)",
            "known([X|_], _)",
            "NOT known([X|_], _)",
            "inside(X)",
            "X > 1",
            "[_|_] = X",
            "NOT [_] = X",
            "K = [X, 1], [_, J] = K, J = 1",
            "plain(X) OR X = 2",
            "COUNT(a([X|_], _) WITHIN 4) = 0, COUNT(b(_, [X|_]) WITHIN 6) > 0",
        ]
    )


def _members(random: Random) -> str:
    return random.choice(
        ["", " WHERE X in M", " WHERE E in M, E != X", " WHERE [X|T] = M, E in T", " WHERE NOT X in M"]
    )
