"""Rules that a device can evaluate, with others beside them, and streams for them, made from a seed.

Generated rules at large mostly have something that is left to the host: keys, aggregates, functions of texts. These are
made of what a device does: windows and intervals over columns without keys, every selection policy, comparisons and
arithmetic of all kinds with corners of every type, negations, attributes that may be undefined, simultaneous events.
"""

from __future__ import annotations

from random import Random

from random_cases import Case

from cepheus.core.event import Event
from cepheus.core.values import Value
from cepheus.language.tesla import parse
from cepheus.rules.check import check
from strategies.corners import DOUBLES, INTEGERS, TIMES

_ATTRIBUTES = "n: int, m: int, v: double, w: double, o: int?, at: timestamp"
DECLARATIONS = "".join(f"event {name}({_ATTRIBUTES})\n" for name in "ABC")
_POLICIES = ("each", "each", "each", "last", "last", "first", "2 last", "3 first", "2 first")
_SIGNS = ("<", "<=", ">", ">=", "!=", "=")
_PARTS = ("year", "month", "day", "weekday", "hour", "minute", "second")


class _Rule:
    """A rule that is being written: the aliases of its events so far, parameters by alias."""

    def __init__(self, random: Random, number: int) -> None:
        self._random = random
        self._number = number
        self._aliases = ["T"]

    def text(self) -> str:
        random = self._random
        parts = [f"{random.choice('ABC')}({self._binding('T')}) as T"]
        for at in range(random.choice((1, 1, 2, 2, 3))):
            parts.append(self._choice(f"E{at}"))
            if random.random() < 0.25:
                parts.append(f"({self._comparison(None)})")
        parts += [self._absence() for _ in range(random.choice((0, 0, 1)))]
        outputs = ", ".join(
            f"{name}={self._number_of(kind, None, 2)}" for name, kind in (("i", "int"), ("d", "double"), ("p", "int?"))
        )
        declared = "i: int, d: double, p: int?"
        return f"rule R{self._number} define M{self._number}({declared}) from {' and '.join(parts)} where {outputs}"

    def _binding(self, alias: str) -> str:
        """Constraints that bind parameters to the attributes of an event."""
        return f"n = $n{alias} and v = $v{alias} and o = $o{alias}" if self._random.random() < 0.5 else ""

    def _choice(self, alias: str) -> str:
        random = self._random
        reference = random.choice(self._aliases)
        constraints = [self._own_comparison() for _ in range(random.choice((0, 1, 1, 2)))]
        inside = " and ".join(f"({each})" for each in constraints)
        part = (
            f"{random.choice(_POLICIES)} {random.choice('ABC')}({inside}) as {alias} "
            f"within {random.choice((3, 10, 40, 200))} us from {reference}"
        )
        self._aliases.append(alias)
        return part

    def _absence(self) -> str:
        random = self._random
        inside = self._own_comparison() if random.random() < 0.7 else ""
        if len(self._aliases) > 1 and random.random() < 0.5:
            one, other = random.sample(self._aliases, 2)
            return f"not {random.choice('ABC')}({inside}) as D between {one} and {other}"
        reference = random.choice(self._aliases)
        return f"not {random.choice('ABC')}({inside}) as D within {random.choice((2, 9))} us from {reference}"

    def _own_comparison(self) -> str:
        """A comparison of an event's own attributes with those of events before it, or constants."""
        return self._comparison("")

    def _comparison(self, own: str | None, depth: int = 2) -> str:
        random = self._random
        chance = random.random()
        if depth and chance < 0.15:
            joined = random.choice(("and", "or"))
            return f"({self._comparison(own, depth - 1)}) {joined} ({self._comparison(own, depth - 1)})"
        if depth and chance < 0.25:
            return f"not ({self._comparison(own, depth - 1)})"
        if chance < 0.32:
            return f"{self._attribute('o', own)} is {random.choice(('', 'not '))}null"
        if chance < 0.38:
            return f"{self._attribute('n', own)} in (1, 2, {random.choice(INTEGERS)})"
        kind = random.choice(("int", "double", "int?"))
        left = self._number_of(kind, own, depth)
        right = self._number_of(kind, own, depth - 1) if random.random() < 0.8 else str(random.randint(-3, 9))
        sign = random.choice(_SIGNS[:4]) if random.random() < 0.9 else random.choice(_SIGNS)
        return f"{left} + 0 = {right}" if sign == "=" else f"{left} {sign} {right}"  # plain equality would be a key

    def _attribute(self, name: str, own: str | None) -> str:
        """An attribute of the event itself, or of one that is bound."""
        if own is not None and self._random.random() < 0.5:
            return name
        return f"{self._random.choice(self._aliases)}.{name}"

    def _number_of(self, kind: str, own: str | None, depth: int) -> str:
        random = self._random
        if depth <= 0 or random.random() < 0.4:
            return self._attribute({"int": random.choice("nm"), "double": random.choice("vw"), "int?": "o"}[kind], own)
        one, other = (self._number_of(kind, own, depth - 1) for _ in range(2))
        if kind == "double":
            form = random.choice(("{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / {1}", "abs({0} - {1})", "sqrt({0})"))
            form = random.choice(
                (form, "min({0}, {1})", "max({0}, {1})", "mod({0}, {1})", f"{{0}} * {random.choice(DOUBLES)!r}")
            )
            return "(" + form.format(one, other) + ")"
        form = random.choice(("{0} + {1}", "{0} - {1}", "{0} * {1}", "abs({0})", "mod({0}, {1})", "min({0}, {1})"))
        form = random.choice((form, "max({0}, {1})", "if({0} < {1}, {0}, {1})", f"{random.choice(_PARTS)}({{2}})"))
        form = random.choice((form, form, "coalesce({3}, {0})", "floor({4})", "ceil({4})", "round({4})"))
        filled = form.format(
            one, other, self._attribute("at", own), self._attribute("o", own), self._attribute("v", own)
        )
        return f"({filled})"


