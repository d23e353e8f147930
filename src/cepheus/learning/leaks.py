"""Attributes that give the label away: refused by name, for a rule over them would say nothing."""

from __future__ import annotations

import numpy as np

from cepheus.core.errors import OptionError
from cepheus.core.values import ValueType
from cepheus.learning.drafts import column_at
from cepheus.learning.hints import Hints
from cepheus.learning.history import Column, Floats
from cepheus.learning.state import State, Task

PERFECT = 0.99
_LABEL_WORDS = ("label", "target", "incident", "is_", "ground_truth", "outcome")


def refuse_leaks(task: Task, root: State, target: str) -> None:
    """Refuse attributes of the terminator that are the label under another name.

    Such an attribute tells occurrences from everything else on its own, and is a truth or has but two values, or is
    there only in events at occurrences, or has the target in its name.
    """
    events = task.traces.terminators
    for column in events.columns.values():
        if task.hints.trusts(events.name, column.name):
            continue
        values = column_at(task.history, root.draft, root.bindings, "#", column.name)
        if _alone(task, root, values) >= PERFECT and _suspicious(column, target):
            name = f"{events.name}.{column.name}"
            raise OptionError.of(
                "learn-leak",
                f"'{name}' alone tells every occurrence of '{target}': it looks like the label itself",
                hint=f"leave it out with ignore='{name}', or, if it is a measurement, keep it with trust='{name}'",
            )


def _suspicious(column: Column, target: str) -> bool:
    name = column.name.lower()
    named = target.lower() in name or any(word in name for word in _LABEL_WORDS)
    known = column.values[~np.isnan(column.values)]
    truth = column.type is ValueType.BOOL or len(np.unique(known)) == 2  # as 0 and 1 it is still one
    return truth or named or bool(np.isnan(column.values).mean() > 0.5)


def _alone(task: Task, root: State, values: Floats) -> float:
    """The F1 of the best single value of an attribute, and of having one at all."""
    known = ~np.isnan(values)
    best = 0.0
    distinct = np.unique(values[known])
    masks = [known] + ([values == each for each in distinct.tolist()] if len(distinct) <= 20 else [])
    for mask in masks:
        found, alarms = task.counts(np.unique(root.bindings.trace[mask]))
        best = max(best, 2 * found / (found + alarms + task.all_wanted))
    return best


def check_hints(hints: Hints) -> None:
    """Refuse hints that cannot both hold."""
    if hints.window is not None and hints.longest is not None and hints.window > hints.longest:
        raise OptionError.of("learn-hint", "the window is longer than the longest that is allowed")
