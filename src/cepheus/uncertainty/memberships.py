"""Aggregates over events that may belong to them: what each comes to, and the law of its value.

Members that share no quantity are independent, and have closed forms. A member whose value decides whether it belongs,
as in ``Avg(Temp(value > 30).value)``, has the law of what passes. Members that share something, such as the kilometre
they must be near to, are drawn together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cepheus.core.calculus import Calculus
from cepheus.core.values import INT_MAX, INT_MIN, Value, ValueType
from cepheus.rules.aggregates import AggregateFunction, Form
from cepheus.uncertainty.aggregates import Computed, Member, compute_aggregate, only_defined
from cepheus.uncertainty.computed_errors import law_of_value
from cepheus.uncertainty.joint import Values, probability_of
from cepheus.uncertainty.laws import Component, Floats, Law, Sampled, Spreads
from cepheus.uncertainty.quantities import Key, linear
from cepheus.uncertainty.trials import Aggregation, Belonging, SourceFinder, Trial
from cepheus.uncertainty.truncation import truncated
from cepheus.uncertainty.worlds import Column, Worlds, draw

_AGGREGATE = ""
"""What the aggregate at hand is called while it is worked out."""


def computed_of(aggregation: Aggregation, function: str, values: Values, calculus: Calculus) -> Computed:
    """Work out an aggregate; ``values`` are those that its members may refer to."""
    earlier = {name: one.source for name, one in values.items() if one.source is not None}
    finder = SourceFinder(earlier)
    kept: list[Belonging] = []
    members: list[Member | float] = []
    doubt = 0.0
    for belonging in aggregation.members:
        estimate = probability_of(belonging.trial, values, calculus)
        probability = _rounded(estimate.probability, calculus)
        if probability == 0.0 or (belonging.observed is None and not aggregation.even_undefined):
            continue
        doubt += estimate.standard_error**2
        sure = Trial((), belonging.trial.situation)
        kept.append(replace(belonging, trial=sure) if probability == 1.0 else belonging)
        if belonging.observed is None:
            members.append(probability)
        else:
            law = _law_of_member(kept[-1], finder, calculus)
            members.append(Member(probability, belonging.observed, law, belonging.time))
    source = replace(aggregation, members=tuple(kept))
    if _are_apart(kept, finder):
        valued = only_defined(aggregation.record.form, members)
        computed = compute_aggregate(function, valued, calculus, aggregation.argument)
    else:
        computed = _drawn(source, earlier, calculus)
    if computed.law is None and computed.defined == 1.0:
        return computed
    return replace(computed, source=source, doubt=max(computed.doubt, math.sqrt(doubt)))


def _rounded(probability: float, calculus: Calculus) -> float:
    if probability <= calculus.ignore:
        return 0.0
    return 1.0 if probability >= calculus.accept else probability


def _are_apart(members: Sequence[Belonging], finder: SourceFinder) -> bool:
    """Whether members share nothing with one another."""
    asked: set[Key] = set()
    for member in members:
        own = finder.of_member(member).keys()
        if not asked.isdisjoint(own):
            return False
        asked |= own
    return True


def _law_of_member(member: Belonging, finder: SourceFinder, calculus: Calculus) -> Law | None:
    """The law of a member's value, given that it belongs; None if the value is certain."""
    if member.value is None:
        return None
    situation = member.trial.situation
    read = finder.of_node(member.value, situation)
    asked = finder.of_trial(member.trial)
    if read.keys().isdisjoint(asked):
        return law_of_value(member.value, situation, calculus)
    form = linear(member.value, situation)
    if form is not None:
        found = truncated(form, member.trial.conditions, situation, read | asked)
        if found is not None:
            return found
    worlds = Worlds(calculus.draws, draw(read | asked, np.random.default_rng(calculus.seed), calculus.draws), {})
    column = worlds.numbers(member.value, situation)
    if not isinstance(column, Column):
        return law_of_value(member.value, situation, calculus)
    inside = column.values[worlds.fits(member.trial) & column.known]
    return Sampled.of(inside) if len(inside) else law_of_value(member.value, situation, calculus)


def _drawn(aggregation: Aggregation, earlier: dict[str, Aggregation], calculus: Calculus) -> Computed:
    """An aggregate whose members hang together, from worlds drawn for all of them."""
    known = {**earlier, _AGGREGATE: aggregation}
    sources = SourceFinder(known).of_aggregate(_AGGREGATE)
    worlds = Worlds(calculus.draws, draw(sources, np.random.default_rng(calculus.seed), calculus.draws), known)
    column = worlds.aggregate(_AGGREGATE)
    found = column.values[column.known]
    if not len(found):
        return Computed(None)
    defined = len(found) / calculus.draws
    law = _merged(found)
    mean = law.mean()
    value: Value = _nearest(mean) if _is_whole(aggregation.record, aggregation.members) else mean
    doubt = math.sqrt(defined * (1.0 - defined) / calculus.draws)
    return Computed(value, law, defined, 0.5 / math.sqrt(len(found)), doubt)


def _merged(values: Floats) -> Law:
    """Equally likely values; those of a count are few."""
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) > len(values) // 16:
        return Sampled.of(values)
    pairs = zip(distinct.tolist(), (counts / len(values)).tolist(), strict=True)
    return Spreads(tuple(Component(share, value) for value, share in pairs))


def _is_whole(record: AggregateFunction, members: Sequence[Belonging]) -> bool:
    if record.result is not None:
        return record.result is ValueType.INT
    return all(type(member.observed) is int for member in members) and record.form is not Form.AVERAGE


def _nearest(mean: float) -> int:
    return min(max(math.ceil(mean - 0.5 - 1e-9), INT_MIN), INT_MAX)
