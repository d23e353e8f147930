"""Snapshots of sessions that somebody has tampered with: refused, and the session is what it was; or it goes on."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from random import Random

import pytest

sys.path.append(str(Path(__file__).parents[1] / "engine"))

from snapshot_fuzz import RULES, instants
from snapshot_mutations import mutated

import cepheus
from cepheus.core.errors import CepheusError, SnapshotError
from cepheus.core.event import Event
from cepheus.runtime.embedded.session import Session


def started(engine: str, *, uncertain: bool) -> tuple[Session, list[Event]]:
    program = cepheus.compile(RULES)
    session = program.start(engine=engine, lateness="20 s", time_unit="us")
    events = instants(80, 5, uncertain=uncertain)
    session.feed(events[:40])
    return session, events[40:]


@pytest.mark.parametrize(
    ("engine", "uncertain"), [("reference", False), ("columns", False), ("columns", True)], ids=str
)
def test_a_changed_snapshot_is_refused_or_goes_on(engine: str, uncertain: bool) -> None:
    session, rest = started(engine, uncertain=uncertain)
    saved = session.snapshot()
    outcomes: Counter[str] = Counter()
    for seed in range(60):
        other = cepheus.compile(RULES).start(engine="reference", time_unit="us")
        before = other.snapshot()
        try:
            other.restore(mutated(saved, Random(seed)))
        except SnapshotError:
            outcomes["refused"] += 1
            assert other.snapshot() == before
            continue
        try:
            other.feed(rest[:20])
            for event in rest[20:]:
                other.feed(event)
            other.close()
            outcomes["went on"] += 1
        except CepheusError:
            outcomes["went on to an error"] += 1
    assert outcomes["refused"] > 20
    assert outcomes["went on"]
