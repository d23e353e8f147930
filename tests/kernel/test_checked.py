"""The checked build stops compiled code that misses its arrays, and finds nothing to stop in the engines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ENVIRONMENT = {**os.environ, "CEPHEUS_CHECKED": "1", "NUMBA_OPT": "1"}
"""Code that is checked need not be fast, but it must be compiled."""

FAULTS = {
    "another table": "TypeState.FIRST (word 3) of a row in At.LANES of 64 words, which is of another table",
    "another context": "At.HASH (word {hash}) of a row in At.LANES of 64 words, which is of another table",
    "beyond the end": "word 64 from 0 on is outside At.LANES of 64 words",
    "before the beginning": "word -1 from 0 on is outside At.LANES of 64 words",
    "a row too many": "BriefField.TYPE (half word 1) of an address that lies in no live array",
    "between rows": "LaneState.NEXT (word 3) of At.LANES of 64 words from 1 on, where no row begins",
    "between inner rows": "BriefField.TYPE (half word 1) of At.RULES of 64 half words from 10 on, where no row begins",
    "between words": "word 0 of an address that is not one of words",
    "an array of the context": "word 8 from 0 on is outside At.HASH of 8 words",
    "nothing to point at": "word 0 of an address that lies in no live array",
    "behind a seam": "word 64 from 0 on is outside At.LANES of 64 words",
    "an element": "index is out of bounds",
    "freed": "LaneState.NEXT (word 3) of an address that lies in no live array",
}


@pytest.fixture(scope="module")
def stopped() -> dict[str, str]:
    """What the planted faults are stopped with."""
    script = Path(__file__).with_name("planted_faults.py")
    done = subprocess.run([sys.executable, script], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(line.split("|", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(stopped: dict[str, str], fault: str) -> None:
    from cepheus.kernel.memory import At

    assert stopped[fault] == FAULTS[fault].format(hash=int(At.HASH))


def test_every_planted_fault_is_expected(stopped: dict[str, str]) -> None:
    assert list(stopped) == list(FAULTS)


def test_a_setting_that_is_neither_is_refused() -> None:
    told = {**os.environ, "CEPHEUS_CHECKED": "yes"}
    command = [sys.executable, "-c", "import cepheus.kernel.checked"]
    done = subprocess.run(command, env=told, capture_output=True, text=True, check=False)
    assert "CEPHEUS_CHECKED is 'yes', which is neither 1 nor 0" in done.stderr


def test_checked_and_unchecked_code_never_mix() -> None:
    script = "from cepheus.kernel.sweeping import sweep; print(sweep._cache.key)"
    keys = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "CEPHEUS_CHECKED": told},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for told in ("0", "1")
    ]
    assert keys[0] != keys[1]


def run_checked(*tests: str) -> None:
    """Run tests of the engines in a process of their own, every access checked."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, env=ENVIRONMENT, cwd=TESTS.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-10000:] + done.stderr[-2000:]


def test_the_columns_engine_stays_within_its_arrays() -> None:
    """Some of the agreement suite: growth, keys, aggregates, negation, consumption, hierarchies, snapshots.

    It is one engine, for each kernel takes a minute and more to compile; the slow tests run them all.
    """
    run_checked(
        "tests/engine/test_columns_engine.py",
        "tests/engine/test_agreement.py::test_engines_agree[0-columns-snapshot-True]",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "suite",
    [
        "tests/engine/test_automata_engine.py",
        "tests/engine/test_agreement.py",
        "tests/engine/test_automata_agreement.py",
        "tests/engine/test_uncertain_agreement.py",
        "tests/engine/test_session_agreement.py",
        "tests/engine/test_threads.py",
        "tests/engine/intervals",
        "tests/conformance",
    ],
)
def test_all_agreement_is_within_arrays(suite: str) -> None:
    run_checked("-m", "not slow", suite)
