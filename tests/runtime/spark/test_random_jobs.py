"""Random rules with timers in jobs of ``detect``, finite and as streams that stop: what the reference finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from random_jobs import run_jobs
from random_stream import cases_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
@pytest.mark.parametrize("host", ["batch", "stream"])
def test_many_jobs_agree(spark: SparkSession, host: str) -> None:
    cases = list(cases_of(50_000, 500).values())
    wrong, made = run_jobs(spark, cases, together=10, cuts=4, hosts=(host,))
    assert wrong == []
    assert made[host] > 1000
