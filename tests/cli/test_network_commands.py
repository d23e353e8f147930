"""The commands of a network, against a node in a thread: what they print and how they fail."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cepheus.cli import app
from cepheus.core.errors import CepheusError
from cepheus.runtime.network.transport.config import read_config
from cepheus.runtime.network.transport.server import NodeServer

NODE = 'name = "p1"\nlisten = "127.0.0.1:0"\nstate = "state"\n'


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A node that serves while the commands run; gives its address."""
    folder = tmp_path_factory.mktemp("node")
    (folder / "node.toml").write_text(NODE)
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
    yield address[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join()
    loop.close()


def test_from_deploying_to_withdrawing(node: str, tmp_path: Path) -> None:
    rules, events = tmp_path / "fire.tesla", tmp_path / "smoke.jsonl"
    rules.write_text("define Fire(n: int) from Smoke(n > 1) where n=Smoke.n")
    lines = [json.dumps({"type": "Smoke", "time": at, "n": at}) for at in (3, 1, 2)]
    events.write_text("\n".join(lines))
    assert "deployed: Fire; for all events" in _run("deploy", str(rules), "--to", node)
    command = [sys.executable, "-c", "from cepheus.cli import main; main()"]
    watching = subprocess.Popen(
        [*command, "subscribe", "Fire", "--to", node, "--count", "2", "--timeout", "60s"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not _sinks(node):
        time.sleep(0.1)
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


def _run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False, standalone_mode=False)
    return result.output


def _sinks(node: str) -> bool:
    return any(client["sinks"] for client in json.loads(_run("status", node, "--json"))[0]["clients"])
