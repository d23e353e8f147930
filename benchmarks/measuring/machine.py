"""On what machine, and with which versions, something was measured."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

_PACKAGES = ("numpy", "numba", "pyarrow", "duckdb", "polars")


@dataclass(frozen=True, slots=True)
class Machine:
    """Processor, cores that may be used, memory in GiB (None if not known), system, and versions by name."""

    processor: str
    cores: int
    memory: float | None
    system: str
    versions: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        memory = "" if self.memory is None else f", {self.memory:.0f} GiB"
        versions = ", ".join(f"{name} {version}" for name, version in self.versions)
        return f"{self.processor}, {self.cores} cores{memory}, {self.system}; {versions}"


def this_machine() -> Machine:
    """Describe the machine that this runs on.

    >>> this_machine().cores > 0
    True
    """
    return Machine(
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory=_memory(),
        system=f"{platform.system()} {platform.machine()}",
        versions=(("Python", platform.python_version()), *((name, _version(name)) for name in _PACKAGES)),
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or "unknown processor"


def _memory() -> float | None:
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
