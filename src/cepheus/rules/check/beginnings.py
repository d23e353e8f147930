"""Aggregates ``since start``: those that can go on for ever in a few words, whatever the number of events."""

from __future__ import annotations

from collections.abc import Iterator

from cepheus.rules.aggregates import AGGREGATES
from cepheus.rules.check.findings import Findings, text_of
from cepheus.rules.check.scope import RuleScope
from cepheus.rules.expressions import (
    Aggregate,
    AttributeRef,
    Comparison,
    Constraint,
    EventPattern,
    Expression,
    Parameter,
    Scope,
    Within,
    joined_by,
)
from cepheus.rules.functions import AND
from cepheus.rules.model import Collection, Negation, Selection
from cepheus.rules.walk import walk


def check_beginnings(scope: RuleScope, findings: Findings) -> None:
    """Check what a rule looks at since its start.

    Found here: selections, absences and collections that have no beginning, aggregates that would have to remember
    every member, members that must satisfy more than conditions of their own and equalities, consumed members.
    """
    for item in scope.rule.pattern.items:
        looked: Scope | None = item.scope if isinstance(item, Negation | Collection) else None
        looked = item.window if isinstance(item, Selection) else looked
        if looked is not None and _has_no_beginning(looked):
            findings.error(
                "since-start",
                "only an aggregate goes back to the start: all else would remember every event",
                looked.span,
                "write a window, such as 'within 1 day from ..', or aggregate: Count(..) = 0",
            )
    consumed = {event.type for event in _consumed(scope)}
    for aggregate, _ in scope.aggregates:
        if aggregate.of is None and _has_no_beginning(aggregate.scope):
            _aggregate(aggregate, consumed, findings)


def _has_no_beginning(scope: Scope) -> bool:
    return isinstance(scope, Within) and scope.since_start


def _consumed(scope: RuleScope) -> Iterator[EventPattern]:
    pattern = scope.rule.pattern
    chosen = (item.event for item in pattern.items if isinstance(item, Selection | Collection))
    return (event for event in (pattern.terminator, *chosen) if event.name in scope.rule.consuming)


def _aggregate(aggregate: Aggregate, consumed: set[str], findings: Findings) -> None:
    record = AGGREGATES.get(aggregate.function.lower())
    if record is not None and not record.goes_on:
        able = ", ".join(each.name for each in AGGREGATES.values() if each.goes_on)
        findings.error(
            "since-start",
            f"{record.name} would have to remember more and more since the start",
            aggregate.scope.span,
            f"write a window, such as 'within 1 day from ..'; since start there are {able}",
        )
    if aggregate.event.type in consumed:
        findings.error(
            "since-start",
            f"what '{aggregate.event.type}' came to since the start cannot be told without those that are consumed",
            aggregate.scope.span,
            "write a window, or leave 'consuming' out",
        )
    for constraint in aggregate.event.constraints:
        for part in joined_by(AND, constraint):
            if not _is_own(part, aggregate.event) and not _is_key(part, aggregate.event):
                findings.error(
                    "since-start",
                    f"whether '{text_of(part)}' holds would have to be asked of every event since the start",
                    part.span or aggregate.span,
                    "of other events it may only ask for equality with an attribute of its own: user=$user",
                )


def _is_own(constraint: Constraint, event: EventPattern) -> bool:
    """Whether a condition asks nothing but the event itself."""
    return all(
        not isinstance(node, Parameter | Aggregate)
        and (not isinstance(node, AttributeRef) or node.event in (None, event.name))
        for node in walk(constraint)
    )


def _is_key(constraint: Constraint, event: EventPattern) -> bool:
    """Whether a condition says that an attribute of the event equals something else."""
    match constraint:
        case Comparison(operands=(left, right), operators=("=",)):
            return _is_attribute(left, event) != _is_attribute(right, event) and not (
                _is_own(left, event) and _is_own(right, event)
            )
        case _:
            return False


def _is_attribute(expression: Expression, event: EventPattern) -> bool:
    return isinstance(expression, AttributeRef) and expression.event in (None, event.name)
