"""All that a processor knows, as bytes and back: checksummed JSON, nothing that runs code.

What follows from the rest (compiled matchers, indexes) is made anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import fields
from itertools import islice
from typing import Any, get_type_hints

from cepheus.engine.snapshot import pack, unpack
from cepheus.plan.partial import PartialRule
from cepheus.runtime.network.codec import TEXT, from_plain, to_plain
from cepheus.runtime.network.contents import Content
from cepheus.runtime.network.evaluation import Evaluation, State
from cepheus.runtime.network.event_codec import columns_from_json, columns_to_json
from cepheus.runtime.network.filtering import Opening, PartialFilter
from cepheus.runtime.network.link import LinkEnd
from cepheus.runtime.network.messages import Ordered
from cepheus.runtime.network.processor import Processor
from cepheus.runtime.network.pulling import Pulling, Request
from cepheus.runtime.network.store import Record
from cepheus.runtime.network.strategy import Options
from cepheus.runtime.network.tree import Tree

_KIND = "network node"
Json = Any

_KEPT: dict[str, tuple[str, ...]] = {
    "common": ("now", "epoch"),
    "rulebook": ("rules", "declared", "edition"),
    "sources": ("by_name", "counts"),
    "retained": ("awaited", "since", "complete_from"),
    "trees": ("leader",),
    "sinks": ("by_name", "told"),
    "programs": ("rates", "next_choice"),
    "changes": ("clients", "waiting", "unsettled", "seen"),
    "renewal": ("election", "rank", "absent", "behind"),
}
"""Of each part of a processor, the plain fields; trees and the records that are retained are written separately."""

_APART = ("evaluation", "pulling")


def snapshot_node(processor: Processor, links: dict[str, LinkEnd]) -> bytes:
    """Give the state of a processor and of its links."""
    processor.sources.apply_ticks()
    header = {
        "name": processor.name,
        "neighbours": list(processor.neighbours),
        "options": to_plain(processor.options),
        "state": {
            part: {name: to_plain(getattr(getattr(processor, part), name)) for name in names}
            for part, names in _KEPT.items()
        },
        "retained": _records_to_json(processor.retained.records),
        "trees": [_tree_to_json(tree) for tree in processor.trees.by_name.values()],
        "links": [_link_to_json(peer, end) for peer, end in links.items()],
    }
    return pack(_KIND, header)


def restore_node(data: bytes) -> tuple[Processor, dict[str, LinkEnd]]:
    """Give back a processor and its links."""
    header, _ = unpack(_KIND, data)
    options = from_plain(Options, header["options"])
    processor = Processor(header["name"], tuple(header["neighbours"]), options)
    for part, names in _KEPT.items():
        owner = getattr(processor, part)
        kinds = get_type_hints(type(owner))
        for name in names:
            setattr(owner, name, from_plain(kinds[name], header["state"][part][name]))
    processor.retained.records = _records_from_json(header["retained"])
    for record in header["trees"]:
        tree = _tree_from_json(record)
        processor.trees.by_name[tree.name] = tree
    return processor, dict(map(_link_from_json, header["links"]))


def _link_to_json(peer: str, end: LinkEnd) -> Json:
    return [peer, end.sent, end.received, [[number, body.decode(*TEXT)] for number, body in end.log]]


def _link_from_json(data: Json) -> tuple[str, LinkEnd]:
    peer, sent, received, log = data
    return peer, LinkEnd(sent, received, deque((number, text.encode(*TEXT)) for number, text in log))


def _tree_to_json(tree: Tree) -> Json:
    plain = {f.name: to_plain(getattr(tree, f.name)) for f in fields(tree) if f.name not in _APART}
    return plain | {"evaluation": _evaluation_to_json(tree.evaluation), "pulling": _pulling_to_json(tree.pulling)}


def _tree_from_json(record: Json) -> Tree:
    kinds = get_type_hints(Tree)
    plain = {name: from_plain(kinds[name], value) for name, value in record.items() if name not in _APART}
    tree = Tree(evaluation=_evaluation_from_json(record["evaluation"]), **plain)
    tree.pulling.adopt(tree.shared)
    _pulling_from_json(tree.pulling, record["pulling"])
    return tree


# ---- Evaluation --------------------------------------------------------------------------------------------------


def _evaluation_to_json(evaluation: Evaluation) -> Json:
    state = evaluation.state()
    return {
        "numbers": state.numbers,
        "contents": to_plain(state.contents),
        "rules": to_plain(state.rules),
        "leaving": to_plain(state.leaving),
        "filters": [_filter_to_json(each) for each in state.filters],
        "leaving_filters": [_filter_to_json(each) for each in state.leaving_filters],
        "records": _records_to_json(evaluation.store),
        "pending": [[at, number, len(records)] for at, number, records in state.pending],
        "pending_records": _records_to_json(record for _, _, records in state.pending for record in records),
    }


def _evaluation_from_json(data: Json) -> Evaluation:
    rules = list[tuple[Ordered, int | None, int | None]]
    pending = iter(_records_from_json(data["pending_records"]))
    evaluation = Evaluation.from_state(
        State(
            numbers=data["numbers"],
            contents=from_plain(dict[str, tuple[Content, ...]], data["contents"]),
            rules=from_plain(rules, data["rules"]),
            leaving=from_plain(rules, data["leaving"]),
            filters=[_filter_from_json(each) for each in data["filters"]],
            leaving_filters=[_filter_from_json(each) for each in data["leaving_filters"]],
            pending=[(at, n, list(islice(pending, count))) for at, n, count in data["pending"]],
        )
    )
    for record in _records_from_json(data["records"]):
        evaluation.store.insert(record)
    return evaluation


_PLAIN_FILTER = ("live", "count", "will_pull", "stays_pulled", "until")


def _filter_to_json(each: PartialFilter) -> Json:
    return {
        "part": to_plain(each.part),
        "since": each.since,
        "pull": each.pull,
        "exact": each.exact,
        "openings": to_plain(each.openings),
        "plain": {name: getattr(each, name) for name in _PLAIN_FILTER},
    }


def _filter_from_json(data: Json) -> PartialFilter:
    each = PartialFilter(from_plain(PartialRule, data["part"]), data["since"], data["pull"], data["exact"])
    each.openings = from_plain(list[Opening], data["openings"])
    for name in _PLAIN_FILTER:
        setattr(each, name, data["plain"][name])
    return each


def _records_to_json(records: Iterable[Record]) -> Json:
    """Write events in columns, as there may be very many."""
    found = list(records)
    sources: dict[str, int] = {}
    return {
        "events": columns_to_json(record.event for record in found),
        "source": [sources.setdefault(record.source, len(sources)) for record in found],
        "sources": list(sources),
        "counter": [record.counter for record in found],
        "sent": [record.sent for record in found],
        "depths": {str(row): [r.key[3], list(r.key[4])] for row, r in enumerate(found) if r.key[3] or r.key[4]},
        "consumed": {str(row): sorted(r.consumed) for row, r in enumerate(found) if r.consumed is not None},
    }


def _records_from_json(data: Json) -> list[Record]:
    sources, depths, consumed = data["sources"], data["depths"], data["consumed"]
    records = []
    places = zip(columns_from_json(data["events"]), data["source"], data["counter"], data["sent"], strict=True)
    for row, (event, source, counter, sent) in enumerate(places):
        depth, path = depths.get(str(row), (0, ()))
        record = Record(event, sources[source], counter, depth, tuple(path))
        record.sent = sent
        record.consumed = set(consumed[str(row)]) if str(row) in consumed else None
        records.append(record)
    return records


# ---- Awakenings --------------------------------------------------------------------------------------------------


def _pulling_to_json(pulling: Pulling) -> Json:
    return {
        "count": pulling.count,
        "requests": to_plain(list(pulling.requests.values())),
        "covered": [slave.covered for slave in pulling.slaves()],
    }


def _pulling_from_json(pulling: Pulling, data: Json) -> None:
    pulling.count = data["count"]
    for request in _requests(data["requests"]):
        pulling.requests[request.number] = request
        for number in sorted(request.waiting):
            pulling.by_awakening.setdefault(number, []).append(request)
    for slave, covered in zip(pulling.slaves(), data["covered"], strict=True):
        slave.covered = [(first, last) for first, last in covered]


def _requests(data: Json) -> Iterator[Request]:
    requests: list[Request] = from_plain(list[Request], data)
    yield from requests
