"""Letters in a NOT that do more, or less, than they seem to: rules that work, but perhaps not as they were meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from cepheus.core.schema import EventType
from cepheus.rules.check.findings import Findings
from cepheus.rules.check.interval.variables import mentioned_variables
from cepheus.rules.expressions import Expression, Parameter
from cepheus.rules.interval.model import (
    Absence,
    Anything,
    Argument,
    Atom,
    Choice,
    Combined,
    Either,
    IntervalPattern,
    IntervalRule,
    Lasting,
    Operator,
    Where,
)
from cepheus.rules.interval.reach import effective_policy
from cepheus.rules.walk import Node, walk


def warn_of_negation_traps(rule: IntervalRule, types: Mapping[str, EventType], findings: Findings) -> None:
    """Warn of letters that join by accident, of values that may be missing, and of intervals ruled out together."""
    uses = Counter(parameter.name for parameter in _parameters(rule.pattern, *rule.values))
    for node in walk(rule.pattern):
        if isinstance(node, Absence):
            _joined_by_accident(rule, node, findings)
            _values_that_may_lack(node, types, uses, findings)


def warn_of_open_delimiters(rule: IntervalRule, lasting: Collection[str], findings: Findings) -> None:
    """Warn of delimiters of a NOT that count as one although they differ in an argument which is left open.

    ``lasting`` are the types of events that rules make and that may last: only these can have one end in common and
    differ in the other.
    """
    if effective_policy(rule).choice is not Choice.UNRESTRICTED:
        return
    for node in walk(rule.pattern):
        if isinstance(node, Absence):
            for delimiter, common in ((node.first, "start"), (node.second, "end")):
                atom = _atom_of(delimiter)
                left_open = [a for a in (atom.arguments if atom else ()) if isinstance(a, Anything)]
                if atom is not None and left_open and atom.type in lasting:
                    findings.warning(
                        "ruled-out-together",
                        f"all '{atom.type}' with the same {common} are ruled out by this NOT if one of them is: _ does "
                        "not tell them apart",
                        left_open[0].span or atom.span,
                        "name the argument, so that each is judged on its own",
                    )


def may_last(rules: Collection[IntervalRule], others: Collection[str]) -> frozenset[str]:
    """The types of events that rules make and that may be more than an instant; ``others`` are of another family."""
    found = frozenset(others)
    while True:
        more = found | {rule.head.name for rule in rules if _lasts(rule.pattern, found)}
        if more == found:
            return found
        found = more


def _lasts(pattern: IntervalPattern, lasting: Collection[str]) -> bool:
    """Whether a match may be more than an instant; events from outside count as instants."""
    match pattern:
        case Atom(type=name):
            return name in lasting
        case Lasting(pattern=inner) | Where(pattern=inner):
            return _lasts(inner, lasting)
        case Either(left=left, right=right) | Combined(operator=Operator.EQUALS, left=left, right=right):
            return _lasts(left, lasting) or _lasts(right, lasting)
        case Combined() | Absence():
            return True
        case _:
            return False


def _joined_by_accident(rule: IntervalRule, node: Absence, findings: Findings) -> None:
    """Find variables of the negated event that one of the delimiters alone has.

    They are meant to join if that is all the rule is about: the other delimiter has no variables of its own, or the
    head tells of this delimiter alone; or if other events, outside of the NOT, have them, too.
    """
    first, second = mentioned_variables(node.first), mentioned_variables(node.second)
    inside, everywhere = (Counter(each.name for each in _parameters(*_atoms(part))) for part in (node, rule.pattern))
    told = {parameter.name for parameter in _parameters(*rule.values)}
    joining = {parameter.name for parameter in _parameters(node.negated)} & (first | second)
    seen: set[str] = set()
    for parameter in _parameters(node.negated):
        name = parameter.name
        if name in seen or name not in first ^ second:
            continue
        seen.add(name)
        other = (second if name in first else first) - joining
        alone = joining == {name} and name in told and not other & told
        outside = everywhere[name] > inside[name]
        if (other or joining != {name}) and not alone and not outside:
            side, kind = ("first", node.first) if name in first else ("second", node.second)
            atom = _atom_with(kind, name)
            partner = f"'{atom.type}'" if atom is not None else f"{side} delimiter"
            negated = _atom_with(node.negated, name)
            findings.warning(
                "joined-in-not",
                f"this NOT looks only for a '{negated.type if negated else '..'}' with the {name} of its {partner}: "
                f"{name} stands in both",
                parameter.span or node.span,
                f"if the value does not matter, write _ in place of {name}, or a letter that stands nowhere else",
            )


def _values_that_may_lack(
    node: Absence, types: Mapping[str, EventType], uses: Counter[str], findings: Findings
) -> None:
    """Find variables that stand for any value, of attributes that an event may lack."""
    for atom in walk(node.negated):
        if not isinstance(atom, Atom) or atom.type not in types:
            continue
        for argument, attribute in zip(atom.arguments, types[atom.type].attributes, strict=False):
            if isinstance(argument, Parameter) and uses[argument.name] == 1 and attribute.optional:
                findings.warning(
                    "unseen-in-not",
                    f"this NOT does not see '{atom.type}' without {attribute.name}: {argument.name} asks for a value",
                    argument.span or atom.span,
                    f"write _ in place of {argument.name}, so that no '{atom.type}' at all may come",
                )


def _atom_of(pattern: IntervalPattern) -> Atom | None:
    while isinstance(pattern, Lasting | Where):
        pattern = pattern.pattern
    return pattern if isinstance(pattern, Atom) else None


def _atom_with(pattern: IntervalPattern, name: str) -> Atom | None:
    """The first event of a pattern that has a variable."""
    return next((atom for atom in _atoms(pattern) if any(each.name == name for each in _parameters(atom))), None)


def _atoms(pattern: IntervalPattern) -> Iterator[Atom]:
    return (node for node in walk(pattern) if isinstance(node, Atom))


def _parameters(*nodes: Node | Expression | Argument) -> Iterator[Parameter]:
    return (child for node in nodes for child in walk(node) if isinstance(child, Parameter))
