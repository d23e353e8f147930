"""The state of shards in files: whole or not at all, the same for a micro-batch that is run again, and tidied up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from cepheus.core.errors import SnapshotError
from cepheus.runtime.spark.shard_files import KEPT, ShardFiles, StateFolder, has_manifest


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_micro_batch_that_is_run_again_begins_from_the_same_state(tmp_path: Path) -> None:
    folder = StateFolder(str(tmp_path / "shard"))
    first = ShardFiles(folder, 0, None)
    assert first.head() is None
    first.set_part(0, 0, b"zero")
    first.set_head(b"after 0")
    first.note({"seen": [5]})
    first.commit()
    for attempt in (b"one", b"other"):  # the second attempt replaces what the first one left
        store = ShardFiles(folder, 1, 0)
        assert store.head() == b"after 0"
        assert store.part(0, 0) == b"zero"
        assert store.notes == {"seen": [5]}
        store.remove_part(0, 0)
        store.set_part(1, 0, attempt)
        store.set_part(1, 0, attempt + b"!")
        assert not has_manifest(folder, 2)
        store.set_head(b"after 1, " + attempt)
        store.commit()
    last = ShardFiles(folder, 2, 1)
    assert (last.head(), last.part(1, 0)) == (b"after 1, other", b"other!")
    assert has_manifest(folder, 1)


def test_what_was_not_committed_is_not_there_and_is_tidied_up(tmp_path: Path) -> None:
    folder = StateFolder(f"file:{tmp_path}/shard")
    for batch in range(3):
        lost = ShardFiles(folder, batch, batch - 1 if batch else None)
        lost.set_part(batch, 0, b"lost")
        store = ShardFiles(folder, batch, batch - 1 if batch else None)
        store.set_part(batch, 0, b"kept")
        store.set_head(b"head")
        store.commit()
    later = ShardFiles(folder, 3, 2)
    under_way = ShardFiles(folder, 3, 2)
    under_way.set_part(3, 0, b"of another attempt")
    before = files_in(tmp_path / "shard")
    later.tidy()
    gone = before - files_in(tmp_path / "shard")
    assert len(gone) == 3
    assert [later.part(batch, 0) for batch in range(3)] == [b"kept"] * 3


def test_old_manifests_and_what_only_they_need_are_deleted(tmp_path: Path) -> None:
    folder = StateFolder(str(tmp_path / "shard"))
    for batch in range(3 * KEPT):
        store = ShardFiles(folder, batch, batch - 1 if batch else None)
        if batch:
            store.remove_part(batch - 1, 0)
        store.set_part(batch, 0, b"x")
        store.set_head(b"head")
        store.commit()
    names = files_in(tmp_path / "shard")
    assert sum(name.startswith("manifest-") for name in names) == KEPT
    assert len(names) <= 2 * KEPT + 2
    for batch in range(2 * KEPT, 3 * KEPT):
        assert ShardFiles(folder, batch + 1, batch).part(batch, 0) == b"x"


def test_damage_is_told(tmp_path: Path) -> None:
    folder = StateFolder(str(tmp_path / "shard"))
    with pytest.raises(SnapshotError, match="the state that micro-batch 6 left is not in the checkpoint"):
        ShardFiles(folder, 7, 6)
    store = ShardFiles(folder, 0, None)
    store.set_part(0, 0, b"x")
    store.set_head(b"head")
    store.commit()
    manifest = tmp_path / "shard" / "manifest-0"
    text = manifest.read_text()
    manifest.write_text(text.replace('"0-0.0', '"../0-0.0'))
    with pytest.raises(SnapshotError, match="snapshot-content"):
        ShardFiles(folder, 1, 0)
    manifest.write_text(text[:20])
    with pytest.raises(SnapshotError, match="snapshot-content"):
        ShardFiles(folder, 1, 0)
    manifest.write_text(text.replace('"format":1', '"format":9'))
    with pytest.raises(SnapshotError, match="has version 9"):
        ShardFiles(folder, 1, 0)


class KilledError(Exception):
    """The process is gone."""


class WithoutReplacing:
    """A file system whose renames do not replace, such as HDFS; every call passes on to that of the machine.

    ``kill_at`` is the call of ``move`` that is never done.
    """

    type_name = "hdfs"

    def __init__(self) -> None:
        self._real = fs.LocalFileSystem()
        self.kill_at = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def move(self, source: str, target: str) -> None:
        self.kill_at -= 1
        if self.kill_at == 0:
            raise KilledError
        if Path(target).exists():
            raise OSError(f"'{target}' exists")
        self._real.move(source, target)


def test_an_attempt_that_is_killed_while_it_replaces_a_manifest_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = WithoutReplacing()
    monkeypatch.setattr(StateFolder, "open", lambda folder: (system, folder.location))
    folder = StateFolder(str(tmp_path / "shard"))

    def attempt(batch: int, head: bytes, kill_at: int = 0) -> None:
        store = ShardFiles(folder, batch, batch - 1 if batch else None)
        store.set_part(batch, 0, head)
        store.set_head(head)
        system.kill_at = kill_at
        store.commit()

    attempt(0, b"zero")
    attempt(1, b"one")
    with pytest.raises(KilledError):  # a second, speculative, attempt: the first has succeeded
        attempt(1, b"other", kill_at=1)
    assert not (tmp_path / "shard" / "manifest-1").exists()
    assert has_manifest(folder, 1)
    half = tmp_path / "shard" / ".manifest-1-abc"
    half.write_text('{"format":1,"head":"x", "blobs":{')  # the newest one was not written to its end
    attempt(2, b"two")
    store = ShardFiles(folder, 2, 1)
    assert (store.head(), store.part(1, 0)) == (b"other", b"other")
    assert ShardFiles(folder, 3, 2).part(1, 0) == b"other"
    for batch in range(3, KEPT + 3):
        attempt(batch, b"later")
        ShardFiles(folder, batch + 1, batch).tidy()
    assert not half.exists()
    assert not [name for name in files_in(tmp_path / "shard") if name.startswith(".")]
    assert ShardFiles(folder, KEPT + 3, KEPT + 2).part(1, 0) == b"other"
