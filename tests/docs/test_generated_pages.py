"""Pages made from the code: every error code is there with an example that brings it about, every function."""

from pathlib import Path

import pytest
from blocks import ROOT
from cookbook_page import PAGE as COOKBOOK
from cookbook_page import cookbook_page
from error_page import PAGE, Case, cases, codes_in_source, error_page, findings
from record_tables import tables

from benchmarks.papers.claims.page import NAME as CLAIMS
from benchmarks.papers.claims.page import claims_page
from benchmarks.papers.claims.register import groups
from benchmarks.papers.claims.store import load_all

ALL = cases()


def test_every_code_of_the_source_has_an_entry_and_every_entry_a_code() -> None:
    listed = [case.code for case in ALL]
    assert len(listed) == len(set(listed))
    missing, gone = codes_in_source() - set(listed) - NOT_FOR_USERS, set(listed) - codes_in_source()
    assert (missing, gone) == (set(), set())


NOT_FOR_USERS = {"option"}  # stands in an example of a docstring only


@pytest.mark.parametrize("case", [case for case in ALL if case.rules is not None], ids=lambda case: case.code)
def test_the_example_brings_about_its_code(case: Case, tmp_path: Path) -> None:
    assert [finding.code for finding in findings(case, tmp_path)][:1] == [case.code]


def test_the_cookbook_is_up_to_date() -> None:
    assert COOKBOOK.read_text(encoding="utf-8") == cookbook_page()


def test_the_page_of_claims_is_what_the_kept_figures_say() -> None:
    assert (ROOT / "docs" / CLAIMS).read_text(encoding="utf-8") == claims_page(groups(), load_all())


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == error_page()


@pytest.mark.parametrize(("file", "text"), tables().items(), ids=lambda given: getattr(given, "name", ""))
def test_tables_made_from_records_are_up_to_date(file: Path, text: str) -> None:
    assert file.read_text(encoding="utf-8") == text
