"""A Spark session for those who have none: the command line, the demo, the tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cepheus.core.errors import OptionError
from cepheus.core.extras import how_to_install
from cepheus.runtime.spark.chatter import without_chatter
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
    master: str = DEFAULT_MASTER,
    *,
    name: str = "cepheus",
    options: Mapping[str, str] | None = None,
    silent: bool = False,
) -> SparkSession:
    """Start Spark, or give the session that runs already; the workers use this Python unless told otherwise.

    A ``silent`` Spark says nothing on the terminal; what goes wrong still comes back as an exception. Of any other that
    is started here, only what its streaming queries tell of themselves when they begin is kept from it.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise OptionError.of("spark", "PySpark is not installed here", hint=how_to_install("spark")) from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    if master.startswith("sc://"):
        builder = builder.remote(master)
    else:
        provide_java()
        builder = builder.master(master)
    for key, value in {**_QUIET, **(options or {})}.items():
        builder = builder.config(key, value)
    if os.environ.get("CEPHEUS_DEBUG"):
        return builder.getOrCreate()
    if not silent:
        with without_chatter():
            return builder.getOrCreate()
    with _stderr_away():
        try:
            return builder.getOrCreate()
        except Exception as error:
            reason = (str(error).splitlines() or ["it gave no reason"])[0]
            raise OptionError.of(
                "spark",
                f"Spark does not start with master '{master}': {reason}",
                hint="run the command with CEPHEUS_DEBUG=1 set to see what Spark says",
            ) from None


@contextmanager
def _stderr_away() -> Iterator[None]:
    """Let processes that start meanwhile write their messages nowhere."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
