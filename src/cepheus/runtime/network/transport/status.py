"""How a node is: its trees, rules, clients and traffic, as JSON."""

from __future__ import annotations

import time
from typing import Any

from cepheus.engine.base.ties import TieCounts
from cepheus.runtime.network.processor.tree import Tree
from cepheus.runtime.network.protocol.messages import VERSION
from cepheus.runtime.network.transport.host import CLIENT_PREFIX, NodeHost


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
        "partial_rules": [each.part.name for each in evaluation.filters.values()],
        "waiting": [each.part.name for each in evaluation.filters.values() if each.pull],
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
