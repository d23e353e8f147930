"""Processes of their own, which measure themselves and tell what they find."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from cepheus.core.errors import CepheusError

MEBIBYTE = 2**20
_ROOT = Path(__file__).parents[2]


def environment(**settings: str) -> dict[str, str]:
    """The environment of a process that is to find this package, with more settings.

    >>> environment(OMP_NUM_THREADS="1")["OMP_NUM_THREADS"]
    '1'
    """
    before = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(_ROOT), *([before] if before else [])])
    return {**os.environ, "PYTHONPATH": path, **settings}


def lines_of(module: str, *arguments: str | int) -> Iterator[list[int]]:
    """Run a module of this package and give the lists of numbers that it prints in JSON, as they come."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode:
        raise CepheusError.of("measurement", "a measuring process ended before its work was done")


def resident_bytes() -> int:
    """The memory of this process; where the system does not tell it, the most it ever was."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
