"""Random programs of interval rules, alone and with rules of TESLA that they feed and are fed by, from a seed."""

from __future__ import annotations

from random import Random

from cepheus.core.event import Event
from cepheus.language import etalis, tesla
from cepheus.rules.check import check
from strategies.corners import corners_of
from strategies.split_cases import DECLARATIONS, TYPES, SplitCase, stream, tesla_rule

POLICIES = (
    "unrestricted",
    "unrestricted",
    "recent",
    "recent, once, renewing",
    "recent, longer",
    "chronological",
    "chronological, shorter",
)
_OPERATORS = ("SEQ",) * 4 + ("AND", "AND", "OR", "PAR", "EQUALS", "MEETS", "DURING", "STARTS", "FINISHES", "OVERLAPS")
_WINDOWS = ("", ".1 s", ".2 s", ".3 s", ".5 s")


def mixed_case(seed: int, *, events: int = 50, with_tesla: bool | None = None, intervals: bool = True) -> SplitCase:
    """Make the case of a seed: interval rules and, if asked for or every other time, rules of TESLA."""
    random = Random(seed)
    mixed = random.random() < 0.5 if with_tesla is None else with_tesla
    before = "".join(tesla_rule(random, number, "mixed") for number in range(random.choice((0, 1, 2)))) if mixed else ""
    defined = tuple(f"P{number}" for number in range(before.count("define")))
    text = _intervals(random, defined)
    after = _readers(random) if mixed and random.random() < 0.6 else ""
    rules = etalis.parse(text, f"seed {seed}") + tesla.parse(DECLARATIONS + before + after, f"seed {seed}")
    made = stream(random, events, random.random() < 0.7, corners_of(seed))
    if intervals and random.random() < 0.5:
        made = [_lasting(random, event) for event in made]
    return SplitCase(seed, f"{text}\n{before}\n{after}", check(rules), tuple(made))


def _lasting(random: Random, event: Event) -> Event:
    if random.random() < 0.7:
        return event
    return Event(
        event.type,
        event.time,
        event.attributes,
        id=event.id,
        sequence=event.sequence,
        start=event.time - random.choice((500_000, 1_000_000, 4_000_000)),
    )


def _intervals(random: Random, defined: tuple[str, ...]) -> str:
    keyed = random.random() < 0.7
    rules = [f"policy {random.choice(POLICIES)}."]
    count = random.choice((1, 2, 2, 3))
    for number in range(count):
        writer = _Writer(random, (*TYPES, *TYPES, *defined), tuple(f"Q{n}" for n in range(number)), keyed)
        pattern, bound = writer.pattern(random.choice((0, 1, 1, 2)))
        numbers = sorted(bound - {"K"}) or ["1"]
        head = "K" if keyed and random.random() < 0.9 and "K" in bound else random.choice(numbers)
        rules.append(f"Q{number}({head}, {random.choice(numbers)}) <- {pattern}.")
    return "\n".join(rules)


class _Writer:
    """Writes a pattern; every atom has the variable K where the rules are keyed, and a number of its own."""

    def __init__(self, random: Random, types: tuple[str, ...], complex_types: tuple[str, ...], keyed: bool) -> None:
        self.random = random
        self.types = types
        self.complex_types = complex_types
        self.keyed = keyed
        self.count = 0

    def atom(self, *, bind: bool = True) -> tuple[str, set[str]]:
        random = self.random
        key = "K" if self.keyed and random.random() < 0.97 else random.choice(("_", '"a"', "_"))
        self.count += 1
        number = f"N{self.count}" if bind else "_"
        bound = {name for name in (key, number) if name[0] in "KN"}
        if self.complex_types and random.random() < 0.3:
            return f"{random.choice(self.complex_types)}({key}, {number})", bound
        name = random.choice(self.types)
        value = random.choice(("_", "_", "_", "3.0", "5.0"))
        return f"{name}({key}, {number}, _, {value})", bound

    def pattern(self, depth: int) -> tuple[str, set[str]]:
        random = self.random
        if depth == 0:
            return self.atom()
        if random.random() < 0.2:
            negated, _ = self.atom(bind=False)
            (first, one), (second, other) = self.pattern(depth - 1), self.pattern(depth - 1)
            text, bound = f"NOT({negated}).[{first}, {second}]", one | other
        else:
            (left, one), (right, other) = self.pattern(depth - 1), self.pattern(depth - 1)
            operator = random.choice(_OPERATORS)
            text, bound = f"({left}) {operator} ({right})", one & other if operator == "OR" else one | other
        text = f"({text}){random.choice(_WINDOWS)}"
        numbers = sorted(bound - {"K"})
        if numbers and random.random() < 0.3:
            condition = f"{random.choice(numbers)} {random.choice(('>', '<', '>=', '!='))} {random.randint(0, 3)}"
            if random.random() < 0.4:
                counted, _ = self.atom(bind=False)
                condition = f"COUNT({counted} WITHIN {random.randint(1, 4)} s) > {random.randint(0, 2)}"
            text = f"({text} WHERE {condition})"
        return text, bound


def _readers(random: Random) -> str:
    """Write rules of TESLA that look at complex events."""
    tie = random.choice(("k = $k", "k = $k", ""))
    return (
        f"define T0(k: string, n: int) from Q0(arg1 = $k) and {random.choice(('last', 'each', 'first'))} "
        f"{random.choice(TYPES)}({tie}) as e within {random.choice((1, 3, 5))} s from Q0 where k = e.k, n = e.n;"
        if random.random() < 0.5
        else f"define T0(k: string, n: int) from {random.choice(TYPES)}(k = $k) as e and "
        f"{random.choice(('last', 'each', 'not'))} Q0({'arg1 = $k' if tie else ''}) within 4 s from e "
        "where k = e.k, n = e.n;"
    )
