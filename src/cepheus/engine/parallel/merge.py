"""What several engines found, put together as one engine would have given it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pyarrow as pa

from cepheus.engine.columns.memory import address
from cepheus.engine.columns.outlet import Found, Outlet
from cepheus.engine.columns.state import OutputHeader
from cepheus.engine.parallel.merge_runs import Run, Source, Stop, copy_runs, length_of, merge_runs
from cepheus.plan.program import Words
from cepheus.plan.strings import StringTable

Together = Callable[[Iterable[Callable[[], None]]], object]
"""Does things in several threads."""

_RUNS = 1 << 14
"""Runs that are found before their fields are copied: few enough for a processor's cache."""


class TooManyError(Exception):
    """A row made more composite events than the limit allows; ``rank`` is that of the rule that went beyond."""

    def __init__(self, rank: int) -> None:
        super().__init__(rank)
        self.rank = rank


def alone(found: Found, ranks: Words, outlet: Outlet, width: int) -> Found:
    """Give what one engine found as if it had all the rules."""
    fields = list(found.fields[:-1])
    fields[OutputHeader.RULE] = ranks[found.rule]
    fields += [fields[OutputHeader.TIME]] * (width - len(fields))  # fields of rules that found nothing
    return Found(outlet, found.strings, fields)


def merge(
    parts: Sequence[tuple[Found, Words]],
    outlet: Outlet,
    width: int,
    limit: int,
    strings: StringTable,
    together: Together,
) -> Found:
    """Merge what several engines found, each with the ranks of its rules; TooManyError if a row made too many.

    ``outlet`` knows all rules by rank, ``width`` is the number of fields of what is found.
    """
    sources = np.zeros((len(parts), len(Source)), np.int64)
    fields = np.zeros((width, len(parts)), np.int64)
    ranks = np.zeros((2, len(parts)), np.int64)
    for number, (found, rank) in enumerate(parts):
        own = found.fields[:-1][:width]  # a rule that was withdrawn may have had more
        sources[number] = len(found), address(found.fields[-1]), address(found.rule), address(rank)
        fields[: len(own), number] = [address(field) for field in own]
        ranks[1, number] = address(rank)
    merged = [_room(int(sources[:, Source.COUNT].sum())) for _ in range(width)]
    cursors = np.zeros(len(parts), np.int64)
    runs = np.zeros((_RUNS, len(Run)), np.int64)
    place = 0
    while True:
        used, stop, culprit = merge_runs(sources, cursors, limit, runs)
        if stop == Stop.LIMIT:
            raise TooManyError(culprit)
        copies = [
            _copy(runs, used, fields[at], ranks[int(at == OutputHeader.RULE)], address(merged[at]) + 8 * place)
            for at in range(width)
        ]
        together(copies)
        place += length_of(runs[:used])
        if stop == Stop.DONE:
            return Found(outlet, strings, merged)
        if used == 0:
            runs = np.zeros((2 * len(runs), len(Run)), np.int64)


def _copy(runs: Words, used: int, fields: Words, ranks: Words, target: int) -> Callable[[], None]:
    return lambda: copy_runs(runs, used, fields, ranks, target)


def _room(count: int) -> Words:
    """Give room for words in Arrow's memory, which keeps what is freed."""
    return np.frombuffer(pa.allocate_buffer(8 * count), np.int64)
