"""Let the documentation follow the code: outputs of commands, the errors page, tables, the pictures.

Run it as a script, then read the difference before you commit it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import event_picture
import package_picture
from blocks import PAGES, ROOT, blocks, prepare, run, steps
from cookbook_page import PAGE as COOKBOOK
from cookbook_page import cookbook_page
from error_page import PAGE, error_page
from record_tables import tables

from benchmarks.papers.claims.page import write_claims
from benchmarks.papers.claims.register import groups
from benchmarks.papers.claims.store import load_all


def regenerate_outputs(page: Path) -> None:
    """Put below each command of a page what it prints; blocks that leave out lines by three dots stay as they are."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        for block in blocks(page):
            if block.title is not None:
                (folder / block.title).parent.mkdir(parents=True, exist_ok=True)
                (folder / block.title).write_text(block.text, encoding="utf-8")
            if block.language != "console":
                continue
            fresh = ""
            for step in steps(block):
                printed = run(step.command, folder)
                fresh += f"$ {step.command}\n" + (f"{printed}\n" if printed else "")
            if "\n...\n" not in block.text:
                text = text.replace(f"```console\n{block.text}```", f"```console\n{fresh}```", 1)
    page.write_text(text, encoding="utf-8")


def regenerate_pictures() -> None:
    """Draw the pictures that the pages show."""
    images = ROOT / "docs" / "images"
    fire = images / "fire.svg"
    with tempfile.TemporaryDirectory() as name:
        rules = Path(name) / "fire.tesla"
        tutorial = next(block for block in blocks(ROOT / "docs" / "tutorial.md") if block.title == "fire.tesla")
        rules.write_text(tutorial.text, encoding="utf-8")
        run(f"cepheus explain {rules} --svg {fire}", ROOT)
        jams = Path(name) / "jams.tesla"
        page = next(block for block in blocks(ROOT / "docs" / "bayesian-networks.md") if block.title == "jams.tesla")
        jams.write_text(page.text, encoding="utf-8")
        run(f"cepheus bayes show {jams} --svg {images}/network.svg", ROOT)
    run(f"cepheus explain examples/rows/dips.sql --svg {images}/dips.svg", ROOT)
    run(f"cepheus explain examples/museum/museum.tesla --svg {images}/museum.svg", ROOT)
    run(f"cepheus demo --on embedded --out {images}", ROOT)
    for picture in images.glob("*-timeline.svg"):
        picture.unlink()  # the pages show the PNG


def main() -> None:
    """Regenerate everything, or only the pages named."""
    package_picture.write()
    event_picture.write()
    PAGE.write_text(error_page(), encoding="utf-8")
    COOKBOOK.write_text(cookbook_page(), encoding="utf-8")
    write_claims(ROOT / "docs", groups(), load_all())
    for file, text in tables().items():
        file.write_text(text, encoding="utf-8")
    wanted = [Path(name).resolve() for name in sys.argv[1:]]
    for page in wanted or PAGES:
        regenerate_outputs(page)
    if not wanted:
        regenerate_pictures()


if __name__ == "__main__":
    main()
