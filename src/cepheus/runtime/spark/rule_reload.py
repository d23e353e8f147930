"""Streams whose rules change while they run: read again now and then, and taken over between two micro-batches.

All queries of a pipeline end when none of their micro-batches is under way, and go on from their checkpoints with the
new rules: those that are the same keep what they remember. Rules that are wrong, or cannot go on with a checkpoint, are
told of in the log, and those that were at work stay.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cepheus.core.errors import CepheusError
from cepheus.rules.model import RuleSet
from cepheus.runtime.spark.micro_batches import DetectionQuery, Progress
from cepheus.runtime.spark.write_stream import refuse_changes

if TYPE_CHECKING:
    from cepheus.runtime.spark.detect import Detection

_LOG = logging.getLogger("cepheus.spark")

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
        self._refused = ""
        self.queries = [start(self._found, None) for _, start in starts]

    def follow(self, seconds: float) -> None:
        """Look at the rules every so many seconds, until a query ends; what made it fail is raised."""
        looked = time.monotonic()
        while not self.queries[0].await_termination(min(seconds, 1.0)):
            if not all(query.query.isActive for query in self.queries):
                break
            if time.monotonic() - looked >= seconds:
                self.look()
                looked = time.monotonic()
        for query in self.queries:
            query.await_termination()

    def look(self) -> bool:
        """Take over the rules if they have changed; whether they were."""
        try:
            rules = self._read()
            if rules == self._rules:
                self._refused = ""
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
            self._refuse(error)
        else:
            self._found, self._rules, self._refused = wanted, rules, ""
        self.queries = [
            start(self._found, query.progress) for (_, start), query in zip(self._starts, self.queries, strict=True)
        ]
        return self._found is wanted

    def _refuse(self, error: CepheusError) -> None:
        """Say once why rules are not taken over."""
        if str(error) != self._refused:
            self._refused = str(error)
            _LOG.error("the rules have changed and are not taken over; those of before stay at work: %s", error)
