"""The commands of a network, against a node in a thread: what they print and how they fail."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cepheus.cli import app
from cepheus.cli.status import evaluated_nowhere
from cepheus.core.errors import CepheusError
from cepheus.core.time import format_time
from cepheus.runtime.network.transport.config import read_config
from cepheus.runtime.network.transport.server import NodeServer

NODE = 'name = "p1"\nlisten = "127.0.0.1:0"\nstate = "state"\n'


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A node that serves while the commands run; gives its address."""
    with _served(tmp_path_factory.mktemp("node"), NODE) as address:
        yield address


@contextmanager
def _served(folder: Path, text: str) -> Iterator[str]:
    (folder / "node.toml").write_text(text)
    started, address = threading.Event(), []
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        server = NodeServer(read_config(folder / "node.toml"))
        await server.start()
        address.append(f"127.0.0.1:{server.port}")
        started.set()
        await stop.wait()
        await server.stop()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    started.wait()
    try:
        yield address[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def test_with_many_trees_no_moment_is_named(tmp_path: Path) -> None:
    rules = tmp_path / "fire.tesla"
    rules.write_text("define Fire() from Smoke()")
    with _served(tmp_path, f'{NODE}strategy = "MT"\n') as node:
        said = _run("deploy", str(rules), "--to", node)
        promised = "this node has taken the change up and told its neighbours; each of the many trees follows"
        assert said.startswith(f"deployed: Fire; {promised}")
        assert _run("withdraw", "Fire", "--to", node).startswith(f"withdrawn: Fire; {promised}")


def test_subscriptions_that_nothing_can_meet_are_warned_of_once(node: str) -> None:
    said = _subscribe(node, *(f"{kind}(area = 'A{n}')" for kind in ("Flood", "Storm", "Quake") for n in range(4)))
    assert said.count("warning") == 1
    assert "no rule makes events of types 'Flood', 'Storm' and 'Quake'" in said


def test_from_deploying_to_withdrawing(node: str, tmp_path: Path) -> None:
    rules, events = tmp_path / "fire.tesla", tmp_path / "smoke.jsonl"
    rules.write_text("define Fire(n: int) from Smoke(n > 1) where n=Smoke.n")
    lines = [json.dumps({"type": "Smoke", "time": at, "n": at}) for at in (3, 1, 2)]
    events.write_text("\n".join(lines))
    assert "deployed: Fire; for all events" in _run("deploy", str(rules), "--to", node)
    watching = _watch(node, "Fire", 2)
    assert "3 events published, 0 late" in _run("publish", str(events), "--to", node, "--rate", "1000")
    printed, notes = watching.communicate()
    assert [json.loads(line)["n"] for line in printed.splitlines()] == [2, 3]
    assert "2 events received" in notes
    text = _run("status", node, "--svg", str(tmp_path / "network.svg"))
    assert "Trees" in text
    assert "Fire" in text
    assert "<svg" in (tmp_path / "network.svg").read_text()
    assert "withdrawn: Fire" in _run("withdraw", "Fire", "--to", node)
    with pytest.raises(CepheusError, match="no rule named 'Fire'"):
        _run("withdraw", "Fire", "--to", node)


def test_rules_that_no_tree_evaluates_are_told_where_there_are_many_trees() -> None:
    root = {"rules": ["Fire", "Flood"], "trees": [{"rules": ["Fire"]}]}
    leaf: dict[str, object] = {"rules": ["Fire", "Flood"], "trees": []}
    assert evaluated_nowhere([{"strategy": "MT", **root}, {"strategy": "MT", **leaf}]) == ["Flood"]
    assert evaluated_nowhere([{"strategy": "MT_PP", **leaf}]) == ["Fire", "Flood"]
    assert not evaluated_nowhere([{"strategy": "ST", **leaf}]), "the node at the root evaluates them"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("status", "somewhere"), "no address"),
        (("status", "127.0.0.1:1", "--patience", "0.2s"), "no connection"),
        (("subscribe", "Fire", "--to", "127.0.0.1:1", "--cert", "a.pem"), "go together"),
        (("publish", "-", "--to", "127.0.0.1:1"), "types of the events"),
        (("publish", "x.jsonl", "--to", "127.0.0.1:1", "--rate", "1", "--speed", "1"), "exclude"),
        (("node", "--config", "missing.toml"), "no file"),
    ],
)
def test_what_is_wrong_is_said(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(CepheusError, match=message):
        _run(*arguments)


def test_a_file_can_be_checked_alone(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    path.write_text(NODE)
    assert "no errors" in _run("node", "--config", str(path), "--check")
    path.write_text(NODE.replace("127.0.0.1", "0.0.0.0"))
    with pytest.raises(CepheusError, match="for anybody"):
        _run("node", "--config", str(path), "--check")


def test_a_file_without_rules_is_not_deployed(node: str, tmp_path: Path) -> None:
    path = tmp_path / "empty.tesla"
    for text in ("", "# nothing yet\n", "event Temp(value: double)\n"):
        path.write_text(text)
        with pytest.raises(CepheusError, match="no rule to deploy"):
            _run("deploy", str(path), "--to", node)


def test_events_of_another_type_than_declared_are_not_published(node: str, tmp_path: Path) -> None:
    rules, events = tmp_path / "hot.tesla", tmp_path / "temps.jsonl"
    rules.write_text("event Heat(area: string, value: double)\ndefine Hot() from Heat(value > 45)")
    _run("deploy", str(rules), "--to", node)
    try:
        events.write_text('{"type": "Heat", "time": 1, "area": "A1", "value": "hot"}\n')
        with pytest.raises(CepheusError, match=r"temps\.jsonl:1: error\[type\]: Heat\.value: 'hot' is not a number"):
            _run("publish", str(events), "--to", node)
        events.write_text('{"type": "Heat", "time": 1, "area": "A1", "value": 46}\n')
        assert "1 events published" in _run("publish", str(events), "--to", node)
    finally:
        _run("withdraw", "Hot", "--to", node)


@pytest.mark.parametrize(("unit", "start"), [("us", 100), ("ms", 200), ("s", 300)])
def test_times_among_attributes_are_in_the_time_unit(unit: str, start: int, node: str, tmp_path: Path) -> None:
    scale = {"us": 1_000_000, "ms": 1_000, "s": 1}[unit]
    due = start + 90
    kind, late = f"Order{unit}", f"Late{unit}"
    rules = tmp_path / "late.tesla"
    rules.write_text(
        f"event {kind}(due: timestamp, area: string)\n"
        f"define {late}(due: timestamp, area: string) from {kind}(due > time) "
        f"where due = {kind}.due and area = {kind}.area"
    )
    _run("deploy", str(rules), "--to", node)
    try:
        watching = _watch(node, late, 4)
        given = [
            {"type": kind, "time": start * scale, "due": due * scale, "area": "A1"},
            {"type": kind, "time": (start + 1) * scale, "due": format_time(due * 1_000_000), "area": "A1"},
        ]
        (tmp_path / "orders.jsonl").write_text("".join(json.dumps(line) + "\n" for line in given))
        _run("publish", str(tmp_path / "orders.jsonl"), "--to", node, "--time-unit", unit)
        command = [sys.executable, "-m", "cepheus", "publish", "-", "--type", kind, "--to", node, "--time-unit", unit]
        line = json.dumps({**given[0], "time": (start + 2) * scale, "area": "A2"})
        subprocess.run(command, input=f"{line}\n", text=True, check=True, capture_output=True)
        (tmp_path / "more.csv").write_text(f"type,time,due,area\n{kind},{(start + 3) * scale},{due * scale},12\n")
        _run("publish", str(tmp_path / "more.csv"), "--to", node, "--time-unit", unit)
        printed, _ = watching.communicate(timeout=60)
        found = [(event["due"], event["area"]) for event in map(json.loads, printed.splitlines())]
        assert found == [(due * 1_000_000, area) for area in ("A1", "A1", "A2", "12")]
    finally:
        _run("withdraw", late, "--to", node)


@pytest.mark.filterwarnings("default::cepheus.CepheusWarning")
def test_a_forgotten_unit_is_told(node: str, tmp_path: Path) -> None:
    events = tmp_path / "smoke.jsonl"
    events.write_text(json.dumps({"type": "Haze", "time": 1_767_225_600}) + "\n")
    with pytest.raises(CepheusError, match=r"smoke\.jsonl: error\[time-unit\]"):
        _run("publish", str(events), "--to", node, "--strict")
    said = _run("publish", str(events), "--to", node)
    assert "warning[time-unit]" in said
    assert "hint: they look like seconds since 1970: --time-unit s" in said
    assert "warning" not in _run("publish", str(events), "--to", node, "--now")


def test_numbers_where_rules_say_string_are_not_published(node: str, tmp_path: Path) -> None:
    rules, events = tmp_path / "warm.tesla", tmp_path / "temps.csv"
    rules.write_text("define Warm() from Degrees(value > 'hot')")
    _run("deploy", str(rules), "--to", node)
    try:
        events.write_text("type,time,value\nDegrees,1,25.5\n")
        with pytest.raises(CepheusError, match=r"Degrees\.value: 25\.5 is not a string"):
            _run("publish", str(events), "--to", node)
    finally:
        _run("withdraw", "Warm", "--to", node)


def test_subscriptions_that_nothing_can_meet_are_warned_of(node: str, tmp_path: Path) -> None:
    rules = tmp_path / "fire.tesla"
    rules.write_text("define Fire(area: string) from Smoke() where area=Smoke.area")
    _run("deploy", str(rules), "--to", node)
    try:
        assert "did you mean 'Fire'?" in _subscribe(node, "Fier")
        assert "'Fire' has no attribute 'are'" in _subscribe(node, "Fire(are = 'A1')")
        assert "no rule makes events of type 'Flood'" in _subscribe(node, "Flood")
        assert "warning" not in _subscribe(node, "Fire(area = 'A1')")
        assert "warning" not in _subscribe(node, "Smoke(level > 3)")  # what else it has, nobody has said
    finally:
        _run("withdraw", "Fire", "--to", node)


def test_what_a_command_waits_for_is_said() -> None:
    command = [sys.executable, "-m", "cepheus"]
    nobody = subprocess.run(
        [*command, "subscribe", "Fire", "--to", "127.0.0.1:1", "--patience", "2s"],
        capture_output=True,
        check=False,
        text=True,
    )
    assert "waiting for the node at 127.0.0.1:1, for 2 s at most" in nobody.stderr
    assert "nobody listens there" in nobody.stderr


def _subscribe(node: str, *patterns: str) -> str:
    """Subscribe for a moment; give what was noted meanwhile."""
    command = [sys.executable, "-m", "cepheus"]
    done = subprocess.run(
        [*command, "subscribe", *patterns, "--to", node, "--timeout", "0.1s"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr


def _watch(node: str, pattern: str, count: int) -> subprocess.Popen[str]:
    """Subscribe to so many events, and wait until the node knows."""
    command = [sys.executable, "-m", "cepheus", "subscribe", pattern, "--to", node, "--count", str(count)]
    watching = subprocess.Popen(
        [*command, "--timeout", "60s"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not _sinks(node):
        time.sleep(0.1)
    return watching


def _run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False, standalone_mode=False)
    return result.output


def _sinks(node: str) -> bool:
    return any(client["sinks"] for client in json.loads(_run("status", node, "--json"))[0]["clients"])
