"""Aggregates over members whose values, or whose membership, are uncertain.

Every subset of the uncertain members counts with its probability. Counts, extremes, first and last values have closed
forms for any number of members, and so have sums and averages of single values, as long as these do not come to too
many different sums. Others go through the subsets of a few members and beyond that take the Gaussian that has the exact
mean and variance, if the Berry-Esseen theorem says that it is precise enough, or else are simulated.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress, product
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from cepheus.core.calculus import Calculus
from cepheus.core.values import INT_MAX, INT_MIN, Value, ValueType, as_float
from cepheus.rules.aggregates import AggregateFunction, Form, aggregate_named
from cepheus.uncertainty.closed_forms import settled
from cepheus.uncertainty.laws import (
    MAX_COMPONENTS,
    Component,
    Floats,
    Law,
    Sampled,
    Spreads,
    added,
    bounded,
    bounded_sum,
    point,
    samples,
)
from cepheus.uncertainty.trials import Aggregation

_BERRY_ESSEEN = 0.56
_KEPT = 256
_DRAWN = 4096
_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class Member:
    """One event under an aggregate: how likely it belongs to it, its value as observed and, if uncertain, its law.

    ``time`` is that of the event, in microseconds.
    """

    probability: float
    value: Value
    law: Law | None = None
    time: int = 0

    @property
    def true_law(self) -> Law:
        """The law of the value, a point if it is certain."""
        if self.law is not None:
            return self.law
        assert not isinstance(self.value, str | tuple)
        return point(float(self.value))


@dataclass(frozen=True, slots=True)
class Computed:
    """An aggregate: its value, the law of the true value if that is uncertain, and how likely it is defined.

    ``bound`` limits the error of probabilities that an approximate law gives, ``doubt`` is the standard error of how
    likely it is defined. ``source`` tells what an uncertain aggregate is made of.
    """

    value: Value | None
    law: Law | None = None
    defined: float = 1.0
    bound: float = 0.0
    doubt: float = 0.0
    source: Aggregation | None = None

    def error_of(self, probability: float) -> float:
        """What a probability that the law gives may be off by: the bound of a smooth one, the standard error of draws.

        >>> from cepheus.uncertainty.laws import Sampled
        >>> drawn = Computed(1.0, Sampled.of(np.array([0.0, 1.0, 2.0, 2.0])), bound=0.5 / math.sqrt(4))
        >>> drawn.error_of(0.5), round(drawn.error_of(0.75), 3)
        (0.25, 0.217)
        """
        if isinstance(self.law, Spreads) and not self.law.is_discrete:
            return self.bound
        drawn = 0.25 / self.bound**2
        likely = min(max(probability, 1.0 / drawn), 1.0 - 1.0 / drawn)
        return math.sqrt(max(likely * (1.0 - likely), 0.0) / drawn)


def compute_aggregate(
    function: str, members: Sequence[Member], calculus: Calculus, argument: float | None = None
) -> Computed:
    """Apply an aggregate function, with its argument if it has one, to members given in the order of the stream.

    >>> compute_aggregate("Avg", [Member(1.0, 2.0), Member(1.0, 4.0)], Calculus())
    Computed(value=3.0, law=None, defined=1.0, bound=0.0, doubt=0.0, source=None)
    """
    kept = [member for member in (_rounded(member, calculus) for member in members) if member.probability > 0.0]
    surely = all(member.probability == 1.0 for member in kept)
    record = aggregate_named(function).given(argument)
    if surely and record.form.is_end:  # the others do not matter
        kept = kept[:1] if record.form is Form.FIRST else kept[-1:]
    if surely and (record.form is Form.COUNT or all(member.law is None for member in kept)):
        return Computed(_observed(record, kept))
    observed = _observed(record, kept) if surely else None
    defined, doubt = _defined(record, kept, calculus)
    law, bound = _law(record, kept, calculus, defined) if defined > 0.0 else (None, 0.0)
    if law is None:
        return Computed(None)
    if observed is None:
        observed = _nearest(law.mean()) if _is_whole(record, kept) else law.mean()
    return Computed(observed, law, defined, bound, doubt)


def only_defined(form: Form, members: Sequence[Member | float]) -> list[Member]:
    """Of the members of which the first or last is taken, those with a value, each as likely as it is to be taken.

    For a member without a value there is the probability that it belongs to them. If it is the one, nothing is taken.

    >>> [member.probability for member in only_defined(Form.FIRST, [0.5, Member(1.0, 7), 1.0, Member(1.0, 8)])]
    [0.5]
    """
    valued = [member for member in members if isinstance(member, Member)]
    if len(valued) == len(members):
        return valued
    kept: list[Member] = []
    before, left = 1.0, 1.0  # how likely none of those passed so far is there, and none of those kept is taken
    for member in members if form is Form.FIRST else reversed(members):
        probability = member.probability if isinstance(member, Member) else member
        share, before = before * probability, before * (1.0 - probability)
        if isinstance(member, Member) and 0.0 < share <= left:
            kept.append(replace(member, probability=share / left))
            left -= share
    return kept if form is Form.FIRST else kept[::-1]


def _defined(record: AggregateFunction, members: Sequence[Member], calculus: Calculus) -> tuple[float, float]:
    """How likely an aggregate has a value, and the standard error of that.

    Whether a function of all members has one depends on which of them there are: a deviation needs two, a slope two
    times. So every subset of a few is asked, and of many the subsets that are drawn.
    """
    if record.of_nothing is not None:
        return 1.0, 0.0
    if record.form.is_closed:
        return settled(1.0 - math.prod(1.0 - member.probability for member in members)), 0.0
    uncertain = [place for place, member in enumerate(members) if member.probability < 1.0]
    if len(uncertain) <= calculus.exact_members:
        total = 0.0
        for inside in product((False, True), repeat=len(uncertain)):
            there = dict(zip(uncertain, inside, strict=True))
            present = [member for place, member in enumerate(members) if there.get(place, True)]
            if _observed(record, present) is not None:
                total += math.prod(
                    members[at].probability if yes else 1.0 - members[at].probability for at, yes in there.items()
                )
        return settled(total), 0.0
    generator = np.random.default_rng(calculus.seed)
    drawn = generator.random((calculus.draws, len(members))) < [member.probability for member in members]
    subsets, times = np.unique(drawn, axis=0, return_counts=True)
    had = sum(
        int(count)
        for subset, count in zip(subsets.tolist(), times, strict=True)
        if _observed(record, list(compress(members, subset))) is not None
    )
    share = had / calculus.draws
    return share, math.sqrt(share * (1.0 - share) / calculus.draws)


def _observed(record: AggregateFunction, members: Sequence[Member]) -> Value | None:
    """An aggregate of the values as they were observed."""
    return record([member.value for member in members], [member.time for member in members])


def _is_whole(record: AggregateFunction, members: Sequence[Member]) -> bool:
    """Whether an aggregate is a whole number: its value must be one, too, whatever its mean."""
    if record.result is not None:
        return record.result is ValueType.INT
    return all(type(m.value) is int for m in members)


def _nearest(mean: float) -> int:
    """The nearest whole number, of two the lower one, also where rounding makes the other a little nearer."""
    return min(max(math.ceil(mean - 0.5 - _SLACK), INT_MIN), INT_MAX)


def _rounded(member: Member, calculus: Calculus) -> Member:
    if member.probability <= calculus.ignore:
        return replace(member, probability=0.0)
    return replace(member, probability=1.0) if member.probability >= calculus.accept else member


def _law(
    record: AggregateFunction, members: list[Member], calculus: Calculus, defined: float
) -> tuple[Law | None, float]:
    """The law of an aggregate that is uncertain, given that it is defined, and the bound of its error."""
    match record.form:
        case Form.COUNT:
            return _count(members), 0.0
        case Form.SUM | Form.AVERAGE:
            return _linear(record, members, calculus, defined)
        case Form.LEAST | Form.GREATEST:
            largest = record.form is Form.GREATEST
            return Extreme(tuple((m.probability, m.true_law) for m in members), largest, defined), 0.0
        case Form.FIRST | Form.LAST:
            return _end(members if record.form is Form.FIRST else members[::-1], defined)
        case Form.OVER_NUMBERS | Form.OVER_SERIES | Form.OVER_WORDS:
            return _simulated(record, members, calculus)
        case _:
            assert_never(record.form)


def _count(members: Sequence[Member]) -> Spreads:
    """The law of the number of members: a convolution of as many coins."""
    chances = [1.0]
    for member in members:
        p = member.probability
        chances = [a * (1.0 - p) + b * p for a, b in zip([*chances, 0.0], [0.0, *chances], strict=True)]
    return Spreads(tuple(Component(chance, float(count)) for count, chance in enumerate(chances) if chance > 0.0))


def _end(members: Sequence[Member], defined: float) -> tuple[Law, float]:
    """The law of the first member that is there."""
    shares: list[tuple[float, Law]] = []
    missing = 1.0
    for member in members:
        shares.append((missing * member.probability / defined, member.true_law))
        missing *= 1.0 - member.probability
        if missing == 0.0:
            break
    if all(isinstance(law, Spreads) for _, law in shares):
        components = [
            Component(share * c.weight, c.mean, c.variance, c.widths)
            for share, law in shares
            if isinstance(law, Spreads)
            for c in law.components
        ]
        return Spreads(tuple(component for component in components if component.weight > 0.0)), 0.0
    return OneOf(tuple(shares)), 0.0


def _linear(
    record: AggregateFunction, members: list[Member], calculus: Calculus, defined: float
) -> tuple[Law | None, float]:
    """The law of a sum or an average."""
    laws = [member.true_law for member in members]
    if len(members) == 1 and (record.form is Form.AVERAGE or members[0].probability == 1.0):
        return laws[0], 0.0
    if not all(isinstance(law, Spreads) for law in laws):
        return _simulated(record, members, calculus)
    spreads = [law for law in laws if isinstance(law, Spreads)]
    uncertain = [place for place, member in enumerate(members) if member.probability < 1.0]
    if len(uncertain) <= calculus.exact_members:
        exact = _by_subsets(record.form, members, spreads, uncertain, defined)
        if exact is not None:
            return exact, 0.0
    if all(law.is_discrete for law in spreads):
        exact = _by_sums(record.form, members, spreads, defined)
        if exact is not None:
            return exact, 0.0
    approximate, bound = _gaussian(record.form, members, spreads)
    if bound <= calculus.precision:
        return approximate, bound
    return _simulated(record, members, calculus)


def _by_subsets(
    form: Form, members: Sequence[Member], laws: Sequence[Spreads], uncertain: Sequence[int], defined: float
) -> Spreads | None:
    components: list[Component] = []
    certain = [place for place, member in enumerate(members) if member.probability == 1.0]
    for subset in range(1 << len(uncertain)):
        weight = 1.0
        present = list(certain)
        for bit, place in enumerate(uncertain):
            inside = bool(subset >> bit & 1)
            weight *= members[place].probability if inside else 1.0 - members[place].probability
            if inside:
                present.append(place)
        if not present:
            if form is Form.SUM:
                components.append(Component(weight, 0.0))
            continue
        total = added([laws[place] for place in present])
        if total is None:
            return None
        scale = 1.0 / len(present) if form is Form.AVERAGE else 1.0
        share = weight if form is Form.SUM else weight / defined
        moved = total.moved(scale, 0.0).components
        components += [Component(share * c.weight, c.mean, c.variance, c.widths) for c in moved]
    return Spreads(tuple(components))


def _by_sums(form: Form, members: Sequence[Member], laws: Sequence[Spreads], defined: float) -> Spreads | None:
    """The law of a sum or average of single values, member by member; None if it takes too many different values."""
    chances: dict[tuple[int, float], list[float]] = {(0, 0.0): [1.0, 0.0]}  # by number and sum: chance and exact sum
    for member, law in zip(members, laws, strict=True):
        outcomes = [(p, c.mean) for c in law.components if (p := member.probability * c.weight) > 0.0]
        found: dict[tuple[int, float], list[float]] = {}
        for (number, _), (chance, total) in chances.items():
            steps = [(chance * p, number + 1, total + value) for p, value in outcomes]
            if member.probability < 1.0:
                steps.append((chance * (1.0 - member.probability), number, total))
            for share, count, reached in steps:
                key = (count if form is Form.AVERAGE else 0, round(reached, 9))
                found.setdefault(key, [0.0, reached])[0] += share
        if len(found) > MAX_COMPONENTS:
            return None
        chances = found
    if form is Form.SUM:
        return Spreads(tuple(Component(chance, total) for chance, total in chances.values()))
    counted = [(chance, number, total) for (number, _), (chance, total) in chances.items() if number > 0]
    return Spreads(tuple(Component(chance / defined, total / number) for chance, number, total in counted))


def _gaussian(form: Form, members: Sequence[Member], laws: Sequence[Spreads]) -> tuple[Spreads, float]:
    """The Gaussian of the exact mean and variance, and the bound of how far its probabilities are off.

    An average over uncertain members is taken as the sum of the deviations from its centre over the expected number.
    """
    expected = math.fsum(member.probability for member in members)
    mean = bounded_sum(m.probability * law.mean() for m, law in zip(members, laws, strict=True))
    centre, scale = (mean / expected, expected) if form is Form.AVERAGE else (0.0, 1.0)
    variance, third = 0.0, 0.0
    for member, law in zip(members, laws, strict=True):
        p, spread, offset = member.probability, law.variance(), law.mean() - centre
        square = bounded(offset * offset)
        own = p * bounded(spread + square) - p * p * square
        variance += own
        third += own * (3.0 * math.sqrt(spread) + abs(offset))
    law = Spreads((Component(1.0, centre if form is Form.AVERAGE else mean, bounded(variance / (scale * scale))),))
    return law, min(1.0, _BERRY_ESSEEN * third / (variance * math.sqrt(variance))) if variance > 0.0 else 0.0


def _simulated(record: AggregateFunction, members: Sequence[Member], calculus: Calculus) -> tuple[Law | None, float]:
    """Examples of an aggregate that has no closed form; None if it never was defined."""
    generator = np.random.default_rng(calculus.seed)
    present = generator.random((calculus.draws, len(members))) < [member.probability for member in members]
    drawn = [_examples(member, generator, calculus.draws) for member in members]
    if record.form.is_sum:
        total = np.where(present, np.array(drawn, np.float64).T, 0.0).sum(axis=1)
        number = present.sum(axis=1)
        if record.form is Form.AVERAGE:
            total = total[number > 0] / number[number > 0]
        results = total[np.isfinite(total)].tolist()
    else:
        times = [member.time for member in members]
        results = []
        for row, there in zip(zip(*drawn, strict=True), present.tolist(), strict=True):
            result = record(list(compress(row, there)), list(compress(times, there)))
            if result is not None:
                results.append(as_float(result))
    if not results:
        return None, 0.0
    return Sampled.of(np.array(results)), 0.5 / math.sqrt(len(results))


def _examples(member: Member, generator: np.random.Generator, draws: int) -> Sequence[Value]:
    """Draw values of a member; what is certain, a text as well, is the same in all of them."""
    if isinstance(member.value, str | bool | tuple):
        return [member.value] * draws
    drawn: list[float] = member.true_law.draw(generator, draws).tolist()
    return drawn


_SELDOM = 0.01
"""Where fewer draws than these would have members, none is made in vain."""


@dataclass(frozen=True, slots=True)
class Extreme:
    """The law of the largest or smallest of independent values, each there with its probability, given that one is."""

    members: tuple[tuple[float, Law], ...]
    largest: bool
    defined: float
    scale: float = 1.0
    shift: float = 0.0

    def below(self, bound: float, *, inclusive: bool) -> float:
        """The probability of a value less than the bound, or equal to it where inclusive."""
        at = (bound - self.shift) / self.scale
        if self.scale < 0.0:
            return 1.0 - self._below(at, not inclusive)
        return self._below(at, inclusive)

    def _below(self, bound: float, inclusive: bool) -> float:
        empty = 1.0 - self.defined
        if self.largest:
            none_above = math.prod(1.0 - p * (1.0 - law.below(bound, inclusive=inclusive)) for p, law in self.members)
            return (none_above - empty) / self.defined
        none_below = math.prod(1.0 - p * law.below(bound, inclusive=inclusive) for p, law in self.members)
        return (1.0 - none_below) / self.defined

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        """Draw values; a draw without members is repeated, or made with one where hardly any has members."""
        values: Floats = np.empty(0)
        while len(values) < count:
            seldom = self.defined < _SELDOM
            there = (
                self._there(generator, count)
                if seldom
                else generator.random((count, len(self.members))) < [p for p, _ in self.members]
            )
            drawn = np.column_stack([law.draw(generator, count) for _, law in self.members])
            found = drawn.max(axis=1, where=there, initial=-np.inf)
            if not self.largest:
                found = drawn.min(axis=1, where=there, initial=np.inf)
            values = np.concatenate([values, found[there.any(axis=1)]])
        with np.errstate(over="ignore"):
            return np.clip(self.scale * values[:count] + self.shift, -sys.float_info.max, sys.float_info.max)

    def _there(self, generator: np.random.Generator, count: int) -> NDArray[np.bool_]:
        """Which members are there in worlds in which some are: who is the first of them, and who of those behind."""
        chances = np.array([p for p, _ in self.members])
        firsts = chances * np.concatenate(([1.0], np.cumprod(1.0 - chances)[:-1]))
        first = generator.choice(len(chances), size=(count, 1), p=firsts / firsts.sum())
        behind = generator.random((count, len(chances))) < chances
        places = np.arange(len(chances))
        return np.asarray((places == first) | (places > first) & behind)

    def mean(self) -> float:
        """The expected value, from a fixed set of draws."""
        return float((self.draw(np.random.default_rng(1), _DRAWN) / _DRAWN).sum())  # their sum may not be a double

    def moved(self, scale: float, shift: float) -> Law:
        """The law of ``scale * value + shift``."""
        if scale == 0.0:
            return point(shift)
        return Extreme(self.members, self.largest, self.defined, scale * self.scale, scale * self.shift + shift)


@dataclass(frozen=True, slots=True)
class OneOf:
    """The law of a value drawn from one of several laws, each with its share."""

    parts: tuple[tuple[float, Law], ...]

    def below(self, bound: float, *, inclusive: bool) -> float:
        """The probability of a value less than the bound, or equal to it where inclusive."""
        return math.fsum(share * law.below(bound, inclusive=inclusive) for share, law in self.parts)

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        """Draw values."""
        shares = np.array([share for share, _ in self.parts])
        chosen = generator.choice(len(shares), count, p=shares / shares.sum())
        values = np.empty(count)
        for place, (_, law) in enumerate(self.parts):
            rows = np.flatnonzero(chosen == place)
            values[rows] = law.draw(generator, len(rows)) if len(rows) else values[rows]
        return values

    def mean(self) -> float:
        """The expected value."""
        return bounded_sum(share * law.mean() for share, law in self.parts)

    def moved(self, scale: float, shift: float) -> Law:
        """The law of ``scale * value + shift``."""
        return OneOf(tuple((share, law.moved(scale, shift)) for share, law in self.parts))


def described(law: Law) -> Spreads:
    """A law in the closed family, for an attribute to carry: itself, or as many examples as are worth keeping."""
    if isinstance(law, Spreads) and len(law.components) <= _KEPT:
        return law
    drawn = np.sort(law.draw(np.random.default_rng(1), 16 * _KEPT))
    return samples((drawn.reshape(_KEPT, 16) / 16).sum(axis=1).tolist())
