"""Where the errors and doubts of a batch go: found out once for all batches alike."""

from __future__ import annotations

from dataclasses import dataclass

from cepheus.core.batch import EventBatch
from cepheus.engine.lowered.intake import no_slots
from cepheus.kernel.program import Words
from cepheus.plan.pattern.layouts import DOUBT, ERROR_MARKS
from cepheus.plan.pattern.lower import Lowering


@dataclass(frozen=True, slots=True)
class ErrorPlan:
    """Which errors of a batch are read, and the column of errors or doubts that goes to each slot, -1 for none."""

    attributes: tuple[str, ...]
    slots: Words


def error_plan(lowering: Lowering, batch: EventBatch) -> ErrorPlan:
    """Find out which errors and doubts of a batch, and of all batches alike, go where."""
    layouts = list(lowering.types.values())
    mark = ERROR_MARKS[0]
    read = [name for name in batch.errors if any(f"{name}{mark}" in layout.slots for layout in layouts)]
    slots = no_slots(lowering)
    begin = 0
    for layout in layouts:
        if layout.name in batch.types:
            for number, attribute in enumerate(read):
                slot = layout.slots.get(f"{attribute}{mark}")
                if slot is not None:
                    slots[begin + slot : begin + slot + 3] = range(3 * number, 3 * number + 3)
            if batch.probabilities is not None:
                slots[begin + layout.slots[DOUBT]] = 3 * len(read)
        begin += layout.width
    return ErrorPlan(tuple(read), slots)
