"""In words, what rules ask for besides the events that what they make is made of: the rest of why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never

from cepheus.explain.rows import conditions_text
from cepheus.explain.rule_parts import Part, Role, rule_parts
from cepheus.language.etalis.print import format_pattern
from cepheus.language.tesla.print import scope_text
from cepheus.rules.interval.model import IntervalRule
from cepheus.rules.model import AnyRule, Rule
from cepheus.rules.rows.model import RowRule

Asked = Mapping[str, tuple[str, ...]]
"""By the name of a rule, what it asks for."""


def asked_of(rules: Iterable[AnyRule]) -> dict[str, tuple[str, ...]]:
    """What rules of any language ask for, by their names.

    >>> from cepheus.language.sql import parse
    >>> query = "MATCH_RECOGNIZE (PATTERN (A B+) DEFINE B AS price > PREV(price)) AS Rise"
    >>> from dataclasses import replace
    >>> asked_of([replace(parse(query).row_rules[0], name="Rise")])
    {'Rise': ('rows that follow one another as A B+', 'B: price > PREV(price)')}
    """
    return {rule.name: _asked(rule) for rule in rules if rule.name is not None}


def _asked(rule: AnyRule) -> tuple[str, ...]:
    match rule:
        case Rule():
            return tuple(map(_in_words, rule_parts(rule).conditions))
        case IntervalRule():
            return (f"as {format_pattern(rule.pattern)}",)
        case RowRule():
            return tuple(conditions_text(rule))
        case _:
            assert_never(rule)


def _in_words(condition: Part) -> str:
    assert condition.scope is not None
    constraints = " and ".join((*condition.content, *(link.text for link in condition.links)))
    where = f"{condition.type}({constraints}) {scope_text(condition.scope)}"
    if condition.role is Role.NEGATED:
        return f"and no {where}"
    if condition.role is Role.COLLECTED:
        return f"and {condition.policy} {where}"
    held = f", and {condition.condition}" if condition.condition else ""
    named = f"{condition.name} = " if condition.name.startswith("$") else ""
    return f"and {named}{condition.policy} over {where}{held}"
