"""How fast the page is: millions of events loaded, then a stream that it watches."""

from __future__ import annotations

import base64
import json
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from benchmarks.reports.section import Bar, bar_table
from benchmarks.reports.terminal import show_table, telling
from benchmarks.studio.browser import ARGUMENTS, browser_path, launched, no_browser, running
from cepheus.core.batch import EventBatch
from cepheus.core.time import SECOND, parse_duration
from cepheus.core.values import ValueType
from cepheus.studio.live import Following, Sources
from cepheus.studio.workspace import Workspace

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from rich.console import Console

EVENTS = 5_000_000
RATE = 10_000
FIRST_PICTURE, FRAME, GROWTH = 3.0, 100.0, 20.0
LOOKS = 7
"""How often the memory of the page is looked at while it watches a stream."""

_START = 1_767_258_000 * SECOND
RULES = """define Fire(area: int, temp: double)
from Smoke(area=$a) and last Temp(area=$a and value>45) within 5 min from Smoke
where area=Smoke.area and temp=Temp.value
"""
_MOVES = """async (count) => {
  const timeline = window.studio.timeline; const whole = timeline.whole; const frames = [];
  let span = whole.end - whole.start; let middle = whole.start + span * 0.37;
  for (let step = 0; step < count; step += 1) {
    const began = performance.now();
    if (step % 2) middle += span * 0.15; else span = Math.max(span * 0.72, 2e6);
    timeline.show(middle - span / 2, middle + span / 2);  // as the mouse does
    while (timeline.asking || timeline.again) await new Promise((done) => setTimeout(done));
    await new Promise((done) => requestAnimationFrame(done));
    frames.push(performance.now() - began);
  }
  return frames; }"""

_ALL_TOLD = """(matched) => { const told = document.getElementById('live-tiles').dataset;
  return Number(told.received) + Number(told.missed) === matched; }"""


@dataclass(frozen=True, slots=True)
class Watched:
    """What was seen of a stream: seconds, events written and processed, matches at the server and on the page.

    ``memory`` is what the processes of its pages share with no other, in MB, now and then.
    """

    seconds: float
    written: int
    events: int
    matched: int
    received: int
    memory: tuple[float, ...]


def bench_studio(console: Console, *, quick: bool, duration: str | None) -> None:
    """Measure the page with many events, and with a stream for some time; say whether it is fast enough."""
    count = EVENTS // 50 if quick else EVENTS
    seconds = parse_duration(duration) / SECOND if duration is not None else 5.0 if quick else 30.0
    with launched() as browser, telling() as say:
        if browser is None:
            raise no_browser()
        say(f"{count:,} events")
        engine, first, frames = _many(browser, count)
        say(f"a stream for {seconds:g} s")
        watched = _stream(browser, seconds)
    ordered = sorted(frames)
    middle, slow = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)]
    judged = not quick
    bars = [
        Bar(
            f"{count:,} events: first picture after the engine is done",
            f"below {FIRST_PICTURE:g} s",
            f"{first:.2f} s",
            first < FIRST_PICTURE if judged else None,
        ),
        Bar(
            "pan and zoom, a frame of data, 95 of 100",
            f"below {FRAME:g} ms",
            f"{slow:.0f} ms (median {middle:.0f})",
            slow < FRAME if judged else None,
        ),
        Bar(
            f"matches received by the page, {watched.written:,} events in {watched.seconds:.0f} s",
            f"{watched.matched:,}",
            f"{watched.received:,}",
            watched.received == watched.matched,
        ),
        Bar(
            "events that were processed, of those written",
            f"{watched.written:,}",
            f"{watched.events:,}",
            watched.events == watched.written,
        ),
        Bar(
            "growth of the memory of the browser's pages meanwhile",
            f"below {GROWTH:g} MB",
            f"{watched.memory[-1] - watched.memory[0]:.1f} MB ({', '.join(f'{each:.0f}' for each in watched.memory)})",
            watched.memory[-1] - watched.memory[0] < GROWTH if judged else None,
        ),
    ]
    rate = watched.written / max(watched.seconds, 1e-9)
    console.print(f"the engine took {engine:.2f} s; {rate:,.0f} events/s were watched")
    show_table(bar_table(bars), console)


def events(count: int) -> EventBatch:
    """Temperatures of a hundred areas and, now and then, smoke."""
    rng = np.random.default_rng(7)
    times = _START + np.sort(rng.integers(0, count * 50_000, count))
    smoke = rng.random(count) < 0.01
    areas = pa.array(rng.integers(0, 100, count))
    values = pa.array(np.round(rng.normal(25, 8, count), 2), mask=smoke)
    columns = {("area", ValueType.INT): areas, ("value", ValueType.FLOAT): values}
    return EventBatch(("Temp", "Smoke"), smoke.astype(np.int32), times, columns)


