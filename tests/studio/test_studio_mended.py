"""What the studio must not do: lose digits, write elsewhere, stop in silence, answer with a failure of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from cepheus.core.event import Event
from cepheus.studio.running import event_told
from cepheus.studio.server import Studio
from cepheus.studio.workspace import Workspace

Start = Callable[..., Studio]


def post(studio: Studio, path: str, body: object = None, **headers: str) -> httpx.Response:
    given = {"authorization": f"Bearer {studio.access.token}", **headers}
    return httpx.post(f"{studio.access.origin}/api/{path}", json=body, headers=given, timeout=60)


def state(studio: Studio) -> Any:
    headers = {"authorization": f"Bearer {studio.access.token}"}
    return httpx.get(f"{studio.access.origin}/api/state", headers=headers).json()


def test_integers_that_a_browser_would_round_are_sent_as_text() -> None:
    told = event_told(Event("A", 0, {"big": 2**53 + 1, "small": -(2**53), "flag": True}))
    assert told["attributes"] == {"big": "9007199254740993", "small": -(2**53), "flag": True}


@pytest.fixture
def twins(start_studio: Start, tmp_path: Path) -> Studio:
    """A studio on two files of the same bare name."""
    paths = [tmp_path / folder / "r.tesla" for folder in ("a", "b")]
    for path in paths:
        path.parent.mkdir()
        path.write_text(f"define {path.parent.name.upper()}() from S()")
        path.chmod(0o640)
    return start_studio(Workspace.of([*paths, paths[0]]))


def test_files_of_one_name_are_saved_each_to_its_own(twins: Studio, tmp_path: Path) -> None:
    names = [each["name"] for each in state(twins)["documents"]]
    assert names == [str(tmp_path / folder / "r.tesla") for folder in ("a", "b")]
    assert post(twins, "save", {"name": names[1], "text": "define New() from S()"}).status_code == 200
    assert (tmp_path / "a" / "r.tesla").read_text() == "define A() from S()"
    assert (tmp_path / "b" / "r.tesla").read_text() == "define New() from S()"
    assert [each["text"] for each in state(twins)["documents"]] == ["define A() from S()", "define New() from S()"]
    assert post(twins, "save", {"name": "r.tesla", "text": ""}).status_code == 422


def test_saving_follows_no_link_that_was_planted(twins: Studio, tmp_path: Path) -> None:
    file, victim = tmp_path / "a" / "r.tesla", tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "a" / ".r.tesla.studio").symlink_to(victim)
    assert post(twins, "save", {"name": str(file), "text": "define New() from S()"}).status_code == 200
    assert victim.read_text() == "mine"
    assert file.read_text() == "define New() from S()"
    assert not file.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in file.parent.iterdir()) == [".r.tesla.studio", "r.tesla"]
