"""Columns that a user has named for fields of events, and that no data has: most often a slip of the pen."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from cepheus.core.batch import EventBatch
from cepheus.core.errors import Diagnostic, EventError, Place, Severity, did_you_mean
from cepheus.core.options import ColumnNames
from cepheus.core.schema import ID_FIELD
from cepheus.core.time import warn

_MOST_NAMES = 8
_USUAL = (ID_FIELD, "start", "probability")
"""The names that these columns have unless others are given."""


class NamedColumns:
    """Watches for the columns that were named for ids, starts and probabilities of events.

    An event may do without these fields, so that it lacks one is no fault. That none has it is told at the end, as a
    CepheusWarning or, if ``strict``, as an EventError. With ``refuse`` all data has the same columns, so that it
    is an error as soon as they are known.

    >>> named = NamedColumns(ColumnNames(id="nr", probability="prb"))
    >>> named.look(["type", "time", "nr", "prob"])
    >>> print(named.findings()[0].message)
    there is no column 'prb', which was named for the probability of events
    """

    def __init__(self, columns: ColumnNames, *, refuse: bool = False, strict: bool = False) -> None:
        given = {"id": columns.id, "start": columns.start, "probability": columns.probability}
        self.missing = {name: field for field, name in given.items() if name not in (None, *_USUAL)}
        self.refuse = refuse
        self._strict = strict
        self._others: dict[str, None] = {}

    def look(self, names: Collection[str], place: Place | None = None, *, all_there: bool = False) -> None:
        """See the names of columns or keys; ``all_there`` says that the rest of the data has no others."""
        for name in [name for name in self.missing if name in names]:
            del self.missing[name]
        if self.missing:
            if len(self._others) < 100 * _MOST_NAMES:
                self._others |= dict.fromkeys(map(str, list(names)[: 100 * _MOST_NAMES]))
            if self.refuse and all_there:
                raise EventError([replace(finding, place=place) for finding in self.findings()])

    def findings(self) -> list[Diagnostic]:
        """What was named and never seen, if any events were."""
        others = list(self._others)
        there = ", ".join(map(repr, others[:_MOST_NAMES]))
        return [
            Diagnostic(
                "column",
                f"there is no column '{name}', which was named for the {field} of events",
                hint=did_you_mean(name, others) or f"there are {there}",
            )
            for name, field in self.missing.items()
            if others
        ]

    def tell(self) -> None:
        """Say at the end of the data what was named and never seen."""
        findings, self.missing = self.findings(), {}
        if findings and self._strict:
            raise EventError(findings)
        for finding in findings:
            warn(replace(finding, severity=Severity.WARNING))


def require_named(given: object, columns: ColumnNames) -> None:
    """Refuse a table or frame that is all there is and lacks a column that was named; anything else passes."""
    if isinstance(given, EventBatch) or not hasattr(given, "__arrow_c_stream__"):
        return
    names = getattr(given, "column_names", getattr(given, "columns", None))  # of Arrow; of frames
    if names is not None:
        index = getattr(getattr(given, "index", None), "names", ())  # of pandas, which gives it as columns
        NamedColumns(columns, refuse=True).look(list(map(str, [*names, *index])), all_there=True)
