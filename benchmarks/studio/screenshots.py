"""The pictures of the studio in the documentation: ``cepheus bench screenshots`` makes them anew."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.studio.browser import launched, no_browser, running
from cepheus.studio.live import Sources
from cepheus.studio.workspace import Workspace

if TYPE_CHECKING:
    from playwright.sync_api import Page, ViewportSize
    from rich.console import Console

ROOT = Path(__file__).resolve().parents[2]
SIZE: ViewportSize = {"width": 1440, "height": 860}
_START = 1_767_258_000
_RULE = """define Hot(area: string, temp: double)
from   Temp(value>{limit})
where  area=Temp.area and temp=Temp.value
"""
BELIEF = """define Fire() from Smoke() and last Temp(value > 45) within 5 min from Smoke

network Fire {
  node Barbecue {YES: 0.2, NO: 0.8}
  node Smoke given Fire, Barbecue {
    YES, *: {YES: 1, NO: 0}
    NO, YES: {YES: 0.5, NO: 0.5}
    NO, NO: {YES: 0, NO: 1}
  }
  node Temp given Fire {
    YES: {YES: 1, NO: 0}
    NO: {YES: 0.5, NO: 0.5}
  }
}
"""


def bench_screenshots(console: Console, docs: Path) -> None:
    """Open the studio, do what the tour of the documentation does, and take a picture of each step."""
    with launched() as browser:
        if browser is None:
            raise no_browser()
        workspace = Workspace.of([])
        workspace.scenarios = (ROOT / "examples" / "network" / "museum.toml",)
        with tempfile.TemporaryDirectory() as name, running(workspace, _sources(Path(name))) as studio:
            page = browser.new_context(viewport=SIZE, color_scheme="light").new_page()
            page.set_default_timeout(300_000)
            page.goto(studio.access.address)
            page.wait_for_selector("body[data-ready]")
            for path in _Tour(page, docs / "images", Path(name)).go():
                console.print(f"written: {path}", markup=False)
            page.context.close()


def _sources(folder: Path) -> Sources:
    """A small live run in a folder, to be watched."""
    (folder / "readings.jsonl").touch()
    (folder / "hot.tesla").write_text(_RULE.format(limit=45))
    (folder / "plant.toml").write_text(
        'rules = ["hot.tesla"]\n[detect]\ntime_unit = "s"\nengine = "reference"\n'
        '[[sources]]\nname = "readings"\nkind = "file"\npath = "readings.jsonl"\n'
        '[[sinks]]\nname = "alarms"\nkind = "file"\npath = "alarms.jsonl"\n'
    )
    return Sources(live=(folder / "plant.toml",))


class _Tour:
    """The steps of the tour, one picture each."""

    def __init__(self, page: Page, images: Path, run: Path) -> None:
        self._page = page
        self._images = images
        self._run = run

    def go(self) -> Iterator[Path]:
        """Take the steps; give the files of the pictures."""
        page = self._page
        self._example("fire")
        self._click_lane("Smoke", 1)
        page.click("#details .why-not")
        page.wait_for_selector("#details .nearest")
        yield self._take("why-not")
        self._example("tunnel")
        page.select_option("[aria-label='Lanes of Temp']", "km")
        page.wait_for_function("() => window.studio.timeline.lanes.some((lane) => lane.key)")
        find = "() => window.studio.timeline.lanes.find((lane) => lane.found && lane.times?.length).name"
        self._click_lane(page.evaluate(find), 0)
        page.wait_for_selector("#details .tree")
        yield self._take("timeline")
        yield self._what_if()
        page.click("#tab-network")
        page.click("#simulate")
        page.wait_for_selector("#network-graph g.node")
        page.click("#network-graph g[aria-label^='cellar']")
        yield self._take("network")
        yield self._live()
        page.click("#tab-belief")
        page.evaluate("text => { window.studio.editor.text = text }", BELIEF)
        page.wait_for_function("() => document.getElementById('belief-probability').textContent.startsWith('0.95')")
        page.click("#belief-graph g[aria-label^='Smoke']")
        page.click("#theme")
        yield self._take("belief")

    def _live(self) -> Path:
        """A live run that the studio runs itself, and what the rules in the editor would change."""
        page = self._page
        write = "text => { window.studio.editor.text = text }"
        page.click("#tab-live")
        page.click("#live-start")
        page.wait_for_selector("#live-name b")
        with (self._run / "readings.jsonl").open("a") as stream:
            for step in range(6):
                for place in range(200):
                    number = step * 200 + place
                    event = {
                        "type": "Temp",
                        "time": _START + number,
                        "area": f"A{number % 3}",
                        "value": number % 50,
                    }
                    stream.write(json.dumps(event) + "\n")
                stream.flush()
                page.wait_for_timeout(900)
        page.wait_for_function("() => Number(document.getElementById('live-tiles').dataset.received) >= 96")
        page.evaluate(write, _RULE.format(limit=48))
        page.wait_for_function("() => window.studio.rules.length === 1")
        page.click("#live-deploy")
        page.wait_for_selector("#live-plan .plus")
        taken = self._take("live")
        page.click("#live-stop")
        return taken

    def _what_if(self) -> Path:
        page = self._page
        page.click("#tab-what-if")
        page.wait_for_selector("#knobs .knob")
        slider = page.locator("#knobs input[type=range]").first
        slider.evaluate("one => { one.value = +one.value * 1.03; one.dispatchEvent(new Event('input')) }")
        page.wait_for_function("() => document.getElementById('what-if-counts').textContent.includes(' in ')")
        page.check("#use-labels")
        page.click("#sweep")
        page.wait_for_selector("#sweep-chart canvas")
        return self._take("what-if")

    def _example(self, name: str) -> None:
        self._page.evaluate("() => { delete document.body.dataset.ran }")
        self._page.select_option("#example", name)
        self._page.wait_for_selector("body[data-ran]")

    def _click_lane(self, lane: str, which: int) -> None:
        find = """([name, which]) => { const t = window.studio.timeline;
            const place = t.lanes.findIndex((lane) => lane.name === name);
            if (place < 0 || !t.lanes[place].times) return null;
            return [t.xAt(t.lanes[place].times[which]), 26 + place * 34 + 18]; }"""
        self._page.wait_for_function(find, arg=[lane, which])
        x, y = self._page.evaluate(find, [lane, which])
        self._page.locator("#timeline canvas").click(position={"x": x, "y": y})

    def _take(self, name: str) -> Path:
        self._page.mouse.move(5, 500)
        self._page.wait_for_timeout(700)
        path = self._images / f"studio-{name}.png"
        self._page.screenshot(path=str(path))
        return path
