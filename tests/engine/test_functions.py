"""Every function of the table, on every engine: the worth that its record gives, to the last bit, or a refusal by name.

The cases are made from the records, so a new function is tried without a word here.
"""

from __future__ import annotations

from itertools import product

import pytest

import cepheus
from cepheus import Event, UnsupportedError
from cepheus.core.values import Value, ValueType
from cepheus.rules.function_record import Function, Kind, OnlyPython, TextTable
from cepheus.rules.functions import FUNCTIONS, built_in_names

INTS = (0, 1, -1, 2, 3, -7, 309, 2**53 + 1, 2**63 - 1, -(2**63))
FLOATS = (0.0, -0.0, 0.5, -0.5, 1.0, 1.5, 2.5, -3.0, 0.1, 709.9, 1e19, -(2.0**63), 1e300, -1e300, 5e-324)
TEXTS = ("", "a", "ab", " B ", "ß", "10.1.2.3")
TIMES = (0, -1, 1_700_000_000_000_000, 951_782_400_000_000, -62_135_596_800_000_001, 253_402_300_800_000_000)
DECLARED = (
    "event A(x: int, y: double, x2: int, y2: double, o: int?, p: double?, s: string, t: string?, at: timestamp)\n"
)


def stream() -> list[Event]:
    """Events with all pairs of numbers at corners, with and without what is optional."""
    found = []
    for n, (y, y2) in enumerate(product(FLOATS, FLOATS)):
        x, x2 = INTS[n % len(INTS)], INTS[n // len(INTS) % len(INTS)]
        values: dict[str, Value | None] = {
            "x": x,
            "y": y,
            "x2": x2,
            "y2": y2,
            "o": None if n % 3 == 0 else x2,
            "p": None if n % 5 == 0 else y2,
            "s": TEXTS[n % len(TEXTS)],
            "t": None if n % 2 else TEXTS[n % len(TEXTS)],
            "at": TIMES[n % len(TIMES)],
        }
        found.append(Event("A", n, values, id=n))
    return found


EVENTS = stream()
NUMBERS = (("A.x", "A.x2", "3"), ("A.y", "A.y2", "0.5"), ("A.x", "A.y", "2"), ("A.o", "A.x", "A.x2"), ("2", "A.p", "1"))
CHOICES: dict[Kind, tuple[tuple[str, str, str], ...]] = {
    Kind.NUMBER: NUMBERS,
    Kind.STRING: (("A.s", "'a'", "'b'"), ("'aab'", "A.s", "'b'"), ("A.t", "'B'", "'b'")),
    Kind.SIZED: (("A.s", "", ""), ("A.t", "", "")),
    Kind.TRUTH: (("A.x > 1", "A.y > 1", "A.o > 1"), ("A.p > 0", "A.y > 1", "A.o > 1"), ("A.t is null", "", "")),
    Kind.TIMESTAMP: (("A.at", "A.time", "A.at"), ("A.time", "A.at", "A.at")),
    Kind.SAME: (("A.o", "A.x", "A.x2"), ("A.p", "A.y", "A.y2"), ("A.o", "A.y", "A.p"), ("A.t", "A.s", "'z'")),
}

PARTICULAR = {
    "cidr_match": (("A.s", "'10.0.0.0/8'", "'fd00::/8'"), ("A.t", "'10.1.2.3'", "'10.1.0.0/16'")),
    "split": (("A.s", "'.'", "2"), ("A.t", "'.'", "-1"), ("'a.b'", "'.'", "1")),
}
"""Arguments of functions that are undefined for most values of their kinds."""


def calls(function: Function) -> list[tuple[str, str]]:
    """Calls of a function with the type that each gives: for all kinds of arguments, one more if it takes more."""
    count = len(function.arguments) + (1 if function.variadic else 0)
    found = []
    choices = [PARTICULAR.get(function.name, CHOICES[function.kind(place)]) for place in range(count)]
    for written in zip(*choices, strict=False):
        arguments = [options[place % 3] for place, options in enumerate(written)]
        if function.result is not None:
            result = function.result.value
        elif any(argument in ("A.s", "A.t") for argument in arguments):
            result = ValueType.STRING.value
        else:
            result = "double" if any(a in ("A.y", "A.y2", "A.p", "0.5") for a in arguments) else "int"
        found.append((f"{function.name}({', '.join(arguments)})", result))
    return found


def rules(function: Function) -> str:
    written = (
        f"define R{n}(r: {result}?) from A() where r = {call};\n" for n, (call, result) in enumerate(calls(function))
    )
    return DECLARED + "".join(written)


def found(text: str, engine: str) -> list[tuple[str, int, str]]:
    made = cepheus.compile(text).detect(EVENTS, engine=engine).to_events()
    return sorted((event.type, event.time, repr(event.attributes.get("r"))) for event in made)


@pytest.mark.parametrize("engine", ["columns", "automata"])
@pytest.mark.parametrize("name", built_in_names())
def test_engines_compute_it_as_the_reference_does_or_refuse_it(name: str, engine: str) -> None:
    function = FUNCTIONS[name]
    text = rules(function)
    if isinstance(function.lowering, OnlyPython):
        with pytest.raises(UnsupportedError, match=f"do not support the function '{name}'"):
            found(text, engine)
        return
    expected = found(text, "reference")
    assert len({worth for _, _, worth in expected}) > 1  # or nothing is shown
    assert found(text, engine) == expected


OF_TYPES: dict[str, tuple[Value, ...]] = {
    "int": INTS,
    "double": FLOATS[::2],
    "string": TEXTS,
    "bool": (True,),
}


@pytest.mark.parametrize("name", built_in_names())
def test_interval_rules_compute_it_as_their_reference_does(name: str) -> None:
    """For arguments of all types, whether the function takes them or not: an event type for each combination."""
    function = FUNCTIONS[name]
    count = len(function.arguments)
    variables = ", ".join(("X", "Y", "Z", "W")[:count])
    text, events = "", []
    for n, types in enumerate(product(OF_TYPES if count < 4 else ("int", "double", "string"), repeat=count)):
        text += f"r{n}(T, V) <- a{n}(T, {variables}) WHERE V = {name}({variables}).\n"
        values = [TIMES if kind == "int" and Kind.TIMESTAMP in function.arguments else OF_TYPES[kind] for kind in types]
        if function.regex is not None and types[function.regex] == "string":
            values[function.regex] = ("a", "a+", "[ab]*")
        values = [several if count < 4 else several[:3] for several in values]
        events += [(f"a{n}", row) for row in product(*values)]
    given = [{"type": kind, "time": n, "args": [n, *row]} for n, (kind, row) in enumerate(events)]
    program = cepheus.compile(text)
    made = {
        engine: sorted(repr(event.attributes) for event in program.detect(given, engine=engine).to_events())
        for engine in ("interval-reference", "goals")
    }
    assert made["goals"] == made["interval-reference"]
    assert made["goals"]


def test_a_call_of_texts_that_has_no_table_is_refused_with_its_place() -> None:
    function = next(f for f in FUNCTIONS.values() if isinstance(f.lowering, TextTable) and len(f.arguments) == 2)
    text = DECLARED + f"define R() from A({function.name}(s, t))"
    if function.result is not ValueType.BOOL:
        text = DECLARED + f"define R() from A({function.name}(s, t) = 'ab')"
    with pytest.raises(UnsupportedError, match="functions of two string attributes") as refused:
        cepheus.compile(text).detect(EVENTS, engine="columns")
    assert refused.value.diagnostics[0].span is not None
