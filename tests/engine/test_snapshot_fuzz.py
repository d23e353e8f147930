"""Snapshots that somebody has tampered with, their checksums put right: refused, or an engine that goes on."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest

sys.path.append(str(Path(__file__).parent))

from snapshot_fuzz import SUBJECTS, attempt, subject
from snapshot_mutations import Opened, mutated

from cepheus.core.errors import SnapshotError
from cepheus.engine.base.snapshot import pack, unpack


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_changed_snapshot_is_refused_or_goes_on(name: str) -> None:
    outcomes = {attempt(name, seed) for seed in range(7_000, 7_040)}
    assert "refused snapshot-content" in outcomes
    assert any(outcome.startswith("went on") for outcome in outcomes)


@pytest.mark.parametrize("name", SUBJECTS)
def test_an_engine_that_refuses_a_snapshot_is_what_it_was(name: str) -> None:
    tried = subject(name)
    engine = tried.make()
    engine.restore(tried.snapshot)
    before = engine.snapshot()
    refused = 0
    for seed in range(100, 112):
        try:
            engine.restore(mutated(tried.snapshot, Random(seed)))
            engine.restore(tried.snapshot)
        except SnapshotError:
            refused += 1
        assert engine.snapshot() == before
    assert refused


def changed(name: str, *path: str | int, to: object) -> bytes:
    """Give a snapshot with another value at a place of its header."""
    opened = Opened.of(subject(name).snapshot)
    while "events" in opened.blobs or "engine" in opened.blobs:
        opened = opened.blobs["events" if "events" in opened.blobs else "engine"]
    holder = opened.header
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = to
    return opened.closed()


@pytest.mark.parametrize(
    ("path", "to", "message"),
    [
        (("fed",), -1, r"\$\.fed: -1 is not between 0 and"),
        (("time",), "noon", r"\$\.time: expected an integer, found 'noon'"),
        (("types", 0, "first"), None, r"\$\.types\[0\]\.first: expected an integer, found null"),
        (("types", 0, "consumed"), {"R9": []}, "a rule that is not there has consumed events"),
        (("types", 0, "consumed"), {"R1": [10**9]}, "something is named that does not exist"),
        (("types", 0, "slots"), {}, "other attributes have types than have slots"),
        (("since", 0), {"Temp": 10**6}, "a rule sees events that have not come"),
        (("texts",), [""], "something is named that does not exist"),
        (("schemas", 0), [["Temp", [["value", "string", False]]]], "the attribute value is double and string"),
        (("more",), 1, "there is no field 'more' here"),
    ],
)
def test_what_is_wrong_is_said(path: tuple[str | int, ...], to: object, message: str) -> None:
    with pytest.raises(SnapshotError, match=message) as refused:
        subject("columns").make().restore(changed("columns", *path, to=to))
    assert refused.value.diagnostics[0].code == "snapshot-content"


@pytest.mark.parametrize("word", [10**6, -1, 2**62, -(2**63)])
def test_rows_that_name_texts_which_do_not_exist_are_refused(word: int) -> None:
    opened = Opened.of(subject("columns").snapshot)
    number, temp = next((k, each) for k, each in enumerate(opened.header["types"]) if each["name"] == "Temp")
    rows = opened.blobs[f"rows {number}"].reshape(temp["shape"])
    rows[-1, temp["slots"]["area"]] = word
    opened.blobs[f"rows {number}"] = rows.reshape(-1)
    with pytest.raises(SnapshotError, match="something is named that does not exist"):
        subject("columns").make().restore(opened.closed())


def test_an_envelope_whose_directory_lies_is_refused() -> None:
    data = pack("columns", {"a": 1}, {"b": b"12345678"})
    assert unpack("columns", data) == ({"a": 1}, {"b": b"12345678"})
    for kind, header in (("columns", [1]), ("columns", None)):
        with pytest.raises(SnapshotError, match="does not hold what it should"):
            unpack(kind, pack(kind, header))  # type: ignore[arg-type]


def test_a_snapshot_of_another_version_is_refused_by_name() -> None:
    data = bytearray(subject("reference").snapshot)
    data[8] = 1
    with pytest.raises(SnapshotError, match="the snapshot has version 1, this Cepheus reads version 5"):
        subject("reference").make().restore(bytes(data))
