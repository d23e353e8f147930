"""Matches that were found, before anything is computed for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cepheus.engine.rows.kernel import MATCH_WIDTH, FoundMatch, Numbers, Places


@dataclass(frozen=True, slots=True)
class Matches:
    """Matches found: a line each (``FoundMatch``), all their rows, and the variable and exclusion of each."""

    lines: Numbers
    rows: Places
    variables: Places
    excluded: NDArray[np.bool_]

    def chosen(self, kept: NDArray[np.bool_]) -> Matches:
        """Some of the matches."""
        lines = self.lines[kept].copy()
        lengths = lines[:, FoundMatch.LENGTH]
        first = np.cumsum(lengths) - lengths
        members = np.repeat(lines[:, FoundMatch.ROWS] - first, lengths) + np.arange(int(lengths.sum()))
        lines[:, FoundMatch.ROWS] = first
        return Matches(lines, self.rows[members], self.variables[members], self.excluded[members])


def no_matches() -> Matches:
    """None at all."""
    empty = np.empty(0, np.int32)
    return Matches(np.empty((0, MATCH_WIDTH), np.int64), empty, empty, np.empty(0, np.bool_))


def joined(parts: Sequence[Matches]) -> Matches:
    """Matches one after the other."""
    parts = [part for part in parts if len(part.lines)] or [no_matches()]
    if len(parts) == 1:
        return parts[0]
    offset = 0
    lines = []
    for part in parts:
        moved = part.lines.copy()
        moved[:, FoundMatch.ROWS] += offset
        offset += len(part.rows)
        lines.append(moved)
    return Matches(
        np.concatenate(lines),
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.variables for part in parts]),
        np.concatenate([part.excluded for part in parts]),
    )


class Search(Protocol):
    """Finds matches in the rows of a store, which it takes as they become ready."""

    def take(self, places: Places) -> Matches:
        """Take rows whose neighbours are known, in the order of arrival."""

    def expire(self, time: int) -> Matches:
        """No row of before a time will come: settle what WITHIN ends by then."""

    def end(self) -> Matches:
        """No row will come at all."""

    def earliest(self, partitions: NDArray[np.int64]) -> NDArray[np.int64]:
        """By partition, the first row that a match which is not decided may have; ``NO_ROW`` if all are decided."""

    def moved(self, moved: NDArray[np.int32]) -> None:
        """Rows were forgotten; ``moved`` is the new place of each."""

    def state(self) -> tuple[dict[str, object], dict[str, bytes]]:
        """What a snapshot has of it: a header and arrays."""

    def restore(self, header: dict[str, object], blobs: dict[str, bytes]) -> None:
        """Take over what ``state`` gave; ValueError if that makes no sense. The store has been restored before."""


NO_ROW = 2**62
"""Among first rows: there is none."""
