"""Settings shared by all tests; its being here also lets tests import from ``strategies``."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# No deadline: a busy machine is not a failure. The same examples every time, so that what passes once passes
# everywhere; ``--hypothesis-profile=search`` looks for new ones.
settings.register_profile("cepheus", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("cepheus")
os.environ.setdefault("CEPHEUS_ANNOUNCE", "0")  # whoever is first to compile a kernel prints what the others print


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Spark session for all tests: starting it takes seconds."""
    from cepheus.runtime.spark.session import spark_session

    options = {
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.driver.memory": "1g",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Spark itself
        session = spark_session("local[2]", name="tests", options=options)
    yield session
    session.stop()
