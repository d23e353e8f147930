"""All that a processor knows, as bytes and back: checksummed JSON, nothing that runs code.

What follows from the rest (compiled matchers, indexes) is made anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import fields
from itertools import islice
from typing import Any, get_type_hints

from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.restored_rules import check_restored
from cepheus.engine.base.snapshot import pack, restoring, unpack
from cepheus.engine.matching.store import Record
from cepheus.plan.partial import PartialRule
from cepheus.runtime.network.processor.changes import Changes
from cepheus.runtime.network.processor.common import Common
from cepheus.runtime.network.processor.evaluation import Evaluation, State
from cepheus.runtime.network.processor.filtering import Opening, PartialFilter
from cepheus.runtime.network.processor.processor import Processor
from cepheus.runtime.network.processor.programs import Programs
from cepheus.runtime.network.processor.pulling import Pulling, Request
from cepheus.runtime.network.processor.renewal import Renewal
from cepheus.runtime.network.processor.rulebook import Rulebook
from cepheus.runtime.network.processor.sinks import Sinks
from cepheus.runtime.network.processor.sources import Retained, Sources
from cepheus.runtime.network.processor.tree import Tree
from cepheus.runtime.network.processor.trees import Trees
from cepheus.runtime.network.protocol.codec import (
    TEXT,
    columns_from_json,
    columns_to_json,
    decode,
    from_plain,
    to_plain,
)
from cepheus.runtime.network.protocol.interests import Content
from cepheus.runtime.network.protocol.link import LinkEnd
from cepheus.runtime.network.protocol.messages import Ordered
from cepheus.runtime.network.protocol.strategy import Options

_KIND = "network node"
Json = Any

_KEPT: dict[str, tuple[type, tuple[str, ...]]] = {
    "common": (Common, ("now", "epoch")),
    "rulebook": (Rulebook, ("rules", "declared", "edition")),
    "sources": (Sources, ("by_name", "counts")),
    "retained": (Retained, ("awaited", "since", "complete_from")),
    "trees": (Trees, ("leader",)),
    "sinks": (Sinks, ("by_name", "told", "asked")),
    "programs": (Programs, ("rates", "next_choice")),
    "changes": (Changes, ("clients", "waiting", "unsettled", "seen")),
    "renewal": (Renewal, ("election", "rank", "absent", "behind")),
}
"""Of each part of a processor, the plain fields; trees and the records that are retained are written separately."""

_APART = ("evaluation", "pulling")


def snapshot_node(processor: Processor, links: dict[str, LinkEnd]) -> bytes:
    """Return the state of a processor and of its links."""
    processor.sources.apply_ticks()
    header = {
        "name": processor.name,
        "neighbours": list(processor.neighbours),
        "options": to_plain(processor.options),
        "state": {
            part: {name: to_plain(getattr(getattr(processor, part), name)) for name in names}
            for part, (_, names) in _KEPT.items()
        },
        "retained": _records_to_json(processor.retained.records),
        "trees": [_tree_to_json(tree) for tree in processor.trees.by_name.values()],
        "links": [_link_to_json(peer, end) for peer, end in links.items()],
    }
    return pack(_KIND, header)


def restore_node(data: bytes) -> tuple[Processor, dict[str, LinkEnd]]:
    """Return a processor and its links; SnapshotError if this is no node's snapshot."""
    with restoring():
        header, blobs = unpack(_KIND, data)
        form.only_blobs(blobs, ())
        found = _HEADER(header, "$")
        processor = Processor(found["name"], tuple(found["neighbours"]), found["options"])
        for part, values in found["state"].items():
            for name, value in values.items():
                setattr(getattr(processor, part), name, value)
        processor.retained.records = found["retained"]
        _require_sense(processor, found["trees"])
        processor.trees.by_name = {tree.name: tree for tree in found["trees"]}
        return processor, dict(found["links"])


def _require_sense(processor: Processor, trees: list[Tree]) -> None:
    """Refuse rules that make no sense, and trees that do not hang together with the neighbours."""
    hosted = [ordered for tree in trees for ordered in tree.evaluation.hosted()]
    for ordered in (*processor.rules.values(), *hosted):
        form.require(ordered.rule.name, "$.rules", "a rule has no name")
        check_restored([ordered.rule])
    form.require(all(name == each.rule.name for name, each in processor.rules.items()), "$.rules", "a name is wrong")
    form.distinct(form.listing(form.text))([tree.name for tree in trees], "$.trees")
    near = set(processor.neighbours)
    for tree in trees:
        rooted = tree.name == processor.name if tree.father is None else tree.father in near
        form.require(rooted, "$.trees", "a tree hangs from nothing")
        form.require(tree.children.keys() | tree.unanswered <= near, "$.trees", "a child is no neighbour")


def _link_to_json(peer: str, end: LinkEnd) -> Json:
    return [peer, end.sent, end.received, [[number, body.decode(*TEXT)] for number, body in end.log]]


_LINK = form.row(form.text, form.count, form.count, form.listing(form.row(form.count, form.any_text)))


def _link_from_json(data: object, path: str) -> tuple[str, LinkEnd]:
    peer, sent, received, log = _LINK(data, path)
    numbers = [number for number, _ in log]
    form.require(numbers == list(range(sent - len(log) + 1, sent + 1)), path, "messages are missing")
    bodies = [text.encode(*TEXT) for _, text in log]
    for body in bodies:
        decode(body)
    return peer, LinkEnd(sent, received, deque(zip(numbers, bodies, strict=True)))


