"""What measurements are off by, learned from history: against a better instrument, or against neighbours in time.

Beside readings of something that is right, the differences are the errors: the distribution that makes them most
likely, for its size, is taken. Without, each reading is compared with the line between the one before and the one
after it. If the true value moves on such a line, what is left is the error of three readings, whose shares are known.
True values also move in other ways: the median is looked at and not the mean, and the answer is an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from cepheus.core.distribution import Biased, Distribution, Mixture, Normal, Uniform
from cepheus.core.errors import OptionError, did_you_mean
from cepheus.core.options import Duration, RunKeywords, RunOptions, microseconds_of
from cepheus.language.tesla.print import format_rules
from cepheus.learning.hints import names_of
from cepheus.learning.history import Column, Floats, History, Ints, TypeEvents
from cepheus.learning.reading import HistoryInput, read_history
from cepheus.rules.model import ErrorDeclaration, RuleSet

FEWEST = 30
FEWEST_SOURCES = 5
MEDIAN_TO_DEVIATION = 1.482602218505602
"""The standard deviation of a normal distribution whose absolute values have the median 1."""

DIGITS = 4
ROUNDS = 200


@dataclass(frozen=True, slots=True)
class LearnedError:
    """The error of an attribute, from so many differences. ``misfit`` is by how much its distribution function and
    theirs differ at most: 0.05 is good, 0.2 is not; NaN if that cannot be told.
    """

    event: str
    attribute: str
    error: Distribution
    count: int
    misfit: float

    @property
    def text(self) -> str:
        """The line for a rule file."""
        return format_rules(RuleSet(errors=(ErrorDeclaration(self.event, self.attribute, self.error),))).strip()

    def __str__(self) -> str:
        if math.isnan(self.misfit):
            return f"-- at most, by {self.count} readings beside their neighbours\n{self.text}"
        fits = f"the distribution function differs from theirs by at most {self.misfit:.3f}"
        return f"-- by {self.count} pairs of readings; {fits}\n{self.text}"


def learn_error(
    history: HistoryInput,
    attribute: str,
    *,
    against: str | None = None,
    keys: Iterable[str] = (),
    per: Iterable[str] = (),
    slack: Duration | None = None,
    alike: bool = False,
    **options: Unpack[RunKeywords],
) -> LearnedError:
    """Learn what an attribute such as ``Temp.value`` is off by, as rule files declare it.

    ``against`` is an attribute that is right, such as ``Thermometer.value``; each reading is compared with the nearest
    of those with the same ``keys``, at most ``slack`` away. Where both are ``alike``, one as wrong as the other, half
    of the variance is that of one. Readings of one source, by attributes ``per``, may share a part of their error.
    Without ``against`` readings with the same ``keys`` are compared with their neighbours, at most ``slack`` away.

    >>> from cepheus.core.event import Event
    >>> draw = np.random.default_rng(1)
    >>> true = [Event("Thermometer", n, {"value": float(n % 7)}) for n in range(2000)]
    >>> read = [Event("Temp", n, {"value": n % 7 + 0.3 + float(draw.normal(0, 0.5))}) for n in range(2000)]
    >>> learn_error(true + read, "Temp.value", against="Thermometer.value").text
    'error Temp.value ~ N(0.2933, 0.2534)'
    """
    run = RunOptions.of(**options)
    found = History.of(read_history(history, run))
    names, sources = names_of(keys), names_of(per)
    reach = 0 if slack is None else microseconds_of(slack)
    events, column = _measured(found, attribute, (*names, *sources))
    if against is None:
        if sources or alike:
            raise OptionError.of(
                "learn-error",
                "what all readings of a source share cannot be seen from that source alone",
                hint="name an attribute that is right with against",
            )
        return _from_neighbours(events, column, names, None if slack is None else reach)
    if against == attribute:
        raise OptionError.of("learn-error", f"{attribute} is not right beside itself", hint="name another attribute")
    others, right = _measured(found, against, names)
    _require_comparable(events, others, names)
    rows, differences = _paired(events, column, others, right, names, reach)
    if len(rows) < FEWEST:
        raise _too_few(f"only {len(rows)} readings of {attribute} have one of {against} beside them")
    error = _with_sources(events, rows, differences, sources) if sources else _most_likely(differences)
    misfit = _misfit(differences, error)
    if alike:
        error = _half(error)
    return LearnedError(events.name, column.name, error, len(rows), misfit)


def _too_few(what: str) -> OptionError:
    return OptionError.of(
        "learn-few", what, hint=f"{FEWEST} are needed, better hundreds: give a greater slack, or more"
    )


def _measured(history: History, attribute: str, keys: Sequence[str]) -> tuple[TypeEvents, Column]:
    """The events with a number, and the number."""
    name, _, own = attribute.rpartition(".")
    known = [f"{each.name}.{column.name}" for each in history.types.values() for column in each.columns.values()]
    numbers = [
        f"{each.name}.{column.name}"
        for each in history.types.values()
        for column in each.columns.values()
        if column.is_number
    ]
    if attribute not in numbers:
        what = "is no number" if attribute in known else "is not in the history"
        hint = did_you_mean(attribute, numbers) or f"numbers are {', '.join(sorted(numbers)[:10]) or 'not there'}"
        raise OptionError.of("learn-error", f"'{attribute}' {what}", hint=hint)
    events = history.types[name]
    for key in keys:
        if key not in events.columns:
            hint = did_you_mean(key, events.columns) or f"it has {', '.join(events.columns)}"
            raise OptionError.of("learn-error", f"'{name}' has no attribute '{key}'", hint=hint)
    return events, events.columns[own]


def _require_comparable(events: TypeEvents, others: TypeEvents, keys: Sequence[str]) -> None:
    """Refuse keys that cannot be equal: a text is only known by its code, which must not meet a number."""
    for key in keys:
        mine, theirs = events.columns[key], others.columns[key]
        if not mine.comparable(theirs):
            what = f"'{key}' is {mine.type.value} in '{events.name}' and {theirs.type.value} in '{others.name}'"
            hint = "give both the same type, or leave it out of the keys"
            raise OptionError.of("learn-error", f"{what}: they are never equal", hint=hint)


def _groups(parts: Sequence[TypeEvents], keys: Sequence[str]) -> list[Ints]:
    """For each part the numbers of its events' groups: those with the same keys, in whichever part, are one."""
    sizes = np.cumsum([len(part) for part in parts])[:-1]
    values = np.array([np.concatenate([part.columns[key].values for part in parts]) for key in keys])
    if not len(keys):
        return [np.zeros(len(part), np.int64) for part in parts]
    _, codes = np.unique(values, axis=1, return_inverse=True)
    return np.split(codes.astype(np.int64).reshape(-1), sizes)


