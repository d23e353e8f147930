"""A rule as a tree for the terminal, in words that a newcomer can follow."""

from __future__ import annotations

from typing import assert_never

from rich.text import Text
from rich.tree import Tree

from cepheus.core.time import format_duration
from cepheus.explain.rule_parts import Part, Role, RuleParts
from cepheus.rules.expressions import Between, Scope, Within
from cepheus.rules.policies import Policy

_NAME, _RULE, _QUIET, _BAD = "bold cyan", "green", "dim", "bold red"


def tree(rule: RuleParts) -> Tree:
    """Make the tree of a rule: what it waits for, what it chooses, what it must not find, what it makes.

    Print it with Rich; on a pipe it comes out as plain text.
    """
    root = Tree(Text.assemble("rule ", (rule.name, "bold"), " makes ", (rule.composite, _NAME)), guide_style=_QUIET)
    sets_moment = any(part.role is Role.TERMINATOR for part in rule.parts)
    for part in rule.parts:
        if part.role is not Role.MOMENT or not sets_moment:  # otherwise the event that sets it tells of it
            _add_part(root, rule, part)
    for requirement in rule.requirements:
        root.add(Text.assemble("go on only if ", (requirement, _RULE)))
    _add_production(root, rule)
    if rule.parameters:
        _add_parameters(root, rule)
    look = Text(rule.look)
    look.highlight_words([format_duration(rule.reach)], "bold")
    root.add(look)
    return root


def _add_part(root: Tree, rule: RuleParts, part: Part) -> None:
    branch = root.add(_headline(part))
    for name, attribute in part.binds:
        if part.role is not Role.AGGREGATED:
            branch.add(Text.assemble((name, _RULE), " is its ", (attribute, _RULE)))
    for text in part.content:
        branch.add(Text(text, _RULE))
    for link in part.links:
        line = Text(link.text, _RULE)
        sources = [f"{use.parameter} is {use.source}" for use in rule.parameters if use.parameter in link.parameters]
        if sources:
            line.append(f"   where {', '.join(sources)}", _QUIET)
        if link.decided_at not in (part.name, *_outer(part)):
            line.append(f"   checked once {link.decided_at} is known", "yellow")
        branch.add(line)
    if part.condition is not None:
        branch.add(Text.assemble("go on only if ", (part.condition, _RULE)))
    if part.consumed:
        branch.add(Text("consumed: once it took part in a firing, this rule does not use it again", "yellow"))


def _outer(part: Part) -> tuple[str, ...]:
    """Negated events are looked for after all selections, so everything they relate to is known by then."""
    return tuple(other for link in part.links for other in link.others) if part.role is Role.NEGATED else ()


def _headline(part: Part) -> Text:
    known_as = () if part.name == part.type else (f" (called {part.name})",)
    match part.role:
        case Role.MOMENT:
            head = Text.assemble((part.type, _NAME))
            return head.append(f"   the terminator: each such moment, called {part.name}, decides the rule", _QUIET)
        case Role.TERMINATOR if isinstance(part.scope, Within):
            after = f"{format_duration(part.scope.duration)} after "
            head = Text.assemble(after, (part.type, _NAME), *known_as, " has arrived")
            return head.append(f"   this moment, called {part.scope.reference}, decides the rule", _QUIET)
        case Role.TERMINATOR:
            head = Text.assemble("when ", (part.type, _NAME), *known_as, " arrives")
            return head.append("   the terminator: it decides the rule, at its time", _QUIET)
        case Role.SELECTED:
            head = Text.assemble(f"take {_taking(part.policy)} ", (part.type, _NAME), *known_as, f"{part.per} ")
        case Role.COLLECTED:
            bounds = part.policy.removeprefix("all").strip()
            words = f"take all (there must be {bounds}) " if bounds else "take all "
            head = Text.assemble(words, (part.type, _NAME), *known_as, ", together as one choice, ")
        case Role.NEGATED:
            head = Text.assemble(("no ", _BAD), (part.type, _NAME), " ")
        case Role.AGGREGATED:
            named = (part.name, " = ") if part.name.startswith("$") else ()
            head = Text.assemble("compute ", *named, (part.policy, "bold"), " over every ", (part.type, _NAME), " ")
        case _:
            assert_never(part.role)
    assert part.scope is not None
    head.append(_when(part.scope))
    return head.append(f"   for {part.purpose}", _QUIET) if part.purpose is not None else head


def _taking(policy: str) -> str:
    count, _, word = policy.rpartition(" ")
    if word == "top":
        return f"the greatest {count}"
    return f"up to {count} of the {word}" if count else Policy(word).record.phrase


def _takes_several(policy: str) -> bool:
    """Whether the words in front of an event, none for the terminator, may take more than one."""
    count, _, word = policy.rpartition(" ")
    return bool(count) or (bool(word) and Policy(word).takes_all)


def _when(scope: Scope) -> str:
    match scope:
        case Within(reference=reference, since_start=True):
            return f"since the start, before {reference}"
        case Within(duration=duration, reference=reference):
            return f"in the {format_duration(duration)} before {reference}"
        case Between(first=first, second=second):
            return f"strictly between {first} and {second}"
        case _:
            assert_never(scope)


def _add_production(root: Tree, rule: RuleParts) -> None:
    combined = [part.name for part in rule.selected if part.groups or _takes_several(part.policy)]
    for_each = f", one for each choice of {' and '.join(combined)}" if combined else ""
    time = "at that moment" if rule.is_timed else f"at the time of {rule.terminator.name}"
    branch = root.add(Text.assemble("make ", (rule.composite, _NAME), f" {time}{for_each}"))
    for attribute, value in rule.assignments:
        branch.add(Text.assemble((attribute, _RULE), " = ", (value, _RULE)))
    if rule.min_probability is not None:
        branch.add(Text(f"only if its probability is at least {rule.min_probability:g}", "yellow"))


def _add_parameters(root: Tree, rule: RuleParts) -> None:
    branch = root.add("parameters")
    for use in rule.parameters:
        line = Text.assemble((use.parameter, _RULE), f" is bound by {use.source}")
        line.append(f", used by {', '.join(use.used)}" if use.used else ", never used", _QUIET)
        branch.add(line)
