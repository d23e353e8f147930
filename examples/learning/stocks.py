"""Whipsaws in the daily prices of a share: learn from the days that somebody marked what makes such a day.

    python examples/learning/stocks.py

The prices are real: Google, 2004 to 2008, as matplotlib carries them (``mpl-data/sample_data/goog.npz``). The marks are
ours, for the sake of the example: a day on which the share falls by more than 2 %, within a week after a day on which
it rose by more than 2 %. The learner is told the days alone, and one hint: what matters lies within two weeks. It has
to find out that two days matter, which attribute of five, both thresholds and the window, from 68 marks. Without the
hint it looks back for months, and finds much that happens to go together: few marks need an expert.
"""

from __future__ import annotations

import numpy as np
from matplotlib import cbook

import cepheus
from cepheus.core.event import Event
from cepheus.core.time import DAY

MARKED = """define Whipsaw()
from Day(change < -2.0) and last Day(change > 2.0) as Before within 7 d from Day"""


def days() -> list[Event]:
    """A trading day is an event: the change of the closing price in percent, the spread of the day, the volume."""
    prices = cbook.get_sample_data("goog.npz")["price_data"]
    times = prices["date"].astype("datetime64[D]").astype(np.int64) * DAY
    close = prices["close"].astype(np.float64)
    change = 100 * np.diff(close) / close[:-1]
    return [
        Event(
            "Day",
            int(times[place + 1]),
            {
                "change": round(float(change[place]), 3),
                "gap": round(float(100 * (prices["open"][place + 1] - close[place]) / close[place]), 3),
                "spread": round(float(prices["high"][place + 1] - prices["low"][place + 1]), 3),
                "close": float(close[place + 1]),
                "volume": float(prices["volume"][place + 1]),
            },
        )
        for place in range(len(change))
    ]


def tell() -> cepheus.Learned:
    """Learn, and say what was found in the last third of the days, which took no part in learning."""
    events = days()
    marks = [Event("Whipsaw", event.time) for event in cepheus.compile(MARKED).detect(events).to_events()]
    print(f"{len(events)} days, {len(marks)} of them marked")
    learned = cepheus.learn(sorted([*events, *marks], key=lambda event: event.time), "Whipsaw", longest="14 d")
    print(learned)
    return learned


if __name__ == "__main__":
    tell()