def _many(browser: Browser, count: int) -> tuple[float, float, list[float]]:
    """Load and run; how long the engine took, the first picture after it, and each frame of pan and zoom took."""
    workspace = Workspace.of([])
    workspace.take("generated", events(count))
    workspace.run(RULES)  # compiles what must be compiled
    workspace.take("generated", workspace.require_events().batch)
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.set_default_timeout(600_000)
    with running(workspace) as studio:
        _open(page, studio.access.address)
        page.evaluate("text => { window.studio.editor.text = text }", RULES)
        page.wait_for_selector("#run:not([disabled])")
        began = time.perf_counter()
        page.click("#run")
        page.wait_for_function("() => window.studio.timeline.data?.lanes.some((lane) => lane.found)")
        engine = workspace.require_run().seconds
        first = time.perf_counter() - began - engine
        page.wait_for_timeout(500)
        frames: list[float] = page.evaluate(_MOVES, 60)
        page.context.close()
    return engine, first, frames


def _stream(browser: Browser, seconds: float) -> Watched:
    """Let a page watch rules at work on a file that grows by so many events a second.

    The browser is one that nothing looks into while it is measured: for tools it keeps all answers of the server.
    """
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        running(Workspace.of([]), Sources(follow=(made := _empty(folder),))) as studio,
    ):
        text = "define Hot() from Temp(value > 48)"
        studio.live.start(Following(kind="follow", source=made.name, text=text))
        target = studio.live.required()
        state = base64.b64encode(json.dumps({"page": "live"}).encode()).decode()
        data = Path(folder, "browser")
        command = [browser_path() or "", *ARGUMENTS, f"--user-data-dir={data}", "--remote-debugging-port=0"]
        with subprocess.Popen([*command, f"{studio.access.address}#{state}"], stderr=subprocess.DEVNULL) as process:
            stop = threading.Event()
            written: list[int] = []
            writer = threading.Thread(target=_write, args=(made, stop, written))
            writer.start()
            began = time.perf_counter()
            memory = []
            warm = min(30.0, seconds / 3)
            for look in range(LOOKS):
                due = warm + (seconds - warm) * look / (LOOKS - 1)
                time.sleep(max(0.0, due - (time.perf_counter() - began)))
                memory.append(sum(map(_private, _pages_of(process.pid))) / 1e6)
            stop.set()
            writer.join()
            spent = time.perf_counter() - began
            while target.state(0)["waiting"]:
                time.sleep(0.1)
            told = target.state(0)
            port = Path(data, "DevToolsActivePort").read_text(encoding="ascii").split()[0]
            seen = browser.browser_type.connect_over_cdp(f"http://127.0.0.1:{port}")
            page = next(each for each in seen.contexts[0].pages if each.url.startswith(studio.access.origin))
            page.wait_for_function(_ALL_TOLD, arg=told["matched"], timeout=120_000)
            received = int(str(page.get_attribute("#live-tiles", "data-received")))
            seen.close()
            process.terminate()
    return Watched(spent, written[-1], told["events"], told["matched"], received, tuple(memory))


def _empty(folder: str) -> Path:
    file = Path(folder, "live.jsonl")
    file.touch()
    return file


def _write(file: Path, stop: threading.Event, written: list[int]) -> None:
    """Append so many events a second, in ten pieces; tell how many there are."""
    number = 0
    began = time.perf_counter()
    with file.open("a") as stream:
        while not stop.is_set():
            lines = [
                json.dumps({"type": "Temp", "time": _START + place * 100, "value": place % 50})
                for place in range(number, number + RATE // 10)
            ]
            number += RATE // 10
            stream.write("\n".join(lines) + "\n")
            stream.flush()
            stop.wait(max(0.0, number / RATE - (time.perf_counter() - began)))
    written.append(number)


def _pages_of(process: int) -> list[int]:
    """The processes that a browser has started to show pages."""
    children: dict[int, list[int]] = {}
    commands = {}
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            parent = int((each / "stat").read_text().rpartition(")")[2].split()[1])
            commands[int(each.name)] = (each / "cmdline").read_bytes()
            children.setdefault(parent, []).append(int(each.name))
    below = [process]
    for parent in below:
        below += children.get(parent, [])
    return [one for one in below if b"--type=renderer" in commands.get(one, b"")]


def _private(process: int) -> int:
    """How many bytes a process shares with no other."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_"))


def _open(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
