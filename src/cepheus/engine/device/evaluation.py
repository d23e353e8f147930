"""The evaluation of rules on a device: many terminators at once, a step of the rule at a time.

Partial sequences lie in one of two buffers. A step finds their windows, marks the pairs (partial sequence, stored
event) that will do, a bit each, counts the bits, and writes a longer sequence for each of them into the other buffer.
Where it writes is known from the sums of the counts before, so that sequences stay in the order in which the host would
find them: by terminator, then by the first choice, then by the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cepheus.engine.device.fitting import DeviceRule, constraints_for_device
from cepheus.engine.device.mirror import Brought, Mirror
from cepheus.engine.device.opencl import PLACES, Device, faults, int32
from cepheus.engine.device.put_off import HEAD, RecordField
from cepheus.kernel.context import State
from cepheus.kernel.program import PolicyCode, Program, StepKind, Words
from cepheus.kernel.state import OUTPUT_HEADER
from cepheus.plan.pattern.lowered import LoweredStep

_CHUNKS = 1024
"""Into so many parts work is cut that has to be counted; their sums are worked out on the host."""

_MOST_WORDS = 1 << 21
"""Of bits, for one step; of partial sequences, at most."""

_FEW = 32
"""With fewer partial sequences than these, all pairs are looked at, even where one is wanted; a thread each."""


class TooMuchError(Exception):
    """There is more than a device has room for at once."""


@dataclass(slots=True)
class Counts:
    """What was counted of simultaneous events."""

    decided: int = 0
    passed_over: int = 0
    bounded: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """Composite events, a row for each field, and which terminator made each, in order; what was counted."""

    fields: Words
    of: Words


class Evaluator:
    """Evaluates rules of a program on a device."""

    def __init__(self, device: Device, program: Program) -> None:
        self.device = device
        with faults():
            self._mirror = Mirror(device, program)
            self._tables = [
                device.write("steps", program.steps),
                device.write("constraints", constraints_for_device(program)),
                device.write("code", program.code),
                device.write("outputs", program.outputs),
            ]

    def evaluate(self, rules: list[DeviceRule], records: Words, state: State) -> tuple[list[Made], Counts]:
        """What terminators that were put off make, rule by rule.

        A DeviceError if the device fails; ``TooMuchError`` if one terminator alone is more than it has room for.
        """
        counts = Counts()
        with faults():
            columns = tuple(dict.fromkeys(column for rule in rules for column in rule.columns))
            rows = np.concatenate([records[:, HEAD:], records[:, RecordField.ROW, None]], axis=1)
            brought = self._mirror.bring(columns, state, rows)
            made = []
            for rule in rules:
                mine = np.flatnonzero(records[:, RecordField.RULE] == rule.number).astype(np.int32)
                if len(mine):
                    run = _Run(self.device, self._mirror.arena, self._tables, rule, brought, counts)
                    made += _in_parts(run, mine)
        return made, counts


def _in_parts(run: _Run, terminators: NDArray[np.int32]) -> list[Made]:
    """Evaluate terminators, fewer at a time if all are too much at once."""
    before = Counts(run.counts.decided, run.counts.passed_over, run.counts.bounded)
    try:
        return [run.evaluate(terminators)]
    except TooMuchError:
        if len(terminators) == 1:
            raise
        counts = run.counts
        counts.decided, counts.passed_over, counts.bounded = before.decided, before.passed_over, before.bounded
        middle = len(terminators) // 2
        return _in_parts(run, terminators[:middle]) + _in_parts(run, terminators[middle:])


class _Run:
    """The evaluation of one rule."""

    def __init__(
        self, device: Device, arena: Any, tables: list[Any], rule: DeviceRule, brought: Brought, counts: Counts
    ) -> None:
        self._device = device
        self._rule = rule
        self._brought = brought
        self._side = 0
        self._count = self._stride = 0
        self._data: list[Any] = [arena, *tables, device.write("places", self._places())]
        self.counts = counts

    def _places(self) -> Words:
        """Where the events of each position are, and of which type they are."""
        places = np.zeros((4, PLACES), np.int64)
        where = np.zeros((PLACES, 3), np.int64)
        where[0] = self._brought.base, self._brought.capacity, self._brought.number_slot
        kinds = np.full(PLACES, -1, np.int64)
        kinds[0] = self._rule.type
        for step in (*self._rule.steps, *self._rule.absences):
            if step.kind is not StepKind.REQUIRE:
                column = self._brought.columns[step.column]
                where[step.position] = column.base, column.capacity, column.width
                kinds[step.position] = column.type
        places[:3] = where.reshape(3, PLACES)
        places[3] = kinds
        return places

    def evaluate(self, terminators: NDArray[np.int32]) -> Made:
        """What terminators make, in order."""
        self._begin(terminators)
        for number, step in enumerate((*self._rule.steps, *self._rule.absences), self._rule.step_at):
            if self._count == 0:
                break
            if step.kind is StepKind.CHOOSE:
                self._choose(number, step)
            elif step.kind is StepKind.REQUIRE:
                bits = self._bits(self._count)
                self._run("mark_required", self._count, *int32(number, self._count), bits)
                self._keep(bits)
            else:
                self._require_absent(number, step)
        if self._count and self._rule.may_be_undefined:
            bits = self._bits(self._count)
            outputs = int32(self._count, self._rule.outputs, self._rule.outputs_end)
            self._run("mark_defined", self._count, *outputs, bits)
            self._keep(bits)
        return self._make()

    def _begin(self, terminators: NDArray[np.int32]) -> None:
        self._count = self._stride = len(terminators)
        self._device.buffer(self._name(), 4 * self._rule.positions * self._stride)
        self._device.write(self._name(), terminators)

    def _name(self) -> str:
        return f"partial sequences {self._side}"

    def _run(self, kernel: str, items: int, *arguments: Any) -> None:
        partials = self._device.buffer(self._name(), 4)
        self._device.run(kernel, items, *self._data, partials, np.int32(self._stride), *arguments)

    def _bits(self, words: int, name: str = "bits") -> Any:
        if words > _MOST_WORDS:
            raise TooMuchError
        return self._device.buffer(name, 8 * words)

    def _chunks(self) -> tuple[int, int]:
        """How many chunks of how many partial sequences are worked on by one thread each."""
        chunk = -(-self._count // _CHUNKS)
        return -(-self._count // chunk), chunk

    def _told(self, chunks: int) -> Words:
        """What a kernel has told of each chunk."""
        told = np.zeros((chunks, 3), np.int64)
        self._device.read(self._device.buffer("told", 24 * _CHUNKS), told)
        return told

    def _windows(self, number: int, step: LoweredStep) -> tuple[Any, Any, int]:
        """The windows of a step: where they begin and end, and how many blocks of entries one has at most."""
        column = self._brought.columns[step.column]
        low, high = (self._device.buffer(name, 8 * self._count) for name in ("low", "high"))
        told = self._device.buffer("told", 24 * _CHUNKS)
        chunks, chunk = self._chunks()
        entries = (np.int64(column.first), np.int64(column.next))
        self._run("find_windows", chunks, *int32(number, self._count, chunk), *entries, low, high, told)
        found = self._told(chunks)
        self.counts.passed_over += int(found[:, 1].sum())
        self.counts.bounded |= bool(found[:, 2].any())
        return low, high, int(found[:, 0].max())

    def _choose(self, number: int, step: LoweredStep) -> None:
        """Go on with each event, or the first or last so many, of every window."""
        low, high, blocks = self._windows(number, step)
        if blocks == 0:
            self._count = 0
            return
        items = self._count * blocks
        bits = self._bits(items)
        every = step.policy is PolicyCode.EACH
        known = every or self._count < _FEW
        if known:
            self._run("mark_pairs", items, *int32(number, self._count, blocks), low, high, bits)
        if not every:
            column = self._brought.columns[step.column]
            chunks, chunk = self._chunks()
            entries = (np.int64(column.first), np.int64(column.next))
            told = self._device.buffer("told", 24 * _CHUNKS)
            cut = int32(number, self._count, chunk, blocks, known)
            self._run("leave_few", chunks, *cut, *entries, low, high, bits, told)
            found = self._told(chunks)
            self.counts.decided += int(found[:, 0].sum())
            self.counts.bounded |= bool(found[:, 1].any())
        self._go_on(step.position, blocks, low, bits)

    def _require_absent(self, number: int, step: LoweredStep) -> None:
        """Keep the sequences in whose window nothing will do."""
        low, high, blocks = self._windows(number, step)
        if blocks == 0:
            return
        bits = self._bits(self._count)
        if self._count < _FEW:
            pairs = self._bits(self._count * blocks, "pairs")
            self._run("mark_pairs", self._count * blocks, *int32(number, self._count, blocks), low, high, pairs)
            self._device.run("mark_empty", self._count, pairs, *int32(self._count, blocks), bits)
        else:
            chunks, chunk = self._chunks()
            self._run("mark_absent", chunks, *int32(number, self._count, chunk), low, high, bits)
        self._keep(bits)

    def _keep(self, bits: Any) -> None:
        """Keep the sequences whose bit is set."""
        self._go_on(-1, 1, self._device.buffer("low", 8), bits)

    def _go_on(self, position: int, blocks: int, low: Any, bits: Any) -> None:
        """Write a sequence for each bit that is set, in order, with the event at a position; -1 for none."""
        items = self._count * blocks
        chunk = -(-items // _CHUNKS)
        chunks = -(-items // chunk)
        counts = np.zeros(chunks, np.int64)
        told = self._device.buffer("told", 24 * _CHUNKS)
        self._device.run("count_bits", chunks, bits, np.int64(items), np.int64(chunk), told)
        self._device.read(told, counts)
        total = int(counts.sum())
        if total > _MOST_WORDS:
            raise TooMuchError
        if total:
            offsets = self._device.write("offsets", np.cumsum(counts) - counts)
            longer = self._device.buffer(f"partial sequences {1 - self._side}", 4 * self._rule.positions * total)
            cut = (*int32(position, self._rule.positions), np.int64(items), np.int64(chunk), *int32(blocks))
            self._run("go_on", chunks, *cut, low, bits, offsets, longer, *int32(total))
            self._side = 1 - self._side
        self._count = self._stride = total

    def _make(self) -> Made:
        """The composite events of complete sequences."""
        rule, count = self._rule, self._count
        fields = np.empty((OUTPUT_HEADER + rule.fields + 1, count), np.int64)
        if count:
            made = self._device.buffer("fields", fields.nbytes)
            outputs = int32(rule.outputs, rule.outputs_end)
            self._run("make_events", count, *int32(count, rule.number, rule.positions), *outputs, made)
            self._device.read(made, fields)
        return Made(fields[:-1], fields[-1])
