"""A Spark session for those who have none: the command line, the demo, the tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING

from cepheus.core.errors import OptionError
from cepheus.core.extras import how_to_install
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


_CHATTER = (
    b"Starting Streaming TransformWithStateInPandas Python worker.",
    b"Streaming TransformWithStateInPandas Python worker ",
)


class ChatterFilter:
    """Takes what is said, in pieces of any size, and gives it without the chatter and the empty lines behind it.

    >>> chatter_filter = ChatterFilter()
    >>> chatter_filter.take(b"an error\\nStreaming TransformWithStateInPandas Python worker finish init st")
    b'an error\\n'
    >>> chatter_filter.take(b"age\\n\\nanother error\\n")
    b'another error\\n'
    """

    def __init__(self) -> None:
        self._held = b""
        self._after_chatter = False

    def take(self, said: bytes) -> bytes:
        """Take some more; what may still turn out to be chatter is held back."""
        *lines, rest = (self._held + said).split(b"\n")
        given = [line + b"\n" for line in lines if self._goes_on(line)]
        may_be_chatter = any(rest.startswith(start) or start.startswith(rest) for start in _CHATTER)
        self._held = rest if may_be_chatter else b""
        return b"".join(given) + (b"" if may_be_chatter else rest)

    def end(self) -> bytes:
        """Return what is left when no more comes."""
        return self._held if self._goes_on(self._held) else b""

    def _goes_on(self, line: bytes) -> bool:
        after, self._after_chatter = self._after_chatter, line.startswith(_CHATTER)
        return not self._after_chatter and not (after and not line.strip())


@contextmanager
def without_chatter() -> Iterator[None]:
    """Let processes that start meanwhile say what they say on stderr by way of a filter, for as long as they live."""
    sys.stderr.flush()
    stderr = os.dup(2)
    end, beginning = os.pipe()
    os.dup2(beginning, 2)
    os.close(beginning)
    Thread(target=_pass_on, args=(end, os.dup(stderr)), name="cepheus-stderr", daemon=True).start()
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(stderr, 2)
        os.close(stderr)


def _pass_on(end: int, real: int) -> None:
    chatter_filter = ChatterFilter()
    with os.fdopen(end, "rb", buffering=0) as said, os.fdopen(real, "wb") as out:
        while some := said.read(1 << 16):
            out.write(chatter_filter.take(some))
            out.flush()
        out.write(chatter_filter.end())
