"""Every walkthrough of the documentation is done, step by step; what it adds then works or is refused everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from walkthroughs import Walkthrough, apply, run_in, scratch_copy, walkthroughs

ALL = walkthroughs()
MOST_FILES = {"Add a function": 1, "Add an aggregate": 2, "Add a selection policy": 6}
"""How many source files a walkthrough may change."""


def test_there_are_walkthroughs() -> None:
    named = {each.heading for each in ALL}
    assert named >= {*MOST_FILES, "Add an engine", "Add a network message"}


@pytest.mark.parametrize(("heading", "most"), MOST_FILES.items())
def test_a_new_operator_touches_few_files(heading: str, most: int) -> None:
    (walkthrough,) = (each for each in ALL if each.heading == heading)
    assert 0 < len([file for file in walkthrough.changed if file.startswith("src/")]) <= most


@pytest.mark.parametrize("walkthrough", ALL, ids=lambda each: each.heading)
def test_a_walkthrough_leads_to_where_it_says(walkthrough: Walkthrough, tmp_path: Path) -> None:
    folder = scratch_copy(tmp_path)
    for step in walkthrough.steps:
        apply(step, folder)
    scripts = [str(step.title) for step in walkthrough.steps if str(step.title).startswith("try_")]
    assert scripts, "a walkthrough ends with a script that tries what was added"
    for script in scripts:
        done = run_in(folder, script)
        assert done.returncode == 0, done.stdout + done.stderr
