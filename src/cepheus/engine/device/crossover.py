"""From when on a device is faster than the host: measured once for each device, and kept between runs."""

from __future__ import annotations

from dataclasses import dataclass

from cepheus.engine.device.opencl import Device


@dataclass(frozen=True, slots=True)
class Crossover:
    """A device pays from so many pairs of terminators and stored events on, and so many events in a state."""

    pairs: int
    events: int = 1


ALWAYS = Crossover(0, 0)


def crossover_of(device: Device) -> Crossover:
    return Crossover(100_000, 64)