def _tree_to_json(tree: Tree) -> Json:
    plain = {f.name: to_plain(getattr(tree, f.name)) for f in fields(tree) if f.name not in _APART}
    return plain | {"evaluation": _evaluation_to_json(tree.evaluation), "pulling": _pulling_to_json(tree.pulling)}


def _plain(kind: Any) -> form.Reader[Any]:
    """Read a value of the protocol by its declared type."""
    return lambda data, _path: from_plain(kind, data)


def _part_form(part: type, names: tuple[str, ...]) -> form.Reader[dict[str, Any]]:
    kinds = get_type_hints(part)
    return form.record(**{name: _plain(kinds[name]) for name in names})


_KINDS = get_type_hints(Tree)
_TREE = {each.name: _plain(_KINDS[each.name]) for each in fields(Tree) if each.name not in _APART}


def _tree_from_json(data: object, path: str) -> Tree:
    read = form.record(**_TREE, evaluation=_evaluation_from_json, pulling=_PULLING)
    plain = read(data, path)
    pulling = plain.pop("pulling")
    tree = Tree(**plain)
    tree.pulling.adopt(tree.shared)
    _pulling_from_json(tree.pulling, pulling, path)
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
        "waiting": [[at, number, len(records)] for at, number, records in state.waiting],
        "waiting_records": _records_to_json(record for _, _, records in state.waiting for record in records),
        "arrivals": state.arrivals,
    }


def _evaluation_from_json(data: object, path: str) -> Evaluation:
    found = _EVALUATION(data, path)
    waiting = iter(found["waiting_records"])
    form.require(
        sum(count for _, _, count in found["waiting"]) == len(found["waiting_records"]), path, "events are missing"
    )
    evaluation = Evaluation.from_state(
        State(
            numbers=found["numbers"],
            contents=found["contents"],
            rules=found["rules"],
            leaving=found["leaving"],
            filters=found["filters"],
            leaving_filters=found["leaving_filters"],
            waiting=[(at, n, list(islice(waiting, count))) for at, n, count in found["waiting"]],
            arrivals=found["arrivals"],
        )
    )
    for record in found["records"]:
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


_FILTER = form.record(
    part=_plain(PartialRule),
    since=form.maybe(form.time),
    pull=form.boolean,
    exact=form.boolean,
    openings=_plain(list[Opening]),
    plain=form.record(
        live=form.maybe(form.time),
        count=form.count,
        will_pull=form.boolean,
        stays_pulled=form.boolean,
        until=form.maybe(form.time),
    ),
)


def _filter_from_json(data: object, path: str) -> PartialFilter:
    found = _FILTER(data, path)
    each = PartialFilter(found["part"], found["since"], found["pull"], found["exact"])
    each.openings = found["openings"]
    for name in _PLAIN_FILTER:
        setattr(each, name, found["plain"][name])
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


_RECORDS = form.record(
    events=lambda data, _path: columns_from_json(data),
    source=form.listing(form.count),
    sources=form.listing(form.text),
    counter=form.listing(form.integer),
    sent=form.listing(form.maybe(form.time)),
    depths=form.by_name(form.row(form.count, form.listing(form.event_id))),
    consumed=form.by_name(form.listing(form.text)),
)


def _records_from_json(data: object, path: str) -> list[Record]:
    found = _RECORDS(data, path)
    sources, depths, consumed = found["sources"], found["depths"], found["consumed"]
    records = []
    rows = {str(row) for row in range(len(found["source"]))}
    form.require(depths.keys() | consumed.keys() <= rows, path, "there is no such event")
    places = zip(found["events"], found["source"], found["counter"], found["sent"], strict=True)
    for row, (event, source, counter, sent) in enumerate(places):
        form.require(event.id is not None, path, "an event has no id")
        depth, way = depths.get(str(row), (0, ()))
        record = Record(event, sources[source], counter, depth, tuple(way))
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


_PULLING = form.record(
    count=form.count,
    requests=_plain(list[Request]),
    covered=form.listing(form.listing(form.row(form.time, form.time))),
)


def _pulling_from_json(pulling: Pulling, found: dict[str, Any], path: str) -> None:
    slaves = list(pulling.slaves())
    form.require(len(slaves) == len(found["covered"]), path, "other awakenings are under way than there can be")
    pulling.count = found["count"]
    for request in found["requests"]:
        pulling.restore(request)
    for slave, covered in zip(slaves, found["covered"], strict=True):
        slave.covered = covered


# ---- The whole ---------------------------------------------------------------------------------------------------

_HOSTED = _plain(list[tuple[Ordered, int | None, int | None]])
_EVALUATION = form.record(
    numbers=form.record(
        exact=form.boolean,
        timely=form.boolean,
        done=form.time,
        retained_from=form.time,
        keep_from=form.time,
        horizon=form.time,
        forgotten=form.time,
    ),
    contents=_plain(dict[str, tuple[Content, ...]]),
    rules=_HOSTED,
    leaving=_HOSTED,
    filters=form.listing(_filter_from_json),
    leaving_filters=form.listing(_filter_from_json),
    records=_records_from_json,
    waiting=form.listing(form.row(form.time, form.count, form.count)),
    waiting_records=_records_from_json,
    arrivals=form.count,
)
_HEADER = form.record(
    name=form.text,
    neighbours=form.distinct(form.listing(form.text)),
    options=_plain(Options),
    state=form.record(**{part: _part_form(kind, names) for part, (kind, names) in _KEPT.items()}),
    retained=_records_from_json,
    trees=form.listing(_tree_from_json),
    links=form.listing(_link_from_json),
)
