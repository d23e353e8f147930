"""The codes of aggregates in flat programs: each form has one, and functions of all members one more each."""

from __future__ import annotations

from cepheus.kernel.aggregates import OverNumbers, OverSeries, OverWords
from cepheus.kernel.program import FunctionCode
from cepheus.rules.aggregates import AGGREGATES, AggregateFunction, Form

_CODES: dict[Form, FunctionCode] = {
    Form.COUNT: FunctionCode.COUNT,
    Form.SUM: FunctionCode.SUM,
    Form.AVERAGE: FunctionCode.AVG,
    Form.LEAST: FunctionCode.MIN,
    Form.GREATEST: FunctionCode.MAX,
    Form.FIRST: FunctionCode.FIRST,
    Form.LAST: FunctionCode.LAST,
    Form.OVER_NUMBERS: FunctionCode.OVER_NUMBERS,
    Form.OVER_SERIES: FunctionCode.OVER_SERIES,
    Form.OVER_WORDS: FunctionCode.OVER_WORDS,
}
_FUNCTIONS: dict[Form, type[OverNumbers] | type[OverSeries] | type[OverWords]] = {
    Form.OVER_NUMBERS: OverNumbers,
    Form.OVER_SERIES: OverSeries,
    Form.OVER_WORDS: OverWords,
}
_BY_FORM: dict[Form, AggregateFunction] = {record.form: record for record in reversed(AGGREGATES.values())}
"""What kernels know by its form is the first aggregate that has it; another of the same form is none of theirs."""


def code_of(record: AggregateFunction) -> int | None:
    """The code of an aggregate; None if kernels have no function for it.

    >>> from cepheus.rules.aggregates import aggregate_named
    >>> code_of(aggregate_named("Count")), code_of(aggregate_named("Sum"))
    (0, 1)
    """
    functions = _FUNCTIONS.get(record.form)
    if functions is None:
        return int(_CODES[record.form]) if record is _BY_FORM[record.form] else None
    if record.name not in functions.__members__ or record.of_nothing not in (None, 0):
        return None
    zero = 0 if record.of_nothing is None else 1  # the last bit tells what it is of nothing
    return int(_CODES[record.form]) + 2 * functions[record.name] + zero


def aggregate_of(code: int) -> AggregateFunction:
    """The aggregate that has a code."""
    return next(record for record in AGGREGATES.values() if code_of(record) == code)
