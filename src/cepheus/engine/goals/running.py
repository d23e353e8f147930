"""Running the kernel: it comes back for more room and for answers that only Python can give."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cepheus.engine.base.limits import too_many_composites, too_much_state
from cepheus.engine.goals.memory import Memory
from cepheus.engine.goals.store import NOWHERE
from cepheus.kernel.program import Words
from cepheus.plan.interval.functions import FunctionTable
from cepheus.plan.interval.layout import AnswerField, At, Status, Tag
from cepheus.plan.interval.values import Texts
from cepheus.rules.interval.model import IntervalRule

_MOST_ARENA_WORDS = 1 << 28
"""Room for the new matches of one event; more than this is beyond what anyone can use."""

_Rules = Callable[[], list[IntervalRule]]


class Runner:
    """Calls the kernel until it is done."""

    def __init__(self, memory: Memory, texts: Texts, functions: FunctionTable, limit: int) -> None:
        self._memory = memory
        self._texts = texts
        self._functions = functions
        self._limit = limit

    def until_done(self, kernel: Callable[[], int], rules: _Rules) -> Words | None:
        """Call the kernel until it is done, with more room and answers as it needs them; give what it found.

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
            case Status.ARENA_FULL if self._memory[At.ARENA_SIZE] > _MOST_ARENA_WORDS:
                raise too_many_composites(self._culprit(rules), self._limit, rules())
            case _:
                self._memory.grow(status)

    def _culprit(self, rules: _Rules) -> IntervalRule:
        """Find the rule that went too far, and leave the rest of the input as if it had not been fed."""
        self._memory[At.WORK_TOP] = NOWHERE
        for at in (At.WORK_USED, At.OUTPUT_WORDS, At.STRATUM, At.LATE_PLAN, At.LATE_RECORD):
            self._memory[at] = 0
        return rules()[self._memory[At.CULPRIT]]

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
