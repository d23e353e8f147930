"""``cepheus bench`` from the outside: tables, verdicts, the page of the documentation."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from benchmarks.growth.deadlines import Pending
from benchmarks.growth.footprint import Footprint
from benchmarks.growth.report import footprint_bars, growth_section, scaling_bars, startup_bars
from benchmarks.growth.scaling import Deployment, RuleScaling, Scaling
from benchmarks.growth.startup import Startup
from benchmarks.measuring.machine import Machine
from benchmarks.measuring.timing import Spread, Timing
from benchmarks.peers.compare import Baseline, PeerRow
from benchmarks.peers.report import peer_bars, peer_section
from benchmarks.reports.page import write_page
from benchmarks.reports.pictures import draw_pictures
from benchmarks.reports.section import Bar, Part, Section, Table
from benchmarks.workloads.questions import Requirement, Unit
from benchmarks.workloads.streams import Coding
from cepheus.cli import app
from cepheus.core.errors import OptionError

MACHINE = Machine("Some processor", 2, 8.0, "Linux x86_64", (("Python", "3.11.9"),))
SCALING = Scaling(
    (
        RuleScaling("type", 1_000, 10_000, 1.0, 1.4, 3.0, 3.0),
        RuleScaling("value", 1_000, 10_000, 1.0, 1.6, 3.0, 3.0),
    ),
    Deployment(1_000, Timing(0.1, 0.1), Timing(0.5, 0.5)),
    Spread(mean=20.0, p50=10.0, p99=120.0, worst=500.0),
    3.1,
    (),
)
FOOTPRINT = Footprint(((1_000_000, 100), (2_000_000, 120)), 5, 1_000, 60.0, 6.7)
STARTUP = Startup(1_000, 2.5, 0.1, 1.0, 1.0, 61.0, 80.0)
PENDING = Pending(1_000_000, 4e6, 8e6, 0.5, 1.0)
PEER = PeerRow(
    "F-last",
    Coding.DICTIONARY,
    1_000_000,
    99_937,
    Timing(0.05, 0.04),
    Timing(0.03, 0.02),
    (Baseline("polars", "best", "an as-of join by area", Timing(0.03, 0.03)),),
    Requirement(0.7, Unit.RATIO),
)


def bench(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["bench", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_one_workload_on_the_terminal() -> None:
    printed = bench("peers", "--quick", "--repeat", "1", "--workload", "F-not")
    assert "The same questions to DuckDB and Polars" in printed
    assert "not exists (natural)" in printed
    row = next(line for line in printed.splitlines() if line.startswith("│ F-not    │ dictionary │  4,000"))
    assert "│              656 │" in row
    assert "not judged" in row
    assert "missed" not in printed


def test_a_part_is_written_into_the_page_with_its_pictures(tmp_path: Path) -> None:
    (tmp_path / "benchmarks.md").write_text("# Old\n\n<!-- part: peers -->\n## Peers of old\n", encoding="utf-8")
    bench("figure7", "--quick", "--repeat", "1", "--write-docs", "--docs", str(tmp_path))
    page = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert page.startswith("# Benchmarks\n")
    assert page.index("## Peers of old") < page.index("## Cost against window size (figure 7)")
    assert "*Measured with `cepheus bench figure7 --repeat 1 --quick --write-docs` on " in page
    assert "![Time per event in a batch against events per state](images/bench-figure7.svg)" in page
    assert "| From 1333 events a state on, a GPU is faster than the CPU. | not measured |" in page
    root = ElementTree.parse(tmp_path / "images" / "bench-figure7.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["figure6", "--workload", "F-last"], "--workload goes with peers"),
        (["peers", "--workload", "F-last", "--write-docs"], "the documentation shows all workloads"),
        (["peers", "--write-docs", "--docs", "nowhere"], "there is no folder 'nowhere'"),
        (["peers", "--quick", "--workload", "G-last"], "there is no workload 'G-last'"),
    ],
)
def test_what_does_not_fit_together(arguments: list[str], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        bench(*arguments)


def test_every_requirement_is_judged() -> None:
    bars = [
        *peer_bars([PEER]),
        *scaling_bars(SCALING),
        *footprint_bars(FOOTPRINT),
        *startup_bars(STARTUP),
    ]
    assert [(bar.measured, bar.verdict) for bar in bars] == [
        ("0.75x", "met"),
        ("1.40x", "met"),
        ("1.60x", "missed"),
        ("500 ms", "met"),
        ("10.0 us", "met"),
        ("120.0 us", "missed"),
        ("+20.0%", "missed"),
        ("60", "met"),
        ("2.5 s", "met"),
        ("61.0 s", "missed"),
        ("80.0 s", "met"),
    ]


def test_the_peer_table_and_its_verdict() -> None:
    section = peer_section([PEER], judged=True)
    assert section.tables[0].rows == (
        ("F-last", "dictionary", "1,000,000", "99,937", "25.0M", "50.0M", "polars", "33.3M", "0.75", "0.7x", "met"),
    )
    unjudged = peer_section([PEER], judged=False)
    assert unjudged.tables[0].rows[0][-1] == "not judged"


def test_a_picture_of_each_part(tmp_path: Path) -> None:
    peers, growth = peer_section([PEER], judged=True), growth_section(SCALING, FOOTPRINT, STARTUP, PENDING, judged=True)
    assert [path.name for path in draw_pictures(peers, tmp_path)] == ["bench-peers.svg"]
    assert [path.name for path in draw_pictures(growth, tmp_path)] == ["bench-memory.svg"]
    first = (tmp_path / "bench-peers.svg").read_bytes()
    draw_pictures(peers, tmp_path)
    assert (tmp_path / "bench-peers.svg").read_bytes() == first


def test_growth_in_tables() -> None:
    section = growth_section(SCALING, FOOTPRINT, STARTUP, PENDING, judged=True)
    rules, steps, memory, threads = section.tables
    assert rules.rows[1] == ("type", "10,000", "1.4", "3.00")
    assert ("fresh process that has to compile the kernel: engine and first event", "61.0 s") in steps.rows
    assert memory.rows[-1] == ("per stored event, of 1,000", "60 bytes")
    assert threads.title == "Threads"


def test_a_section_takes_the_place_of_its_forerunner(tmp_path: Path) -> None:
    def section(part: Part, cell: str) -> Section:
        return Section(part, part.value, ("Text.",), (Table("T", ("<a",), ((cell,),)),), (Bar("b", "r", cell, True),))

    write_page(tmp_path, [section(Part.SCALING, "one"), section(Part.PEERS, "two")], "cepheus bench", MACHINE)
    path = write_page(tmp_path, [section(Part.SCALING, "three")], "cepheus bench scaling", MACHINE)
    page = path.read_text(encoding="utf-8")
    assert "| one |" not in page
    assert page.index("| two |") < page.index("| three |")
    assert page.count("# Benchmarks\n") == 1
    assert (
        "*Measured with `cepheus bench scaling` on Some processor, 2 cores, 8 GiB, Linux x86_64; Python 3.11.9.*"
        in page
    )
    with pytest.raises(OptionError, match="there is no folder"):
        write_page(tmp_path / "none", [], "", MACHINE)
