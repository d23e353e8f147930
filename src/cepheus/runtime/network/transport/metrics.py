"""What a node is doing, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cepheus.core.errors import OptionError
from cepheus.core.extras import require
from cepheus.runtime.network.transport.status import status_of

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from cepheus.runtime.network.transport.server import NodeServer


class NodeMetrics:
    """Gives a node's figures when Prometheus asks for them."""

    def __init__(self, server: NodeServer) -> None:
        self._server = server

    def collect(self) -> Iterator[Metric]:
        """All figures as they are now."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        host = self._server.host
        status = status_of(host, self._server.port)
        counts = host.counts
        yield CounterMetricFamily("cepheus_events", "Events published here.", value=status["events"])
        yield CounterMetricFamily("cepheus_messages", "Messages handled.", value=status["messages"])
        yield CounterMetricFamily("cepheus_refused", "Connections and requests refused.", value=status["refused"])
        yield CounterMetricFamily("cepheus_checkpoints", "Snapshots written.", value=counts.checkpoints)
        yield CounterMetricFamily(
            "cepheus_checkpoint_seconds", "Time spent writing snapshots.", value=counts.checkpoint_seconds
        )
        yield GaugeMetricFamily("cepheus_uptime_seconds", "Time since the start.", value=status["seconds"])
        yield GaugeMetricFamily("cepheus_journal_bytes", "Length of the journal.", value=status["journal_bytes"])
        yield GaugeMetricFamily("cepheus_snapshot_bytes", "Length of the snapshot.", value=status["snapshot_bytes"])
        yield GaugeMetricFamily("cepheus_clients", "Sessions of clients.", value=len(status["clients"]))
        connected = GaugeMetricFamily("cepheus_link_connected", "Whether a neighbour is connected.", labels=["link"])
        waiting = GaugeMetricFamily("cepheus_link_waiting", "Messages not acknowledged.", labels=["link"])
        sent = CounterMetricFamily("cepheus_link_sent_bytes", "Bytes sent to a neighbour.", labels=["link"])
        received = CounterMetricFamily("cepheus_link_received_bytes", "Bytes from a neighbour.", labels=["link"])
        for link in status["links"]:
            connected.add_metric([link["name"]], float(link["connected"]))
            waiting.add_metric([link["name"]], link["waiting"])
            sent.add_metric([link["name"]], link["bytes_sent"])
            received.add_metric([link["name"]], link["bytes_received"])
        yield from (connected, waiting, sent, received)
        remembered = GaugeMetricFamily("cepheus_tree_events", "Events remembered for a tree.", labels=["tree"])
        rules = GaugeMetricFamily("cepheus_tree_rules", "Rules and partial rules evaluated here.", labels=["tree"])
        for tree in status["trees"]:
            remembered.add_metric([tree["root"]], tree["remembered"])
            rules.add_metric([tree["root"]], len(tree["rules"]) + len(tree["partial_rules"]))
        yield from (remembered, rules)


@contextmanager
def serve_metrics(server: NodeServer) -> Iterator[None]:
    """Answer Prometheus at the configured address, if there is one, as long as the block lasts."""
    address = server.config.metrics
    if address is None:
        yield
        return
    require("prometheus_client", "'metrics' of a node")
    from prometheus_client import CollectorRegistry, start_http_server

    registry = CollectorRegistry()
    registry.register(NodeMetrics(server))
    try:
        http, thread = start_http_server(address.port, address.host, registry)
    except OSError:
        raise OptionError.of(
            "node-listen", f"cannot listen on {address} for Prometheus", hint="is another process listening there?"
        ) from None
    try:
        yield
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
