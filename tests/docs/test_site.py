"""The documentation as a site: it can be read, and searched, from a folder, without a network and on a phone."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from pathlib import Path

import pytest
from blocks import ROOT

SHIM, STYLE = "javascripts/iframe-worker.js", "stylesheets/extra.css"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the start page alone, with the settings of the whole site: all of it takes too long here."""
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setenv("NO_MKDOCS_2_WARNING", "1")
        patch.chdir(ROOT)
        from mkdocs.commands.build import build
        from mkdocs.config import load_config

        pages, built = tmp_path_factory.mktemp("pages"), tmp_path_factory.mktemp("site")
        for name in ("index.md", SHIM, STYLE):
            (pages / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / "docs" / name, pages / name)
        config = load_config(
            str(ROOT / "mkdocs.yml"), docs_dir=str(pages), site_dir=str(built), nav=[{"Start": "index.md"}]
        )
        config.plugins.run_event("startup", command="build", dirty=False)
        build(config)
    return built


def test_it_can_be_searched_from_a_folder(site: Path) -> None:
    index = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    assert index.startswith("var __index = ")
    found = json.loads(index.removeprefix("var __index = "))["docs"]
    assert any("terminator" in entry["text"] for entry in found)
    assert f'<script src="{SHIM}"></script>' in (site / "index.html").read_text(encoding="utf-8")
    assert 'location.protocol === "file:"' in (site / SHIM).read_text(encoding="utf-8")


def test_nothing_is_fetched_from_the_network(site: Path) -> None:
    page = (site / "index.html").read_text(encoding="utf-8")
    fetched = [
        *re.findall(r'\bsrc="([^"]+)"', page),
        *re.findall(r'<link rel="(?:stylesheet|icon)" href="([^"]+)"', page),
    ]
    assert fetched
    assert not [address for address in fetched if address.startswith(("http:", "https:", "//"))]
    assert "url(http" not in (site / STYLE).read_text(encoding="utf-8")


def test_rules_have_colours_from_the_first_page_on(site: Path) -> None:
    assert '<span class="k">define</span>' in (site / "index.html").read_text(encoding="utf-8")


def test_long_lines_and_wide_drawings_are_not_cut_off(site: Path) -> None:
    assert f'<link rel="stylesheet" href="{STYLE}">' in (site / "index.html").read_text(encoding="utf-8")
    style = re.sub(r"/\*.*?\*/", "", (site / STYLE).read_text(encoding="utf-8"), flags=re.S)
    everywhere, narrow = style.split("@media", 1)
    assert re.search(r"pre > code \{[^}]*overflow-x: auto;[^}]*scrollbar-color:", everywhere)
    assert re.search(r"p:has\(> img\)[^{]*\{[^}]*overflow-x: auto;", narrow)
    assert re.search(r"p > img[^{]*\{[^}]*max-width: none;", narrow)
