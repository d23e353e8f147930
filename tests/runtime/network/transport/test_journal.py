"""The journal on disk: what was told is there after a crash, a line cut off is not, damage is found."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

import pytest

from cepheus.core.errors import OptionError, SnapshotError
from cepheus.core.event import Event
from cepheus.runtime.network.processor.journaled import Told
from cepheus.runtime.network.protocol.messages import Publish, Start, Tick
from cepheus.runtime.network.transport.config import NodeConfig
from cepheus.runtime.network.transport.host import NodeHost
from cepheus.runtime.network.transport.journal import DiskJournal, ForkedWork, JournalBrokenError

LINES = [
    Told("", Start(3), 10),
    Told("client:a:b", Publish("s", [Event("A", 5, {"text": "ä"})], 7), 11),
    Told("p2", Tick(9), -12),
]


def _written(folder: Path, lines: list[Told] = LINES) -> None:
    with DiskJournal(folder) as journal:
        assert journal.is_new
        for line in lines:
            journal.append(line)


def _read(folder: Path) -> tuple[bytes | None, list[Told]]:
    with DiskJournal(folder) as journal:
        return journal.read()


def test_what_was_told_is_read_again(tmp_path: Path) -> None:
    _written(tmp_path / "state")
    with DiskJournal(tmp_path / "state") as journal:
        assert not journal.is_new
        assert journal.read() == (None, LINES)
        journal.append(Told("", Tick(10), 13))
    assert len(_read(tmp_path / "state")[1]) == 4


def test_a_snapshot_replaces_what_came_before(tmp_path: Path) -> None:
    _written(tmp_path)
    with DiskJournal(tmp_path) as journal:
        journal.replace(b"first")
        journal.append(LINES[0])
        journal.replace(b"second")
        journal.append(LINES[1])
    assert _read(tmp_path) == (b"second", [LINES[1]])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["journal.2", "lock", "snapshot.2"]


def test_a_crash_while_writing_a_snapshot_changes_nothing(tmp_path: Path) -> None:
    _written(tmp_path)
    (tmp_path / "snapshot.part").write_bytes(b"half")
    assert _read(tmp_path) == (None, LINES)


def test_a_crash_after_writing_a_snapshot_keeps_it(tmp_path: Path) -> None:
    _written(tmp_path)
    (tmp_path / "snapshot.1").write_bytes(b"whole")
    assert _read(tmp_path) == (b"whole", [])
    assert not (tmp_path / "journal.0").exists()


def test_a_line_that_was_cut_off_is_dropped(tmp_path: Path) -> None:
    _written(tmp_path)
    path = tmp_path / "journal.0"
    data = path.read_bytes()
    whole: list[int] = []
    for length in range(len(data) + 1):
        path.write_bytes(data[:length])
        with DiskJournal(tmp_path) as journal:
            lines = journal.read()[1]
            assert lines == LINES[: len(lines)]
            whole.append(len(lines))
            journal.append(LINES[0])
        assert _read(tmp_path)[1] == [*lines, LINES[0]]
    assert whole == sorted(whole)
    assert whole[-1] == 3


def test_damage_is_found(tmp_path: Path) -> None:
    _written(tmp_path)
    path = tmp_path / "journal.0"
    data = path.read_bytes()
    for place in (0, 30, 60):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(SnapshotError, match="damaged"):
            _read(tmp_path)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with DiskJournal(tmp_path), pytest.raises(OptionError, match="another process"):
        DiskJournal(tmp_path)
    _read(tmp_path)


def test_until_a_snapshot_is_written_all_files_count(tmp_path: Path) -> None:
    with DiskJournal(tmp_path) as journal:
        journal.replace(b"first")
        journal.append(LINES[0])
        generation = journal.turn()
        journal.append(LINES[1])
    assert _read(tmp_path) == (b"first", LINES[:2])
    with DiskJournal(tmp_path) as journal:
        journal.write_snapshot(generation, b"second")
    assert _read(tmp_path) == (b"second", [LINES[1]])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["journal.2", "lock", "snapshot.2"]


def test_a_line_cut_off_before_another_file_is_damage(tmp_path: Path) -> None:
    with DiskJournal(tmp_path) as journal:
        journal.append(LINES[0])
        journal.turn()
        journal.append(LINES[1])
    path = tmp_path / "journal.0"
    path.write_bytes(path.read_bytes()[:-1])
    with DiskJournal(tmp_path) as journal, pytest.raises(SnapshotError, match="cut off"):
        journal.read()


def test_work_beside_knows_what_was_known_when_it_began(tmp_path: Path) -> None:
    known = ["before"]
    work = ForkedWork.begin(lambda: (tmp_path / "known").write_text(known[0]))
    known[0] = "after"
    assert work.wait(60)
    assert (tmp_path / "known").read_text() == "before"
    assert not ForkedWork.begin(lambda: (tmp_path / "no" / "folder").write_text("")).wait(60)
    assert not ForkedWork.begin(lambda: sleep(60)).wait(0.1)


def test_what_cannot_be_written_breaks_the_journal(tmp_path: Path) -> None:
    """The file may end in half a line then; what was written before that is read again."""
    _written(tmp_path)
    length = (tmp_path / "journal.0").stat().st_size
    with pytest.raises(JournalBrokenError, match="file too large"), _files_of_at_most(length + 10):
        _append_again(tmp_path)
    assert (tmp_path / "journal.0").stat().st_size == length + 10
    assert _read(tmp_path) == (None, LINES)


def _append_again(folder: Path) -> None:
    journal = DiskJournal(folder)
    journal.append(LINES[1])
    with pytest.raises(JournalBrokenError):
        journal.flush()
    journal.append(LINES[0])
    try:
        journal.flush()  # still broken: nothing must follow half a line
    finally:
        journal.abandon()


@contextmanager
def _files_of_at_most(length: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (length, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_damaged_snapshot_is_told_with_its_directory(tmp_path: Path) -> None:
    settings = NodeConfig(name="p1", state=tmp_path / "state")
    NodeHost(settings).close()
    (path,) = (tmp_path / "state").glob("snapshot.*")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(SnapshotError, match="damaged") as found:
        NodeHost(settings)
    assert found.value.diagnostics[0].hint is not None
    assert str(tmp_path / "state") in str(found.value)
