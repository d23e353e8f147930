"""What operators watch: the figures of a stream that ``write_stream`` writes, for Prometheus.

| figure | what it is |
| --- | --- |
| ``cepheus_stream_events_total`` | events that some rule can use |
| ``cepheus_stream_late_total`` | events that came after the watermark had passed them |
| ``cepheus_stream_composites_total{type}`` | composite events, by type |
| ``cepheus_stream_ties_decided_total`` | choices that the order of simultaneous events decided |
| ``cepheus_stream_batches_total``, ``cepheus_stream_batch_seconds`` | micro-batches, and how long the last one took |
| ``cepheus_stream_state_bytes`` | the state of all shards |
| ``cepheus_stream_watermark_lag_seconds`` | how far the watermark is behind the clock |
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from cepheus.core.errors import OptionError
from cepheus.core.extras import require
from cepheus.core.time import SECOND
from cepheus.runtime.spark.micro_batches import BatchProgress, DetectionQuery

if TYPE_CHECKING:
    from prometheus_client.core import Metric


@dataclass(slots=True, eq=False)
class StreamFigures:
    """Counts over all micro-batches since the query was started here; ``clock`` gives seconds since the epoch."""

    query: str
    clock: Callable[[], float] = time.time
    events: int = 0
    late: int = 0
    ties: int = 0
    batches: int = 0
    composites: dict[str, int] = field(default_factory=dict)
    last: BatchProgress | None = None
    _lock: Lock = field(default_factory=Lock)

    def add(self, done: BatchProgress) -> None:
        """Take in a micro-batch."""
        with self._lock:
            self.events += done.events
            self.late += done.late
            self.ties += done.ties.decided or 0
            self.batches += 1
            for name, count in done.composites.items():
                self.composites[name] = self.composites.get(name, 0) + count
            self.last = done

    @property
    def lag(self) -> float | None:
        """Seconds that the watermark is behind the clock; None before there is one."""
        if self.last is None or self.last.watermark <= 0:
            return None
        return self.clock() - self.last.watermark / SECOND

    def collect(self) -> Iterator[Metric]:
        """The figures as Prometheus takes them."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        def counted(name: str, words: str, value: int) -> Metric:
            family = CounterMetricFamily(f"cepheus_stream_{name}", words, labels=["query"])
            family.add_metric([self.query], value)
            return family

        def measured(name: str, words: str, value: float) -> Metric:
            family = GaugeMetricFamily(f"cepheus_stream_{name}", words, labels=["query"])
            family.add_metric([self.query], value)
            return family

        with self._lock:
            yield counted("events", "Events that some rule can use.", self.events)
            yield counted("late", "Events that came after the watermark had passed them.", self.late)
            yield counted("ties_decided", "Choices that the order of simultaneous events decided.", self.ties)
            yield counted("batches", "Micro-batches.", self.batches)
            made = CounterMetricFamily("cepheus_stream_composites", "Composite events.", labels=["query", "type"])
            for name, count in self.composites.items():
                made.add_metric([self.query, name], count)
            yield made
            if self.last is not None:
                yield measured("batch_seconds", "How long the last micro-batch took.", self.last.seconds)
                yield measured("state_bytes", "The state of all shards.", self.last.state_bytes)
            if self.lag is not None:
                yield measured("watermark_lag_seconds", "How far the watermark is behind the clock.", self.lag)


def serve_metrics(query: DetectionQuery, port: int = 0, *, host: str = "127.0.0.1", name: str = "cepheus") -> int:
    """Serve the figures of a stream over HTTP as Prometheus reads them, while this process lives; gives the port.

    Port 0 takes a free one. ``name`` is what the figures call the query. Counting begins now.
    """
    require("prometheus_client", "metrics of a stream")
    from prometheus_client import CollectorRegistry, start_http_server

    figures = StreamFigures(name)
    registry = CollectorRegistry()
    registry.register(figures)
    query.progress.listeners.append(figures.add)
    try:
        server, _ = start_http_server(port, host, registry)
    except OSError as error:
        message = f"metrics cannot be served at {host}:{port}: {error.strerror or error}"
        raise OptionError.of("metrics", message, hint="name another port, or 0 for a free one") from None
    return int(server.server_port)
