"""How a node is: its trees, rules, clients and traffic, as JSON and for Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cepheus.core.errors import OptionError
from cepheus.core.extras import require
from cepheus.engine.base.ties import TieCounts
from cepheus.runtime.embedded.rule_changes import rule_text
from cepheus.runtime.network.processor.tree import Tree
from cepheus.runtime.network.protocol.messages import VERSION
from cepheus.runtime.network.transport.host import CLIENT_PREFIX, NodeHost

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from cepheus.runtime.network.transport.server import NodeServer


def status_of(host: NodeHost, port: int) -> dict[str, Any]:
    """What ``cepheus status`` shows of a node; all that is counted, since the node was started."""
    processor = host.node.processor
    return {
        "version": VERSION,
        "name": host.config.name,
        "listen": f"{host.config.listen.host}:{port}",
        "strategy": host.config.strategy.value,
        "leader": processor.leader,
        "epoch": processor.epoch,
        "lost": sorted(processor.absent),
        "seconds": round(time.time() - host.started, 3),
        "rules": [str(name) for name in processor.rules],
        "deployed": {
            str(name): {"composite": ordered.rule.composite.name, "text": rule_text(ordered.rule)}
            for name, ordered in processor.rules.items()
        },
        "types": host.types.known(processor).to_json(),
        "trees": [_tree(tree) for tree in processor.trees.by_name.values()],
        "links": [_link(host, name) for name in host.neighbours],
        "clients": [_client(host, peer) for peer in host.node.links if peer.startswith(CLIENT_PREFIX)],
        "events": host.counts.events_in,
        "messages": host.counts.messages_in,
        "refused": host.counts.refused,
        "ties": TieCounts.not_counted("network").to_dict(),
        "held_up_by": [*host.congestion.origins(time.monotonic())],
        "journal_bytes": host.journal.journal_bytes,
        "snapshot_bytes": host.journal.snapshot_bytes,
    }


def _tree(tree: Tree) -> dict[str, Any]:
    evaluation = tree.evaluation
    return {
        "root": tree.name,
        "father": tree.father,
        "children": sorted(tree.children),
        "version": tree.version,
        "rules": [str(ordered.rule.name) for ordered in evaluation.rules],
        "partial_rules": [asdict(part) for part in tree.written_parts()],
        "remembered": sum(len(column.records) for column in evaluation.store.columns.values()),
        "through": evaluation.done,
    }


def _link(host: NodeHost, name: str) -> dict[str, Any]:
    link = host.link(name)
    waiting = {"waiting": len(link.log), "waiting_bytes": link.waiting}
    return {"name": name, "connected": name in host.connections, **_traffic(host, name), **waiting}


def _client(host: NodeHost, peer: str) -> dict[str, Any]:
    sources, sinks = host.node.processor.attached(peer)
    name = peer.removeprefix(CLIENT_PREFIX).partition(":")[0]
    return {
        "name": name,
        "connected": peer in host.connections,
        "sources": sources,
        "sinks": sinks,
        **_traffic(host, peer),
        "waiting": len(host.link(peer).log),
    }


def _traffic(host: NodeHost, peer: str) -> dict[str, int]:
    _, received, sent = host.counts.by_peer.get(peer, (0, 0, 0))
    connection = host.connections.get(peer)
    if connection is not None:
        received, sent = received + connection.bytes_in, sent + connection.bytes_out
    sent_messages, received_messages = host.messages(peer)
    return {
        "received": received_messages,
        "sent": sent_messages,
        "bytes_received": received,
        "bytes_sent": sent,
    }


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
