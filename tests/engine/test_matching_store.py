"""Remembered events: what has been sent is not gone through again, whatever comes and goes meanwhile."""

from __future__ import annotations

from random import Random

import pytest

from cepheus.core.event import Event
from cepheus.engine.matching.store import Column, Record


@pytest.mark.parametrize("seed", range(50))
def test_what_has_not_been_sent_is_found_however_events_come_and_go(seed: int) -> None:
    random = Random(seed)
    column = Column()
    now = 0
    for number in range(300):
        now += random.randrange(10)
        time = now if random.random() < 0.8 else random.randrange(now + 1)
        column.insert(Record(Event("A", time), "s", number))
        low, high = column.within(now - random.randrange(20, 200), now)
        at = now if random.random() < 0.9 else random.randrange(now + 1)
        expected = [each for each in column.records[low:high] if each.sent is None or each.sent > at]
        assert column.unsent(low, high, at) == expected
        for record in expected if random.random() < 0.7 else random.sample(expected, len(expected) // 2):
            record.sent = at
        if random.random() < 0.05:
            column.forget(now - 150)
    assert len(column.records) < 300
