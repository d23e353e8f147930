"""From when on a device is faster than the host, and where that is kept between runs."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import uuid4

from cepheus.core.errors import OptionError
from cepheus.core.private_folder import private_folder
from cepheus.core.values import INT_MAX
from cepheus.engine.device.opencl import DeviceInfo, kernel_text


@dataclass(frozen=True, slots=True)
class Crossover:
    """A device pays where a state holds so many events, and so many pairs are to be looked at in one go.

    A pair is a terminator and an event of the state. What a device is handed costs about the same however little it is;
    that is what the pairs are for. What it does for each terminator besides is what the events are for.
    """

    events: int
    pairs: int

    def told(self) -> str:
        """It in words.

        >>> Crossover(40, 20_000).told()
        'from 40 events in a state on, where at least 20,000 pairs are evaluated at once'
        >>> NEVER.told()
        'never: the host is faster'
        """
        if self == NEVER:
            return "never: the host is faster"
        return f"from {self.events:,} events in a state on, where at least {self.pairs:,} pairs are evaluated at once"


ALWAYS = Crossover(0, 0)
"""Leaves everything to a device that it can do."""

NEVER = Crossover(INT_MAX, INT_MAX)
"""Leaves nothing to a device."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds that evaluation takes: in any case, for a terminator in a state of few events, and in one of many."""

    fixed: float
    few: float
    many: float


def crossover(few: int, many: int, host: Costs, device: Costs) -> Crossover:
    """Where the costs of host and device meet, if both grow in proportion between the sizes that were measured.

    >>> crossover(100, 1100, Costs(0.0, 1e-6, 11e-6), Costs(1e-4, 3e-6, 4e-6))
    Crossover(events=322, pairs=15714)
    """
    gain = (host.many - device.many) / many
    if gain <= 0:
        return NEVER
    lead = (host.many - host.few - device.many + device.few) / (many - few)
    meeting = few + (device.few - host.few) / lead if lead > 0 else few
    return Crossover(max(1, round(meeting)), max(1, round(max(0.0, device.fixed - host.fixed) / gain)))


def kept(device: DeviceInfo) -> Crossover | None:
    """What is known of a device from earlier runs."""
    path = _path(device)
    if path is None:
        return None
    with suppress(OSError, ValueError, TypeError, LookupError):
        found = json.loads(path.read_text(encoding="utf-8"))
        numbers = found["events"], found["pairs"]
        if all(type(number) is int and 0 <= number <= INT_MAX for number in numbers):
            return Crossover(*numbers)
    return None


def keep(device: DeviceInfo, measured: Crossover) -> None:
    """Keep what was measured of a device for later runs, if there is a folder for that."""
    path = _path(device)
    if path is None:
        return
    unfinished = path.with_name(f"{path.name}.{uuid4().hex}")
    with suppress(OSError):
        unfinished.write_text(json.dumps({"device": device.label, **asdict(measured)}), encoding="utf-8")
        os.replace(unfinished, path)


def _path(device: DeviceInfo) -> Path | None:
    """The file of a device, of this driver and these kernels, on so many processors."""
    source = kernel_text().encode()
    told = f"{device.label} {device.driver} {device.units} {os.cpu_count()} {hashlib.sha256(source).hexdigest()}"
    try:
        return private_folder("devices") / f"{hashlib.sha256(told.encode()).hexdigest()[:24]}.json"
    except OptionError:
        return None
