"""Where things go on a drawing: positions along a row, and levels for lines that must not run into each other."""

from __future__ import annotations

from collections.abc import Sequence


def spread(widths: Sequence[float], gap: float, spans: Sequence[tuple[int, int, float]] = ()) -> list[float]:
    """Give the centres of boxes set in a row; a span (from, to, room) asks for room between two centres.

    >>> spread([100, 100, 60], 20)
    [50.0, 170.0, 270.0]
    >>> spread([100, 100], 20, [(0, 1, 300)])
    [50.0, 350.0]
    """
    centres: list[float] = []
    edge = 0.0
    for index, width in enumerate(widths):
        centre = edge + width / 2
        for start, end, room in spans:
            if max(start, end) == index:
                centre = max(centre, centres[min(start, end)] + room)
        centres.append(centre)
        edge = centre + width / 2 + gap
    return centres


def levels(spans: Sequence[tuple[float, float]]) -> list[int]:
    """Give each span the lowest level at which it overlaps no other, short spans first.

    >>> levels([(0, 10), (10, 20), (0, 20)])
    [0, 0, 1]
    """
    taken: list[list[tuple[float, float]]] = []
    result = [0] * len(spans)
    for index in sorted(range(len(spans)), key=lambda i: (spans[i][1] - spans[i][0], i)):
        start, end = spans[index]
        level = 0
        while level < len(taken) and any(
            start < other_end and other_start < end for other_start, other_end in taken[level]
        ):
            level += 1
        if level == len(taken):
            taken.append([])
        taken[level].append((start, end))
        result[index] = level
    return result


def feet(level: int, all_levels: Sequence[int]) -> int:
    """Tell how far inside its span a line sets its feet, so that lines that end at one place do not cross.

    >>> [feet(level, [0, 1, 2]) for level in (0, 1, 2)]
    [14, 9, 4]
    """
    return 4 + 5 * (max(all_levels) - level)
