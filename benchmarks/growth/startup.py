"""From nothing to the first answer: a fresh process imports, compiles rules and takes an event, as a user's would."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measuring.timing import Say
from benchmarks.workloads.sequences import chapter_rules, rule_text
from cepheus.core.errors import CepheusError

_ROOT = Path(__file__).parents[2]
_PROGRAM = """
import json, sys, time
begin = time.perf_counter()
import cepheus
imported = time.perf_counter()
program = cepheus.compile(sys.stdin.read())
compiled = time.perf_counter()
with program.start(engine="columns") as session:
    session.feed({"type": "T0", "time": 1, "value": 1.0})
    answered = time.perf_counter()
print(json.dumps([imported - begin, compiled - imported, answered - compiled]))
"""


@dataclass(frozen=True, slots=True)
class Startup:
    """Seconds on the wall clock; ``whole`` is from starting the process to its end.

    ``first_ever`` is the time up to the first answer in a process that finds no compiled kernel and has to make one,
    ``demo`` that of ``make demo`` as the first command in a fresh clone: setting up, compiling, the demo itself.
    """

    rules: int
    whole: float
    imports: float
    rules_compiled: float
    first_event: float
    first_ever: float | None
    demo: float | None


def startup(repeat: int, say: Say, *, quick: bool = False) -> Startup:
    """Start processes with a warm kernel cache, unless ``quick`` one with an empty cache, and one in a new clone."""
    rules = 50 if quick else 1_000
    text = rule_text(chapter_rules(rules), "last")
    say("start-up with a warm cache")
    _start(text, {})
    runs = [_start(text, {}) for _ in range(repeat)]
    first_ever = demo = None
    if not quick:
        say("start-up without a compiled kernel")
        with tempfile.TemporaryDirectory() as folder:
            *_, first_ever = _start(text, {"CEPHEUS_CACHE_DIR": folder})
        say("make demo in a fresh clone")
        demo = _demo()
    whole, imports, compiled, first = (min(column) for column in zip(*runs, strict=True))
    return Startup(rules, whole, imports, compiled, first, first_ever, demo)


def _demo() -> float | None:
    """Clone what is committed here and run ``make demo`` there; None where there is nothing to clone."""
    with tempfile.TemporaryDirectory() as folder:
        clone, git = Path(folder, "clone"), shutil.which("git")
        if git is None:
            return None
        if subprocess.run([git, "clone", "--quiet", _ROOT, clone], capture_output=True, check=False).returncode:
            return None
        own = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
        begin = time.perf_counter()
        _run(
            ["make", "-C", str(clone), f"PYTHON={Path(sys.base_prefix, 'bin', 'python3')}", "demo"],
            {**own, "CEPHEUS_CACHE_DIR": folder},
        )
        return time.perf_counter() - begin


def _start(text: str, settings: Mapping[str, str]) -> tuple[float, float, float, float]:
    begin = time.perf_counter()
    told = _run([sys.executable, "-c", _PROGRAM], {**os.environ, **settings}, text)
    whole = time.perf_counter() - begin
    imports, compiled, first = json.loads(told)
    return whole, imports, compiled, first


def _run(command: list[str], environment: Mapping[str, str], text: str = "") -> str:
    """What a process prints."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        raise CepheusError.of("measurement", f"the process that was to be measured failed: {reason}")
    return done.stdout
