"""Tables of a network as arrays: one axis per parent, the last for the node itself."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise, product
from math import prod

import numpy as np
from numpy.typing import NDArray

from cepheus.core.distribution import Custom, Distribution, Frozen
from cepheus.rules.belief.model import Bands, Node, Row
from cepheus.uncertainty.laws import Foreign, Law, spreads

Table = NDArray[np.float64]


def tabulate(
    node: Node, rows: tuple[Row, ...], states: Mapping[str, tuple[str, ...]], number: float | None = None
) -> Table:
    """The table that rows of a node say, which must be right.

    Of a node that is known to be a ``number``, how dense its distributions are there, in place of how likely its band.

    >>> jam = Node("Jam", (Row((("HIGH", 0.1), ("LOW", 0.9))),))
    >>> tabulate(jam, jam.rows, {"Jam": ("HIGH", "LOW")})
    array([0.1, 0.9])
    """
    own = states[node.name]
    axes = [states[parent] for parent in node.parents]
    if node.bands is None:
        ordered = _in_order(rows, axes, own)
        if ordered is not None:
            return np.array(ordered, np.float64).reshape([*map(len, axes), len(own)])
    steps = _steps(axes)
    found: list[list[float]] = [[]] * prod(map(len, axes))
    for row in rows:
        if isinstance(row.value, tuple):
            chances = dict(row.value)
            numbers = [chances[state] for state in own]
        else:
            assert node.bands is not None
            numbers = band_chances(row.value, node.bands)
            if number is not None:
                place = node.bands.place_of(number)
                numbers = [density(row.value, number) if at == place else 0.0 for at in range(len(own))]
        if None in row.given:
            for place in _places(row.given, steps):
                found[place] = numbers
        else:
            found[sum([step[state] for state, step in zip(row.given, steps, strict=True)])] = numbers
    return np.array(found, np.float64).reshape([*map(len, axes), len(own)])


def _in_order(rows: tuple[Row, ...], axes: list[tuple[str, ...]], own: tuple[str, ...]) -> list[float] | None:
    """The chances of rows that say all cases in the order of states, as most tables do; None if they do not."""
    if len(rows) != prod(map(len, axes)):
        return None
    found: list[float] = []
    for row, case in zip(rows, product(*axes), strict=True):
        if row.given != case:
            return None
        names, chances = zip(*row.value, strict=True)  # type: ignore[misc]  # a node without bands has no numbers
        if names != own:
            return None
        found += chances
    return found


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
    law = _law(distribution)
    below = [0.0, *(min(1.0, law.below(cut, inclusive=False)) for cut in bands.cuts), 1.0]
    return [max(0.0, high - low) for low, high in pairwise(below)]


def _law(distribution: Distribution) -> Law:
    return Foreign(distribution, 1.0, 0.0) if isinstance(distribution, Frozen | Custom) else spreads(distribution)


_STEP = 1e-6


def density(distribution: Distribution, number: float) -> float:
    """How dense a distribution is at a number; of one of single values, how likely the number is.

    >>> from cepheus.core.distribution import Discrete, Uniform
    >>> round(density(Uniform(0, 10), 3.0), 9), density(Discrete(((3.0, 0.25), (4.0, 0.75))), 3.0)
    (0.1, 0.25)
    """
    law = _law(distribution)
    atom = law.below(number, inclusive=True) - law.below(number, inclusive=False)
    if atom > 0.0:
        return atom
    step = _STEP * max(1.0, abs(number))
    return max(0.0, law.below(number + step, inclusive=True) - law.below(number - step, inclusive=True)) / (2.0 * step)
