"""What measurements are off by, against errors that are known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import cepheus
from cepheus.core.distribution import Biased, Distribution, Mixture, Normal, Uniform
from cepheus.core.event import Event
from cepheus.core.time import SECOND
from cepheus.core.values import Value
from cepheus.learning.errors import learn_error

Draw = Callable[[np.random.Generator], float]


def measured(error: Draw, seed: int, count: int = 3_000) -> list[Event]:
    """Readings of three rooms by a sensor with an error, up to a second after those of a thermometer without."""
    rng = np.random.default_rng(seed)
    events = []
    for number in range(count):
        room, true = f"r{number % 3}", float(10 * np.sin(number / 50) + 20 * (number % 3))
        time = 10 * number * SECOND
        events.append(Event("Thermometer", time, {"room": room, "value": true}))
        late = int(rng.integers(0, SECOND))
        events.append(Event("Temp", time + late, {"room": room, "value": true + error(rng)}))
    return sorted(events, key=lambda event: event.time)


def paired(events: list[Event], **options: object) -> Distribution:
    """The error of the sensor."""
    learned = learn_error(events, "Temp.value", against="Thermometer.value", keys=["room"], slack="1s", **options)  # type: ignore[arg-type]
    program = cepheus.compile(
        f"event Temp(room: string, value: double)\n{learned.text}\ndefine Hot() from Temp(value > 1)"
    )
    assert program.rules.errors[0].error == learned.error
    return learned.error


@pytest.mark.parametrize("seed", range(3))
def test_a_normal_error_is_found_with_its_bias(seed: int) -> None:
    error = paired(measured(lambda rng: rng.normal(0.5, 2.0), seed))
    assert isinstance(error, Normal)
    assert abs(error.mean - 0.5) < 0.15
    assert abs(error.variance - 4.0) < 0.4


@pytest.mark.parametrize("seed", range(3))
def test_a_uniform_error_is_found(seed: int) -> None:
    error = paired(measured(lambda rng: rng.uniform(-1.0, 3.0), seed))
    assert isinstance(error, Uniform)
    assert abs(error.low + 1.0) < 0.02
    assert abs(error.high - 3.0) < 0.02


def test_a_sensor_that_is_now_and_then_far_off_has_a_mixture() -> None:
    error = paired(measured(lambda rng: rng.normal(0.0, 0.5) if rng.random() < 0.95 else rng.normal(0.0, 10.0), 1))
    assert isinstance(error, Mixture)
    (share, usual), (_, gross) = error.parts
    assert isinstance(usual, Normal)
    assert isinstance(gross, Normal)
    assert abs(share - 0.95) < 0.02
    assert abs(usual.variance - 0.25) < 0.05
    assert 60 < gross.variance < 160


def test_two_that_are_alike_have_half_of_the_variance_each() -> None:
    error = paired(measured(lambda rng: rng.normal(0.0, 2.0), 1), alike=True)
    assert isinstance(error, Normal)
    assert abs(error.variance - 2.0) < 0.2


def test_what_readings_of_a_sensor_share_is_told_from_the_rest() -> None:
    rng = np.random.default_rng(3)
    shared = rng.normal(1.0, 3.0, 200)
    events = []
    for number in range(8_000):
        true, sensor, time = float(rng.uniform(0, 30)), int(rng.integers(0, 200)), number * SECOND
        events.append(Event("Thermometer", time, {"value": true}))
        events.append(
            Event("Temp", time, {"sensor": sensor, "value": true + shared[sensor] + float(rng.normal(0, 0.5))})
        )
    error = learn_error(events, "Temp.value", against="Thermometer.value", per=["sensor"]).error
    assert isinstance(error, Biased)
    assert isinstance(error.own, Normal)
    assert isinstance(error.bias, Normal)
    assert abs(error.own.variance - 0.25) < 0.02
    assert abs(error.bias.variance / shared.var(ddof=1) - 1) < 0.02
    assert abs(error.bias.mean - shared.mean()) < 0.05


def test_neighbours_tell_an_error_where_the_true_value_moves_slowly() -> None:
    events = [each for each in measured(lambda rng: rng.normal(0.5, 2.0), 5) if each.type == "Temp"]
    error = learn_error(events, "Temp.value", keys=["room"]).error
    assert isinstance(error, Normal)
    assert error.mean == 0
    assert abs(error.variance - 4.0) < 0.6


def test_readings_without_a_value_or_a_partner_do_not_count() -> None:
    events = measured(lambda rng: rng.normal(0.0, 1.0), 2, 300)
    odd = [
        Event("Temp", 20_000 * SECOND, {"room": "r0", "value": 1e9}),
        Event("Temp", 1, {"room": "elsewhere", "value": 1e9}),
        Event("Temp", 2, {"room": "r1"}),
    ]
    assert paired(sorted(events + odd, key=lambda event: event.time)) == paired(events)


def test_what_cannot_be_learned_is_refused() -> None:
    events = measured(lambda rng: rng.normal(0.0, 1.0), 1, 200)
    with pytest.raises(cepheus.OptionError, match=r"'Temp\.valu' is not in the history"):
        learn_error(events, "Temp.valu")
    with pytest.raises(cepheus.OptionError, match=r"'Temp\.room' is no number"):
        learn_error(events, "Temp.room")
    with pytest.raises(cepheus.OptionError, match="'Temp' has no attribute 'area'"):
        learn_error(events, "Temp.value", keys=["area"])
    with pytest.raises(cepheus.OptionError, match="have one of Thermometer"):
        learn_error(events, "Temp.value", against="Thermometer.value")
    with pytest.raises(cepheus.OptionError, match="not right beside itself"):
        learn_error(events, "Temp.value", against="Temp.value")
    with pytest.raises(cepheus.OptionError, match="cannot be seen from that source alone"):
        learn_error(events, "Temp.value", per=["room"])
    with pytest.raises(cepheus.OptionError, match="readings of 3 sources do not tell"):
        learn_error(events, "Temp.value", against="Thermometer.value", per=["room"], slack="1s")
    with pytest.raises(cepheus.OptionError, match="no error is seen"):
        learn_error([Event("Temp", time, {"value": 1.0}) for time in range(99)], "Temp.value")


@pytest.mark.parametrize("labels", [("0", "1"), ("1", "0"), (False, True)])
def test_keys_of_types_that_cannot_be_equal_are_refused(labels: tuple[str | bool, str | bool]) -> None:
    """A text or truth is held as a code, which must not meet a number by accident."""
    events = []
    for number in range(200):
        room, value = number % 2, 10.0 + 490.0 * (number % 2)
        events.append(Event("Thermometer", number, {"room": room, "value": value}))
        events.append(Event("Temp", number, {"room": labels[room], "value": value + 0.001 * number}))
    kind = "string" if isinstance(labels[0], str) else "bool"
    with pytest.raises(cepheus.OptionError, match=f"'room' is {kind} in 'Temp' and int in 'Thermometer'"):
        learn_error(events, "Temp.value", against="Thermometer.value", keys=["room"])


def test_keys_are_compared_by_what_they_are_whatever_comes_first() -> None:
    """The rooms of one type first come up in another order than those of the other, and whole numbers equal doubles."""
    rng = np.random.default_rng(4)
    events = []
    for number in range(200):
        room, value = number % 2, 10.0 + 490.0 * (number % 2)
        events.append(Event("Thermometer", 10 * number, {"name": "ab"[room], "room": room, "value": value}))
        late: dict[str, Value] = {"name": "ab"[room], "room": float(room), "value": value + float(rng.normal(0, 0.5))}
        events.append(Event("Temp", 10 * number + 1, late))
    events.insert(0, Event("Temp", -5, {"name": "b", "room": 1.0}))
    for keys in (["name"], ["room"], ["name", "room"]):
        learned = learn_error(events, "Temp.value", against="Thermometer.value", keys=keys, slack="15us")
        assert learned.count == 200
        assert isinstance(learned.error, Normal)
        assert abs(learned.error.variance - 0.25) < 0.1


def test_readings_that_are_always_off_by_the_same_fit_exactly() -> None:
    events = [Event(name, n, {"value": 20.0 + (name == "Temp")}) for n in range(100) for name in ("Right", "Temp")]
    learned = learn_error(events, "Temp.value", against="Right.value")
    assert learned.misfit == 0
    assert learned.text == "error Temp.value ~ N(1, 0)"
