from __future__ import annotations

import io
import shutil

import pytest
from rich.console import Console

from benchmarks.live.measure import bench_live


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("redis-server") is None, reason="Redis is not installed")
def test_it_measures_rate_and_latency() -> None:
    told = io.StringIO()
    bench_live(Console(file=told, width=100), quick=True)
    assert "From receipt to alert" in told.getvalue()
    assert "p99" in told.getvalue()
