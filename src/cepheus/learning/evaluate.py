"""Whole rules on whole histories: all candidates are deployed in one columns engine and run over the events once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from cepheus.core.batch import EventBatch
from cepheus.core.options import AUTO, RunOptions
from cepheus.core.schema import Attribute, EventType, Schema
from cepheus.core.values import ValueType
from cepheus.engine.assembly.registry import create
from cepheus.learning.history import History, Ints, Truths
from cepheus.learning.occurrences import Occurrences
from cepheus.learning.terminators import Ending
from cepheus.learning.traces import claimed
from cepheus.rules.check import check
from cepheus.rules.expressions import AttributeRef, EventPattern
from cepheus.rules.model import Assignment, Rule, RuleSet
from cepheus.rules.walk import walk
from cepheus.runtime.embedded.catalog import Catalog

ROW = "cepheus_row"
"""An attribute that tells the place of a terminator in the history."""

CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class Score:
    """What a rule finds: ``found`` are the occurrences, by number, ``missed`` the others; ``right`` and ``alarms`` are
    the terminators at which it fires, those that belong to occurrences and the others, each by what tells it from all
    others. ``uncounted`` are further false alarms that are only counted.
    """

    found: Ints
    missed: Ints
    right: Ints
    alarms: Ints
    alarm_times: Ints
    uncounted: int = 0

    @property
    def false_alarms(self) -> int:
        """How many false alarms there are."""
        return len(self.alarms) + self.uncounted

    @property
    def precision(self) -> float:
        """The share of what is told that is an occurrence."""
        told = len(self.right) + self.false_alarms
        return len(self.right) / told if told else 0.0

    @property
    def recall(self) -> float:
        """The share of occurrences that is told."""
        everything = len(self.found) + len(self.missed)
        return len(self.found) / everything if everything else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        together = self.precision + self.recall
        return 2 * self.precision * self.recall / together if together else 0.0


def all_together(scores: Sequence[Score], everything: int) -> Score:
    """What several rules find together, of so many occurrences."""
    found = np.unique(np.concatenate([each.found for each in scores]))
    alarms, first = np.unique(np.concatenate([each.alarms for each in scores]), return_index=True)
    return Score(
        found,
        np.setdiff1d(np.arange(everything), found),
        np.unique(np.concatenate([each.right for each in scores])),
        alarms,
        np.concatenate([each.alarm_times for each in scores])[first],
        sum(each.uncounted for each in scores),
    )


def firings(
    rules: Sequence[Rule], history: History, span: tuple[int, int], before: int, support: Sequence[Rule] = ()
) -> list[Ints]:
    """For each rule the rows of the terminators at which it fires within a span of time.

    Events up to ``before`` microseconds earlier are seen, too. Rules of ``support`` make events that others look at.
    """
    if not rules:
        return []
    batch = history.batch
    first, last = np.searchsorted(batch.times, [span[0] - before, span[1]])
    numbered = replace(
        batch.slice(int(first), int(last)),
        columns={
            **{key: column[int(first) : int(last)] for key, column in batch.columns.items()},
            (ROW, ValueType.INT): pa.array(np.arange(first, last)),
        },
        ids=None,
        provenance=None,
        starts=None,
    )
    counted = [_counting(rule, f"candidate{place}") for place, rule in enumerate(rules)]
    used = {name for rule in (*rules, *support) for name in _types_of(rule)}
    types = [each.event_type for name, each in history.types.items() if name in used]
    schema = Schema(EventType(each.name, (*each.attributes, Attribute(ROW, ValueType.INT))) for each in types)
    catalog = Catalog.of(check(RuleSet(rules=(*counted, *support)), schema=schema, closed=False), schema)
    engine = create(RunOptions(engine=AUTO, threads=1), catalog.rules, catalog.types)
    found: list[list[Ints]] = [[] for _ in rules]
    for start in range(0, len(numbered), CHUNK):
        made = engine.feed(numbered.slice(start, min(start + CHUNK, len(numbered))))
        _collect(made, found)
    return [_within(np.unique(np.concatenate(rows)), batch, span) if rows else np.empty(0, np.int64) for rows in found]


def _within(rows: Ints, batch: EventBatch, span: tuple[int, int]) -> Ints:
    times = batch.times[rows]
    return rows[(times >= span[0]) & (times < span[1])]


def _types_of(rule: Rule) -> set[str]:
    return {node.type for node in walk(rule) if isinstance(node, EventPattern)}


def _counting(rule: Rule, name: str) -> Rule:
    """The rule so that what it makes tells only where its terminator is."""
    composite = EventType(f"cepheus_{name}", (Attribute(ROW, ValueType.INT),))
    tells = (Assignment(ROW, AttributeRef(rule.pattern.terminator.name, ROW)),)
    return replace(rule, composite=composite, assignments=tells, name=name, min_probability=None)


def _collect(made: EventBatch, found: list[list[Ints]]) -> None:
    if not len(made):
        return
    if (ROW, ValueType.INT) not in made.columns:
        return
    rows = np.asarray(made.columns[ROW, ValueType.INT].fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
    for code, name in enumerate(made.types):
        if not name.startswith("cepheus_candidate"):
            continue
        found[int(name.removeprefix("cepheus_candidate"))].append(np.unique(rows[made.codes == code]))


def score(rows: Ints, history: History, ending: Ending, occurrences: Occurrences) -> Score:
    """What rows of terminators at which a rule fires are, given the occurrences of the same span of time."""
    events = history.types[ending.type]
    owner, numbers = claimed(events, ending, occurrences)
    at_occurrence = np.isin(rows, events.rows[numbers])
    fired: Truths = np.isin(events.rows[numbers], rows)
    found = np.unique(owner[fired])
    missed = np.setdiff1d(np.arange(len(occurrences)), found)
    alarms = rows[~at_occurrence]
    return Score(found, missed, rows[at_occurrence], alarms, history.batch.times[alarms])
