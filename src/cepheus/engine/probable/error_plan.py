"""Where the errors and doubts of a batch go: found out once for all batches alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cepheus.core.batch import EventBatch
from cepheus.plan.layouts import DOUBT, ERROR_MARKS
from cepheus.plan.lower import Lowering
from cepheus.plan.program import Words


@dataclass(frozen=True, slots=True)
class ErrorPlan:
    """Which errors of a batch are read, the slots that they and doubts go to, and the column that goes to each."""

    attributes: tuple[str, ...]
    slots: Words
    places: Words


def error_plan(lowering: Lowering, batch: EventBatch) -> ErrorPlan:
    """Find out which errors and doubts of a batch, and of all batches alike, go where."""
    layouts = list(lowering.types.values())
    mark = ERROR_MARKS[0]
    read = [name for name in batch.errors if any(f"{name}{mark}" in layout.slots for layout in layouts)]
    slots: list[int] = []
    places: list[int] = []
    begin = 0
    for layout in layouts:
        if layout.name in batch.types:
            for number, attribute in enumerate(read):
                slot = layout.slots.get(f"{attribute}{mark}")
                if slot is not None:
                    slots += range(begin + slot, begin + slot + 3)
                    places += range(3 * number, 3 * number + 3)
            if batch.probabilities is not None:
                slots.append(begin + layout.slots[DOUBT])
                places.append(3 * len(read))
        begin += layout.width
    return ErrorPlan(tuple(read), np.array(slots, np.int64), np.array(places, np.int64))
