"""The steps of a rule as rules write them, and where they stand in the rule text."""

from __future__ import annotations

from cepheus.core.source import Span
from cepheus.language.tesla.print import format_condition, format_event_pattern, format_expression, scope_text
from cepheus.rules.model import Aggregation, Collection, Negation, Rule, Selection
from cepheus.rules.resolve import resolve
from cepheus.rules.resolved import Absent, Choose, Compute, Require
from cepheus.rules.walk import walk

StepOfRule = Choose | Compute | Require | Absent | str | None
"""A step of a resolved rule; None is the terminator, a text an attribute that is made or ``probability``."""


def text_of(step: StepOfRule, rule: Rule) -> str:
    """A step in the words of rules.

    >>> from cepheus.language.tesla import parse
    >>> from cepheus.rules.check.check import name_rules
    >>> text = "define F() from Smoke() and last Temp(value > 45) within 5 min from Smoke"
    >>> (rule,) = name_rules(parse(text)).rules
    >>> text_of(None, rule), text_of(resolve(rule).steps[0], rule)
    ('Smoke()', 'last Temp(value>45) within 5 min from Smoke')
    """
    match step:
        case None:
            timer = "" if rule.pattern.timer is None else f"{rule.pattern.timer} "
            terminator = rule.pattern.terminator
            return timer.strip() if terminator.name == "now" else f"{timer}{format_event_pattern(terminator)}"
        case Choose():
            item = _selection(step, rule)
            words = f"{item.count} {item.policy.value}" if item.count is not None else item.policy.value
            words = words if item.ranking is None else f"{item.ranking.count} top"
            by = "" if item.ranking is None else f" by {format_expression(item.ranking.by)}"
            per = f" per {', '.join(each.name for each in item.per)}" if item.per else ""
            return f"{words} {format_event_pattern(item.event)}{by}{per} {scope_text(item.window)}"
        case Compute(function=function, type=event_type, constraints=constraints, value=value, scope=scope):
            where = " and ".join(map(format_condition, constraints))
            of = "" if value is None else f".{format_expression(value)}"
            return f"{function}({event_type}({where}){of} {scope_text(scope)})"
        case Require(constraint=constraint):
            return _called(format_condition(constraint), rule)
        case Absent(type=event_type, constraints=constraints, scope=scope):
            return f"not {event_type}({' and '.join(map(format_condition, constraints))}) {scope_text(scope)}"
        case "probability":
            return "min probability" if rule.min_probability is not None else "probability"
        case str():
            assigned = next(each for each in rule.assignments if each.attribute == step)
            return f"where {step} = {format_expression(assigned.value)}"


def span_of(step: StepOfRule, rule: Rule) -> Span | None:
    """Where a step stands in the rule text, if that is known."""
    match step:
        case None:
            return rule.pattern.terminator.span
        case Choose():
            return _selection(step, rule).span
        case Compute():
            for item in rule.pattern.items:
                if isinstance(item, Aggregation) and item.parameter == step.name:
                    return item.span
                if isinstance(item, Collection) and item.event.type == step.type and item.scope == step.scope:
                    return item.span
            return None
        case Require(constraint=constraint):
            if constraint.span is not None:
                return constraint.span
            spans = [node.span for node in walk(constraint) if getattr(node, "span", None) is not None]
            return spans[0] if spans else None
        case Absent():
            place = resolve(rule).absences.index(step)
            return [item for item in rule.pattern.items if isinstance(item, Negation)][place].span
        case str():
            assigned = next((each for each in rule.assignments if each.attribute == step), None)
            return None if assigned is None else assigned.span


def _selection(step: Choose, rule: Rule) -> Selection:
    found = (item for item in rule.pattern.items if isinstance(item, Selection) and item.event.name == step.name)
    return next(found)


def _called(text: str, rule: Rule) -> str:
    """A condition in which aggregates that have no name are called by what they are."""
    resolved = resolve(rule)
    nameless = [s.name for s in resolved.steps if isinstance(s, Compute) and s.name.startswith("#")]
    for name in sorted(nameless, key=len, reverse=True):
        text = text.replace(f"${name}", resolved.called(name))
    return text
