"""The pictures of the architecture page: drawn from the import statements, and up to date."""

from itertools import pairwise

import event_picture
import package_picture
import pytest
from event_picture import ANSWERS, ENGINE, EVENTS, RULES, Step
from package_graph import SOURCE, levels, package_graph, reduced


def test_the_picture_of_packages_is_up_to_date() -> None:
    fresh = package_picture.picture(package_graph())
    assert package_picture.FILE.read_text(encoding="utf-8") == fresh, "run tests/docs/regenerate.py"


def test_the_picture_of_the_way_is_up_to_date() -> None:
    assert event_picture.FILE.read_text(encoding="utf-8") == event_picture.picture(), "run tests/docs/regenerate.py"


def test_imports_that_others_imply_are_left_out() -> None:
    graph = {name: frozenset(below) for name, below in {"a": "bcd", "b": "c", "c": "d", "d": ""}.items()}
    assert {name: "".join(sorted(below)) for name, below in reduced(graph).items()} == {
        "a": "b",
        "b": "c",
        "c": "d",
        "d": "",
    }
    assert levels(graph) == {"a": 3, "b": 2, "c": 1, "d": 0}


def test_packages_are_found_with_imports_of_every_kind() -> None:
    graph = package_graph()
    assert {"core", "rules", "engine/columns", "runtime/network", "language/tesla", "api", "cli"} <= set(graph)
    assert "core" in graph["rules"]
    assert "engine/automata" in graph["engine/assembly"], "named in a table, and imported when it is asked for"
    assert not graph["core"]


def test_whoever_imports_stands_above_and_nothing_stands_on_anything_else() -> None:
    graph = package_graph()
    layout = package_picture.lay_out(graph)
    row_of = {spot.package: spot.row for row in layout.rows for spot in row if spot.package}
    assert set(row_of) == set(graph)
    for package, imported in graph.items():
        for other in imported:
            assert row_of[package] < row_of[other], f"{package} imports {other}"
    for row in layout.rows:
        for left, right in pairwise(row):
            assert left.x + left.width / 2 < right.x - right.width / 2, (left.package, right.package)


@pytest.mark.parametrize("step", [*RULES, *EVENTS, ENGINE, ANSWERS], ids=lambda step: step.file)
def test_the_way_names_files_of_its_packages(step: Step) -> None:
    assert (SOURCE / step.file).is_file()
    assert step.file.startswith(f"{step.package}/")
