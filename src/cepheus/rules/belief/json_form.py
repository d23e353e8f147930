"""Networks as JSON, there and back. Spans are left out."""

from __future__ import annotations

from typing import Any

from cepheus.core.distribution import Distribution, parse_distribution
from cepheus.core.errors import EventError
from cepheus.rules.belief.model import Bands, Belief, Chances, Node, Observation, Row, Season, number_of
from cepheus.rules.belief.periods import Period, format_period, read_period
from cepheus.rules.json_fields import JsonObject, fail, read_name, read_number, read_text


def belief_to_json(belief: Belief) -> dict[str, Any]:
    """Return a network as a JSON object.

    >>> belief_to_json(Belief("Fire", (Node("Jam", (Row((("HIGH", 0.1), ("LOW", 0.9))),)),)))["nodes"][0]["table"]
    [{'given': [], 'chances': {'HIGH': 0.1, 'LOW': 0.9}}]
    """
    return {
        "rule": belief.rule,
        "nodes": [_node(node) for node in belief.nodes],
        "observations": [{"node": known.node, "state": known.state} for known in belief.observations],
    }


def _node(node: Node) -> dict[str, Any]:
    bands = node.bands
    return {
        "name": node.name,
        "parents": list(node.parents),
        "bands": None if bands is None else {"states": list(bands.states), "cuts": list(bands.cuts)},
        "table": [_row(row) for row in node.rows],
        "seasons": [
            dict(zip(("from", "to"), format_period(season.period), strict=True))
            | {"table": [_row(row) for row in season.rows]}
            for season in node.seasons
        ],
    }


def _row(row: Row) -> dict[str, Any]:
    given = ["*" if state is None else state for state in row.given]
    if isinstance(row.value, tuple):
        return {"given": given, "chances": dict(row.value)}
    return {"given": given, "distribution": str(row.value)}


def read_belief(value: object, path: str) -> Belief:
    """Read the JSON object of a network that stands at a path."""
    node = JsonObject(value, path)
    node.only("rule", "nodes", "observations")
    return Belief(
        node.read("rule", read_name), node.list("nodes", _read_node), node.list("observations", _read_observation)
    )


def _read_observation(value: object, path: str) -> Observation:
    node = JsonObject(value, path)
    node.only("node", "state")
    return Observation(node.read("node", read_name), node.read("state", _read_observed))


def _read_observed(value: object, path: str) -> str:
    """A state, or the number that a node is known to be, as text."""
    return value if isinstance(value, str) and number_of(value) is not None else read_name(value, path)


def _read_node(value: object, path: str) -> Node:
    node = JsonObject(value, path)
    node.only("name", "parents", "bands", "table", "seasons")
    return Node(
        name=node.read("name", read_name),
        rows=node.list("table", _read_row),
        parents=node.list("parents", read_name),
        bands=node.maybe("bands", _read_bands),
        seasons=node.list("seasons", _read_season),
    )


def _read_bands(value: object, path: str) -> Bands:
    node = JsonObject(value, path)
    node.only("states", "cuts")
    states, cuts = node.list("states", read_name), node.list("cuts", read_number)
    if len(states) != len(cuts) + 1:
        fail(path, "there is one state more than cuts")
    return Bands(states, cuts)


def _read_season(value: object, path: str) -> Season:
    node = JsonObject(value, path)
    node.only("from", "to", "table")
    return Season(
        _read_period(node.read("from", read_text), node.read("to", read_text), path), node.list("table", _read_row)
    )


def _read_period(start: str, end: str, path: str) -> Period:
    try:
        return read_period(start, end)
    except ValueError as error:
        fail(path, str(error))


def _read_row(value: object, path: str) -> Row:
    node = JsonObject(value, path)
    content = "distribution" if "distribution" in node.fields else "chances"
    node.only("given", content)
    given = tuple(None if state == "*" else state for state in node.list("given", _read_state))
    if content == "distribution":
        return Row(node.read("distribution", _read_distribution), given)
    return Row(node.read("chances", _read_chances), given)


def _read_state(value: object, path: str) -> str:
    return "*" if value == "*" else read_name(value, path)


def _read_chances(value: object, path: str) -> Chances:
    node = JsonObject(value, path)
    names = [read_name(name, path) for name in node.fields]
    return tuple((name, node.read(name, read_number)) for name in names)


def _read_distribution(value: object, path: str) -> Distribution:
    try:
        return parse_distribution(read_text(value, path))
    except EventError as error:
        fail(path, error.diagnostics[0].message)
