"""The page in a real browser: what a person does there, from a mistake in a rule to rules at a node."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from studio_cases import SCENARIO

from cepheus.runtime.network.transport.access import Access
from cepheus.runtime.network.transport.config import read_config
from cepheus.runtime.network.transport.server import NodeServer
from cepheus.studio.examples import FIRE
from cepheus.studio.live import Sources
from cepheus.studio.server import Studio
from cepheus.studio.workspace import Workspace

if TYPE_CHECKING:
    from playwright.sync_api import Page

Start = Callable[..., Studio]
AREA = "#editor .cm-content"


def opened(page: Page, studio: Studio) -> None:
    page.goto(studio.access.address)
    page.wait_for_selector("body[data-ready]")


def write(page: Page, text: str) -> None:
    page.evaluate("text => { window.studio.editor.text = text }", text)


def fire(page: Page, start_studio: Start) -> Studio:
    """The example of a fire, run."""
    studio = start_studio(Workspace.of([]))
    opened(page, studio)
    page.select_option("#example", "fire")
    page.wait_for_selector("body[data-ran='1']")
    return studio


def click_lane(page: Page, lane: str, which: int = 0) -> None:
    """Click an event of a lane where the timeline has drawn it."""
    find = """([name, which]) => { const t = window.studio.timeline;
        const place = t.lanes.findIndex((lane) => lane.name === name);
        if (t.asking || t.again || place < 0) return null;
        if (!t.lanes[place].times || t.lanes[place].times.length <= which) return null;
        return [t.xAt(t.lanes[place].times[which]), 26 + place * 34 + 18]; }"""
    x, y = page.wait_for_function(find, arg=[lane, which]).json_value()
    page.locator("#timeline canvas").click(position={"x": x, "y": y})


def test_a_mistake_is_shown_and_mended(page: Page, start_studio: Start) -> None:
    opened(page, start_studio(Workspace.of([])))
    write(page, "define Fire(area: string) from Smoke() where aera = Smoke.area")
    page.wait_for_selector("#findings .error")
    assert "aera" in page.inner_text("#findings")
    assert page.locator("#editor .cm-lintRange-error").count() > 0
    assert page.is_disabled("#run")
    write(page, "define Fire(area: string) from Smoke() where area = Smoke.area")
    page.wait_for_selector("#findings .error", state="detached")
    page.wait_for_function("() => document.getElementById('drawing-image').naturalWidth > 0")
    assert page.locator("#editor .t-keyword").first.inner_text() == "define"


def test_typing_completes_and_formats(page: Page, start_studio: Start) -> None:
    opened(page, start_studio(Workspace.of([])))
    write(page, "define A() from Temp(value > 3) and last Tem")
    page.click(AREA)
    page.keyboard.press("Control+End")
    page.keyboard.type("p")
    page.keyboard.press("Control+Space")
    page.wait_for_selector(".cm-tooltip-autocomplete")
    assert "Temp" in page.inner_text(".cm-tooltip-autocomplete")
    page.keyboard.press("Escape")
    write(page, "define A() from B")
    page.click("#format")
    page.wait_for_function("() => window.studio.editor.text === 'define A()\\nfrom   B()\\n'")


def test_the_tree_of_why(page: Page, start_studio: Start) -> None:
    fire(page, start_studio)
    click_lane(page, "Fire")
    page.wait_for_selector("#details .tree")
    told = page.inner_text("#details")
    assert re.search(r"Smoke\s+area=A1", told)
    assert "value=45.8" in told
    assert "no Rain" in told
    assert page.evaluate("() => window.studio.timeline.marked.length") == 3


def test_why_not_names_the_nearest_miss_and_a_reload_finds_it_again(page: Page, start_studio: Start) -> None:
    fire(page, start_studio)
    click_lane(page, "Smoke", 1)
    page.click("#details .why-not")
    page.wait_for_selector("#details .nearest")
    assert "value 44.8 is below 45" in page.inner_text("#details .nearest")
    page.select_option("[aria-label='Lanes of Temp']", "area")
    page.wait_for_function("() => window.studio.timeline.lanes.some((lane) => lane.name === 'Temp A2')")
    page.click("#tab-timeline")
    view = page.evaluate("() => window.studio.timeline.view.start")
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert "value 44.8 is below 45" in page.inner_text("#details .nearest")
    page.wait_for_function("() => window.studio.timeline.lanes.some((lane) => lane.name === 'Temp A2')")
    assert page.evaluate("() => window.studio.timeline.view.start") == pytest.approx(view, abs=1)


def test_what_if_counts_at_once_and_writes_the_number(page: Page, start_studio: Start) -> None:
    fire(page, start_studio)
    page.click("#tab-what-if")
    page.wait_for_selector("#knobs .knob")
    slider = page.locator("#knobs input[type=range]").first
    slider.focus()
    assert page.inner_text("#editor .t-part") == "45"
    slider.evaluate("one => { one.value = 44; one.dispatchEvent(new Event('input')) }")
    page.wait_for_function("() => document.getElementById('what-if-counts').textContent.includes('Fire 2 (+1)')")
    page.click("#sweep")
    page.wait_for_selector("#sweep-chart canvas")
    assert "45: 1" in str(page.get_attribute("#sweep-chart", "aria-label"))
    page.click("#apply-knobs")
    page.wait_for_function("() => window.studio.editor.text.includes('value>44')")
    page.click("#run")
    page.wait_for_selector("body[data-ran='2']")


def test_a_belief_is_edited_and_the_probability_follows(page: Page, start_studio: Start) -> None:
    opened(page, start_studio(Workspace.of([])))
    write(page, "define Fire() from Smoke()")
    page.click("#tab-belief")
    page.wait_for_function("() => document.getElementById('belief-probability').textContent === '1.000000'")
    page.click("#belief-graph g[aria-label^='Smoke']")
    page.fill("#belief-side input[aria-label='NO YES']", "0.25")
    page.click("#save-table")
    page.wait_for_function("() => document.getElementById('belief-probability').textContent === '0.800000'")
    assert "network Fire" in page.evaluate("() => window.studio.editor.text")
    page.fill("#belief-side input[aria-label='NO YES']", "1.5")
    assert page.is_disabled("#save-table") or "0.8" in page.inner_text("#belief-probability")


def test_live_follows_a_file_and_shows_every_match(page: Page, start_studio: Start, tmp_path: Path) -> None:
    file = tmp_path / "live.jsonl"
    file.touch()
    opened(page, start_studio(Workspace.of([]), sources=Sources(follow=(file,))))
    write(page, "define Hot() from Temp(value > 5)")
    page.wait_for_selector("#run:not([disabled])")
    page.click("#tab-live")
    page.click("#live-start")
    with file.open("a") as stream:
        for number in range(2000):
            stream.write(json.dumps({"type": "Temp", "time": number, "value": number % 10}) + "\n")
    page.wait_for_selector("#live-tiles[data-matched='800'][data-received='800'][data-missed='0'][data-twice='0']")
    write(page, "define Hot() from Temp(value > 7)")
    page.wait_for_function("() => window.studio.rules.length === 1")
    page.click("#live-deploy")
    page.wait_for_selector("#live-plan .plus")
    assert "change Hot" in page.inner_text("#live-plan")
    page.click("#live-apply")
    page.wait_for_selector("#live-plan", state="hidden")
    assert page.locator("#live-matches .event").count() <= 100


@contextmanager
def _node(folder: Path) -> Iterator[str]:
    """A node of a network, alone, that serves beside the test."""
    (folder / "node.toml").write_text('name = "p1"\nlisten = "127.0.0.1:0"\nstate = "state"\n')
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


def test_rules_are_deployed_to_a_node(page: Page, start_studio: Start, tmp_path: Path) -> None:
    with _node(tmp_path) as address:
        studio = start_studio(Workspace.of([]), sources=Sources(node=(Access(address, patience=5.0),)))
        opened(page, studio)
        write(page, FIRE)
        page.wait_for_selector("#run:not([disabled])")
        page.click("#tab-live")
        page.click("#live-start")
        page.wait_for_selector("#live-deploy:not([disabled])")
        page.click("#live-deploy")
        page.wait_for_selector("#live-plan:has-text('deploy Fire')")
        page.click("#live-apply")
        page.wait_for_selector("#live-tiles:has-text('Fire')")
        studio.live.stop()


def test_a_network_is_simulated_and_played(page: Page, start_studio: Start, tmp_path: Path) -> None:
    (tmp_path / "line.toml").write_text(SCENARIO)
    workspace = Workspace.of([])
    workspace.scenarios = (tmp_path / "line.toml",)
    opened(page, start_studio(workspace))
    page.click("#tab-network")
    page.click("#simulate")
    page.wait_for_selector("#network-graph g.node")
    assert page.locator("#network-graph g.node").count() == 3
    page.click("#network-graph g[aria-label^='p3']")
    assert "sources: B" in page.inner_text("#network-side")
    page.click("#play")
    page.wait_for_function("() => document.getElementById('page-network').textContent.includes('until')")


def test_faults_at_a_click_are_simulated_and_mended(page: Page, start_studio: Start, tmp_path: Path) -> None:
    (tmp_path / "line.toml").write_text(SCENARIO)
    workspace = Workspace.of([])
    workspace.scenarios = (tmp_path / "line.toml",)
    opened(page, start_studio(workspace))
    page.click("#tab-network")
    page.click("#simulate")
    page.click("#network-graph g.node[aria-label^='p2']")
    page.locator("#moment").evaluate("one => { one.value = 20; one.dispatchEvent(new Event('input')) }")
    page.click("#crash")
    page.wait_for_selector("#faults .chip:has-text('p2 crashes')")
    page.locator("#moment").evaluate("one => { one.value = 21; one.dispatchEvent(new Event('input')) }")
    page.wait_for_selector("#network-graph g.node.down[aria-label*='has crashed']")
    page.locator("#network-graph g.link-of[aria-label^='Link p1 and p2']").press("Enter")
    page.click("#cut")
    page.wait_for_selector("#faults .chip:has-text('are cut apart')")
    page.wait_for_selector("#status:has-text('2 faults')")
    assert "as without faults" in page.inner_text("#status")
    page.click("#faults .chip >> nth=0")
    page.wait_for_function("() => document.querySelectorAll('#faults .chip').length === 1")
    page.evaluate("() => window.studio.share.now()")
    page.reload()
    page.wait_for_selector("body[data-ready]")
    page.wait_for_selector("#faults .chip:has-text('are cut apart')")


def test_a_node_that_runs_is_shown_with_its_traffic(page: Page, start_studio: Start, tmp_path: Path) -> None:
    with _node(tmp_path) as address:
        opened(page, start_studio(Workspace.of([]), sources=Sources(node=(Access(address, patience=5.0),))))
        page.click("#tab-network")
        page.click("#simulate")
        page.wait_for_selector("#network-graph g.node[aria-label^='p1']")
        page.wait_for_selector("#network-side:has-text('Partial rules')")
        assert page.locator("#crash").count() == 0


def test_a_live_run_is_watched_paused_and_changed(page: Page, start_studio: Start, tmp_path: Path) -> None:
    (tmp_path / "rules.tesla").write_text("define Hot() from Temp(value > 5)")
    (tmp_path / "in.jsonl").touch()
    (tmp_path / "live.toml").write_text(
        'rules = ["rules.tesla"]\n[detect]\nengine = "reference"\n[[sources]]\nkind = "file"\npath = "in.jsonl"\n'
        '[[sinks]]\nkind = "file"\npath = "out.jsonl"\n'
    )
    opened(page, start_studio(Workspace.of([]), sources=Sources(live=(tmp_path / "live.toml",))))
    page.click("#tab-live")
    page.click("#live-start")
    page.wait_for_selector("#live-name:has-text('run by this studio')")
    with (tmp_path / "in.jsonl").open("a") as stream:
        for number in range(1000):
            stream.write(json.dumps({"type": "Temp", "time": number, "value": number % 10}) + "\n")
    page.wait_for_selector("#live-tiles[data-matched='400'][data-received='400']")
    page.click("#live-edit")
    page.wait_for_function("() => window.studio.editor.text.includes('define Hot()')")
    write(page, "define Hot() from Temp(value > 7)")
    page.wait_for_function("() => window.studio.rules.length === 1")
    page.click("#live-pause")
    page.wait_for_selector("#live-name:has-text('paused')")
    page.click("#live-deploy")
    page.wait_for_selector("#live-plan .minus")
    page.click("#live-apply")
    page.wait_for_selector("#live-plan", state="hidden")
    page.click("#live-stop")
    page.wait_for_selector("#status:has-text('Stopped watching')")
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 400


def test_the_schedule_of_a_network_is_edited(page: Page, start_studio: Start) -> None:
    told = "text => document.getElementById('belief-probability').textContent === text"
    opened(page, start_studio(Workspace.of([])))
    write(page, "define Fire() from Smoke()")
    page.click("#tab-belief")
    page.wait_for_function(told, arg="1.000000")
    page.click("#belief-graph g[aria-label^='Smoke']")
    page.fill("#belief-side input[aria-label='NO YES']", "0.25")
    page.click("#save-table")
    page.wait_for_function(told, arg="0.800000")
    page.select_option("#schedule select", "new")
    page.fill("#belief-side input[aria-label='NO YES']", "1")
    page.click("#save-table")
    page.wait_for_function("() => window.studio.editor.text.includes('07:00')")
    for moment, probability in (("2026-01-01T08:00:00", "0.500000"), ("2026-01-01T12:00:00", "0.800000")):
        page.fill("#belief-time", moment)
        page.locator("#belief-time").dispatch_event("change")
        page.wait_for_function(told, arg=probability)
    page.click("text=Remove the period")
    page.wait_for_function("() => !window.studio.editor.text.includes('07:00')")


def test_rules_in_python_are_edited_and_run(page: Page, start_studio: Start) -> None:
    opened(page, start_studio(Workspace.of([])))
    page.select_option("#example", "fire in Python")
    page.wait_for_selector("body[data-ran='1']")
    assert page.inner_text("#language") == "Python"
    text = page.evaluate("() => window.studio.editor.text")
    write(page, text.replace("Temp.value > 45", "Temp.valu > 45"))
    page.wait_for_selector("#findings .error:has-text('valu')")
    assert page.is_disabled("#run")
    write(page, text.replace("Temp.value > 45", "Temp.value > 44"))
    page.wait_for_selector("#findings .error", state="detached")
    page.click("#run")
    page.wait_for_selector("body[data-ran='2']")


def test_a_link_opens_an_example_as_it_was_in_a_studio_that_has_nothing(page: Page, start_studio: Start) -> None:
    two = "() => document.getElementById('what-if-counts').textContent.includes('Fire 2 (+1)')"
    fire(page, start_studio)
    page.click("#tab-what-if")
    slider = page.locator("#knobs input[type=range]").first
    slider.evaluate("one => { one.value = 44; one.dispatchEvent(new Event('input')) }")
    page.wait_for_function(two)
    page.wait_for_function("() => window.studio.pages['what-if'].compare.lanes.length === 2")
    page.evaluate("() => window.studio.share.now()")
    link = page.evaluate("() => location.hash")
    other = start_studio(Workspace.of([]))
    opened(page, other)
    page.goto("about:blank")
    page.goto(f"{other.access.origin}/{link}")
    page.wait_for_selector("body[data-ready]")
    page.wait_for_function(two)
    assert page.get_attribute("#tab-what-if", "aria-selected") == "true"
    page.wait_for_function("() => window.studio.pages['what-if'].compare.lanes.length === 2")


def test_one_goes_from_event_to_event_by_keyboard(page: Page, start_studio: Start) -> None:
    fire(page, start_studio)
    page.wait_for_function("() => window.studio.timeline.lanes.length === 4")
    page.locator("#timeline canvas").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("#status:has-text('Lane Fire')")
    page.keyboard.press("Shift+ArrowRight")
    page.wait_for_selector("#status:has-text('Fire at 2026-01-01T09:20:00Z')")
    page.keyboard.press("Enter")
    page.wait_for_selector("#details .tree")
    page.locator("#tab-timeline").focus()
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("#tab-what-if", "aria-selected") == "true"


def test_labels_of_ones_own_give_precision_and_recall(page: Page, start_studio: Start) -> None:
    fire(page, start_studio)
    page.click("#tab-what-if")
    page.wait_for_selector("#knobs .knob")
    page.click("#own-labels")
    page.fill("#labels", "2026-01-01T09:20:00\n2026-01-01T09:38:00")
    page.click("#sweep")
    page.wait_for_selector("#sweep-chart .u-legend:has-text('recall')")
    recalls = page.evaluate("() => window.studio.pages['what-if'].found.points.map((one) => one.recall)")
    assert max(recalls) == 1
    assert 0.5 in recalls


def test_a_report_is_saved(page: Page, start_studio: Start) -> None:
    fire(page, start_studio)
    with page.expect_download() as saving:
        page.click("#report")
        page.fill("#report-notes", "It was <b>hot</b>.")
        page.click("#report-save")
    text = Path(saving.value.path()).read_text()
    assert "<svg" in text
    assert "<script" not in text
    assert "It was &lt;b&gt;hot&lt;/b&gt;." in text


def test_keyboard_phone_dark_and_labels(page: Page, start_studio: Start) -> None:
    fire(page, start_studio)
    page.locator("#timeline canvas").focus()
    before = page.evaluate("() => window.studio.timeline.span")
    page.keyboard.press("+")
    assert page.evaluate("() => window.studio.timeline.span") < before
    page.keyboard.press("Home")
    assert page.evaluate("() => window.studio.timeline.span") == pytest.approx(before)
    page.wait_for_selector("#timeline canvas[aria-label*='Fire 1']")
    page.click("#theme")
    assert page.get_attribute("html", "data-theme") == "dark"
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    nameless = """() => [...document.querySelectorAll('button, select, input, canvas')]
        .filter((one) => one.offsetParent && !one.closest('.cm-editor'))
        .filter((one) => !(one.textContent.trim() || one.getAttribute('aria-label') || one.labels?.length)).length"""
    assert page.evaluate(nameless) == 0


def test_what_is_saved_stays_with_its_document(page: Page, start_studio: Start, tmp_path: Path) -> None:
    one, two = tmp_path / "one.tesla", tmp_path / "two.tesla"
    one.write_text("define One() from S()")
    two.write_text("define Two() from S()")
    opened(page, start_studio(Workspace.of([one, two])))
    page.select_option("#document", "two.tesla")
    write(page, "define New() from S() // " + "x" * 200_000)  # longer than a call has arguments
    page.wait_for_function("() => window.studio.rules[0]?.name === 'New'")
    page.click("#save")
    page.wait_for_function("() => document.body.textContent.includes('two.tesla is saved')")
    page.select_option("#document", "one.tesla")
    page.select_option("#document", "two.tesla")
    page.wait_for_function("() => window.studio.editor.text.startsWith('define New')")
    page.reload()
    page.wait_for_selector("body[data-ready]")
    page.click("#save")
    page.wait_for_function("() => document.body.textContent.includes('two.tesla is saved')")
    assert one.read_text() == "define One() from S()"
    assert two.read_text().startswith("define New() from S()")


def test_what_data_and_rules_call_things_is_shown_as_text(page: Page, start_studio: Start, tmp_path: Path) -> None:
    evil = "<img src=x onerror=window.taken=1>"
    events = [
        {"type": "Temp", "time": 1_000_000, "value": 45.2, "area": evil},
        {"type": "Smoke", "time": 2_000_000, "area": evil},
        {"type": f"<b>{evil}", "time": 3_000_000, f"'\"><svg onload=window.taken=1>{evil}": f"</script>{evil}"},
        {"type": "Smoke", "time": 4_000_000, "area": f"'\">{evil}"},
    ]
    (tmp_path / "evil.jsonl").write_text("\n".join(map(json.dumps, events)))
    opened(page, start_studio(Workspace.of([], [tmp_path / "evil.jsonl"])))
    write(page, f"rule `{evil}`\n{FIRE.replace('Fire(', f'`{evil}`(')}")
    page.wait_for_selector("#run:not([disabled])")
    page.click("#run")
    page.wait_for_selector("body[data-ran='1']")
    page.wait_for_function("() => document.getElementById('drawing-image').naturalWidth > 0")
    click_lane(page, f"<b>{evil}")
    click_lane(page, evil)
    page.wait_for_selector("#details .tree")
    assert evil in page.inner_text("#details .tree")
    page.evaluate("() => window.studio.whyNot({ rule: window.studio.rules[0].name, row: 3 })")
    page.wait_for_selector("#details .nearest")
    for tab in ("what-if", "belief", "timeline"):
        page.click(f"#tab-{tab}")
    page.click("#report")
    with page.expect_download() as saved:
        page.click("#report-save")
    report = page.context.new_page()
    report.goto(Path(saved.value.path()).rename(tmp_path / "report.html").as_uri())
    assert evil in report.inner_text("body")
    assert [each.evaluate("() => [window.taken, document.images.length]") for each in (page, report)] == [
        [None, 2],
        [None, 0],
    ]


def test_what_is_written_into_the_rules_is_what_was_counted(page: Page, start_studio: Start, tmp_path: Path) -> None:
    lines = [{"type": kind, "time": place * 2000, "k": place % 3} for place in range(12) for kind in ("U", "T")]
    (tmp_path / "some.jsonl").write_text("\n".join(map(json.dumps, lines)))
    opened(page, start_studio(Workspace.of([], [tmp_path / "some.jsonl"])))
    write(page, "define A(k: int) from T(k=$k) and last U(k=$k-0) within 10 ms from T where k = $k")
    page.wait_for_selector("#run:not([disabled])")
    page.click("#run")
    page.click("#tab-what-if")
    page.wait_for_selector("#knobs .knob")
    for place, value in enumerate((-1, 4500)):
        slider = page.locator("#knobs input[type=range]").nth(place)
        turn = "(one, value) => { one.step = 1; one.value = value; one.dispatchEvent(new Event('input')) }"
        slider.evaluate(turn, value)
    page.wait_for_function("() => document.getElementById('what-if-counts').textContent.startsWith('A 6 ')")
    page.click("#apply-knobs")
    written = "define A(k: int) from T(k=$k) and last U(k=$k-(-1)) within 4500 us from T where k = $k"
    assert page.evaluate("() => window.studio.editor.text") == written
    page.click("#run")
    page.wait_for_selector("body[data-ran='6']")
    told = "async (each) => { const { length } = await import('/static/dom.js'); return each.map(length); }"
    lengths = {0: "0 h", 1: "1 us", 1500: "1500 us", 90_000_000: "90 s", 86_400_000_000: "24 h"}
    assert page.evaluate(told, list(lengths)) == list(lengths.values())


def test_what_is_hidden_takes_no_place(page: Page, start_studio: Start) -> None:
    opened(page, start_studio(Workspace.of([])))
    for tab in ("live", "network", "timeline"):
        page.click(f"#tab-{tab}")
        assert page.locator("[hidden]:visible").count() == 0
        assert page.is_visible(f"#page-{tab}")
    page.click("#tab-live")
    assert "Nothing to watch" in page.inner_text("#page-live")
    assert not page.is_visible("#live-start")


def test_a_studio_that_has_ended_is_said_to(page: Page, start_studio: Start) -> None:
    studio = start_studio(Workspace.of([]))
    opened(page, studio)
    studio.stop()
    page.wait_for_function("async () => { try { await fetch('/'); return false; } catch { return true; } }")
    page.select_option("#example", "fire")
    page.wait_for_function(
        "() => document.getElementById('status').textContent.startsWith('the studio does not answer')"
    )


def test_times_on_the_axis_differ(page: Page, start_studio: Start) -> None:
    fire(page, start_studio)
    told = """(span) => { const t = window.studio.timeline; const { start } = t.view; t.show(start, start + span);
        const told = []; const pen = document.createElement("canvas").getContext("2d");
        pen.fillText = (text) => told.push(text); t.drawAxis(pen, 100); return told; }"""
    for span in (100, 3e3, 6e3, 5e6, 6e6, 60e6, 7e9, 86400e6 * 3, 86400e6 * 900):
        times = page.evaluate(told, span)
        assert len(times) > 3
        assert len(set(times)) == len(times), times
