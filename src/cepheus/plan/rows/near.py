"""Conditions that look no further than a row and its neighbours: what holds for a row is known before any match is."""

from __future__ import annotations

from cepheus.rules.rows.expressions import Aggregated, At, Classifier, Column, MatchNumber, RowExpression, walk
from cepheus.rules.rows.model import RowQuery


def is_near(condition: RowExpression, variable: str) -> bool:
    """Whether the condition of a variable looks at nothing of the match but the row at hand."""
    return not any(_looks_back(part, variable) for part in walk(condition))


def all_near(query: RowQuery) -> bool:
    """Whether all conditions of a query are such."""
    return all(is_near(each.condition, each.variable) for each in query.definitions)


def _looks_back(part: RowExpression, variable: str) -> bool:
    match part:
        case Aggregated() | MatchNumber():
            return True
        case Column(at=At() as at) | Classifier(at=At() as at):
            own = at.variables is None or variable in at.variables
            if not (own and at.last and at.logical == 0):
                return True
            return isinstance(part, Classifier) and at.physical != 0
        case _:
            return False
