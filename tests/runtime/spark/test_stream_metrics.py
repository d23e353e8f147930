"""The figures of a stream, as Prometheus reads them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast
from urllib.request import urlopen

from cepheus.core.time import SECOND
from cepheus.engine.base.ties import TieCounts
from cepheus.runtime.spark.micro_batches import BatchProgress, DetectionQuery, Progress, told
from cepheus.runtime.spark.stream_metrics import StreamFigures, serve_metrics

DASHBOARD = Path(__file__).parents[3] / "examples" / "monitoring" / "cepheus-streams.json"
DONE = BatchProgress(7, 100, 2, {"Fire": 3}, 4096, 50 * SECOND, 0.25, TieCounts(5, 1))


def test_figures_are_served_and_add_up() -> None:
    query = DetectionQuery(cast("Any", None), Progress(), lambda: None)
    port = serve_metrics(query, name="fires")
    query.progress.add(DONE)
    query.progress.add(DONE)
    with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        text = answer.read().decode()
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert lines['cepheus_stream_events_total{query="fires"}'] == "200.0"
    assert lines['cepheus_stream_late_total{query="fires"}'] == "4.0"
    assert lines['cepheus_stream_composites_total{query="fires",type="Fire"}'] == "6.0"
    assert lines['cepheus_stream_ties_decided_total{query="fires"}'] == "10.0"
    assert lines['cepheus_stream_state_bytes{query="fires"}'] == "4096.0"
    assert float(lines['cepheus_stream_watermark_lag_seconds{query="fires"}']) > 10**9


def test_the_lag_of_the_watermark() -> None:
    figures = StreamFigures("fires", clock=lambda: 60.5)
    assert figures.lag is None
    figures.add(DONE)
    assert figures.lag == 10.5


def test_a_line_says_what_a_micro_batch_did() -> None:
    assert told("Fire", DONE) == "Fire: micro-batch 7, 100 events, 2 late, 3 Fire, 0.25 s"


def test_the_dashboard_shows_figures_that_are_served() -> None:
    figures = StreamFigures("fires")
    figures.add(DONE)
    names = {sample.name for family in figures.collect() for sample in family.samples}
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    asked = {name for panel in dashboard["panels"] for name in re.findall(r"cepheus_\w+", panel["targets"][0]["expr"])}
    assert asked == names
