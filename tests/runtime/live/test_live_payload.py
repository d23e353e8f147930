"""Payloads of all formats become the same events; many at once as one by one."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fastavro
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from hypothesis import given
from hypothesis import strategies as st
from worlds_live import essence, events, expected, lines_of, live, payloads, run

from cepheus.core.errors import OptionError
from cepheus.core.options import OnBadEvent, RunOptions
from cepheus.formats.problems import BadEvents
from cepheus.formats.rows import NumberedRows
from cepheus.runtime.embedded.session import Session
from cepheus.runtime.live.contract import Messages
from cepheus.runtime.live.payload import MOST_IN_ONE, Payload
from cepheus.runtime.live.rules_at_work import catalog_of
from cepheus.runtime.live.sources.scripted import END, Scripted, Steps

EVENTS = events(80)
ANSWER = essence(expected(EVENTS))
RULE = """
define Pair(k: string, n: int, x: double, b: bool)
from B(k = $k) and each A(k = $k, n > 0, x < 100, b = true) within 1 min from B
where k = B.k, n = A.n, x = A.x, b = A.b
"""
OPTIONS = RunOptions.of(engine="reference", time_unit="s", threads=1)


def decoded(messages: list[bytes], fewest: int) -> tuple[list[dict[str, Any]], list[str]]:
    """What a session finds in messages that are decoded together, from so many on, and what is wrong with others."""
    catalog = catalog_of(RULE, OPTIONS)
    decoder = Payload().build(catalog.expected, OPTIONS)
    session = Session(catalog, OPTIONS)
    heard: list[dict[str, Any]] = []
    session.tap(lambda fed, _made, _until: heard.extend(event.to_dict() for event in fed.to_events()))
    wrong: list[str] = []
    decoder.fewest = fewest
    for first in (0, 1):  # the first teaches what times and ids are like
        batch = Messages(0, range(first * 1000, first * 1000 + len(messages)), messages)
        found = decoder.decode(batch)
        bad = BadEvents(OnBadEvent.SKIP, keep=None)
        heard.clear()
        session.feed(NumberedRows(found.rows, found.numbers, bad))
        wrong += [each.message for each in found.faults.values()]
        wrong += [each.message.partition(": ")[2] for each in bad.diagnostics]
    return heard, wrong


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=5), st.just([1]),
    st.sampled_from(["2026-01-31T10:00:00Z", "7", "07", 5, 5.0, 1e300]),
)  # fmt: skip
RECORDS = st.fixed_dictionaries(
    {"type": st.sampled_from(["A", "B"]), "time": st.just(1_800_000_000)},
    optional=dict.fromkeys(("k", "n", "x", "b", "id", "other", "probability"), VALUES),
)
USUAL = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["A", "B"]),
        "time": st.just(1_800_000_000),
        "k": st.text(max_size=3),
        "n": st.integers(-5, 5),
        "x": st.one_of(st.integers(-5, 5), st.floats(-1e3, 1e3)),
        "b": st.booleans(),
    },
    optional={"id": st.integers(0, 9), "other": VALUES},
)


@given(st.one_of(st.lists(USUAL, min_size=1, max_size=4), st.lists(RECORDS, min_size=1, max_size=4)))
def test_decoding_together_is_decoding_one_by_one(records: list[dict[str, Any]]) -> None:
    messages = [json.dumps(record).encode() for record in records]
    assert decoded(messages, 1) == decoded(messages, 1 << 60)


@given(st.lists(st.sampled_from([
    b'{"type": "A", "time": 1800000000, "n": 1, "n": 2}', b'{"type": "A", "time": 1800000000}{}', b"", b"null", b"{",
    b'{"type": "A", "time": 1800000000, "x": NaN}', b'{"type": "A",\n"time": 1800000000}', b"\xff", b'{"k": "\xff"}',
    b'{"type": "B", "time": 1800000000, "k": "\xc3"}', b'{"type": "B", "time": 1800000000, "k": "a"}',
]), min_size=1, max_size=4))  # fmt: skip
def test_broken_payloads_are_found_in_either_way(messages: list[bytes]) -> None:
    assert decoded(messages, 1) == decoded(messages, 1 << 60)


def test_fields_are_found_where_they_are_said_to_be(tmp_path: Path) -> None:
    nested = [
        json.dumps({"meta": {"ts": e["time"], "what": [e["type"]]}, "r": {"where": e["area"], "v": e.get("value")}})
        for e in EVENTS
    ]
    fields = {"type": "meta.what.0", "time": "meta.ts", "area": "r.where", "value": "r.v"}
    steps: Steps = (*(text.encode() for text in nested), END)
    run(live(tmp_path, Scripted(steps, together=100), payload=Payload(fields=fields)))
    assert essence(lines_of(tmp_path / "out.jsonl")) == ANSWER


def test_a_message_may_hold_many_events(tmp_path: Path) -> None:
    together = [
        json.dumps({"plant": "p", "list": [{"t": e["time"], **{k: e[k] for k in e if k != "time"}} for e in part]})
        for part in (EVENTS[:33], EVENTS[33:60], EVENTS[60:])
    ]
    payload = Payload(each="list", fields={"time": "t", "type": "type", "area": "area", "value": "value", "p": "plant"})
    run(live(tmp_path, Scripted((*(text.encode() for text in together), END)), payload=payload))
    found = lines_of(tmp_path / "out.jsonl")
    assert essence(found) == ANSWER
    assert {fire["from"][0] // MOST_IN_ONE for fire in found} == {0, 1, 2}

    lines = (b"\n".join(payloads(EVENTS[:50])), b"\n".join(payloads(EVENTS[50:])))
    run(live(tmp_path / "lines", Scripted((*lines, END)), payload=Payload(lines=True)))
    assert essence(lines_of(tmp_path / "lines" / "out.jsonl")) == ANSWER


def test_flat_fields_have_other_names_and_all_are_of_one_type(tmp_path: Path) -> None:
    temps = [event for event in EVENTS if event["type"] == "Temp"]
    given_temps = [json.dumps({"type": "x", "ts": e["time"], "wo": e["area"], "v": e["value"]}).encode() for e in temps]
    rules = "define Hot(area: string, value: double) from Temp(value > 45) where area = Temp.area, value = Temp.value"
    payload = Payload(type="Temp", fields={"time": "ts", "area": "wo", "value": "v"})
    steps: Steps = (*given_temps * 3, END)
    ordered = RunOptions.of(engine="reference", time_unit="s", lateness="1 h", threads=1)
    run(live(tmp_path, Scripted(steps, together=70), payload=payload, rules=rules, options=ordered))
    assert essence(lines_of(tmp_path / "out.jsonl")) == essence(
        expected(sorted(temps * 3, key=lambda e: e["time"]), rules)
    )


AVRO = {
    "type": "record",
    "name": "Reading",
    "fields": [
        {"name": "type", "type": "string"},
        {"name": "time", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "area", "type": "string"},
        {"name": "value", "type": ["null", "double"]},
    ],
}


@pytest.mark.parametrize("framing", ["none", "confluent"])
def test_avro_payloads(tmp_path: Path, framing: str) -> None:
    schema = tmp_path / "reading.avsc"
    schema.write_text(json.dumps(AVRO))
    steps: list[bytes] = []
    for event in EVENTS:
        stream = io.BytesIO(b"" if framing == "none" else b"\0\0\0\0\7")
        stream.seek(0, io.SEEK_END)
        moment = datetime.fromtimestamp(event["time"], UTC)
        fastavro.schemaless_writer(stream, AVRO, {**event, "time": moment, "value": event.get("value")})
        steps.append(stream.getvalue())
    payload = Payload("avro", schema=schema, framing=framing)
    counts = run(live(tmp_path, Scripted((*steps[:40], b"\1", *steps[40:], END), together=9), payload=payload))
    assert essence(lines_of(tmp_path / "out.jsonl")) == ANSWER
    assert counts.links["in"].bad == 1


def test_protobuf_payloads(tmp_path: Path) -> None:
    field = descriptor_pb2.FieldDescriptorProto
    own = descriptor_pb2.FileDescriptorProto(
        name="plant.proto", package="plant", syntax="proto3", dependency=["google/protobuf/timestamp.proto"]
    )
    message = own.message_type.add(name="Reading")
    message.oneof_decl.add(name="_value")
    message.field.add(name="type", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    message.field.add(
        name="time",
        number=2,
        type=field.TYPE_MESSAGE,
        label=field.LABEL_OPTIONAL,
        type_name=".google.protobuf.Timestamp",
    )
    message.field.add(name="area", number=3, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    message.field.add(
        name="value", number=4, type=field.TYPE_DOUBLE, label=field.LABEL_OPTIONAL, oneof_index=0, proto3_optional=True
    )
    stamps = descriptor_pb2.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(stamps)
    files = descriptor_pb2.FileDescriptorSet(file=[stamps, own])
    descriptor = tmp_path / "plant.desc"
    descriptor.write_bytes(files.SerializeToString())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    kind: Any = message_factory.GetMessageClass(pool.FindMessageTypeByName("plant.Reading"))
    steps = []
    for event in EVENTS:
        made = kind(**{**event, "time": None})
        made.time.FromSeconds(event["time"])
        steps.append(made.SerializeToString())
    payload = Payload("protobuf", descriptor=descriptor, message="plant.Reading")
    counts = run(live(tmp_path, Scripted((*steps[:40], b"\xff", *steps[40:], END), together=9), payload=payload))
    assert essence(lines_of(tmp_path / "out.jsonl")) == ANSWER
    assert counts.links["in"].bad == 1
    with pytest.raises(OptionError, match="no message"):
        run(live(tmp_path / "x", Scripted((END,)), payload=Payload("protobuf", descriptor=descriptor, message="R")))
