"""The index of uncertain values: which listeners a value may concern, given how far its error reaches.

Before: rules that ask ``x - 5 < value < x + 5``, a hundred of them, each a band whose probability every event must be
asked for. After: the bands' ends in a segment tree. An event whose error leaves its true value between ``a`` and ``b``
concerns the bands that contain ``a`` and those that begin between ``a`` and ``b``; the probability of all others is
below what their rules require, or negligible.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from statistics import NormalDist

import numpy as np

from cepheus.kernel.instructions import OPERATOR_CODES
from cepheus.kernel.program import ConstraintKind, IndexField, SpanField, Words
from cepheus.kernel.tables import Fields, cell, padding, real
from cepheus.plan.pattern.bands import LoweredBand
from cepheus.plan.pattern.code import LoweredConstraint, float_bits
from cepheus.plan.pattern.content_index import WORTH_AN_INDEX, Group, Indexes, Listener
from cepheus.uncertainty.closed_forms import FAR

_EQUAL = OPERATOR_CODES["="]
_SLACK = 1e-9
"""How far beyond its bounds, in probability and in standard deviations, rounding may make a band count."""


class BandIndexField(Fields):
    """Of an index: where value and error are, the ends of bands, the nodes of the tree, the bands by their lower end.

    ``DEVIATIONS`` has the bits of how many standard deviations off the mean of the value a band may be.
    """

    SLOT = cell()
    ERROR_SLOT = cell()
    IS_INTEGER = cell()
    POINTS = cell()
    POINTS_END = cell()
    NODES = cell()
    LOWS = cell()
    LOWS_END = cell()
    DEVIATIONS = real()


class MemberField(Fields):
    """Of a listener in an index: the bits of its band's ends and of the probability that an event must reach.

    Then what it is, its band, and where the rest of what it asks stands (-1: it asks nothing else). A row is one line
    of the cache: what many rules cost is the lines that they touch.
    """

    LOW = real()
    HIGH = real()
    FLOOR = real()
    IS_RULE = cell()
    TARGET = cell()
    REST = cell()
    BAND = cell()
    PADDING = padding()


class RestField(Fields):
    """Of what a listener asks besides its band: constraints and other bands."""

    FILTERS = cell()
    FILTERS_END = cell()
    BANDS = cell()
    BANDS_END = cell()


@dataclass(frozen=True, slots=True)
class BlurredListener:
    """A listener with the bands that events must reach, and the probability with which they must."""

    listener: Listener
    bands: tuple[LoweredBand, ...]
    floor: float


@dataclass(frozen=True, slots=True)
class Near:
    """A listener that is found through one of its bands."""

    listener: Listener
    band: LoweredBand
    rest: tuple[LoweredBand, ...]
    floor: float


@dataclass(frozen=True, slots=True)
class BandIndex:
    """Listeners of one type that are found through one attribute."""

    kind: int
    members: tuple[Near, ...]


@dataclass(frozen=True, slots=True)
class BandIndexTables:
    """Indexes as tables; ``types`` has the first index of each type and, at its end, how many there are."""

    types: Words
    indexes: Words
    points: Words
    nodes: Words
    hung: Words
    lows: Words
    low_members: Words
    members: Words
    rests: Words


def find_band_indexes(listeners: Mapping[int, Sequence[BlurredListener]]) -> list[BandIndex]:
    """Find the listeners, by type, that deserve an index; those that equalities find already are left alone."""
    found = []
    for kind, blurred in listeners.items():
        groups: dict[tuple[int, bool], list[Near]] = defaultdict(list)
        for one in blurred:
            band = next(filter(_is_plain, one.bands), None)
            if band is not None and not any(map(_is_equality, one.listener.filters)):
                sure = _deviations(one.floor) == 0.0
                rest = tuple(other for other in one.bands if other is not band)
                groups[band.terms[0].slot, sure].append(Near(one.listener, band, rest, one.floor))
        found += [BandIndex(kind, tuple(members)) for members in groups.values() if len(members) >= WORTH_AN_INDEX]
    return found


def _is_plain(band: LoweredBand) -> bool:
    """Whether a band is an attribute of the arriving event between constants."""
    if len(band.terms) > 1 or any(bound.code for bound in band.bounds):
        return False
    (term,) = band.terms
    return term.position == 0 and term.coefficient == 1.0


def _is_equality(constraint: LoweredConstraint) -> bool:
    constant = constraint.kind in (ConstraintKind.INT_CONSTANT, ConstraintKind.FLOAT_CONSTANT)
    return constant and constraint.operator == _EQUAL


def _deviations(floor: float) -> float:
    """How many standard deviations beyond a band's end a mean may lie if the band is to reach a probability.

    From a half on it must lie within.
    """
    if floor > 0.5 + _SLACK:
        return 0.0
    if floor <= _SLACK:
        return FAR
    return min(FAR, max(0.0, NormalDist().inv_cdf(1.0 - floor)) + _SLACK)


def _ends(band: LoweredBand) -> tuple[float, float]:
    """The lower and the upper end of a band."""
    low, high = -math.inf, math.inf
    for bound in band.bounds:
        if bound.operator in (">", ">=", "="):
            low = max(low, bound.constant)
        if bound.operator in ("<", "<=", "="):
            high = min(high, bound.constant)
    return low, high


def write_band_indexes(
    band_indexes: Sequence[BandIndex],
    kinds: int,
    filters_at: Sequence[tuple[int, int]],
    bands_at: Callable[[tuple[LoweredBand, ...]], tuple[int, int]],
) -> BandIndexTables:
    """Write the indexes of so many types.

    ``filters_at`` tells where the constraints of each member stand, ``bands_at`` where bands do.
    """
    indexes = Indexes()
    rows: list[tuple[int, ...]] = []
    members: list[tuple[int, ...]] = []
    rests: list[tuple[int, ...]] = []
    lows: list[tuple[float, int]] = []
    first = np.zeros(kinds + 1, np.int64)
    for band_index in sorted(band_indexes, key=lambda band_index: band_index.kind):
        first[band_index.kind + 1 :] += 1
        begin, low_begin = len(members), len(lows)
        for at, near in enumerate(band_index.members, begin):
            asks_more = bool(near.listener.filters or near.rest)
            band, _ = bands_at((near.band,))
            members.append(_member(near, band, len(rests) if asks_more else -1))
            if asks_more:
                (filters, filters_end), (bands, bands_end) = filters_at[at], bands_at(near.rest)
                rests.append(RestField.row(filters=filters, filters_end=filters_end, bands=bands, bands_end=bands_end))
        lows += sorted((_ends(near.band)[0], begin + at) for at, near in enumerate(band_index.members))
        indexes.add(_group(band_index), _counter(begin))
        tree = indexes.rows[-1]
        (term,) = band_index.members[0].band.terms
        rows.append(
            BandIndexField.row(
                slot=term.slot,
                error_slot=term.error_slot,
                is_integer=term.is_integer,
                points=tree[IndexField.POINTS],
                points_end=tree[IndexField.POINTS_END],
                nodes=tree[IndexField.NODES],
                lows=low_begin,
                lows_end=len(lows),
                deviations=max(_deviations(near.floor) for near in band_index.members),
            )
        )
    return BandIndexTables(
        types=first,
        indexes=BandIndexField.array(rows),
        points=np.array(indexes.points, np.int64),
        nodes=SpanField.array(indexes.nodes),
        hung=np.array(indexes.members, np.int64),
        lows=np.array([float_bits(low) for low, _ in lows], np.int64),
        low_members=np.array([member for _, member in lows], np.int64),
        members=MemberField.array(members),
        rests=RestField.array(rests),
    )


def _counter(begin: int) -> Callable[[Listener], int]:
    """The numbers of listeners that are written one after the other."""
    numbers = count(begin)
    return lambda _: next(numbers)


def _member(near: Near, band: int, rest: int) -> tuple[int, ...]:
    low, high = _ends(near.band)
    return MemberField.row(
        low=low,
        high=high,
        floor=near.floor,
        is_rule=near.listener.is_rule,
        target=near.listener.target,
        rest=rest,
        band=band,
    )


def _group(band_index: BandIndex) -> Group:
    """Bands as ranges that contain their ends: whether an end counts is for the band to say."""
    (term,) = band_index.members[0].band.terms
    listeners = []
    for near in band_index.members:
        low, high = _ends(near.band)
        ends = [(">=", low)] * (low > -math.inf) + [("<=", high)] * (high < math.inf)
        filters = tuple(
            LoweredConstraint(
                ConstraintKind.FLOAT_CONSTANT, OPERATOR_CODES[operator], 0, term.slot, constant=float_bits(end)
            )
            for operator, end in ends
        )
        listeners.append(Listener(near.listener.is_rule, near.listener.target, filters))
    return Group(True, term.slot, True, tuple(listeners))
