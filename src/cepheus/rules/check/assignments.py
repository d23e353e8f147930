"""Does a rule say what each attribute of its composite event is, and can it consume what it names?"""

from __future__ import annotations

from cepheus.core.errors import did_you_mean
from cepheus.core.schema import ID_FIELD, RESERVED
from cepheus.rules.check.findings import Findings
from cepheus.rules.check.scope import RuleScope
from cepheus.rules.check.wording import find_name, listed
from cepheus.rules.expressions import EventPattern
from cepheus.rules.model import Rule
from cepheus.rules.walk import walk


def assignments(scope: RuleScope, findings: Findings) -> None:
    """Check the ``where`` and ``consuming`` clauses of a rule.

    Found here: assignments to attributes that the composite event does not have or that have their value already,
    attributes left without a value, and names in ``consuming`` that are not chosen events of the pattern.
    """
    _assigned(scope, findings)
    _consumed(scope, findings)


def _assigned(scope: RuleScope, findings: Findings) -> None:
    rule = scope.rule
    # a reserved or doubled attribute is reported where it is defined, and not asked for a second time here
    names = {attribute.name: attribute for attribute in rule.composite.attributes}
    assigned: set[str] = set()
    for assignment in rule.assignments:
        name = assignment.attribute
        if name not in names:
            missing = [other for other in names if all(other != a.attribute for a in rule.assignments)]
            hint = did_you_mean(name, missing) or did_you_mean(name, names)
            findings.error(
                "unknown-attribute",
                f"'{rule.composite.name}' has no attribute '{name}'",
                find_name(assignment.span, name),
                hint or f"add it to the definition: define {rule.composite.name}(.., {name}: double)",
            )
        elif name in assigned:
            findings.error(
                "duplicate-assignment",
                f"'{name}' is given a value twice",
                find_name(assignment.span, name),
                "keep one of the two assignments",
            )
        assigned.add(name)
    missing = [name for name in names if name not in assigned and name not in RESERVED - {ID_FIELD}]
    if missing:
        example = " and ".join(f"{name}=.." for name in missing)
        first = names[missing[0]]
        findings.error(
            "unassigned",
            f"'{rule.composite.name}' is defined with {listed(missing)}, but the rule gives "
            + ("it no value" if len(missing) == 1 else "them no values"),
            find_name(first.span or rule.composite.span, first.name),
            f"add 'where {example}'" if not rule.assignments else f"add 'and {example}' to where",
        )


def _consumed(scope: RuleScope, findings: Findings) -> None:
    rule = scope.rule
    if not rule.consuming:
        return
    chosen = [name for name, event in scope.events.items() if event.index > 0]
    usable = f"events that can be consumed: {', '.join(chosen[:5])}" if chosen else "leave the clause out"
    for position, name in enumerate(rule.consuming):
        span = rule.consuming_spans[position] if position < len(rule.consuming_spans) else rule.span
        introduced = scope.events.get(name)
        if introduced is not None:
            if introduced.index == 0 and not _met_again(rule):
                findings.warning(
                    "consuming-terminator",
                    f"consuming '{name}' changes nothing: the rule looks at each terminator once",
                    span,
                    usable,
                )
        elif name in scope.absent or name in scope.aggregated:
            kind = "a negated" if name in scope.absent else "an aggregated"
            findings.error(
                "not-selected", f"'{name}' is {kind} event: it does not take part and cannot be consumed", span, usable
            )
        else:
            hint = did_you_mean(name, chosen) or usable
            findings.error("unknown-event", f"no event of the pattern is called '{name}'", span, hint)


def _met_again(rule: Rule) -> bool:
    """Whether the terminator's type stands elsewhere in the pattern, where a consumed one is missed."""
    terminator = rule.pattern.terminator
    patterns = [node for node in walk(rule) if isinstance(node, EventPattern)]
    return sum(pattern.type == terminator.type for pattern in patterns) > 1
