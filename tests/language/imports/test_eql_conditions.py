"""Conditions of EQL against the engine of the ``eql`` package, on events that lack attributes, and capital letters."""

from __future__ import annotations

import random
from typing import Any

import eql
import pytest
from eql.parser import elastic_endpoint_syntax

import cepheus
from cepheus.core.source import Source
from cepheus.core.values import ValueType
from cepheus.language.imports.conditions import Compared, Field, Text, attribute_of, written
from cepheus.language.imports.eql import import_eql
from cepheus.language.tesla import parse
from cepheus.language.tesla.names import written_name
from cepheus.rules.expressions import AttributeRef, Comparison, Constant

CONDITIONS = (
    'name == "ax"',
    'name != "ax"',
    'not (name == "ax" or size > 3)',
    'not name == "ax" and not (size > 3 and owner == "x")',
    'name in ("ax", "b") or owner not in ("x")',
    "name == null and owner != null",
    'not (name == null or owner == "x")',
    "size + 1 > 3 and size * 2 <= 10",
    "size > -1 and not size == 3",
    "length(name) == 2 or length(owner) > 1",
    'startsWith(name, "a") and not endsWith(name, "x")',
    'stringContains(name, "b") or owner == "y"',
    'name : ("a*", "b") and not owner : "x"',
    'name like "*x" or name like "a*b"',
    'name regex "a.|b"',
    "name == owner or name != owner",
    'concat(name, owner) == "axx"',
    "trusted == true or not trusted == true",
    "not (trusted == false and size >= 2)",
    'cidrMatch(address, "10.0.0.0/8", "192.168.1.0/24")',
    'not (name == "ax" and (size > 3 or not (owner == "x" or trusted == true)))',
)

Events = list[dict[str, Any]]


def random_events(seed: int) -> Events:
    draw = random.Random(seed)
    values = {
        "name": ("ax", "ab", "b", "x", None),
        "owner": ("x", "y", "ax", None),
        "size": (0, 2, 3, 5, None),
        "trusted": (True, False, None),
        "address": ("10.1.2.3", "192.168.1.7", "192.168.2.7"),
    }
    drawn = [{key: draw.choice(options) for key, options in values.items()} for _ in range(60)]
    return [
        {key: value for key, value in event.items() if value is not None} | {"type": "process", "time": time}
        for time, event in enumerate(drawn)
    ]


def found_by_package(query: str, events: Events) -> list[int]:
    engine = eql.PythonEngine()
    found: list[int] = []
    engine.add_output_hook(lambda result: found.append(result.events[0].data["time"]))
    with elastic_endpoint_syntax:
        engine.add_query(eql.parse_query(query))
    engine.stream_events([event | {"event_type": "process"} for event in events])
    return found


def found_by_rules(query: str, events: Events) -> list[int]:
    importing = import_eql([Source("query.eql", query)])
    assert not [finding for one in importing.imported for finding in one.findings]
    program = cepheus.compile(importing.text())
    made = program.detect(events, time_unit="s", engine="reference").to_dicts()
    return [one["time"] for one in made]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_hold_where_the_package_says(condition: str) -> None:
    query, events = f"process where {condition}", random_events(7)
    expected = found_by_package(query, events)
    assert 0 < len(expected) < len(events)
    assert found_by_rules(query, events) == expected


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ('name == "Cmd"', ["Cmd"]),
        ('name : "Cmd"', ["Cmd", "CMD"]),
        ('name : "C*"', ["Cmd", "CMD", "cat"]),
        ('name like "C*"', ["Cmd", "CMD"]),
        ('name like~ "c?d"', ["Cmd", "CMD"]),
        ('name in ("cat", "CMD")', ["CMD", "cat"]),
        ('name in~ ("CMD")', ["Cmd", "CMD"]),
        ('name regex "C[a-z]*"', ["Cmd"]),
        ('name regex~ "c[a-z]*"', ["Cmd", "CMD", "cat"]),
        ('startsWith(name, "C")', ["Cmd", "CMD"]),
        ('startsWith~(name, "c")', ["Cmd", "CMD", "cat"]),
        ('name == "C*"', []),
    ],
)
def test_capital_letters_matter_where_elasticsearch_says(condition: str, names: list[str]) -> None:
    texts = ["Cmd", "CMD", "cat", "dog"]
    events = [{"type": "process", "time": time, "name": name} for time, name in enumerate(texts)]
    assert [texts[time] for time in found_by_rules(f"process where {condition}", events)] == names


WORDS = """
if rule define from where consuming min probability event each last first not and or in is null as within between true
false timestamp error network top by per all every after now until ties ordered apart approximate since start of count
"""


@pytest.mark.parametrize("word", WORDS.split())
def test_attributes_and_events_with_the_names_of_keywords(word: str) -> None:
    (rule,) = parse(f"define A() from {written_name(word)}({written(Compared(Field(word), '=', Text('x')))})").rules
    assert rule.pattern.terminator.type == word
    (constraint,) = rule.pattern.terminator.constraints
    name = attribute_of(word)
    assert constraint == Comparison((AttributeRef(None, name), Constant("x", ValueType.STRING)), ("=",))
