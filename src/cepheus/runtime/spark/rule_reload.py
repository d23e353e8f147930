"""Streams whose rules change while they run: read again now and then, and taken over between two micro-batches.

All queries of a pipeline end when none of their micro-batches is under way, and go on from their checkpoints with the
new rules: those that are the same keep what they remember. Rules that are wrong, or cannot go on with a checkpoint, are
told of in the log, and those that were at work stay. A rule that is gone loses what it remembers, so files that are
just being written must not count: rules are taken over when two looks, one after the other, have found the same.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from cepheus.core.errors import CepheusError
from cepheus.rules.model import RuleSet
from cepheus.runtime.spark.micro_batches import DetectionQuery, Progress
from cepheus.runtime.spark.pipeline_queries import await_all, is_active, start_all, stopping
from cepheus.runtime.spark.write_stream import refuse_changes

if TYPE_CHECKING:
    from cepheus.runtime.spark.detect import Detection

_LOG = logging.getLogger("cepheus.spark")

_GLANCE = 1.0
"""Seconds between two looks at whether a query has ended, at most."""

_SETTLED = 1.0
"""Seconds after which rules that have changed are looked at once more, and taken over if they are the same."""

Start = Callable[["Detection", "Progress | None"], DetectionQuery]
"""Starts the query of a sink, with the progress to go on with: none if this is the first start."""


class FollowedRules:
    """The queries of a pipeline, one for each checkpoint, and the rules that they run.

    ``read`` gives the rules as they are now, ``plan`` what they find.
    """

    def __init__(
        self,
        starts: Sequence[tuple[str, Start]],
        read: Callable[[], RuleSet],
        plan: Callable[[RuleSet], Detection],
    ) -> None:
        self._starts, self._read, self._plan = starts, read, plan
        self._rules = read()
        self._found = plan(self._rules)
        self._seen: RuleSet | None = None
        """What the last look has read."""
        self._unfit: RuleSet | None = None
        """What a checkpoint has refused, as long as nothing else is read: to ask again is to end all queries."""
        self._is_settling = False
        self._told = ""
        self.queries = start_all(partial(start, self._found, None) for _, start in starts)

    def follow(self, seconds: float) -> None:
        """Look at the rules every so many seconds, until a query ends; then wait for the others.

        What made a query fail is raised, as is what nobody expects of new rules; no query is left running then.
        """
        with stopping(self.queries):
            looked = time.monotonic()
            while all(map(is_active, self.queries)):
                self.queries[0].await_termination(min(seconds, _GLANCE))
                due = looked + (_SETTLED if self._is_settling else seconds)
                if time.monotonic() >= due and all(map(is_active, self.queries)):
                    self.look()
                    looked = time.monotonic()
            await_all(self.queries, _GLANCE)

    def look(self) -> bool:
        """Take over the rules if they have changed, and the look before has found the same; whether they were."""
        before, self._seen, self._is_settling = self._seen, None, False
        try:
            rules = self._seen = self._read()
            if not self._is_wanted(rules, before):
                return False
            wanted = self._plan(rules)
        except CepheusError as error:
            self._refuse(error)
            return False
        for query in self.queries:
            query.end_between()
        try:
            assert wanted.flow is not None
            for checkpoint, _ in self._starts:
                refuse_changes(wanted.planned, wanted.flow, checkpoint)
        except CepheusError as error:
            self._unfit = rules
            self._refuse(error)
        else:
            self._found, self._rules, self._told = wanted, rules, ""
        for number, (_, start) in enumerate(self._starts):
            self.queries[number] = start(self._found, self.queries[number].progress)  # in place: see stopping
        return self._found is wanted

    def _is_wanted(self, rules: RuleSet, before: RuleSet | None) -> bool:
        """Whether rules are others than those at work, not refused already, and what the look before has found."""
        if rules == self._rules:
            self._told, self._unfit = "", None
            return False
        if rules == self._unfit:
            return False
        self._unfit = None
        if rules != before:
            self._told, self._is_settling = "", True
            return False
        return True

    def _refuse(self, error: CepheusError) -> None:
        """Say once why rules are not taken over."""
        if str(error) != self._told:
            self._told = str(error)
            _LOG.error("the rules have changed and are not taken over; those of before stay at work: %s", error)
