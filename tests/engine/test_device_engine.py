"""The device engine: what it leaves to a device, what becomes of it if that fails, and snapshots between engines."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import cepheus
from cepheus.core import extras
from cepheus.core.batch import EventBatch
from cepheus.core.errors import CepheusWarning, LimitError, OptionError
from cepheus.core.event import Event
from cepheus.core.options import RunOptions
from cepheus.core.schema import Schema
from cepheus.engine.assembly.registry import create
from cepheus.engine.columns.engine import ColumnsEngine
from cepheus.engine.device import calibration, crossover, evaluation, opencl
from cepheus.engine.device.crossover import ALWAYS, NEVER, Costs, Crossover
from cepheus.engine.device.engine import DeviceEngine
from cepheus.language.tesla import parse
from cepheus.rules.check import check

pyopencl = pytest.importorskip("pyopencl")
pytestmark = pytest.mark.device

DECLARED = "event A(x: int, y: double) event B(x: int, y: double) event C(x: int, y: double)\n"
NEAR = (
    "define N(x: int, d: double) from A(y=$y) and each B(abs(y - $y) < 4) within 1 ms from A where x=B.x, d=$y - B.y\n"
)
CHAIN = (
    "define Q(x: int) from A(y=$y) and each B(y > $y) as One within 400 us from A and "
    "last C(y < One.y) within 300 us from One and not B(y > 49) as Large between C and A where x=C.x\n"
)
FEW = "define F(x: int) from A(y=$y) and 2 first B(y > $y) within 200 us from A where x=B.x\n"
KEYED = "define K(x: int) from A(x=$k) and last B(x=$k) within 90 us from A where x=$k\n"
FEEDS = "define S(x: int) from N() and last C() within 50 us from N where x=C.x\n"


def deployed(engine: ColumnsEngine, text: str) -> Any:
    checked = check(parse(DECLARED + text))
    engine.deploy(checked.rules.rules, Schema([*checked.inputs.values(), *checked.composites.values()]))
    return engine


def stream(count: int, seed: int = 1, start: int = 0, types: str = "ABBCC") -> EventBatch:
    random = Random(seed)
    return EventBatch.from_events(
        Event(random.choice(types), start + n, {"x": random.randint(0, 9), "y": round(random.uniform(0, 50), 1)})
        for n in range(count)
    )


def same(one: ColumnsEngine, other: ColumnsEngine, batches: int = 3, size: int = 700) -> None:
    for number in range(batches):
        batch = stream(size, number, size * number)
        assert one.feed(batch).to_events() == other.feed(batch).to_events()
        assert one.ties == other.ties


@pytest.mark.parametrize("rules", [NEAR, CHAIN, FEW, NEAR + KEYED + FEW, KEYED + CHAIN + NEAR, FEEDS + NEAR + CHAIN])
def test_a_device_gives_what_the_host_gives_in_the_same_order(rules: str) -> None:
    device = deployed(DeviceEngine(), rules)
    same(device, deployed(ColumnsEngine(), rules))
    assert device.evaluated["device"] > 0


def test_rules_that_feed_others_or_have_keys_stay_on_the_host() -> None:
    device = deployed(DeviceEngine(), FEEDS + NEAR + KEYED)
    same(device, deployed(ColumnsEngine(), FEEDS + NEAR + KEYED))
    assert device.evaluated == {"device": 0, "host": 0}


def test_single_events_and_batches_may_take_turns() -> None:
    device, host = deployed(DeviceEngine(), NEAR + CHAIN), deployed(ColumnsEngine(), NEAR + CHAIN)
    for number in range(4):
        batch = stream(200, number, 400 * number)
        assert device.feed(batch).to_events() == host.feed(batch).to_events()
        for event in stream(60, 50 + number, 400 * number + 200).to_events():
            assert device.feed_event(event) == host.feed_event(event)


def test_windows_slide_over_rings_many_times() -> None:
    """Rings on host and device are written over and over; nothing that a terminator may see is lost."""
    rules = NEAR.replace("1 ms", "70 us") + FEW
    device, host = deployed(DeviceEngine(), rules), deployed(ColumnsEngine(), rules)
    batch = stream(20_000, 5)
    assert device.feed(batch).to_events() == host.feed(batch).to_events()
    assert device.evaluated["device"] > 1000


@pytest.mark.parametrize("keys", [100, 400, 900])
def test_lanes_of_other_rules_are_swept_only_when_what_was_put_off_is_done(keys: int) -> None:
    rules = "define N() from A(y=$y) and each C(abs(y - $y) < 100) within 10 ms from A\n" + KEYED
    events = [Event("C", 8 * n // 3, {"x": 0, "y": 1.0}) for n in range(3000)]
    events.append(Event("A", 9000, {"x": -1, "y": 1.0}))
    events += [Event("B", 9000 + (n + 1) * 9000 // keys, {"x": n, "y": 1.0}) for n in range(keys)]
    found = deployed(DeviceEngine(), rules).feed(EventBatch.from_events(events))
    assert len(found) == len(deployed(ColumnsEngine(), rules).feed(EventBatch.from_events(events))) == 3000


def test_where_little_is_to_be_done_the_host_does_it() -> None:
    device = deployed(DeviceEngine(crossover=Crossover(events=100, pairs=5000)), NEAR)
    host = deployed(ColumnsEngine(), NEAR)
    small = stream(150, types="ABC")
    assert device.feed(small).to_events() == host.feed(small).to_events()
    assert device.evaluated["device"] == 0
    for number in (1, 2):  # how much there is is looked at when a batch begins, and now and then in a large one
        large = stream(1000, number, 150 + 1000 * number)
        assert device.feed(large).to_events() == host.feed(large).to_events()
    assert device.evaluated["device"] > 0
    never = deployed(DeviceEngine(crossover=NEVER), NEAR)
    never.feed(large)
    assert never.evaluated == {"device": 0, "host": 0}


def test_what_is_too_much_at_once_is_evaluated_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "_MOST_WORDS", 300)
    device = deployed(DeviceEngine(), NEAR + CHAIN)
    same(device, deployed(ColumnsEngine(), NEAR + CHAIN), 2, 150)
    assert device.evaluated["device"] > 0
    monkeypatch.setattr(evaluation, "_MOST_WORDS", 1)  # not even one terminator
    device = deployed(DeviceEngine(), NEAR + CHAIN)
    same(device, deployed(ColumnsEngine(), NEAR + CHAIN), 2, 150)
    assert device.evaluated["host"] > 0


@pytest.mark.parametrize(
    ("where", "error", "after"),
    [
        ("run", pyopencl.RuntimeError, 0),
        ("run", pyopencl.MemoryError, 7),
        ("write", pyopencl.MemoryError, 5),
        ("read", pyopencl.RuntimeError, 3),
        ("buffer", pyopencl.MemoryError, 0),
        ("buffer", MemoryError, 60),
    ],
)
def test_a_fault_loses_nothing(monkeypatch: pytest.MonkeyPatch, where: str, error: Any, after: int) -> None:
    device = deployed(DeviceEngine(), NEAR + KEYED + CHAIN)
    host = deployed(ColumnsEngine(), NEAR + KEYED + CHAIN)
    left = [after]
    work = getattr(opencl.Device, where)

    def failing(self: Any, *given: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise error("out of resources")
        return work(self, *given)

    monkeypatch.setattr(opencl.Device, where, failing)
    with pytest.warns(CepheusWarning, match=r"device-fault\].*failed.*nothing is lost"):
        same(device, host)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once
        batch = stream(500, 9, 3000)
        assert device.feed(batch).to_events() == host.feed(batch).to_events()


def test_snapshots_go_from_device_to_host_and_back() -> None:
    rules = NEAR + CHAIN
    engines = [deployed(DeviceEngine(), rules), ColumnsEngine(), DeviceEngine()]
    host = deployed(ColumnsEngine(), rules)
    for number, engine in enumerate(engines):
        if number:
            engine.restore(engines[number - 1].snapshot())
        batch = stream(600, number, 600 * number)
        assert engine.feed(batch).to_events() == host.feed(batch).to_events()
    assert all(engine.evaluated["device"] for engine in (engines[0], engines[2]))


def test_sessions_go_on_with_or_without_a_device() -> None:
    program = cepheus.compile(DECLARED + NEAR)
    events = stream(300).to_events()
    session = program.start(engine="device")
    found = [each for event in events[:150] for each in session.feed(event)]
    for engine in ("columns", "device", "columns"):
        kept = session.snapshot()
        session = program.start(engine=engine)
        session.restore(kept)
        assert session.engine_name == engine
    found += [each for event in events[150:] for each in session.feed(event)]
    assert found == program.detect(events).to_events()


def test_uncertain_events_give_way_to_an_engine_of_probabilities() -> None:
    engine = create(RunOptions(engine="device"))
    checked = check(parse(DECLARED + NEAR))
    engine.deploy(checked.rules.rules, Schema([*checked.inputs.values(), *checked.composites.values()]))
    engine.feed_event(Event("B", 1, {"x": 1, "y": 5.0}, probability=0.5))
    (found,) = engine.feed_event(Event("A", 2, {"x": 1, "y": 5.0}))
    assert found.probability == 0.5
    again = create(RunOptions(engine="columns"))
    again.restore(engine.snapshot())
    (found,) = again.feed_event(Event("A", 3, {"x": 1, "y": 5.0}))
    assert found.probability == 0.5


def test_limits_hold_for_what_a_device_makes() -> None:
    for limit, stops in ((30, True), (5000, False)):
        engine = deployed(DeviceEngine(limit), NEAR + FEW)
        engine.feed(stream(400, types="BC"))
        query = EventBatch.from_events([Event("A", 401, {"x": 1, "y": 25.0})])
        if stops:
            with pytest.raises(LimitError, match="30 composite events"):
                engine.feed(query)
        else:
            assert len(engine.feed(query)) > 30
        later = engine.feed(EventBatch.from_events([Event("A", 1399, {"x": 1, "y": 100.0})]))
        assert len(later) == 0


def test_devices_are_found_by_name() -> None:
    (first, *_) = opencl.devices()
    assert opencl.choose(first.platform[:8].upper()).info == first
    assert opencl.choose(None).block in (1, 64)
    with pytest.raises(OptionError, match="there is no device 'Voodoo'"):
        create(RunOptions(engine="device", device="Voodoo"))
    with pytest.raises(OptionError, match="the engine columns works with none"):
        create(RunOptions(engine="columns", device="x"))
    with pytest.raises(OptionError, match="is not the name of a device"):
        RunOptions(engine="device", device="")


def test_without_the_package_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    with pytest.raises(OptionError, match=r"the device engine needs the package 'pyopencl'[\s\S]*\[device\]"):
        create(RunOptions(engine="device"))


def test_devices_without_doubles_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Plain:
        """A device that has everything but doubles."""

        def __init__(self, real: Any) -> None:
            self._real = real
            self.extensions = real.extensions.replace("cl_khr_fp64", "")

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

    found = [Plain(each) for each in opencl._found()]
    monkeypatch.setattr(opencl, "_found", lambda: found)
    with pytest.raises(OptionError, match=r"cannot be used: it has no doubles \(cl_khr_fp64\)"):
        opencl.choose(None)
    monkeypatch.setattr(opencl, "_found", list)
    with pytest.raises(OptionError, match="there is no OpenCL device on this machine"):
        opencl.choose(None)


@pytest.fixture
def cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("CEPHEUS_CACHE_DIR", str(tmp_path))
    calibration._crossover_of.cache_clear()
    yield tmp_path
    calibration._crossover_of.cache_clear()


def test_the_crossover_is_measured_once_and_kept(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = opencl.choose(None)
    found = calibration.crossover_of(device)
    assert found.events > 0
    (file,) = (cache_folder / "cepheus" / "devices").iterdir()
    assert json.loads(file.read_text())["events"] == found.events
    monkeypatch.setattr(calibration, "measure", lambda _: pytest.fail("it is known"))
    calibration._crossover_of.cache_clear()
    assert calibration.crossover_of(device) == found
    file.write_text('{"events": "many"}')
    assert crossover.kept(device.info) is None


def test_where_costs_meet() -> None:
    host = Costs(0.0, 1e-6, 41e-6)
    assert crossover.crossover(100, 4100, host, Costs(0.0, 2e-6, 50e-6)) == NEVER
    found = crossover.crossover(100, 4100, host, Costs(1e-3, 5e-6, 9e-6))
    assert 1e-6 + (found.events - 5 - 100) * 40e-6 / 4000 < 5e-6 + (found.events - 5 - 100) * 4e-6 / 4000
    assert 1e-6 + (found.events + 5 - 100) * 40e-6 / 4000 > 5e-6 + (found.events + 5 - 100) * 4e-6 / 4000
    assert found.pairs == round(1e-3 * 4100 / 32e-6)


def test_columns_are_numbers_of_the_same_bits() -> None:
    """Corners of doubles and integers go to the device and back unchanged."""
    rules = "define N(x: int, d: double) from A() and each B(y != 7) within 1 ms from A where x=B.x, d=B.y\n"
    values = (0.0, -0.0, 5e-324, 1.7976931348623157e308, -1.0)
    numbers = (2**63 - 1, -(2**63), 0, -1, 1)
    batch = EventBatch.from_events(
        [
            *(Event("B", n, {"x": x, "y": y}) for n, (x, y) in enumerate(zip(numbers, values, strict=True))),
            Event("A", 9, {"x": 0, "y": 0.0}),
        ]
    )
    found = deployed(DeviceEngine(crossover=ALWAYS), rules).feed(batch).to_events()
    assert [each.attributes["x"] for each in found] == list(numbers)
    assert np.array([each.attributes["d"] for each in found]).tobytes() == np.array(values).tobytes()
