"""A Spark session for those who have none: the command line, the demo, the tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cepheus.core.errors import OptionError
from cepheus.runtime.spark.java import provide_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_MASTER = "local[*]"

_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
}


def spark_session(
    master: str = DEFAULT_MASTER, *, name: str = "cepheus", options: Mapping[str, str] | None = None
) -> SparkSession:
    """Start Spark, or give the session that runs already; the workers use this Python unless told otherwise."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise OptionError.of(
            "spark", "PySpark is not installed here", hint="install it: pip install 'cepheus-cep[spark]'"
        ) from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    if master.startswith("sc://"):
        builder = builder.remote(master)
    else:
        provide_java()
        builder = builder.master(master)
    for key, value in {**_QUIET, **(options or {})}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
