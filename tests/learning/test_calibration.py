"""Probabilities beside what was so."""

from __future__ import annotations

import numpy as np
import pytest

import cepheus
from cepheus.core.batch import EventBatch
from cepheus.core.event import Event
from cepheus.learning.calibration import calibration, confirmed, counted_belief


def test_calibrated_probabilities_have_a_small_error_and_others_a_large_one() -> None:
    rng = np.random.default_rng(1)
    truth = rng.random(50_000)
    so = rng.random(50_000) < truth
    good, bold = calibration(truth, so), calibration(np.where(truth > 0.5, 0.99, 0.01), so)
    assert good.error < 0.01
    assert bold.error > 0.2
    assert abs(good.brier - 1 / 6) < 0.01
    assert abs(good.area - 5 / 6) < 0.01


def test_the_threshold_follows_the_costs() -> None:
    rng = np.random.default_rng(2)
    truth = rng.random(50_000)
    so = rng.random(50_000) < truth
    # telling pays where p * miss > (1 - p) * alarm
    assert abs(calibration(truth, so, miss_cost=4).threshold - 0.2) < 0.05
    assert abs(calibration(truth, so, alarm_cost=4).threshold - 0.8) < 0.05
    assert calibration(np.array([0.4]), np.array([False])).threshold > 1


def test_the_area_counts_ties_as_half() -> None:
    assert calibration(np.full(4, 0.5), np.array([True, False, True, False])).area == 0.5
    assert np.isnan(calibration(np.full(2, 0.5), np.array([True, True])).area)


def test_labels_confirm_by_time_and_key() -> None:
    made = EventBatch.from_events([Event("Hot", 10, {"room": "A"}), Event("Hot", 20, {"room": "B"})])
    labels = EventBatch.from_events([Event("Fire", 12, {"place": "A"}), Event("Fire", 20, {"place": "A"})])
    assert confirmed(made, labels, "Fire", 5, {"room": "place"}).tolist() == [True, False]
    assert confirmed(made, labels, "Fire", 0, {}).tolist() == [False, True]
    with pytest.raises(cepheus.OptionError, match="no event of type 'Smoke'"):
        confirmed(made, labels, "Smoke", 0, {})


def test_keys_that_are_never_equal_are_refused() -> None:
    made = EventBatch.from_events([Event("Fire", 10, {"area": 0}), Event("Fire", 20, {"area": 1})])
    labels = EventBatch.from_events([Event("Alarm", 10, {"area": "east"}), Event("Alarm", 20, {"area": "west"})])
    with pytest.raises(cepheus.OptionError, match="int in one and string in the other"):
        confirmed(made, labels, "Alarm", 0, {"area": "area"})


def test_a_counted_network_gives_the_share_that_was_so() -> None:
    program = cepheus.compile("define Hot() from Temp(value > 30) and not Rain() within 5 min from Temp")
    belief = counted_belief(program.belief("Hot"), 6, 2, smoothing=0)
    assert belief.probability() == 0.75
    events = [{"type": "Temp", "time": 1, "value": 40.0}]
    assert program.with_belief(belief).detect(events, time_unit="s").to_events()[0].probability == 0.75


def test_nothing_to_compare_is_refused() -> None:
    with pytest.raises(cepheus.OptionError, match="no composite event to compare"):
        calibration(np.empty(0), np.empty(0, np.bool_))
    with pytest.raises(cepheus.OptionError, match="costs must be greater than 0"):
        calibration(np.array([0.4]), np.array([False]), miss_cost=float("nan"))
