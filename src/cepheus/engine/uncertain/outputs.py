"""Composite events on their way out: their probabilities, and the errors of their attributes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.core.distribution_column import ErrorColumn, ErrorKind
from cepheus.core.event import Event, set_errors
from cepheus.engine.lowered.outlet import Found, to_batch
from cepheus.engine.uncertain.error_lists import ListedErrors, Lists
from cepheus.kernel.program import Words
from cepheus.plan.pattern.lowered import LoweredRule


class ErrorOutlet:
    """Reads what the kernel writes behind a composite event's own fields, for the rules of the moment.

    These are the probability, in field ``first``, and then kind and two parameters for the error of each attribute.
    """

    def __init__(self, rules: Sequence[LoweredRule], first: int, lists: Lists, listed: ListedErrors) -> None:
        self._first = first
        self._lists = lists
        self._listed = listed
        self._places: dict[str, Words] = {}
        for number, rule in enumerate(rules):
            for k, output in enumerate(rule.outputs):
                if output.error_terms:
                    unknown = np.full(len(rules), -1, np.int64)
                    self._places.setdefault(output.attribute, unknown)[number] = first + 1 + 3 * k

    def batch(self, found: Found) -> EventBatch:
        """Composite events as a batch; it has no probabilities if all are certain."""
        probabilities = found.field(self._first).view(np.float64)
        certain = probabilities[0] == 1.0 and probabilities.min() == 1.0
        return to_batch(found, None if certain else probabilities, self._errors(found))

    def events(self, found: Found) -> list[Event]:
        """A few composite events one by one."""
        errors = {name: list(column) for name, column in self._errors(found).items()} if self._places else {}
        events = found.events(found.field(self._first).view(np.float64).tolist(), self._first)
        for at, event in enumerate(events if errors else ()):
            own = {name: error for name, row in errors.items() if (error := row[at]) is not None}
            if own:
                set_errors(event, own)
        return events

    def _errors(self, found: Found) -> dict[str, ErrorColumn]:
        """The errors of attributes; which fields have those of an attribute depends on the rule."""
        errors = {}
        for attribute, by_rule in self._places.items():
            kinds, first, second = (
                found.fields_by_rule(np.where(by_rule < 0, -1, by_rule + part)) for part in range(3)
            )
            kinds = np.where(by_rule[found.rule] >= 0, kinds, ErrorKind.NONE)
            named = self._listed.column(kinds, first.view(np.float64), second.view(np.float64))
            column = self._lists.described(found, attribute, named, self._listed)
            if column.any:
                errors[attribute] = column
        return errors
