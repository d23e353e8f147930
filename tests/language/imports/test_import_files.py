"""Files in the syntax of EQL and Sigma: each is converted, or refused with the reason that its first line names."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cepheus
from cepheus.core.source import Source
from cepheus.language.imports.eql import EqlOptions, import_eql
from cepheus.language.imports.outcome import Importing
from cepheus.language.imports.sigma import import_sigma

CASES = Path(__file__).parent / "cases"
EQL = sorted((CASES / "eql").iterdir())
SIGMA = sorted((CASES / "sigma").iterdir())


def convert(path: Path, text: str | None = None) -> Importing:
    source = Source(path.name, path.read_text("utf-8") if text is None else text)
    return import_sigma([source]) if path.suffix == ".yml" else import_eql([source])


@pytest.mark.parametrize("path", [*EQL, *SIGMA], ids=lambda path: path.stem)
def test_a_file_is_converted_or_refused_as_it_says(path: Path) -> None:
    outcome = path.read_text("utf-8").splitlines()[0].lstrip("/# ")
    importing = convert(path)
    text = importing.text()
    refused = [finding for one in importing.imported if one.text is None for finding in one.findings]
    if outcome == "converted":
        assert not refused
        assert cepheus.compile(text).rules.rules
    else:
        expected = outcome.removeprefix("refused: ")
        assert any(expected in finding.message for finding in refused), [finding.message for finding in refused]
        assert all(finding.span is not None or finding.place is not None for finding in refused)


def test_most_sequences_and_correlations_are_converted() -> None:
    files = [path for path in (*EQL, *SIGMA) if "sequence " in path.read_text() or "correlation:" in path.read_text()]
    converted = [path for path in files if path.read_text().startswith(("// converted", "# converted"))]
    assert len(EQL) + len(SIGMA) >= 200
    assert len(files) >= 80
    assert len(converted) >= 0.6 * len(files)


def test_files_that_are_imported_together_share_types_and_names() -> None:
    first = Source("one.eql", "sequence by process.pid with maxspan=1m [process where a == 1] [file where true]")
    second = Source("one.eql", "file where process.pid > 4")
    text = import_eql([first, second]).text()
    assert text.count("event file(") == 1
    assert "define One(`process.pid`: int" in text
    assert "define One_2()" in text


def test_one_type_of_events_has_its_kind_in_an_attribute() -> None:
    query = "sequence by user.name with maxspan=1m [any where a == 1] [file where b == 2]"
    text = import_eql([Source("q.eql", query)], EqlOptions(event_type="Log")).text()
    assert "`event.category`='file'" in text
    program = cepheus.compile(text)
    events = [
        {"type": "Log", "time": 1, "user.name": "x", "a": 1, "event.category": "process"},
        {"type": "Log", "time": 2, "user.name": "x", "b": 2, "event.category": "file"},
    ]
    assert len(program.detect(events, time_unit="s", engine="reference").to_dicts()) == 1


def test_sequences_without_a_span_take_the_one_that_is_given() -> None:
    query = Source("q.eql", "sequence by a [process where b == 1] [file where c == 2]")
    assert "within 1 h from" in import_eql([query], EqlOptions(maxspan=3_600_000_000)).text()


def test_what_other_files_use_otherwise_is_refused() -> None:
    importing = import_eql([Source("a.eql", "process where x == 1"), Source("b.eql", 'process where x == "a"')])
    assert [one.text is None for one in importing.imported] == [False, True]
    assert "'x' is used as a int and as a string" in importing.imported[1].findings[0].message


SOME = [path.read_text("utf-8") for path in (*EQL[::4], *SIGMA[::4])]
WORDS = [
    "[",
    "]",
    "(",
    ")",
    "![",
    "by ",
    "with runs=2 ",
    "until ",
    "not ",
    "null",
    '"*"',
    "|contains",
    "|re",
    ": ",
    "- ",
    "---\n",
]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_texts_that_were_damaged_are_refused_and_crash_nothing(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(SOME))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 12)))
        text = text[:start] + data.draw(st.sampled_from([*WORDS, ""]) | st.text(max_size=3)) + text[end:]
    for importing in (import_eql([Source("a.eql", text)]), import_sigma([Source("a.yml", text)])):
        importing.text()
        assert all(one.text is not None or one.findings for one in importing.imported)
