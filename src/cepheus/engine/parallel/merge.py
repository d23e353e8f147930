"""What several engines found, put together as one engine would have given it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from cepheus.engine.lowered.outlet import Found
from cepheus.engine.parallel.merge_runs import NO_CULPRIT, Source, first_of_row, merge_part, row_of
from cepheus.engine.parallel.workers import Together
from cepheus.kernel.memory import address
from cepheus.kernel.output import addresses_of, field_words
from cepheus.kernel.program import Words
from cepheus.kernel.state import OutputHeader

_WORTH_A_PART = 1 << 14
"""Fewer composite events than this are merged by one thread."""


class TooManyError(Exception):
    """A row made more composite events than the limit allows; ``rank`` is that of the rule that went beyond."""

    def __init__(self, rank: int) -> None:
        super().__init__(rank)
        self.rank = rank


class Merged:
    """Composite events on their way into one order: a row for each field, with room for more."""

    def __init__(self, width: int) -> None:
        self._fields = field_words(width, 0)
        self.count = 0

    def fields(self) -> Words:
        """Give the fields of all that has been added."""
        return self._fields[:, : self.count]

    def expect(self, count: int) -> None:
        """Have room for about so many composite events in all, or some more."""
        width, size = self._fields.shape
        if count > size:
            larger = field_words(width, count + count // 4)
            larger[:, : self.count] = self.fields()
            self._fields = larger

    def add(self, parts: Sequence[tuple[Found, Words]], limit: int, threads: int, together: Together) -> None:
        """Merge what several engines found in the same rows, each given with the ranks of its rules.

        TooManyError if a row made more composite events than the limit allows.
        """
        sources = np.zeros((len(parts), len(Source)), np.int64)
        fields = np.zeros((len(self._fields), len(parts)), np.int64)
        ranks = np.zeros_like(fields)
        for number, (found, rank) in enumerate(parts):
            own = found.fields[:-1][: len(fields)]  # a rule that was withdrawn may have had more
            sources[number] = len(found), address(found.fields[-1]), address(found.rule), address(rank)
            fields[: len(own), number] = addresses_of(own)
            ranks[OutputHeader.RULE, number] = address(rank)
        total = int(sources[:, Source.COUNT].sum())
        self.expect(self.count + total)
        cuts = _cuts(sources, max(1, min(threads, total // _WORTH_A_PART)))
        targets = addresses_of(self._fields)
        tasks = [
            partial(
                merge_part, sources, begin, end, limit, fields, ranks, targets + 8 * (self.count + int(begin.sum()))
            )
            for begin, end in zip([cut.copy() for cut in cuts], cuts[1:], strict=False)
        ]
        for culprit in together(tasks):
            if culprit != NO_CULPRIT:
                raise TooManyError(culprit)
        self.count += total


def _cuts(sources: Words, parts: int) -> list[Words]:
    """Cut what was found between rows into parts of about the same size; give where they begin, and the end."""
    largest = int(sources[:, Source.COUNT].argmax())
    counts = sources[:, Source.COUNT]
    cuts = [np.zeros(len(sources), np.int64)]
    for part in range(1, parts):
        row = row_of(int(sources[largest, Source.LINEAGE]), int(counts[largest]) * part // parts)
        places = [first_of_row(int(source[Source.LINEAGE]), int(source[Source.COUNT]), row) for source in sources]
        cuts.append(np.array(places, np.int64))
    return [*cuts, counts.copy()]
