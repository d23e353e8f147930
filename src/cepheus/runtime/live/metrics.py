"""The metrics of a live run, as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cepheus.core.extras import require
from cepheus.runtime.live.counts import LiveCounts, Spread

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_MICROSECONDS = 1e6


def metrics_page(counts: LiveCounts) -> tuple[bytes, str]:
    """The page of metrics and its content type."""
    require("prometheus_client", "the metrics of a live run")
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

    registry = CollectorRegistry()
    registry.register(_Collector(counts))
    return generate_latest(registry), CONTENT_TYPE_LATEST


class _Collector:
    def __init__(self, counts: LiveCounts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        """Everything that is counted, under its name."""
        counts = self._counts
        yield from self._links()
        yield _counter("composites", "composite events that were made", ["type"], dict(counts.composites))
        yield _counter("late_events", "events that came later than the lateness allows", [], {(): counts.late})
        yield _histogram("latency_seconds", "from the receipt of an event to its answer at the sinks", counts.latency)
        yield _histogram("save_seconds", "what it took to save the state", counts.save_seconds)
        yield _gauge("state_bytes", "size of the state that was saved last", {(): counts.state_bytes})
        yield _gauge("saved_timestamp_seconds", "when the state was saved last", {(): counts.saved_at})
        yield _gauge("waiting_messages", "messages that were read and not yet processed", {(): counts.waiting})
        if counts.event_time is not None:
            behind = counts.event_time / _MICROSECONDS
            yield _gauge("event_timestamp_seconds", "the latest time of any event", {(): behind})

    def _links(self) -> Iterator[Metric]:
        links = self._counts.links.items()
        sources = {name: link for name, link in links if link.kind == "source"}
        sinks = {name: link for name, link in links if link.kind != "source"}
        yield _counter("events", "messages taken from sources", ["source"], {n: k.passed for n, k in sources.items()})
        bad = {name: link.bad for name, link in sources.items()}
        yield _counter("bad_events", "messages and events that were refused", ["source"], bad)
        yield _counter("written", "composite events given to sinks", ["sink"], {n: k.passed for n, k in sinks.items()})
        connected = {(link.kind, name): float(link.connected) for name, link in links}
        yield _gauge("connected", "whether there is a connection", connected, ["kind", "name"])
        again = {(link.kind, name): link.reconnects for name, link in links}
        yield _counter("reconnects", "connections that were lost", ["kind", "name"], again)


def _labels(key: Any) -> list[str]:
    return [key] if isinstance(key, str) else list(key)


def _counter(name: str, words: str, labels: list[str], values: dict[Any, int]) -> Metric:
    from prometheus_client.core import CounterMetricFamily

    family = CounterMetricFamily(f"cepheus_live_{name}", words, labels=labels)
    for key, value in values.items():
        family.add_metric(_labels(key), value)
    return family


def _gauge(name: str, words: str, values: dict[Any, float], labels: list[str] | None = None) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(f"cepheus_live_{name}", words, labels=labels or [])
    for key, value in values.items():
        family.add_metric(_labels(key), value)
    return family


def _histogram(name: str, words: str, spread: Spread) -> Metric:
    from prometheus_client.core import HistogramMetricFamily

    family = HistogramMetricFamily(f"cepheus_live_{name}", words)
    seen = 0
    buckets: list[tuple[str, float]] = []
    for bound, count in zip([*map(str, spread.bounds), "+Inf"], spread.classes, strict=True):
        seen += count
        buckets.append((bound, seen))
    family.add_metric([], buckets, spread.total)
    return family