def _members(groups: Ints, usable: Floats) -> Iterator[tuple[int, Ints]]:
    """The events of each group that have a value, in order of time."""
    order = np.argsort(groups, kind="stable")
    order = order[~np.isnan(usable[order])]
    edges = np.flatnonzero(np.diff(groups[order])) + 1
    return ((int(groups[own[0]]), own) for own in np.split(order, edges) if len(own))


def _paired(
    events: TypeEvents, column: Column, others: TypeEvents, right: Column, keys: Sequence[str], reach: int
) -> tuple[Ints, Floats]:
    """The readings that have a right one beside them, in order of time, and by how much they are off."""
    mine, theirs = _groups([events, others], keys)
    known = dict(_members(theirs, right.values))
    rows, differences = [np.empty(0, np.int64)], [np.empty(0)]
    for group, own in _members(mine, column.values):
        beside = known.get(group)
        if beside is None:
            continue
        times, at = events.times[own], others.times[beside]
        after = np.minimum(np.searchsorted(at, times), len(at) - 1)
        before = np.maximum(after - 1, 0)
        nearest = np.where(np.abs(at[before] - times) <= np.abs(at[after] - times), before, after)
        close = np.abs(at[nearest] - times) <= reach
        rows.append(own[close])
        differences.append(column.values[own[close]] - right.values[beside[nearest[close]]])
    found, off = np.concatenate(rows), np.concatenate(differences)
    order = np.argsort(found)
    return found[order], off[order]


def _from_neighbours(events: TypeEvents, column: Column, keys: Sequence[str], reach: int | None) -> LearnedError:
    found = [np.empty(0)]
    for _, own in _members(_groups([events], keys)[0], column.values):
        times, values = events.times[own].astype(np.float64), column.values[own]
        before, after = np.diff(times)[:-1], np.diff(times)[1:]
        near = before + after > 0 if reach is None else (before + after > 0) & (np.maximum(before, after) <= reach)
        share = after[near] / (before + after)[near]
        left = values[1:-1][near] - share * values[:-2][near] - (1 - share) * values[2:][near]
        found.append(left / np.sqrt(1 + share**2 + (1 - share) ** 2))
    off = np.concatenate(found)
    if len(off) < FEWEST:
        raise _too_few(f"only {len(off)} readings of {events.name}.{column.name} have one before and one after them")
    deviation = MEDIAN_TO_DEVIATION * float(np.median(np.abs(off)))
    if deviation == 0:
        raise OptionError.of(
            "learn-error",
            f"most readings of {events.name}.{column.name} are exactly what their neighbours say: no error is seen",
            hint="name an attribute that is right with against",
        )
    return LearnedError(events.name, column.name, Normal(0.0, _short(deviation**2)), len(off), math.nan)


# ---- Distributions --------------------------------------------------------------------------------------------------


