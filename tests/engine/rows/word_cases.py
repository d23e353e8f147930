"""Whole queries over small tables, and what they must give by the words of their patterns (``word_oracle.py``)."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from random import Random

import pyarrow as pa
from meant_rows import Draw, names_in
from word_oracle import EPOCH, Oracle, Rows, SkipFailsError, TooManyWordsError, in_order

_SPELLED = (
    {"A": "A", "B": "B", "C": "C"},
    {"A": "a", "B": "B", "C": "C"},
    {"A": '"A"', "B": "b", "low": '"low"'},
    {"DOWN": "Down", "UP": "up", "x y": '"x y"'},
)
"""Variables, each as the text has it."""
_ALL = "ALL ROWS PER MATCH"
_MODES = ("ONE ROW PER MATCH", "", _ALL, f"{_ALL} SHOW EMPTY MATCHES", f"{_ALL} OMIT EMPTY MATCHES")
_UNMATCHED = f"{_ALL} WITH UNMATCHED ROWS"
_ORDERS = ("t, id", "t, id", "t, id", "v, id", "v DESC NULLS FIRST, id", "w NULLS FIRST, id DESC", "s DESC, id")
_MORE_ORDERS = ("b, t, id DESC", "t DESC, id DESC", "id")
_KEYS = ((), (), ("k",), ("k",), ("k", "b"), ("w",))


@dataclass(frozen=True)
class WordCase:
    """A query, its rows as they come and in their order, and what it must give: rows, or that it cannot skip."""

    query: str
    table: pa.Table
    in_order: pa.Table
    wanted: Rows | str


def word_case(seed: int) -> WordCase | None:
    """A case drawn by chance; None where its pattern has no variable, or too many words."""
    random = Random(f"words {seed}")
    spelled = dict(random.choice(_SPELLED[:1] * 3 + _SPELLED))
    text, pattern = Draw(random, list(spelled)[: random.randint(1, 3)], {}, spelled).pattern(random.randint(0, 3))
    used = names_in(pattern)
    if not used:
        return None
    subsets = {name: random.choices(used, k=random.randint(1, 3)) for name in ("U", "V")[: random.choice([0, 0, 1, 2])]}
    spelled |= {name: random.choice([name, name.lower()]) for name in subsets}
    draw = Draw(random, used, {name: frozenset(members) for name, members in subsets.items()}, spelled)
    conditions = {name: draw.condition() for name in used if random.random() < 0.75}
    draw.measuring = True
    kinds = (draw.number, draw.number, draw.string, draw.condition)
    measures = [random.choice(kinds)() for _ in range(random.randint(1, 4))]
    mode = random.choice(_MODES if "{-" in text else (*_MODES, _UNMATCHED))
    target = random.choice(list(draw.scopes))
    aims = [("TO", "NEXT", "ROW"), *(("TO", *way, spelled[target]) for way in (("FIRST",), ("LAST",), ()))]
    skip = random.choice([(), ("PAST", "LAST", "ROW"), ("PAST", "LAST", "ROW"), aims[0], *aims])
    within = random.choice([None] * 5 + [1, 3])
    order = "t, id" if within else random.choice(_ORDERS + _MORE_ORDERS)
    keys = random.choice(_KEYS)
    members = (f"{spelled[name]} = ({', '.join(spelled[each] for each in of)})" for name, of in subsets.items())
    clauses = {
        "PARTITION BY": ", ".join(keys),
        "ORDER BY": order,
        "MEASURES": ", ".join(f"{measure} AS m{k}" for k, (measure, _) in enumerate(measures)),
        "": mode,
        "AFTER MATCH SKIP": " ".join(skip),
        "PATTERN": f"({text})",
        "WITHIN INTERVAL": f"'{within}' SECOND" if within else "",
        "SUBSET": ", ".join(members),
        "DEFINE": ", ".join(f"{spelled[name]} AS {condition}" for name, (condition, _) in conditions.items()),
    }
    query = f"MATCH_RECOGNIZE ({' '.join(f'{word} {said}' for word, said in clauses.items() if said)})"
    names = {text: name for name, text in spelled.items()}
    oracle = Oracle(pattern, conditions, measures, mode, skip, names, draw.scopes, within, keys)
    rows, types = _rows(random), _types(random)
    sorted_rows = in_order(rows, order)
    try:
        wanted: Rows | str = oracle.of(sorted_rows)
    except TooManyWordsError:
        return None
    except SkipFailsError:
        wanted = "skip"
    return WordCase(query, _table(rows, types), _table(sorted_rows, types), wanted)


def _rows(random: Random) -> Rows:
    time = EPOCH
    rows = []
    null = [] if random.random() < 0.3 else [None]
    for number in range(random.randint(1, 8)):
        time += dt.timedelta(seconds=random.choice([0, 1, 1, 2]))
        rows.append(
            {
                "id": number,
                "k": random.choice(["x", "x", "x", "y", None]),
                "t": time,
                "b": random.choice([True, False, None]),
                "v": random.choice([0, 1, 2, 3, 4, *null]),
                "w": random.choice([0.0, 0.5, 1.0, 2.0, 3.0, *null]),
                "s": random.choice(["a", "ab", "b", "A", None]),
            }
        )
    random.shuffle(rows)
    return rows


def _types(random: Random) -> dict[str, pa.DataType]:
    """The same values in types that tables have them in."""
    return {
        "id": random.choice([pa.int64(), pa.int32(), pa.uint8()]),
        "k": random.choice([pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]),
        "t": random.choice([pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("s", tz="UTC")]),
        "b": pa.bool_(),
        "v": random.choice([pa.int64(), pa.int16()]),
        "w": random.choice([pa.float64(), pa.float32(), pa.float64(), pa.decimal128(8, 2)]),
        "s": random.choice([pa.string(), pa.string(), pa.dictionary(pa.int8(), pa.string())]),
    }


def _table(rows: Rows, types: dict[str, pa.DataType]) -> pa.Table:
    drawn = {"id": pa.int64(), "k": pa.string(), "t": pa.timestamp("us"), "b": pa.bool_(), "v": pa.int64()}
    drawn |= {"w": pa.float64(), "s": pa.string()}
    return pa.Table.from_pylist(rows, pa.schema(drawn)).cast(pa.schema(types))
