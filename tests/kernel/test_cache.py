"""Compiled kernels are believed only where nobody else could have put them, or if they are signed."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import stat
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from cepheus.core.errors import OptionError
from cepheus.core.private_folder import make_private, private_folder, why_not_private
from cepheus.kernel.cache import CacheWarning, KernelStore, _kernel_store, kernel_store

STRANGER = 54321
pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("CEPHEUS_CACHE_DIR", "CEPHEUS_CACHE_KEY", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    _kernel_store.cache_clear()
    yield
    _kernel_store.cache_clear()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a file belong to somebody else: really if we may, else by being somebody else ourselves."""
    if os.geteuid() == 0:
        os.chown(path, STRANGER, STRANGER)
    else:
        monkeypatch.setattr("os.geteuid", lambda: STRANGER)


def test_folders_and_files_are_for_us_alone_whatever_the_umask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CEPHEUS_CACHE_DIR", str(tmp_path / "a" / "b"))
    for umask in (0, 0o777):
        before = os.umask(umask)
        try:
            _kernel_store.cache_clear()
            store = kernel_store()
            assert store is not None
            store.write(f"k{umask}", b"content")
        finally:
            os.umask(before)
        assert store.read(f"k{umask}") == b"content"
        assert mode(store.folder / f"k{umask}.kernel") == 0o600
    own = tmp_path / "a" / "b" / "cepheus"
    for folder in (tmp_path / "a", tmp_path / "a" / "b", own, own / "kernels"):
        assert mode(folder) == 0o700


