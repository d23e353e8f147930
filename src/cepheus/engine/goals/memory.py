"""What the kernel works on: its arrays, more room when it runs out, and answers that only Python can give."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cepheus.engine.base.limits import forgotten_goals, too_many_composites, too_much_state
from cepheus.engine.goals.absence import absence_step_behind
from cepheus.engine.goals.commit import commit_behind
from cepheus.engine.goals.conditions import solve_behind
from cepheus.engine.goals.instant_events import note_instances
from cepheus.engine.goals.machine import compute_behind, place_answer
from cepheus.engine.goals.pairs import unrestricted_step_behind
from cepheus.engine.goals.restricting import restricting_step_behind
from cepheus.engine.goals.store import NOWHERE, rebuild_buckets
from cepheus.kernel.addresses import Addresses
from cepheus.kernel.compiled import entry_point
from cepheus.kernel.functions import FUNCTION_ADDRESSES
from cepheus.kernel.instructions import MAX_STACK
from cepheus.kernel.memory import address
from cepheus.kernel.program import Words
from cepheus.kernel.sums import LIMBS
from cepheus.plan.interval.flatten import FlatProgram
from cepheus.plan.interval.layout import (
    NEVER,
    ROW_HEADER,
    AnswerField,
    At,
    Awaited,
    InstanceEntry,
    Match,
    Row,
    Status,
    StepState,
    TableState,
    Tag,
)
from cepheus.plan.interval.python_calls import FunctionTable
from cepheus.plan.interval.values import Texts
from cepheus.rules.interval.model import IntervalRule

_ANSWERS = 1 << 12
_MOST_ANSWERS = 1 << 22
_REQUESTS = 1 << 10

Held = dict[At, Words]
"""Arrays by the place of their address."""


def _empty(size: int) -> Words:
    return np.zeros(size, np.int64)


class Memory(Addresses[At]):
    """Holds every array that the context points at, and makes them larger."""

    def __init__(self) -> None:
        super().__init__(At)
        self._held: Held = {}
        self.table_count = 0
        self._answers = 0
        for at, function in _SEAMS.items():
            self[at] = entry_point(function).address
        self.use(At.FUNCTIONS, FUNCTION_ADDRESSES.rows)
        self.use(At.TABLE_STATE, TableState.zeros(1))
        self.use(At.AWAITED, Awaited.array([Awaited.row()]))
        self.use(At.POOL, _empty(1 << 12))
        self._make_buckets(1 << 8)
        self.use(At.ARENA, _empty(1 << 12))
        self.use(At.CONSUMED, _empty(1 << 8))
        self.use(At.SEEN, _empty(1 << 8))
        self.use(At.OUTPUT, _empty(1 << 16))
        self.use(At.INSTANT, _empty(1 << 10))
        self.use(At.INSTANCES, InstanceEntry.zeros(1 << 8))
        self.use(At.WORK, _empty(1 << 10))
        self.use(At.ANSWERS, AnswerField.zeros(_ANSWERS))
        self.use(At.REQUESTS, AnswerField.zeros(_REQUESTS))
        self.use(At.RANKS, _empty(0))
        self.use(At.SUM, _empty(LIMBS))
        self.use(At.STACK, _empty(MAX_STACK))
        self.use(At.STACK_TAGS, _empty(MAX_STACK))

    def held(self, at: At) -> Words:
        """The array whose address is at a place."""
        return self._held[at]

    def use(self, at: At, array: Words) -> None:
        """Point at an array, in the place of the one before."""
        self._held[at] = array
        self.point(at, array)

    def use_program(self, program: FlatProgram) -> None:
        """Point at a program and give it the working space that it needs."""
        for name, array in program.arrays().items():
            self.use(At[name.upper()], array)
        self[At.STRATA] = program.strata
        self[At.TYPE_COUNT] = len(program.types) // program.strata
        self.use(At.STEP_STATE, StepState.zeros(len(program.steps) + 1))
        self.use(At.VALUES, _empty(program.deepest + 1))
        self.use(At.VALUE_TAGS, _empty(program.deepest + 1))
        self.use(At.CURSORS, _empty(program.most_conditions + 1))
        self._widen_records(program.record_width)
        self._add_tables(len(program.tables))
        self.know_types(self[At.TYPE_COUNT])

    def _widen_records(self, width: int) -> None:
        """Lay the events of this instant out anew if records are wider now than before."""
        before = self[At.RECORD_WIDTH]
        if before == width:
            return
        count = self[At.INSTANT_USED] // before if before else 0
        records = _empty(max(self.held(At.INSTANT).size, 2 * (count + 1) * width))
        kept = min(width, before)
        if count:
            old = self.held(At.INSTANT)[: count * before].reshape(count, before)
            records[: count * width].reshape(count, width)[:, :kept] = old[:, :kept]
        self.use(At.INSTANT, records)
        self[At.RECORD_WIDTH] = width
        self[At.INSTANT_USED] = count * width
        self._note_again()

    def _note_again(self, size: int = 0) -> None:
        """Make the table of the events of this instant anew, after records have moved or become many."""
        self[At.STAMP] += 1
        if size:
            self.use(At.INSTANCES, InstanceEntry.zeros(size))
        if self[At.INSTANT_USED]:
            note_instances(self.address)

    def _add_tables(self, count: int) -> None:
        states = self.held(At.TABLE_STATE)
        if count > len(states) or self.table_count == 0:
            more = TableState.zeros(count)
            more[:, (TableState.FIRST, TableState.LAST, TableState.FREE)] = NOWHERE
            more[: self.table_count] = states[: self.table_count]
            self.use(At.TABLE_STATE, more)
        self.table_count = count

    def know_types(self, count: int) -> None:
        """Have room for what is known of the events of so many types."""
        known = self.held(At.AWAITED)
        if count > len(known):
            more = Awaited.array([Awaited.row()] * count)
            more[: len(known)] = known
            self.use(At.AWAITED, more)

    def note_lasting(self, kind: int) -> None:
        """Note that events of a type may last."""
        self.held(At.AWAITED)[kind, Awaited.LASTED] = 1

    def awaited(self, count: int) -> tuple[tuple[bool, int | None], ...]:
        """Of so many types, whether their events have lasted, and the end of the last goal that stood in for others."""
        rows = self.held(At.AWAITED)[:count].tolist()
        return tuple((bool(lasted), None if end == NEVER else end) for lasted, end in rows)

    def use_awaited(self, known: Sequence[tuple[bool, int | None]]) -> None:
        """Take over what was known of the events of all types."""
        self.know_types(len(known))
        for number, (lasted, end) in enumerate(known):
            self.held(At.AWAITED)[number] = Awaited.row(lasted=lasted, let_go=NEVER if end is None else end)

    def _make_buckets(self, size: int) -> None:
        self.use(At.NEWEST, np.full(size, NOWHERE, np.int64))
        self.use(At.OLDEST, np.full(size, NOWHERE, np.int64))

    def state(self, table: int) -> Words:
        """The state of a table."""
        state: Words = self.held(At.TABLE_STATE)[table]
        return state

    def rows(self, table: int) -> list[int]:
        """Where the rows of a table are in the pool, from the oldest to the newest."""
        found = []
        pool = self.held(At.POOL)
        row = int(self.state(table)[TableState.FIRST])
        while row != NOWHERE:
            found.append(row)
            row = int(pool[row + Row.AFTER])
        return found

    def rows_since(self, table: int, time: int) -> list[int]:
        """Where the rows of a table that end at a time or later are in the pool, from the oldest to the newest."""
        found = []
        pool = self.held(At.POOL)
        row = int(self.state(table)[TableState.LAST])
        while row != NOWHERE and pool[row + ROW_HEADER + Match.END] >= time:
            found.append(row)
            row = int(pool[row + Row.BEFORE])
        return found[::-1]

    def use_instant(self, records: Words) -> None:
        """Make events those of the present instant."""
        width = self[At.RECORD_WIDTH]
        array = _empty(max(self.held(At.INSTANT).size, 2 * (len(records) + 1) * width))
        kept = min(width, records.shape[1])
        array[: len(records) * width].reshape(len(records), width)[:, :kept] = records[:, :kept]
        self.use(At.INSTANT, array)
        self[At.INSTANT_USED] = len(records) * width
        size = 256
        while size <= 2 * len(records):
            size *= 2
        self._note_again(size)

    def grow(self, status: Status) -> None:
        """Make more of what ran out."""
        match status:
            case Status.INSTANT_FULL:
                self._double(At.INSTANT)
                self._note_again(2 * self[At.INSTANCES_SIZE])
            case Status.BUCKETS_FULL:
                self._make_buckets(2 * self[At.BUCKETS_SIZE])
                rebuild_buckets(self.address, self.table_count)
            case _:
                self._double(_GROWN[status])

    def _double(self, at: At) -> None:
        old = self.held(at)
        larger = _empty(2 * old.size)
        larger[: old.size] = old
        self.use(at, larger)

    # Texts and answers.

    def use_texts(self, texts: Texts, digests: Words) -> None:
        """Point at the order of texts and their digests."""
        self.use(At.RANKS, texts.ranks)
        self.use(At.TEXT_DIGESTS, digests)

    def requests(self) -> Words:
        """Return what the kernel asks for, one request a row, and count it as read."""
        count = self[At.REQUEST_COUNT]
        self[At.REQUEST_COUNT] = 0
        return self.held(At.REQUESTS)[:count].copy()

    def forget_answers(self) -> None:
        """Forget all answers."""
        self.held(At.ANSWERS).fill(0)
        self._answers = 0

    def answer(self, answers: Words) -> None:
        """Add answers; when there are too many, all earlier ones are forgotten."""
        table = self.held(At.ANSWERS)
        if 2 * (self._answers + len(answers)) > len(table):
            few = len(table) < _MOST_ANSWERS
            kept = table[table[:, AnswerField.FUNCTION] != 0] if few else table[:0]
            least = 1 << (4 * len(answers) - 1).bit_length()  # the kernel masks places
            self.use(At.ANSWERS, AnswerField.zeros(max(2 * len(table) if few else len(table), least)))
            self._answers = 0
            answers = np.concatenate([kept, answers])
        self._answers += len(answers)
        answers = np.ascontiguousarray(answers)
        begin = address(answers, AnswerField)
        for number in range(len(answers)):
            place_answer(self.address, begin + AnswerField.row_bytes() * number)


_SEAMS: dict[At, Callable[..., int]] = {
    At.COMPUTE: compute_behind,
    At.SOLVE: solve_behind,
    At.UNRESTRICTED: unrestricted_step_behind,
    At.RESTRICTING: restricting_step_behind,
    At.ABSENCE: absence_step_behind,
    At.COMMIT: commit_behind,
}
"""Functions that the kernel calls by their address."""

_GROWN: dict[Status, At] = {
    Status.ARENA_FULL: At.ARENA,
    Status.POOL_FULL: At.POOL,
    Status.OUTPUT_FULL: At.OUTPUT,
    Status.CONSUMED_FULL: At.CONSUMED,
    Status.SEEN_FULL: At.SEEN,
    Status.WORK_FULL: At.WORK,
}


_MOST_ARENA_WORDS = 1 << 28
"""Room for the new matches of one event; more than this is beyond what anyone can use."""

_Rules = Callable[[], list[IntervalRule]]


class Runner:
    """Calls the kernel until it is done; ``types`` gives the types of events by their numbers."""

    def __init__(
        self, memory: Memory, texts: Texts, functions: FunctionTable, limit: int, types: Callable[[], list[str]]
    ) -> None:
        self._memory = memory
        self._types = types
        self._texts = texts
        self._functions = functions
        self._limit = limit

    def until_done(self, kernel: Callable[[], int], rules: _Rules) -> Words | None:
        """Call the kernel until it is done, with more room and answers as it needs them; return what it found.

        ``rules`` gives the rules by their numbers, for the error that names one which went too far.
        """
        memory = self._memory
        self._show_texts()
        chunks: list[Words] = []
        while True:
            status = Status(kernel())
            if status is Status.DONE:
                break
            if status is Status.OUTPUT_FULL and memory[At.OUTPUT_WORDS]:
                chunks.append(self._drain())
                continue
            self._provide(status, rules)
        if memory[At.OUTPUT_WORDS]:
            chunks.append(self._drain())
        return np.concatenate(chunks) if chunks else None

    def _drain(self) -> Words:
        words = self._memory.held(At.OUTPUT)[: self._memory[At.OUTPUT_WORDS]].copy()
        self._memory[At.OUTPUT_WORDS] = 0
        return words

    def _provide(self, status: Status, rules: _Rules) -> None:
        """Provide what the kernel came back for."""
        match status:
            case Status.ANSWER_NEEDED:
                self._answer()
            case Status.RANKS_NEEDED:
                self._texts.rank()
                self._show_texts()
            case Status.TOO_MANY_EVENTS:
                raise too_many_composites(self._culprit(rules), self._limit, rules())
            case Status.TOO_MANY_GOALS:
                raise too_much_state(self._culprit(rules), self._limit)
            case Status.FORGOTTEN:
                raise forgotten_goals(self._types()[self._give_up()])
            case Status.ARENA_FULL if self._memory[At.ARENA_SIZE] > _MOST_ARENA_WORDS:
                raise too_many_composites(self._culprit(rules), self._limit, rules())
            case _:
                self._memory.grow(status)

    def _culprit(self, rules: _Rules) -> IntervalRule:
        """Find the rule that went too far, and leave the rest of the input as if it had not been fed."""
        return rules()[self._give_up()]

    def _give_up(self) -> int:
        """Leave the rest of the input as if it had not been fed; return what the kernel names as the culprit."""
        self._memory[At.WORK_TOP] = NOWHERE
        for at in (At.WORK_USED, At.OUTPUT_WORDS, At.STRATUM, At.LATE_PLAN, At.LATE_RECORD):
            self._memory[at] = 0
        return self._memory[At.CULPRIT]

    def _answer(self) -> None:
        answers: list[Words] = []
        for row in self._memory.requests():
            function, count = int(row[AnswerField.FUNCTION]) - 1, int(row[AnswerField.COUNT])
            packed = int(row[AnswerField.TAGS])
            tags = [(packed >> (4 * (count - 1 - place))) & 15 for place in range(count)]
            words = row[AnswerField.ARGUMENT : AnswerField.ARGUMENT + count].tolist()
            arguments = [self._texts.decode(tag, word) for tag, word in zip(tags, words, strict=True)]
            # each time that an answer is missing the kernel begins the event again
            for further, place, value in self._functions.foreseen(function, arguments):
                answer = np.zeros_like(row)
                answer[: AnswerField.ARGUMENT + 1] = row[: AnswerField.ARGUMENT + 1]
                answer[AnswerField.FUNCTION], answer[AnswerField.COUNT] = further + 1, 2
                answer[AnswerField.TAGS] = tags[0] << 4 | Tag.INT
                answer[AnswerField.ARGUMENT + 1] = place
                answer[AnswerField.RESULT_TAG], answer[AnswerField.RESULT] = self._texts.encode(value)
                answers.append(answer)
            value = self._functions.compute(function, arguments)
            row[AnswerField.RESULT_TAG], row[AnswerField.RESULT] = self._texts.encode(value)
            answers.append(row)
        self._memory.answer(np.stack(answers))
        self._show_texts()

    def _show_texts(self) -> None:
        self._memory.use_texts(self._texts, self._texts.digests())
