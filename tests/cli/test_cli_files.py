"""Files that are not what a command reads, and extensions in capitals."""

from pathlib import Path

import pytest
from command import FIRE, Command, command


@pytest.fixture
def cepheus(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    return command(monkeypatch, capsys, tmp_path)


COMMANDS = [("simulate",), ("live", "--check"), ("run", "--check")]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_folder_or_a_binary_file_is_no_description(cepheus: Command, words: tuple[str, ...]) -> None:
    Path("folder").mkdir()
    Path("binary.toml").write_bytes(b"a = 1\nb = \xd0(")
    folder, binary, none = (cepheus(*words, name) for name in ("folder", "binary.toml", "binary.tom"))
    assert (folder.code, folder.err) == (
        1,
        "error[file]: 'folder' is a folder\n  hint: name a file in it that ends in .toml\n",
    )
    assert (binary.code, binary.err.splitlines()[0]) == (1, "binary.toml:2: error[utf-8]: byte 0xd0 is not UTF-8 text")
    assert (none.code, none.err.splitlines()[0]) == (1, "error[file]: there is no file 'binary.tom'")


def test_extensions_are_known_in_capitals(cepheus: Command) -> None:
    query = "SELECT * FROM S MATCH_RECOGNIZE (MEASURES LAST(A.x) AS x PATTERN (A+) DEFINE A AS x > 1) AS Run"
    Path("D.SQL").write_text(query)
    Path("E.ETALIS").write_text("pair(X) <- a(X) SEQ b(X).")
    Path("F.TESLA").write_text(FIRE)
    assert cepheus("check", "D.SQL", "E.ETALIS", "F.TESLA").out == "3 rules in 3 files: no errors\n"


def test_a_file_without_a_query_is_named(cepheus: Command) -> None:
    Path("e.sql").touch()
    assert cepheus("check", "e.sql").err.startswith("e.sql: error[query]: there is no query here")