def _most_likely(off: Floats) -> Distribution:
    """Of a normal and a uniform distribution and a mixture of two normal ones the most likely, each number in it paid
    for (the criterion of Bayes and Schwarz).

    >>> draw = np.random.default_rng(2)
    >>> [str(_most_likely(off))[0] for off in (draw.normal(1, 2, 500), draw.uniform(-1, 1, 500))]
    ['N', 'U']
    """
    count, spread = len(off), float(np.ptp(off))
    mean, variance = float(off.mean()), float(off.var(ddof=1))
    if spread == 0:
        return Normal(_short(mean), 0.0)
    simple = -0.5 * count * (math.log(2 * math.pi * variance) + (count - 1) / count)
    margin = spread / (count - 1)
    level = -count * math.log(spread)
    parts, mixed = _two_normals(off)
    paid = math.log(count) / 2
    best = max(simple - 2 * paid, level - 2 * paid, mixed - 5 * paid)
    if best == simple - 2 * paid:
        return Normal(_short(mean), _short(variance))
    if best == level - 2 * paid:
        return Uniform(_short(float(off.min()) - margin / 2), _short(float(off.max()) + margin / 2))
    return parts


def _two_normals(off: Floats) -> tuple[Mixture, float]:
    """Most errors and the gross ones: two normal distributions (expectation and maximisation), and their likelihood."""
    middle = float(np.median(off))
    deviation = max(MEDIAN_TO_DEVIATION * float(np.median(np.abs(off - middle))), float(off.std()) / 100)
    least = (deviation / 100) ** 2
    share, means = 0.9, np.array([middle, middle])
    variances = np.array([deviation**2, 4 * float(off.var())])
    before = likelihood = -math.inf
    for _ in range(ROUNDS):
        weights = np.array([share, 1 - share])
        density = weights * np.exp(-((off[:, None] - means) ** 2) / (2 * variances)) / np.sqrt(2 * np.pi * variances)
        total = np.maximum(density.sum(axis=1), 1e-300)
        likelihood = float(np.log(total).sum())
        belongs = density / total[:, None]
        size = np.maximum(belongs.sum(axis=0), 1e-9)
        share = float(np.clip(size[0] / len(off), 0.001, 0.999))
        means = (belongs * off[:, None]).sum(axis=0) / size
        variances = np.maximum((belongs * (off[:, None] - means) ** 2).sum(axis=0) / size, least)
        if likelihood - before < 1e-9 * abs(likelihood):
            break
        before = likelihood
    rounded = round(share, 3)
    normals = [Normal(_short(mean), _short(own)) for mean, own in zip(means.tolist(), variances.tolist(), strict=True)]
    return Mixture(((rounded, normals[0]), (round(1 - rounded, 3), normals[1]))), likelihood


def _with_sources(events: TypeEvents, rows: Ints, off: Floats, per: Sequence[str]) -> Distribution:
    """The part that readings of a source share, and the rest: by the variance within and between sources."""
    values = np.array([events.columns[name].values[rows] for name in per])
    _, codes = np.unique(values, axis=1, return_inverse=True)
    codes = codes.reshape(-1)
    counts = np.bincount(codes)
    if len(counts) < FEWEST_SOURCES or len(off) <= len(counts):
        raise OptionError.of(
            "learn-few",
            f"{len(off)} readings of {len(counts)} sources do not tell what readings of a source share",
            hint=f"{FEWEST_SOURCES} sources are needed, with several readings each",
        )
    means = np.bincount(codes, off) / counts
    rest = off - means[codes]
    within = float((rest**2).sum()) / (len(off) - len(counts))
    between = float((counts * (means - off.mean()) ** 2).sum()) / (len(counts) - 1)
    usual = (len(off) - float((counts.astype(np.float64) ** 2).sum()) / len(off)) / (len(counts) - 1)
    shared = max((between - within) / usual, 0.0)
    own = Normal(0.0, _short(within))
    return Biased(own, Normal(_short(float(means.mean())), _short(shared)), tuple(per))


def _half(error: Distribution) -> Distribution:
    """What one of two instruments is off by that are alike, given what they differ by."""
    match error:
        case Normal():
            return Normal(0.0, _short(error.variance / 2))
        case _:
            raise OptionError.of(
                "learn-error",
                f"two instruments that are alike do not differ by {error}",
                hint="their differences should be normal; name an attribute that is right with against",
            )


def _misfit(off: Floats, error: Distribution) -> float:
    """The statistic of Kolmogorov and Smirnov."""
    if isinstance(error, Normal) and not error.variance:  # one value, and all are it
        return 0.0
    values = np.sort(off)
    law = np.array([_at_most(error, value) for value in values.tolist()])
    ranks = np.searchsorted(values, values, side="right") / len(values)
    below = np.searchsorted(values, values, side="left") / len(values)
    return float(max(np.abs(ranks - law).max(), np.abs(below - law).max()))


def _at_most(error: Distribution, value: float) -> float:
    """How likely a learned error is at most a value."""
    match error:
        case Normal(mean, variance):
            return 0.5 * math.erfc((mean - value) / math.sqrt(2 * variance)) if variance else float(value >= mean)
        case Uniform(low, high):
            return min(max((value - low) / (high - low), 0.0), 1.0)
        case Mixture(parts):
            return sum(weight * _at_most(part, value) for weight, part in parts)
        case Biased(Normal(mean, variance), Normal(shift, shared)):
            return _at_most(Normal(mean + shift, variance + shared), value)
        case _:
            raise AssertionError(error)


def _short(value: float) -> float:
    """A number with as many digits as an estimate is worth."""
    return float(f"{value:.{DIGITS}g}")
