"""What the studio must not do: lose digits, write elsewhere, stop in silence, answer with a failure of its own."""

from __future__ import annotations

from cepheus.core.event import Event
from cepheus.studio.running import event_told


def test_integers_that_a_browser_would_round_are_sent_as_text() -> None:
    told = event_told(Event("A", 0, {"big": 2**53 + 1, "small": -(2**53), "flag": True}))
    assert told["attributes"] == {"big": "9007199254740993", "small": -(2**53), "flag": True}
