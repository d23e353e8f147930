"""Places of rows, many at once: neighbours, what FIRST, LAST and count find in matches, orders by partition."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cepheus.engine.rows.kernel import FoundMatch, Numbers, Part, Places
from cepheus.kernel.compiled import compiled


@compiled
def by_appearance(codes: Places, size: int) -> tuple[Places, Places]:
    """Codes numbered in the order in which they first come, and the codes in that order."""
    numbers = np.full(size, -1, np.int32)
    found = np.empty(size, np.int32)
    count = 0
    renumbered = np.empty(len(codes), np.int32)
    for k in range(len(codes)):
        code = codes[k]
        if numbers[code] < 0:
            numbers[code] = count
            found[count] = code
            count += 1
        renumbered[k] = numbers[code]
    return renumbered, found[:count]


@compiled
def by_partition(partitions: Numbers) -> Numbers:
    """The order that puts partitions together, each in the order that it has."""
    most = 0
    for k in range(len(partitions)):
        most = max(most, partitions[k] + 1)
    begins = np.zeros(most + 1, np.int64)
    for k in range(len(partitions)):
        begins[partitions[k] + 1] += 1
    for p in range(most):
        begins[p + 1] += begins[p]
    order = np.empty(len(partitions), np.int64)
    for k in range(len(partitions)):
        order[begins[partitions[k]]] = k
        begins[partitions[k]] += 1
    return order


@compiled
def shifted(places: Places, by: int, before: Places, after: Places) -> Places:
    """The places of rows some rows further in their partitions (negative: before them), -1 where there is none."""
    moved = places.copy()
    for k in range(len(moved)):
        row = moved[k]
        steps = by
        while steps > 0 and row >= 0:
            row = after[row]
            steps -= 1
        while steps < 0 and row >= 0:
            row = before[row]
            steps += 1
        moved[k] = row
    return moved


@compiled
def taken_places(
    matches: Numbers, match_rows: Places, variables: Places, wanted: int, last: bool, logical: int, final: bool
) -> Places:
    """By row of a match, the row that FIRST or LAST of some variables finds there, -1 where there is none."""
    found = np.full(len(match_rows), -1, np.int32)
    recent = np.empty(logical + 1, np.int32)
    for m in range(len(matches)):
        begin = matches[m, FoundMatch.ROWS]
        end = begin + matches[m, FoundMatch.LENGTH]
        met = 0
        place = -1
        for k in range(begin, end):
            if wanted >> variables[k] & 1:
                if last:
                    recent[met % (logical + 1)] = match_rows[k]
                    if met >= logical:
                        place = recent[(met - logical) % (logical + 1)]
                elif met == logical:
                    place = match_rows[k]
                met += 1
            found[k] = place
        if final:
            for k in range(begin, end):
                found[k] = place
    return found


@compiled
def taken_in_the_end(
    matches: Numbers, match_rows: Places, variables: Places, wanted: int, last: bool, logical: int
) -> Places:
    """By match, the row that FIRST or LAST of some variables finds in all of it, -1 where there is none."""
    found = np.full(len(matches), -1, np.int32)
    for m in range(len(matches)):
        begin = matches[m, FoundMatch.ROWS]
        length = matches[m, FoundMatch.LENGTH]
        left = logical
        for k in range(length):
            at = begin + (length - 1 - k if last else k)
            if wanted >> variables[at] & 1:
                if left == 0:
                    found[m] = match_rows[at]
                    break
                left -= 1
    return found


@compiled
def taken_counts(matches: Numbers, variables: Places, wanted: int, final: bool) -> Numbers:
    """By row of a match, how many rows some variables took up to it, or in the whole match."""
    found = np.zeros(len(variables), np.int64)
    for m in range(len(matches)):
        begin = matches[m, FoundMatch.ROWS]
        end = begin + matches[m, FoundMatch.LENGTH]
        met = 0
        for k in range(begin, end):
            met += wanted >> variables[k] & 1
            found[k] = met
        if final:
            for k in range(begin, end):
                found[k] = met
    return found


@compiled
def rows_of_none(
    partitions: Numbers, earliest: Numbers, parts: Numbers, after: Places, covered: NDArray[np.uint8]
) -> Places:
    """The rows of partitions that no match has or can have any more; they are decided now."""
    count = 0
    found = np.empty(64, np.int32)
    for k in range(len(partitions)):
        p = partitions[k]
        row = int(parts[p, Part.UNDECIDED])
        while 0 <= row < earliest[k]:
            if not covered[row]:
                if count == len(found):
                    more = np.empty(2 * count, np.int32)
                    more[:count] = found
                    found = more
                found[count] = row
                count += 1
            row = int(after[row])
        parts[p, Part.UNDECIDED] = row
    return found[:count]


@compiled
def kept_rows(length: int, earliest: Numbers, parts: Numbers, before: Places, behind: int) -> NDArray[np.uint8]:
    """Which rows may still be looked at: by partition those from the earliest on, and some before it."""
    kept = np.zeros(length, np.uint8)
    for p in range(len(earliest)):
        row = int(parts[p, Part.LAST])
        while row >= 0 and row >= earliest[p]:
            kept[row] = 1
            row = int(before[row])
        left = behind
        while row >= 0 and left > 0:
            kept[row] = 1
            left -= 1
            row = int(before[row])
    return kept
