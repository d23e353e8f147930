"""What the kernel asks Python: probabilities of distributions that it has no closed form for.

The kernel writes down the question, calls, and reads the answer; only the comparison in question leaves it. A failure
cannot pass through compiled code: it is kept, and raised when the kernel is back.
"""

from __future__ import annotations

import ctypes
import math
from functools import lru_cache

import numpy as np

from cepheus.core.distribution_column import distribution_of
from cepheus.engine.uncertain.error_lists import ListedErrors, Lists
from cepheus.engine.uncertain.state import ASKED_FORM, QUESTION_HEAD, QUESTION_TERM, Of, UncertainAddresses
from cepheus.engine.uncertain.tables import ListedField, ListField
from cepheus.kernel.program import Words
from cepheus.uncertainty.forms import Interval
from cepheus.uncertainty.judge import of_form
from cepheus.uncertainty.laws import Law, law_of

_CALLED = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
_REMEMBERED = 1024


class Answers:
    """Answers the questions of one engine's kernel."""

    def __init__(self, table: UncertainAddresses, listed: ListedErrors, lists: Lists) -> None:
        self._table = table
        self._listed = listed
        self._lists = lists
        self._failed: BaseException | None = None
        self._law = lru_cache(maxsize=_REMEMBERED)(self._law_of_list)
        self._called = _CALLED(self._answer)
        table[Of.ASK] = int(ctypes.cast(self._called, ctypes.c_void_p).value or 0)

    def finish(self) -> None:
        """Raise what went wrong while the kernel was at work."""
        failed, self._failed = self._failed, None
        if failed is not None:
            raise failed

    def _answer(self, what: int, about: int) -> int:
        question = self._table.kept(Of.QUESTION).reshape(-1)
        try:
            answer = self._form(question, about) if what == ASKED_FORM else self._list(question, about)
        except BaseException as error:  # it is raised as soon as the kernel is back
            self._failed, answer = error, 0.0
        question[:1].view(np.float64)[0] = answer
        return 0

    def _form(self, question: Words, terms: int) -> float:
        numbers = question.view(np.float64)
        shift = 0.0
        laws: list[Law] = []
        for at in range(QUESTION_HEAD, QUESTION_HEAD + QUESTION_TERM * terms, QUESTION_TERM):
            coefficient, value = float(numbers[at]), float(numbers[at + 1])
            first, second = float(numbers[at + 3]), float(numbers[at + 4])
            error = distribution_of(int(question[at + 2]), first, second, self._listed.listed)
            if error is None:
                shift += coefficient * value
            else:
                laws.append(law_of(error, value).moved(coefficient, 0.0))
        interval = Interval(float(numbers[1]) - shift, bool(question[2]), float(numbers[3]) - shift, bool(question[4]))
        if not math.isnan(float(numbers[5])):
            interval.excluded.add(float(numbers[5]) - shift)
        estimate = of_form(interval, laws)
        assert estimate is not None
        return estimate.probability

    def _list(self, question: Words, address: int) -> float:
        words = (ctypes.c_int64 * ListField.row_words()).from_address(address)
        length = ListField.row_words() + int(words[ListField.COUNT]) * ListedField.row_words()
        law = self._law(bytes((ctypes.c_int64 * length).from_address(address)))
        return law.below(float(question.view(np.float64)[1]), inclusive=bool(question[2]))

    def _law_of_list(self, data: bytes) -> Law:
        law = self._lists.computed(np.frombuffer(data, np.int64), self._listed).law
        assert law is not None
        return law
