"""``cepheus warm-up``: compile the engines before anybody waits for them."""

from __future__ import annotations

import time
from importlib.util import find_spec

from cepheus.core.errors import OptionError

_TESLA = "define Fire() from Smoke(area=$a) and last Temp(area=$a and value > 45) within 5 min from Smoke"
_ETALIS = "late(X) <- ordered(X) SEQ paid(X)."
_SQL = "SELECT * FROM Temp MATCH_RECOGNIZE (MEASURES B.value AS v PATTERN (A B) DEFINE B AS B.value > A.value)"


def warm_up() -> None:
    """Compile the engines ahead: the first run of a new version on a machine then begins at once.

    What is compiled is kept in the user's cache folder, for all processes of this machine.
    """
    from cepheus.api import compile

    events: list[dict[str, object]] = [
        {"type": "Temp", "time": 1, "area": "A1", "value": 50.5},
        {"type": "Smoke", "time": 2, "area": "A1"},
    ]
    doubtful = [events[0] | {"probability": 0.5}, *events[1:]]
    orders: list[dict[str, object]] = [
        {"type": "ordered", "time": 1, "args": [7]},
        {"type": "paid", "time": 2, "args": [7]},
    ]
    with_device = [("device", _TESLA, events, "device")] if find_spec("pyopencl") is not None else []
    for name, text, given, engine in (
        ("columns", _TESLA, events, "columns"),
        ("uncertain events", _TESLA, doubtful, "columns"),
        ("automata", _TESLA, events, "automata"),
        ("goals", _ETALIS, orders, "goals"),
        ("rows", _SQL, events, "auto"),
        *with_device,
    ):
        begin = time.perf_counter()
        try:
            compile(text).detect(given, time_unit="s", engine=engine)
        except OptionError as error:  # the package is there, but no device
            print(f"{name}: {error.diagnostics[0].message}", flush=True)
            continue
        if name == "device":
            from cepheus.engine.device.calibration import measure_anew

            print(f"device: it pays {measure_anew().told()}", flush=True)
        print(f"{name}: ready after {time.perf_counter() - begin:.1f} s", flush=True)
