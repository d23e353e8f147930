"""What the studio must not do: lose digits, write elsewhere, stop in silence, answer with a failure of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from cepheus.core.batch import EventBatch
from cepheus.core.errors import CepheusError
from cepheus.core.event import Event
from cepheus.core.plain_event import event_told
from cepheus.core.time import MAX_TIME, MIN_TIME, MINUTE
from cepheus.runtime.embedded.figures import MOST_TOLD, Figures
from cepheus.studio.examples import FIRE
from cepheus.studio.live import Following, Live, Sources
from cepheus.studio.server import Studio
from cepheus.studio.watched import FollowedFile
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


def test_a_page_that_is_behind_gets_every_match_once() -> None:
    figures = Figures()
    figures.count(2500, [Event("A", number) for number in range(2500)])
    got: list[int] = []
    while (told := figures.told(got[-1] if got else 0))["matches"]:
        assert len(told["matches"]) <= MOST_TOLD
        got += [each["number"] for each in told["matches"]]
    assert got == list(range(1, 2501))


def until(live: Live, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    for _ in range(600):
        found = live.required().state(0)
        if wanted(found):
            return found
        time.sleep(0.02)
    raise AssertionError(found)


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    (tmp_path / "live.jsonl").touch()
    made = Live(Workspace.of([]), Sources(follow=(tmp_path / "live.jsonl",)))
    made.start(Following(text="define Hot() from Temp()", kind="follow", source="live.jsonl"))
    yield made
    made.stop()


def test_a_line_of_brackets_is_a_bad_line_and_no_end(live: Live, tmp_path: Path) -> None:
    with (tmp_path / "live.jsonl").open("a") as stream:
        stream.write("[" * 200_000 + '\n{"type": "Temp", "time": 1}\n')
    found = until(live, lambda told: told["events"] == 1)
    assert (found["skipped"], found["error"]) == (1, None)


def test_a_file_that_is_cut_is_read_from_its_start(live: Live, tmp_path: Path) -> None:
    file = tmp_path / "live.jsonl"
    file.write_text("".join(f'{{"type": "Temp", "time": {number}}}\n' for number in range(5)))
    until(live, lambda told: told["events"] == 5)
    file.write_text('{"type": "Temp", "time": 9}\n')
    assert until(live, lambda told: told["events"] == 6)["matched"] == 6


def test_whatever_ends_the_work_is_told(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> list[Any]:
        raise ZeroDivisionError("no such luck")

    monkeypatch.setattr(FollowedFile, "take", fails)
    found = until(live, lambda told: told["error"] is not None)
    assert "no such luck" in found["error"]
    assert "ZeroDivision" not in found["error"]


def test_a_file_that_is_gone_is_told(live: Live, tmp_path: Path) -> None:
    (tmp_path / "live.jsonl").unlink()
    assert "cannot be read" in until(live, lambda told: told["error"] is not None)["error"]


def test_what_cannot_start_does_not_stop_what_is_at_work(live: Live) -> None:
    before = live.required()
    with pytest.raises(CepheusError):
        live.start(Following(text="define Hot( from", kind="follow", source="live.jsonl"))
    assert live.required() is before


def test_each_label_has_its_own_stretch(start_studio: Start) -> None:
    minutes = [0, 10, 30, 55, 59, 70]
    workspace = Workspace.of([])
    workspace.take("hot", EventBatch.from_events(Event("Temp", at * MINUTE, {"value": 50}) for at in minutes))
    studio = start_studio(workspace)
    labels = [[0, 20 * MINUTE], [60 * MINUTE]]
    knob = {"knob": "Hot: value > 45", "low": 45, "high": 60, "steps": 2, "use_labels": True, "labels": labels}
    swept = post(studio, "sweep", {"text": "define Hot() from Temp(value > 45)", **knob}).json()
    assert [point["precision"] for point in swept["points"]] == [0.5, None]
    assert [point["recall"] for point in swept["points"]] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("timeline", {"start": 0, "end": 10**30}),
        ("timeline", {"start": -(10**30), "end": 0}),
        ("why-not", {"rule": "Fire", "at": 10**30}),
        ("why-not", {"rule": "Fire", "row": -1}),
        ("report", {"start": 0, "end": 10**30}),
        ("open", {"path": "a\0b"}),
        ("open", {"path": "/a\0b"}),
        ("open", {"path": "x" * 5000}),
    ],
)
def test_what_cannot_be_is_refused(start_studio: Start, tmp_path: Path, path: str, body: object) -> None:
    (tmp_path / "r.tesla").write_text(FIRE)
    workspace = Workspace.of([tmp_path / "r.tesla"])
    workspace.example("fire")
    workspace.run(FIRE)
    assert post(start_studio(workspace), path, body).status_code == 422


def test_all_of_time_is_pictured_and_asked_about(start_studio: Start) -> None:
    workspace = Workspace.of([])
    workspace.example("fire")
    workspace.run(FIRE)
    studio = start_studio(workspace)
    for start, end in ((MIN_TIME, MAX_TIME), (MAX_TIME, MAX_TIME), (MAX_TIME, MIN_TIME)):
        told = post(studio, "timeline", {"start": start, "end": end})
        assert told.status_code == 200
        counted = sum(lane["count"] for lane in told.json()["lanes"])
        assert counted == (365 if start < end else 0)
    for at in (MIN_TIME, MAX_TIME):
        assert post(studio, "why-not", {"rule": "Fire", "at": at}).status_code == 200


def test_an_origin_that_is_none_is_refused(start_studio: Start) -> None:
    studio = start_studio(Workspace.of([]))
    assert post(studio, "analyse", {"text": ""}, origin="http://[").status_code == 403
