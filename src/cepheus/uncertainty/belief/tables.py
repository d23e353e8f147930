"""Tables of a network as arrays: one axis per parent, the last for the node itself."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from cepheus.core.distribution import Distribution, Frozen
from cepheus.rules.belief.model import Bands, Node, Row
from cepheus.uncertainty.laws import Foreign, Law, spreads

Table = NDArray[np.float64]


def tabulate(node: Node, rows: tuple[Row, ...], states: Mapping[str, tuple[str, ...]]) -> Table:
    """The table that rows of a node say, which must be right.

    >>> jam = Node("Jam", (Row((("HIGH", 0.1), ("LOW", 0.9))),))
    >>> tabulate(jam, jam.rows, {"Jam": ("HIGH", "LOW")})
    array([0.1, 0.9])
    """
    own = states[node.name]
    axes = [states[parent] for parent in node.parents]
    steps = _steps(axes)
    found: list[list[float]] = [[]] * prod(map(len, axes))
    for row in rows:
        if isinstance(row.value, tuple):
            chances = dict(row.value)
            numbers = [chances[state] for state in own]
        else:
            assert node.bands is not None
            numbers = band_chances(row.value, node.bands)
        if None in row.given:
            for place in _places(row.given, steps):
                found[place] = numbers
        else:
            found[sum([step[state] for state, step in zip(row.given, steps, strict=True)])] = numbers
    return np.array(found, np.float64).reshape([*map(len, axes), len(own)])


def _steps(axes: list[tuple[str, ...]]) -> list[dict[str | None, int]]:
    """For each axis, how far into a flat table each of its states leads."""
    steps: list[dict[str | None, int]] = []
    width = 1
    for axis in reversed(axes):
        steps.insert(0, {state: number * width for number, state in enumerate(axis)})
        width *= len(axis)
    return steps


def _places(given: tuple[str | None, ...], steps: list[dict[str | None, int]]) -> list[int]:
    """The places in a flat table that a row for any state of some parent is for."""
    places = [0]
    for state, step in zip(given, steps, strict=True):
        if state is None:
            places = [place + far for place in places for far in step.values()]
        else:
            far = step[state]
            places = [place + far for place in places]
    return places


def band_chances(distribution: Distribution, bands: Bands) -> list[float]:
    """The probability that a number falls into each band.

    >>> from cepheus.core.distribution import Uniform
    >>> band_chances(Uniform(0, 10), Bands(("LOW", "HIGH"), (2.5,)))
    [0.25, 0.75]
    """
    law: Law = Foreign(distribution, 1.0, 0.0) if isinstance(distribution, Frozen) else spreads(distribution)
    below = [0.0, *(min(1.0, law.below(cut, inclusive=False)) for cut in bands.cuts), 1.0]
    return [max(0.0, high - low) for low, high in pairwise(below)]
