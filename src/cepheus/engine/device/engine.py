"""The device engine: the columns engine, which has terminators with large states evaluated on a device.

Everything is stored, filtered and indexed on the host, as the columns engine does it. Terminators of rules that a
device can evaluate, and whose states hold enough events, are put off (``kernel.py``) and evaluated many at a time
(``evaluation.py``); what they make is put where it belongs among what the host has made. Rules that a device cannot
evaluate, and states with few events, are left to the host. If a device fails, the host evaluates what was put off, so
nothing is lost, and it does so from then on.
"""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np

from cepheus.core.errors import CepheusWarning, Diagnostic, Severity
from cepheus.core.options import DEFAULT_LIMIT
from cepheus.engine.base.limits import too_many_composites
from cepheus.engine.columns.engine import ColumnsEngine
from cepheus.engine.device.crossover import ALWAYS, Crossover
from cepheus.engine.device.evaluation import Counts, Evaluator, Made, TooMuchError
from cepheus.engine.device.fitting import DeviceRule, device_rules
from cepheus.engine.device.kernel import evaluate_here, run
from cepheus.engine.device.opencl import Device, DeviceError, choose
from cepheus.engine.device.put_off import MOST_PUT_OFF, PutOff, PutOffAt, RecordField
from cepheus.engine.lowered.kernel_parts import Kernel
from cepheus.kernel.memory import At
from cepheus.kernel.process import replay
from cepheus.kernel.program import Words
from cepheus.kernel.state import LaneState, Status
from cepheus.kernel.type_rows import room_in_column

_AT_ONCE = 1 << 14
"""After so many events it is looked at anew which rules are left to the device, at the latest."""

_WORTH_A_BLOCK = 1 << 12
"""So many composite events are handed on as they come from the device, in a block of their own."""


