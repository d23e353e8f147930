"""The snapshot of a session: the form of its header, the events that wait, as columns in an Arrow stream, and what a
session must have in common with it to go on from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cepheus.core.calculus import Calculus
from cepheus.core.error_columns import ErrorSource, Normal, Uniform
from cepheus.core.errors import SnapshotError
from cepheus.core.options import ColumnNames, RunOptions
from cepheus.core.time import MAX_TIME, TimeUnit
from cepheus.core.values import INT_MAX
from cepheus.engine.base import snapshot_form as form
from cepheus.engine.base.snapshot import unpack
from cepheus.rules.json_fields import fail, integer_between
from cepheus.rules.model import RuleSet
from cepheus.rules.run_settings import has_ties_ordered

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
    {"unseen": form.listing(form.row(form.text, form.text))},
    columns=form.record(
        time=form.text,
        type=form.text,
        id=form.maybe(form.text),
        sequence=form.maybe(form.text),
        start=form.maybe(form.text),
        probability=form.text,
    ),
    engine=form.text,
    catalog=form.record(rules=_anything, data=_anything, data_closed=form.boolean, closed=form.boolean),
    settled=form.listing(form.row(form.text, form.text, form.value_type)),
    unit=form.one_of(*(unit.value for unit in TimeUnit)),
    lateness=integer_between(0, MAX_TIME),
    floor=form.time,
    waiting=_anything,
    fed=form.count,
    late=form.count,
    skipped=form.count,
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
        precision=form.probability,
        ignore=form.probability,
        accept=form.probability,
        negation=form.text,
        choice=form.text,
        posterior=form.boolean,
    ),
)
"""Reads the header of a session's snapshot; rules are left to the catalog, waiting events to ``batch_from_bytes``."""


KIND = "embedded session"
"""What a snapshot says that it is one of."""


def opened(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Read the header of a snapshot, each field as what it stands for, and the bytes of the engine and of events."""
    header, blobs = unpack(KIND, data)
    form.only_blobs(blobs, ("engine", "waiting"))
    return HEADER(header, "$"), blobs


def options_of(header: Mapping[str, Any], own: RunOptions) -> RunOptions:
    """The options of a session that goes on from a snapshot: answers depend on those of the snapshot alone."""
    return replace(
        own,
        engine=header["engine"],
        calculus=Calculus(**header["calculus"]),
        lateness=header["lateness"],
        time_unit=TimeUnit(header["unit"]),
        columns=ColumnNames(**header["columns"]),
        uncertain=header["uncertain"],
    )


def require_same_ties(own: RuleSet, restored: RuleSet) -> None:
    """Refuse a snapshot whose rules make something else of simultaneous events than those of the session."""
    before, now = has_ties_ordered(restored), has_ties_ordered(own)
    if before == now or not own.rules or not restored.rules:
        return
    names = {True: "ordered", False: "apart"}
    raise SnapshotError.of(
        "ties",
        f"the snapshot was taken with ties {names[before]}, the session has ties {names[now]}",
        hint=f"start it with ties='{names[before]}', or without the snapshot",
    )
