"""Which texts are still needed: those of goals, of the events of this instant, and of rules.

A stream of events with ids of their own brings new texts for ever. When the texts have doubled since the last time,
the codes that nothing refers to are freed; a code in use keeps its number, so nothing that holds one has to change.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cepheus.kernel.program import Words
from cepheus.kernel.state import STRING_ID_FLOOR
from cepheus.plan.interval.layout import MATCH_HEADER, RECORD_HEADER, TAG_BITS, TAGS_PER_WORD, Record
from cepheus.plan.interval.values import CODED


def mark_matches(live: NDArray[np.bool_], matches: Words, variables: int) -> None:
    """Mark the codes that matches refer to: texts that variables are bound to, and the ids of parts."""
    values_at = MATCH_HEADER + (variables + TAGS_PER_WORD - 1) // TAGS_PER_WORD
    _mark_values(live, matches, MATCH_HEADER, values_at, variables)
    _mark_ids(live, matches[:, values_at + variables :])


def mark_records(live: NDArray[np.bool_], records: Words, arities: Sequence[int]) -> None:
    """Mark the codes that the events of an instant refer to; ``arities`` are those of types, by their numbers."""
    for kind in np.unique(records[:, Record.TYPE]).tolist():
        rows = records[records[:, Record.TYPE] == kind]
        values_at = RECORD_HEADER + (arities[kind] + TAGS_PER_WORD - 1) // TAGS_PER_WORD
        _mark_values(live, rows, RECORD_HEADER, values_at, arities[kind])
        _mark_ids(live, rows[:, Record.ID])


def _mark_values(live: NDArray[np.bool_], rows: Words, tags_at: int, values_at: int, count: int) -> None:
    for place in range(count):
        packed = rows[:, tags_at + place // TAGS_PER_WORD] >> (TAG_BITS * (place % TAGS_PER_WORD))
        texts = np.isin(packed & (2**TAG_BITS - 1), CODED)
        live[rows[texts, values_at + place]] = True


def _mark_ids(live: NDArray[np.bool_], ids: Words) -> None:
    live[~ids[(ids < 0) & (ids >= STRING_ID_FLOOR)]] = True