_BESIDE = (
    "rule H{0} define H{0}(n: int) from A(n=$k) and last B(n=$k) within 50 us from A where n=$k",
    "rule H{0} define H{0}(c: int) from B() and $c = Count(A(v > 1) within 40 us from B) where c=$c",
    "rule H{0} define H{0}(n: int) from C() and each A() within 9 us from C where n=A.n consuming A",
)
"""Rules that are left to the host; what they make has to be in the right place among the rest."""


def make_device_case(seed: int, *, while_running: bool = False, events: int = 60) -> Case:
    """Make the case of a seed; with ``while_running``, rules come and go in mid-stream."""
    random = Random(f"device {seed}")
    rules = [_Rule(random, number).text() for number in range(random.choice((1, 1, 2)))]
    if random.random() < 0.3:
        rules.insert(random.randint(0, len(rules)), random.choice(_BESIDE).format(9))
    text = DECLARATIONS + "\n".join(rules)
    stream = tuple(_stream(random, random.randint(events // 2, events)))
    places, withdrawn = [0] * len(rules), None
    if while_running:
        places = sorted(random.randint(0, len(stream)) for _ in rules)
        withdrawn = random.randint(places[0], len(stream))
    return Case(seed, text, check(parse(text, f"device seed {seed}")), stream, tuple(places), withdrawn)


def _stream(random: Random, count: int) -> list[Event]:
    corners, steps = random.random() < 0.3, random.choice(((1,), (1, 2, 5), (0, 0, 1), (0, 1, 1, 3)))
    time = random.choice((0, 0, 1000, -(2**63), 2**63 - 1000))
    found = []
    for _ in range(count):
        time = min(time + random.choice(steps), 2**63 - 1)
        attributes: dict[str, Value | None] = {
            "n": random.choice(INTEGERS) if corners else random.randint(-3, 9),
            "m": random.randint(-3, 9),
            "v": random.choice(DOUBLES) if corners else round(random.uniform(-5, 9), 1),
            "w": float(random.randint(-2, 5)),
            "o": random.choice((None, *INTEGERS)) if corners else random.choice((None, 0, 1, 5)),
            "at": random.choice(TIMES) if random.random() < 0.5 else random.randint(0, 10**15),
        }
        found.append(Event(random.choice("ABC"), time, attributes))
    return found
