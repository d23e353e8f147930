"""Values are put in order as NumPy does, and a kernel that is still to be compiled is announced, once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cepheus.kernel.sorting import first_from, sort


@pytest.mark.parametrize("count", [0, 1, 2, 15, 16, 17, 31, 32, 33, 64, 65, 100, 1000, 4097])
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_values_are_put_in_order(count: int, kind: type) -> None:
    random = np.random.default_rng(count)
    for most in (2, 50, 2**40):
        values: NDArray[Any] = (random.integers(-most, most, count) * (1 if kind is np.int64 else 0.37)).astype(kind)
        expected = np.sort(values)
        sort(values)
        assert np.array_equal(values, expected)
        assert all(first_from(expected, each) == np.searchsorted(expected, each) for each in expected[:50])


_SCRIPT = "import numpy as np; from cepheus.kernel.sorting import sort; sort(np.arange(3)); sort(np.arange(3.0))"


def test_a_compilation_is_announced_once_where_standard_error_is_no_terminal_too(tmp_path: Path) -> None:
    settings = {**os.environ, "CEPHEUS_ANNOUNCE": "1", "CEPHEUS_CACHE_DIR": str(tmp_path)}

    def told() -> str:
        return subprocess.run(
            [sys.executable, "-c", _SCRIPT], env=settings, capture_output=True, text=True, check=True
        ).stderr

    assert told().count("Compiling the engine") == 1
    assert told() == "", "it is kept"
