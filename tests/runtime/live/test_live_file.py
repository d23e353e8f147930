from __future__ import annotations

from pathlib import Path

import pytest

from cepheus.core.errors import OptionError
from cepheus.runtime.live.description import Clock, When
from cepheus.runtime.live.kinds import sink_kinds, source_kinds
from cepheus.runtime.live.live_file import read_live_file
from cepheus.runtime.live.sources.redis import FromRedis
from cepheus.runtime.live.spool import Spool
from cepheus.runtime.live.web import Listen


def written(folder: Path, text: str) -> Path:
    (folder / "fire.tesla").write_text("define Fire() from Smoke()")
    path = folder / "live.toml"
    path.write_text(text)
    return path


def test_a_file_says_everything(tmp_path: Path) -> None:
    text = """
    rules = "fire.tesla"
    [detect]
    lateness = "2 s"
    on_bad_event = "stop"
    [[sources]]
    kind = "redis"
    name = "readings"
    stream = "r"
    [sources.payload]
    type = "Smoke"
    [[sinks]]
    kind = "websocket"
    listen = "0.0.0.0:80"
    composite = "Fire"
    [dead_letters]
    kind = "file"
    path = "dead.jsonl"
    [state]
    every = "500 ms"
    when = "saved"
    [time]
    clock = "wall"
    idle = "2 s"
    [flow]
    ahead = 5
    [monitoring]
    listen = "9464"
    """
    found = read_live_file(written(tmp_path, text))
    assert found.sources[0].source == FromRedis("r")
    assert found.sources[0].payload.type == "Smoke"
    assert (found.sources[0].name, found.sinks[0].name) == ("readings", "to-websocket-1")
    assert (found.every, found.when, found.clock, found.idle, found.ahead) == (0.5, When.SAVED, Clock.WALL, 2.0, 5)
    assert found.monitoring == Listen("127.0.0.1", 9464)
    assert found.stop_on_bad
    assert found.state == tmp_path / "live-state"
    assert found.options.lateness == 2_000_000


def test_all_that_is_wrong_is_told_with_its_line(tmp_path: Path) -> None:
    text = """rules = ["none.tesla"]
[detect]
sort = true
latenes = "2 s"
[[sources]]
kind = "redsi"
[[sources]]
stream = "x"
[[sources]]
kind = "mqtt"
quality = 7
[[sinks]]
kind = "file"
path = "a"
colour = "red"
[monitoring]
listen = "here"
"""
    with pytest.raises(OptionError) as caught:
        read_live_file(written(tmp_path, text))
    told = [(finding.place.line if finding.place else None, finding.message) for finding in caught.value.diagnostics]
    assert told == [
        (1, f"there is no rule file '{tmp_path / 'none.tesla'}'"),
        (3, "'sort' is for input that has an end"),
        (4, "[detect] has no key 'latenes'"),
        (6, "'redsi' is not a choice for kind"),
        (7, "this source has no kind"),
        (9, "a source of kind mqtt has no topics"),
        (9, "a source of kind mqtt has no client"),
        (11, "'quality' is 0, 1 or 2: at most once, at least once, exactly once"),
        (15, "a sink of kind file has no key 'colour'"),
        (17, "'here' is no host and port"),
    ]


def test_every_kind_is_on_the_page() -> None:
    page = (Path(__file__).parents[3] / "docs" / "live.md").read_text()
    for name, kind in [*source_kinds(Path()).items(), *sink_kinds(Path()).items()]:
        lines = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        assert lines, name
        assert any(all(f"`{key}`" in line for key in kind.keys) for line in lines), name


def test_a_spool_drops_what_was_cut_off_and_forgets_what_is_safe(tmp_path: Path) -> None:
    spool = Spool(tmp_path, file_bytes=100)
    for number in range(20):
        spool.append([(b"message %d" % number, "topic")])
    spool.close()
    last = max(tmp_path.glob("*.spool"), key=lambda path: int(path.stem))
    with last.open("ab") as file:
        file.write(b"\x09\0\0\0half")
    spool = Spool(tmp_path, file_bytes=100)
    spool.append([(b"after", "")])
    found: list[bytes] = []
    position = None
    while (messages := spool.read(position)) is not None:
        assert messages.numbers[0] == len(found)
        found += messages.payloads
        position = messages.position
    assert found == [b"message %d" % number for number in range(20)] + [b"after"]
    spool.forget(position)
    assert len(list(tmp_path.glob("*.spool"))) == 1
    spool.close()
