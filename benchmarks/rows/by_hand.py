"""Loops that an expert would write for one pattern: a pass over the rows, a few words for each partition."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(nogil=True)
def _note(found: Any, match: int, key: int, first: Any, second: Any, third: Any) -> None:
    found[match, 0] = key
    found[match, 1] = first
    found[match, 2] = second
    found[match, 3] = third


@njit(nogil=True)
def valleys(symbols: NDArray[np.int32], prices: NDArray[np.float64], count: int) -> Any:
    """``STRT DOWN+ UP+`` past the last row: symbol, price at the start, at the bottom and at the end of each match."""
    found = np.empty((len(symbols) // 2 + 1, 4))
    place = np.zeros(count, np.int8)
    start, bottom, before = np.empty(count), np.empty(count), np.empty(count)
    matches = 0
    for row in range(len(symbols)):
        symbol, price = symbols[row], prices[row]
        if place[symbol] == 0:
            place[symbol], start[symbol] = 1, price
        elif price < before[symbol]:
            if place[symbol] == 3:
                _note(found, matches, symbol, start[symbol], bottom[symbol], before[symbol])
                matches += 1
                place[symbol], start[symbol] = 1, price
            else:
                place[symbol] = 2
        elif price > before[symbol] and place[symbol] >= 2:
            if place[symbol] == 2:
                place[symbol], bottom[symbol] = 3, before[symbol]
        else:
            if place[symbol] == 3:
                _note(found, matches, symbol, start[symbol], bottom[symbol], before[symbol])
                matches += 1
            place[symbol], start[symbol] = 1, price
        before[symbol] = price
    for symbol in range(count):
        if place[symbol] == 3:
            _note(found, matches, symbol, start[symbol], bottom[symbol], before[symbol])
            matches += 1
    return found[:matches]


@njit(nogil=True)
def sessions(users: NDArray[np.int32], times: NDArray[np.int64], count: int, gap: int) -> Any:
    """``A B*`` with less than ``gap`` between rows: user, start, end and number of rows of each session."""
    found = np.empty((len(users), 4), np.int64)
    start, last, rows = np.empty(count, np.int64), np.empty(count, np.int64), np.zeros(count, np.int64)
    matches = 0
    for row in range(len(users)):
        user, time = users[row], times[row]
        if rows[user] and time - last[user] >= gap:
            _note(found, matches, user, start[user], last[user], rows[user])
            matches += 1
            rows[user] = 0
        if rows[user] == 0:
            start[user] = time
        last[user] = time
        rows[user] += 1
    for user in range(count):
        if rows[user]:
            _note(found, matches, user, start[user], last[user], rows[user])
            matches += 1
    return found[:matches]


@njit(nogil=True)
def spending(users: NDArray[np.int32], prices: NDArray[np.float64], count: int, budget: float) -> Any:
    """``(A | B)+ C`` where C is the row with which a sum passes a budget: user, first and last price, rows.

    The first row alone must stay within the budget, else the search goes on behind it.
    """
    found = np.empty((len(users), 4))
    total, first, rows = np.zeros(count), np.zeros(count), np.zeros(count, np.int64)
    matches = 0
    for row in range(len(users)):
        user, price = users[row], prices[row]
        if rows[user] == 0:
            first[user] = price
        total[user] += price
        rows[user] += 1
        if total[user] > budget:
            if rows[user] > 1:
                _note(found, matches, user, first[user], price, rows[user])
                matches += 1
            total[user] = 0.0
            rows[user] = 0
    return found[:matches]
