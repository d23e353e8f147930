"""What other numbers would have found: a turned knob gives what the rule written with that number gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheus.api import compile
from cepheus.core.errors import OptionError
from cepheus.core.time import MINUTE, SECOND
from cepheus.explain.what_if import KnobKind, knobs, score, turned
from cepheus.language.tesla import parse
from cepheus.rules.check import check

RULE = """
define Fire(temp: double) from Smoke() and last Temp(value > {least}) within {window} from Smoke
and Count(Temp() within {window} from Smoke) >= {count} where temp = Temp.value min probability 0.5
"""
EVENTS = [
    *({"type": "Temp", "time": second, "value": float(second % 17 + 35)} for second in range(0, 900, 7)),
    *({"type": "Smoke", "time": second} for second in range(30, 900, 60)),
]


def test_every_number_is_a_knob() -> None:
    program = compile(RULE.format(least=45, window="5 min", count=2))
    assert [(knob.text, knob.kind) for knob in program.knobs()] == [
        ("value > 45", KnobKind.CONSTANT),
        ("within 5 min from Smoke", KnobKind.WINDOW),
        ("within 5 min from Smoke", KnobKind.WINDOW),
        ("Count(Temp) >= 2", KnobKind.CONSTANT),
        ("min probability 0.5", KnobKind.PROBABILITY),
    ]
    assert len({knob.name for knob in program.knobs()}) == 5


@given(st.integers(30, 60), st.integers(1, 20), st.integers(0, 9))
def test_a_turned_rule_is_the_rule_written_so(least: int, minutes: int, count: int) -> None:
    rules = check(parse(RULE.format(least=45, window="5 min", count=2)), closed=False).rules
    value, window, counted, wanted, _ = knobs(rules)
    for knob, number in ((value, least), (window, minutes * MINUTE), (counted, minutes * MINUTE), (wanted, count)):
        rules = turned(rules, knob, number)
    written = check(parse(RULE.format(least=least, window=f"{minutes} min", count=count)), closed=False).rules
    assert rules.rules == written.rules


def test_a_sweep_counts_what_each_rule_would_find() -> None:
    events = sorted(EVENTS, key=lambda event: str(event["time"]).zfill(5))
    program = compile(RULE.format(least=45, window="5 min", count=2), undeclared="allow")
    values = [36, 45, 50, 51, 60]
    swept = program.sweep(events, program.knobs()[0].name, values, time_unit="s")
    for value, point in zip(values, swept.points, strict=True):
        written = compile(RULE.format(least=value, window="5 min", count=2), undeclared="allow")
        assert point.counts.get("Fire", 0) == len(written.detect(events, time_unit="s"))
    assert swept.points[0].counts["Fire"] > 0
    assert swept.points[-1].counts == {}


def test_precision_and_recall_of_labels() -> None:
    program = compile("define Hot() from Temp(value > 45)", undeclared="allow")
    events = [{"type": "Temp", "time": t, "value": 40.0 + t} for t in range(10)]
    labels = [8 * SECOND, 9 * SECOND]
    swept = program.sweep(events, program.knobs()[0], [45, 47, 60], labels=labels, time_unit="s")
    scores = [(p.score.precision, p.score.recall) for p in swept.points if p.score is not None]
    assert scores == [(0.5, 1.0), (1.0, 1.0), (None, 0.0)]
    assert "precision" in str(swept)


@given(st.lists(st.integers(0, 50)), st.lists(st.integers(0, 50)), st.integers(0, 5))
def test_scores_are_as_defined(found: list[int], labels: list[int], tolerance: int) -> None:
    scored = score(np.array(found, np.int64), np.array(labels, np.int64), tolerance)
    assert scored.right == sum(any(abs(one - label) <= tolerance for label in labels) for one in found)
    assert scored.found_labels == sum(any(abs(one - label) <= tolerance for one in found) for label in labels)


def test_a_value_that_cannot_be_is_refused() -> None:
    program = compile(RULE.format(least=45, window="5 min", count=2))
    value, window, _, _, likely = program.knobs()
    with pytest.raises(OptionError, match="is no value"):
        program.with_knob(window, -1)
    with pytest.raises(OptionError, match="no probability"):
        program.with_knob(likely, 1.5)
    with pytest.raises(OptionError, match="is no value"):
        program.with_knob(value.name, float("inf"))
    with pytest.raises(OptionError, match="there is no knob"):
        program.with_knob("Fire: value > 46", 50)


_stretches = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)).map(lambda one: (one[0], one[0] + one[1])))


@given(st.lists(st.integers(0, 80)), _stretches, st.integers(0, 5))
def test_scores_of_stretches_are_as_defined(found: list[int], labels: list[tuple[int, int]], tolerance: int) -> None:
    def near(one: int, label: tuple[int, int]) -> bool:
        return label[0] - tolerance <= one <= label[1] + tolerance

    scored = score(np.array(found, np.int64), np.array(labels, np.int64).reshape(-1, 2), tolerance)
    assert scored.right == sum(any(near(one, label) for label in labels) for one in found)
    assert scored.found_labels == sum(any(near(one, label) for one in found) for label in labels)