@pytest.mark.parametrize("wide", [0o777, 0o770, 0o722])
@pytest.mark.parametrize("below", ["", "cepheus", "cepheus/kernels"])
def test_a_named_folder_that_others_may_change_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wide: int, below: str
) -> None:
    (tmp_path / "cache" / "cepheus" / "kernels").mkdir(parents=True)
    (tmp_path / "cache" / below).chmod(wide)
    monkeypatch.setenv("CEPHEUS_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(OptionError, match="others may write to"):
        kernel_store()
    with pytest.raises(OptionError, match="chmod 700"):
        kernel_store()


def test_a_named_folder_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CEPHEUS_CACHE_DIR", str(tmp_path / "cache"))
    assert kernel_store() is not None
    _kernel_store.cache_clear()
    give_away(tmp_path / "cache", monkeypatch)
    with pytest.raises(OptionError, match="belongs to another user"):
        kernel_store()


def test_a_link_is_as_safe_as_what_it_points_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wide").mkdir()
    (tmp_path / "wide").chmod(0o777)
    (tmp_path / "own").mkdir(0o700)
    (tmp_path / "link").symlink_to(tmp_path / "wide")
    assert why_not_private(tmp_path / "link") is not None
    (tmp_path / "own" / "cepheus").symlink_to(tmp_path / "wide")
    monkeypatch.setenv("CEPHEUS_CACHE_DIR", str(tmp_path / "own"))
    with pytest.raises(OptionError, match="others may write to"):
        kernel_store()


def test_a_folder_below_one_for_everybody_is_private_if_nobody_may_touch_what_others_own(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    assert make_private(shared / "own") is None
    assert why_not_private(shared) is not None
    shared.chmod(0o777)
    assert why_not_private(shared / "own") is not None


def test_the_default_folder_gives_way_to_a_private_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home").chmod(0o777)
    (tmp_path / "temporary").mkdir(0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    with pytest.warns(CacheWarning, match="not in your cache folder"):
        store = kernel_store()
    assert store is not None
    assert store.folder.is_relative_to(tmp_path / "temporary")
    assert private_folder("java").is_relative_to(tmp_path / "temporary")
    _kernel_store.cache_clear()
    (tmp_path / "temporary").chmod(0o777)
    with pytest.warns(CacheWarning, match="every run compiles anew"):
        assert kernel_store() is None
    with pytest.raises(OptionError, match="others may write"):
        private_folder("java")


def test_a_default_folder_that_is_private_is_taken_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store = kernel_store()
    assert store == KernelStore(tmp_path.resolve() / "cepheus" / "kernels")


def test_what_an_earlier_version_made_in_the_default_folder_is_taken_from_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "cepheus" / "kernels").mkdir(parents=True)
    (tmp_path / "cepheus").chmod(0o775)
    (tmp_path / "cepheus" / "kernels").chmod(0o777)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store = kernel_store()
    assert store is not None
    assert mode(tmp_path / "cepheus") == 0o755
    assert mode(store.folder) == 0o755


def test_files_that_others_could_have_written_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = KernelStore(tmp_path)
    store.write("f", b"content")
    path = tmp_path / "f.kernel"
    assert store.read("f") == b"content"
    path.chmod(0o620)
    assert store.read("f") is None
    path.chmod(0o600)
    assert store.read("f") == b"content"
    (tmp_path / "g.kernel").symlink_to(path)
    assert store.read("g") is None
    (tmp_path / "folder.kernel").mkdir()
    assert store.read("folder") is None
    os.mkfifo(tmp_path / "pipe.kernel", 0o600)
    assert store.read("pipe") is None
    give_away(path, monkeypatch)
    assert store.read("f") is None


def test_a_damaged_file_or_one_under_another_name_is_not_read(tmp_path: Path) -> None:
    store = KernelStore(tmp_path)
    store.write("f", b"content")
    whole = (tmp_path / "f.kernel").read_bytes()
    for damaged in (b"", whole[:20], whole[:-1], whole + b"x", b"x" + whole[1:], whole[:-1] + b"x"):
        (tmp_path / "f.kernel").write_bytes(damaged)
        assert store.read("f") is None
    (tmp_path / "g.kernel").write_bytes(whole)
    assert store.read("g") is None
    store.write("f", b"again")
    assert store.read("f") == b"again"


def key_file(path: Path, content: bytes = b"k" * 32, permissions: int = 0o600) -> Path:
    path.write_bytes(content)
    path.chmod(permissions)
    return path


def test_a_shared_cache_is_signed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("CEPHEUS_CACHE_DIR", str(shared))
    monkeypatch.setenv("CEPHEUS_CACHE_KEY", str(key_file(tmp_path / "key")))
    store = kernel_store()
    assert store is not None
    store.write("f", b"content")
    path = store.folder / "f.kernel"
    path.chmod(0o666)
    assert store.read("f") == b"content"
    unsigned, other = KernelStore(store.folder), KernelStore(store.folder, b"o" * 32)
    for forger in (unsigned, other):
        forger.write("f", b"forged")
        path.chmod(0o666)
        assert store.read("f") is None
    store.write("f", b"content")
    (store.folder / "g.kernel").write_bytes(path.read_bytes())
    assert store.read("g") is None


@pytest.mark.parametrize(
    ("content", "permissions", "problem"),
    [
        (b"k" * 32, 0o640, "others may read or change it"),
        (b"k" * 32, 0o604, "others may read or change it"),
        (b"short", 0o600, "fewer than 32 bytes"),
    ],
)
def test_a_key_that_others_could_know_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, permissions: int, problem: str
) -> None:
    monkeypatch.setenv("CEPHEUS_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("CEPHEUS_CACHE_KEY", str(key_file(tmp_path / "key", content, permissions)))
    with pytest.raises(OptionError, match=problem):
        kernel_store()


def test_a_key_must_be_there_and_nobody_may_replace_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CEPHEUS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CEPHEUS_CACHE_KEY", str(tmp_path / "none"))
    with pytest.raises(OptionError, match="cannot be read"):
        kernel_store()
    (tmp_path / "wide").mkdir()
    (tmp_path / "wide").chmod(0o777)
    monkeypatch.setenv("CEPHEUS_CACHE_KEY", str(key_file(tmp_path / "wide" / "key")))
    with pytest.raises(OptionError, match="others may write to"):
        kernel_store()


def _write_often(folder: str, content: bytes) -> None:
    for _ in range(200):
        KernelStore(Path(folder)).write("f", content)


def test_processes_that_write_at_once_leave_whole_files(tmp_path: Path) -> None:
    store = KernelStore(tmp_path)
    contents = [bytes([number]) * 100_000 for number in range(4)]
    store.write("f", contents[0])
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_write_often, args=(str(tmp_path), content)) for content in contents]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert store.read("f") in contents
    for writer in writers:
        writer.join()
    assert [path.name for path in tmp_path.iterdir()] == ["f.kernel"]


_DETECT = """
import cepheus
from numba.core import event
compiled = []
class Listen(event.Listener):
    def on_start(self, told): compiled.append(told)
    def on_end(self, told): pass
event.register("numba:compile", Listen())
from cepheus.formats.short_texts import encode_short
import pyarrow as pa
try:
    assert encode_short(pa.array(["Temp", "Smoke", "Temp"])).indices.to_pylist() == [0, 1, 0]
except cepheus.CepheusError as error:
    print("refused", error.diagnostics[0].code)
else:
    print(len(compiled))
"""


def run(folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _DETECT],
        env={**os.environ, "CEPHEUS_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class _Evil:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return os.mkdir, (str(self.mark),)


def test_a_kernel_is_compiled_once_and_a_planted_one_never_runs(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    assert int(run(folder)) > 0
    assert run(folder) == "0"
    kernels = folder / "cepheus" / "kernels"
    planted = pickle.dumps(_Evil(tmp_path / "ran"))
    for path in kernels.iterdir():
        path.write_bytes(planted)  # no seal at all, as Numba's own cache would take it
    assert int(run(folder)) > 0
    for path in kernels.iterdir():
        KernelStore(kernels).write(path.stem, planted)
        path.chmod(0o666)  # the right seal, but anybody may have written it
    assert int(run(folder)) > 0
    assert not (tmp_path / "ran").exists()
    kernels.chmod(0o777)
    assert run(folder) == "refused cache-folder"
    assert not (tmp_path / "ran").exists()