class DeviceEngine(ColumnsEngine):
    """Runs rules over columns, the search in large ones on a device.

    ``device`` is it, or words of its name; without any the first GPU is chosen, else the first device there is.
    ``crossover`` says from when on it is asked; without one, whenever it can be (``measured_engine`` measures it).
    """

    name: ClassVar[str] = "device"
    kernel: ClassVar[Kernel] = Kernel(run, replay)
    in_time: ClassVar[bool] = False

    def __init__(
        self,
        limit: int = DEFAULT_LIMIT,
        device: Device | str | None = None,
        crossover: Crossover = ALWAYS,
    ) -> None:
        self._device: Device | None = device if isinstance(device, Device) else choose(device)
        self._crossover = crossover
        self.evaluated: dict[str, int] = {"device": 0, "host": 0}
        super().__init__(limit)

    @property
    def crossover(self) -> Crossover:
        """From when on work is left to the device."""
        return self._crossover

    @property
    def kept_as(self) -> str:
        """The engine that its snapshots are of: the host goes on from them as well."""
        return ColumnsEngine.name

    def _begin_own(self) -> None:
        self._put_off = PutOff()
        self._context[At.MEMORY] = self._put_off.address
        self._fit_rules: list[DeviceRule] = []
        self._evaluator: Evaluator | None = None
        self._planned_singly = False

    def _fit_own(self, longest: int, width: int) -> None:
        super()._fit_own(longest, width)
        widest = max((layout.width for layout in self._lowering.types.values()), default=0)
        self._put_off.fit([rule.type for rule in self._order], widest)
        self._context[At.MEMORY] = self._put_off.address
        self._fit_rules = device_rules(self._lowering, self._program, self._order)
        self._evaluator = None

    def _finish(self) -> None:
        """Run the kernel to the end of its input, and evaluate what was put off."""
        single = self._context[At.INPUT_SIZE] == 1
        if not (single and self._planned_singly):
            self._plan()
        self._planned_singly = single
        super()._finish()
        self._evaluate()

    def _provide(self, status: Status) -> None:
        # Room may be made by sweeping out what is out of reach now, not when terminators were put off; and what is in
        # the output is given away, so that places in it would mean nothing.
        self._evaluate()
        if status is Status.PUT_OFF:
            self._plan()
        elif not (status is Status.OUTPUT_FULL and self._context[At.OUTPUT_EVENTS] == 0):
            super()._provide(status)

    def _abandon(self) -> None:
        super()._abandon()
        self._put_off.forget()

    def _plan(self) -> None:
        """Find out whose terminators are to be put off, and for how many events that can go on."""
        self._put_off.rules[:] = 0
        left = _AT_ONCE
        for rule in self._fit_rules if self._device is not None else ():
            events = self._live(rule)
            if events >= self._crossover.events and events * self._terminators(rule) >= self._crossover.pairs:
                self._put_off.rules[rule.number] = 1
                left = min(left, *(self._room(column) for column in rule.columns))
        self._put_off[PutOffAt.LEFT] = left

    def _live(self, rule: DeviceRule) -> int:
        """How many events a terminator of a rule has to be compared with, at the most."""
        lanes = self._state.column_lane[list(rule.searched)]
        rows = self._state.lanes[lanes[lanes >= 0]]
        return int((rows[:, LaneState.NEXT] - rows[:, LaneState.FIRST]).max(initial=0))

    def _terminators(self, rule: DeviceRule) -> int:
        """How many terminators of a rule are evaluated at once, about."""
        given = self._context.given
        if given is None:
            return 1
        begin = self._context[At.INPUT_NEXT]
        codes = (
            given.codes[begin : begin + _AT_ONCE]
            if given.rows is None
            else given.codes[given.rows[begin : begin + _AT_ONCE]]
        )
        share = np.count_nonzero(given.kinds[codes] == rule.type)
        return max(1, min(int(share), MOST_PUT_OFF))

    def _room(self, column: int) -> int:
        """How many events can be taken before something in a column would be forgotten."""
        while (room := room_in_column(self._context.address, column, self._context[At.TIME])) < 0:
            super()._provide(Status(-room))
        return room

    def _evaluate(self) -> None:
        """Evaluate what was put off and put what it made among the rest."""
        if not len(self._put_off):
            return
        made = self._on_device() or self._on_host()
        self._put_off.forget()
        fields, counts = made
        self._require_limit(counts)
        self._deliver(fields, counts)

    def _on_device(self) -> tuple[Words, Words] | None:
        """What the device makes of terminators, and how many composite events each made; None if it cannot."""
        records = self._put_off.records
        rules = [rule for rule in self._fit_rules if self._put_off.rules[rule.number]]
        numbers = np.bincount(records[:, RecordField.RULE], minlength=len(self._order))
        pairs = sum(self._live(rule) * int(numbers[rule.number]) for rule in rules)
        if self._device is None or pairs < self._crossover.pairs:
            return None
        try:
            if self._evaluator is None:
                self._evaluator = Evaluator(self._device, self._program)
            made, counted = self._evaluator.evaluate(rules, records, self._state)
        except TooMuchError:
            return None
        except DeviceError as fault:
            self._give_up(str(fault))
            return None
        self._count_ties(counted)
        self.evaluated["device"] += len(records)
        return self._together(made, len(records))

    def _give_up(self, why: str) -> None:
        """Go on without the device."""
        name = "the device" if self._device is None else self._device.info.label
        self._device = self._evaluator = None
        message = f"{name} failed ({why}); the host goes on alone, and nothing is lost"
        finding = Diagnostic("device-fault", message, severity=Severity.WARNING)
        warnings.warn(CepheusWarning(finding), stacklevel=2)

    def _count_ties(self, counted: Counts) -> None:
        decided, passed_over, bounded = self._context.ties()
        self._context.set_ties(
            [decided + counted.decided, passed_over + counted.passed_over, bounded | int(counted.bounded)]
        )

    def _together(self, made: list[Made], records: int) -> tuple[Words, Words]:
        """What several rules made, in the order of the terminators."""
        width = self._output.width
        of = np.concatenate([each.of for each in made]) if made else np.zeros(0, np.int64)
        fields = np.zeros((width, len(of)), np.int64)
        begin = 0
        for each in made:
            height, count = each.fields.shape
            fields[:height, begin : begin + count] = each.fields
            begin += count
        if len(made) > 1 and (np.diff(of) < 0).any():
            order = np.argsort(of, kind="stable")
            fields, of = fields.take(order, axis=1), of[order]
        return fields, np.bincount(of, minlength=records)

    def _on_host(self) -> tuple[Words, Words]:
        """What the host makes of terminators that were put off."""
        before, blocks, self._full = self._context[At.OUTPUT_EVENTS], self._full, None
        try:
            while (status := Status(evaluate_here(self._context.address))) is not Status.DONE:
                if status is Status.LIMIT:
                    self._abandon()
                    rule = self._order[self._context[At.CULPRIT]]
                    raise too_many_composites(self._rules[rule.name].rule, self._limit)
                super()._provide(status)
        finally:
            self._full = blocks
        end = self._context[At.OUTPUT_EVENTS]
        self._context[At.OUTPUT_EVENTS] = before
        self.evaluated["host"] += len(self._put_off)
        return self._output.look(end)[:, before:].copy(), self._put_off.records[:, RecordField.MADE].copy()

    def _require_limit(self, counts: Words) -> None:
        """Refuse that one event makes more composite events than the limit allows."""
        records = self._put_off.all_records[: len(counts)]
        if int(counts.sum()) + int(records[:, RecordField.OTHERS].max(initial=0)) <= self._limit:
            return
        _, first, serial = np.unique(records[:, RecordField.SERIAL], return_index=True, return_inverse=True)
        totals = np.bincount(serial, counts, len(first)) + records[first, RecordField.OTHERS]
        if (totals > self._limit).any():
            culprit = self._order[int(records[first[np.argmax(totals > self._limit)], RecordField.RULE])]
            self._abandon()
            raise too_many_composites(self._rules[culprit.name].rule, self._limit)

    def _deliver(self, fields: Words, counts: Words) -> None:
        """Put composite events of terminators that were put off where they belong in the output."""
        before, count = self._context[At.OUTPUT_EVENTS], fields.shape[1]
        if count == 0:
            return
        if before:
            places = np.repeat(self._put_off.all_records[: len(counts), RecordField.PLACE], counts)
            keys = np.concatenate([2 * np.arange(before) + 1, 2 * places])
            together = np.concatenate([self._output.look(before), fields], axis=1)
            fields = together.take(np.argsort(keys, kind="stable"), axis=1)  # each field in one run of memory
        if self._full is not None and fields.shape[1] >= _WORTH_A_BLOCK:
            self._full.append(fields)
            self._context[At.OUTPUT_EVENTS] = 0
            return
        self._output.put(fields)
        self._context.use_output(self._output)
        self._context[At.OUTPUT_EVENTS] = fields.shape[1]
