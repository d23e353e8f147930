"""The form of a session's snapshot: what its header must hold, field by field."""

from __future__ import annotations

from cepheus.core.error_columns import ErrorSource, Normal, Uniform
from cepheus.core.time import MAX_TIME, TimeUnit
from cepheus.core.values import INT_MAX
from cepheus.engine.base import snapshot_form as form
from cepheus.rules.json_fields import fail, integer_between

_MOST_DRAWS = 10**9


def _anything(value: object, _path: str) -> object:
    """Leave a part to whoever reads it."""
    return value


def _parameter(value: object, path: str) -> float | str:
    """Read a number for all rows, or the name of the column that has it."""
    return value if isinstance(value, str) else form.number(value, path)


_ERROR_SOURCES: dict[str, tuple[type[ErrorSource], form.Reader[dict[str, object]]]] = {
    "Normal": (
        Normal,
        form.record(kind=form.text, mean=_parameter, sd=form.maybe(_parameter), variance=form.maybe(_parameter)),
    ),
    "Uniform": (Uniform, form.record(kind=form.text, low=_parameter, high=_parameter)),
}


def _error_source(value: object, path: str) -> ErrorSource:
    """Read what columns say of the errors of an attribute."""
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in _ERROR_SOURCES:
        fail(path, "expected a Normal or a Uniform error")
    make, read = _ERROR_SOURCES[kind]
    fields = read(value, path)
    del fields["kind"]
    return make(**fields)  # type: ignore[arg-type]  # the reader has seen to it


HEADER = form.record(
    {
        "columns": form.record(
            time=form.text,
            type=form.text,
            id=form.maybe(form.text),
            sequence=form.maybe(form.text),
            start=form.maybe(form.text),
            probability=form.text,
        )
    },
    engine=form.text,
    catalog=form.record(rules=_anything, data=_anything, data_closed=form.boolean, closed=form.boolean),
    settled=form.listing(form.row(form.text, form.text, form.value_type)),
    unit=form.one_of(*(unit.value for unit in TimeUnit)),
    sequence=form.maybe(form.text),
    lateness=integer_between(0, MAX_TIME),
    floor=form.time,
    waiting=_anything,
    fed=form.count,
    late=form.count,
    composite=form.by_name(form.count),
    uncertain=form.by_name(_error_source),
    ties=form.record(
        decided=form.maybe(form.count),
        passed_over=form.maybe(form.count),
        at_least=form.boolean,
        uncounted=form.listing(form.text),
    ),
    calculus=form.record(
        draws=integer_between(1, _MOST_DRAWS),
        seed=integer_between(0, INT_MAX),
        exact_members=form.count,
        ignore=form.probability,
        accept=form.probability,
        negation=form.text,
    ),
)
"""Reads the header of a session's snapshot; rules are left to the catalog, waiting events to ``thaw``."""
