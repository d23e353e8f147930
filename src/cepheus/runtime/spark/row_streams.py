"""Queries over rows on Spark's machinery for rules: as rules of ``detect``, and over a DataFrame that is a stream.

A query over a stream becomes a rule whose rows are the events of one type. The first column of ORDER BY is their time,
which the watermark goes by; a second one orders rows of one time. All names get a letter of their own, so that
no column is taken for something that every event has.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from cepheus.core.errors import CepheusWarning, Diagnostic, Severity, UnsupportedError
from cepheus.core.schema import TIME_ATTRIBUTE
from cepheus.core.source import Span
from cepheus.core.values import ValueType
from cepheus.rules.check.rows import TYPE_COLUMN
from cepheus.rules.model import RuleSet
from cepheus.rules.rows.expressions import Column, RowExpression, transform
from cepheus.rules.rows.model import OrderKey, RowQuery, RowRule, RowsPerMatch
from cepheus.rules.rows.pattern import written
from cepheus.rules.rows.waiting import endless_wait
from cepheus.runtime.spark.sources import column, kind_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EVERYTHING = "#events"
"""The type that the events of all types have for queries FROM events; their own is an attribute."""

TYPE = "#type"
"""The attribute that has the types of events for such queries."""

ROWS = "#rows"
"""The type of the rows of a stream."""

TIME, SEQUENCE = "__cepheus_time", "__cepheus_sequence"


def reads_everything(rules: RuleSet) -> bool:
    """Whether some query takes events of all types for its rows."""
    return any(rule.source is None for rule in rules.row_rules)


def with_everything(rules: RuleSet) -> RuleSet:
    """The same rules; queries over events of all types read those of one type, which ``everything`` gives."""
    changed = (rule if rule.source is not None else _with_type(rule) for rule in rules.row_rules)
    return replace(rules, row_rules=tuple(changed))


def _with_type(rule: RowRule) -> RowRule:
    """A query that reads the types of events as an attribute."""

    def own(part: RowExpression) -> RowExpression:
        return replace(part, name=TYPE) if isinstance(part, Column) and part.name == TYPE_COLUMN else part

    query = rule.query
    shown = own if query.rows is not RowsPerMatch.ONE_ROW else None  # else they read what is given, not rows
    query = replace(
        query,
        source=EVERYTHING,
        select=query.select
        if query.select is None or shown is None
        else tuple(replace(each, expression=transform(each.expression, shown)) for each in query.select),
        where=query.where if query.where is None or shown is None else transform(query.where, shown),
        partition=tuple(TYPE if name == TYPE_COLUMN else name for name in query.partition),
        measures=tuple(replace(each, expression=transform(each.expression, own)) for each in query.measures),
        definitions=tuple(replace(each, condition=transform(each.condition, own)) for each in query.definitions),
    )
    return replace(rule, query=query)


def everything(events: DataFrame | Mapping[str, DataFrame], type_column: str) -> DataFrame:
    """All events in one DataFrame, their types in a column of its own."""
    from pyspark.sql import functions as f

    if not isinstance(events, Mapping):
        return events.withColumn(TYPE, column(type_column))
    frames = [frame.withColumn(TYPE, f.lit(name)) for name, frame in events.items()]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


def warn_of_waiting(rules: Sequence[RowRule]) -> None:
    """Warn of queries over streams whose matches may wait for ever, which lets their state grow."""
    for rule in rules:
        wait = endless_wait(rule.query)
        if wait is not None:
            finding = Diagnostic(
                "endless-wait",
                f"on a stream a match of '{rule.composite.name}' may wait for ever at {written(wait.part)}",
                wait.part.span,
                wait.hint,
                Severity.WARNING,
            )
            warnings.warn(CepheusWarning(finding), stacklevel=4)


def rule_of(query: RowQuery, frame: DataFrame) -> tuple[RowRule, DataFrame, bool]:
    """A query over a stream as a rule, its rows with their time, and whether a column orders those of one time."""
    sequence = _check_order(query.order, frame, query.span)
    renamed = frame.select(
        *(column(name).alias(f"c_{name}") for name in frame.columns),
        column(query.order[0].column).alias(TIME),
        *([column(sequence).cast("bigint").alias(SEQUENCE)] if sequence is not None else []),
    )
    return RowRule.of(_renamed(query)), renamed, sequence is not None


def _check_order(order: tuple[OrderKey, ...], frame: DataFrame, span: Span | None) -> str | None:
    """The column that orders rows of one time, if there is one; refuse what the watermark cannot go by."""
    hint = "write ORDER BY a column of timestamps, and if need be a second one of integers for rows of one time"
    if not order:
        raise _refused("a query over a stream needs ORDER BY a time, which the watermark goes by", span, hint)
    kinds = [kind_of(frame.schema[key.column].dataType) for key in order]
    fits = kinds in ([ValueType.TIMESTAMP], [ValueType.TIMESTAMP, ValueType.INT])
    if not fits or any(key.descending for key in order):
        raise _refused("rows of a stream cannot be put into this order", order[0].span or span, hint)
    return order[1].column if len(order) > 1 else None


def _refused(message: str, span: Span | None, hint: str) -> UnsupportedError:
    return UnsupportedError.of("unsupported", message, span=span, hint=hint)


def _renamed(query: RowQuery) -> RowQuery:
    """A query over rows whose columns have other names, with measures and columns of SELECT that have others, too."""

    def own(part: RowExpression) -> RowExpression:
        return replace(part, name=f"c_{part.name}") if isinstance(part, Column) else part

    measures = {each.name for each in query.measures}

    def given(part: RowExpression) -> RowExpression:
        if not isinstance(part, Column):
            return part
        return replace(part, name=f"{'m' if part.name in measures else 'c'}_{part.name}")

    select = query.select
    return replace(
        query,
        source=ROWS,
        partition=tuple(f"c_{name}" for name in query.partition),
        order=(OrderKey(TIME_ATTRIBUTE),),
        measures=tuple(
            replace(each, name=f"m_{each.name}", expression=transform(each.expression, own)) for each in query.measures
        ),
        definitions=tuple(replace(each, condition=transform(each.condition, own)) for each in query.definitions),
        select=None
        if select is None
        else tuple(
            replace(each, name=f"s_{each.name}", expression=transform(each.expression, given)) for each in select
        ),
        where=None if query.where is None else transform(query.where, given),
    )


def with_own_names(found: DataFrame, query: RowQuery) -> DataFrame:
    """What a query gives, under the names that it gives them."""
    if query.select is not None:
        names = {f"s_{each.name}": each.name for each in query.select}
    else:
        names = {f"c_{name}": name for name in query.partition} | {
            f"m_{each.name}": each.name for each in query.measures
        }
    return found.select(*(column(inner).alias(name) for inner, name in names.items()))
