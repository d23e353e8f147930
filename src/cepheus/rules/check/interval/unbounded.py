"""Rules without bound: those whose memory grows for ever, and those that feed themselves without any further event."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from cepheus.core.time import MAX_TIME
from cepheus.rules.check.cycles import components
from cepheus.rules.check.findings import Findings
from cepheus.rules.check.interval.variables import bound_variables, mentioned_variables
from cepheus.rules.expressions import Arithmetic, Call, Constant, Expression, Parameter
from cepheus.rules.functions import grows
from cepheus.rules.interval.model import (
    Absence,
    AnyOf,
    Argument,
    Atom,
    Bind,
    Choice,
    Combined,
    Condition,
    ConsumptionPolicy,
    Either,
    Element,
    Fits,
    Holds,
    IntervalPattern,
    IntervalRule,
    Known,
    Lasting,
    Member,
    NoneOf,
    Operator,
    Preference,
    TimePoint,
    Unknown,
    Where,
)
from cepheus.rules.interval.operators import OPERATORS, Ends, operators_that_end
from cepheus.rules.interval.reach import END_TOGETHER, LEFT_ENDS_FIRST, effective_policy, reach_below
from cepheus.rules.interval.stand_ins import awaited_instants
from cepheus.rules.walk import Node, walk

_RECENT = ConsumptionPolicy(Choice.RECENT)
_WINDOW = "write a window around the pattern, (p).20 min"


def warn_of_unbounded_state(rule: IntervalRule, findings: Findings, made: Collection[str]) -> None:
    """Warn of a rule that must remember events for ever: no window limits it, and nothing takes their place.

    ``made`` are the types of events that rules make. All others count as instants, as they do in a session until one
    of them lasts.
    """
    policy = effective_policy(rule)
    unlimited = list(_unlimited(rule.pattern, policy, made))
    if not unlimited:
        return
    if not window_missing(rule):
        findings.warning(
            "unbounded-state",
            f"rule '{rule.name}' remembers what it would otherwise forget: its policy is onesided",
            rule.head.span,
            "leave out onesided, unless the rule must do what the ETALIS system does",
        )
        return
    recent = policy.choice is not Choice.RECENT and not list(_unlimited(rule.pattern, _RECENT, made))
    findings.warning(
        "unbounded-state",
        f"rule '{rule.name}' remembers {_kept(policy)}: no window is around its {_words(unlimited)}",
        rule.head.span,
        f"{_WINDOW}, or choose POLICY recent" if recent else _WINDOW,
    )


def window_missing(rule: IntervalRule) -> bool:
    """Whether more and more waits at some operator of a rule because no window is around it."""
    return bool(list(_unlimited(rule.pattern, replace(effective_policy(rule), onesided=False), None)))


def _kept(policy: ConsumptionPolicy) -> str:
    if policy.choice is Choice.UNRESTRICTED:
        return "all its events for ever, as its policy is unrestricted"
    if policy.once:
        return "for ever each event that finds no partner"
    return "events for ever, as a later partner may need an older one"


def _words(nodes: list[Combined | Absence]) -> str:
    names = ["NOT" if isinstance(node, Absence) else node.operator.value for node in nodes]
    return " and ".join(dict.fromkeys(names))


def _unlimited(
    pattern: IntervalPattern,
    policy: ConsumptionPolicy,
    made: Collection[str] | None,
    reach: int = MAX_TIME,
    conditions: tuple[Condition, ...] = (),
) -> Iterator[Combined | Absence]:
    """Find the operators at which more and more may wait.

    Events that last are of the types ``made``, or of any. ``reach`` is what the windows around the pattern say,
    ``conditions`` are those that stand directly around it.
    """
    match pattern:
        case Lasting(pattern=inner, duration=duration):
            yield from _unlimited(inner, policy, made, min(reach, duration), conditions)
        case Where(pattern=inner, conditions=own):
            yield from _unlimited(inner, policy, made, reach, own + conditions)
        case Either(left=left, right=right):
            yield from _unlimited(left, policy, made, reach)
            yield from _unlimited(right, policy, made, reach)
        case Combined(operator=operator, left=left, right=right):
            reach = reach_below(operator, policy, reach)
            if reach == MAX_TIME and not _bounded(pattern, policy, made, conditions):
                yield pattern
            yield from _unlimited(left, policy, made, reach)
            yield from _unlimited(right, policy, made, reach)
        case Absence(negated=negated, first=first, second=second):
            # What must be absent waits, too, as long as a first delimiter does.
            if reach == MAX_TIME and not (_is_finite(first) and _is_finite(negated)):
                yield pattern
            for inner in (first, second, negated):
                yield from _unlimited(inner, policy, made, reach)
        case _:
            return


def _bounded(
    node: Combined, policy: ConsumptionPolicy, made: Collection[str] | None, conditions: tuple[Condition, ...]
) -> bool:
    """Whether what waits at an operator without a window has a bound: as many as there are different values."""
    if node.operator in END_TOGETHER or policy.renewing:
        return True
    left_alone = (*LEFT_ENDS_FIRST, *operators_that_end(Ends.LEFT_AT_START))
    if _is_finite(node.left) and (node.operator in left_alone or _is_finite(node.right)):
        return True
    if _shares_unsurely(node):
        return False
    variables = mentioned_variables(node.left), mentioned_variables(node.right)
    awaited = awaited_instants(node, conditions, policy, *variables)
    if awaited is not None and made is not None and awaited not in made:
        return True
    takes_over = policy.choice is Choice.RECENT and not (policy.once or policy.onesided)
    takes_over = takes_over and policy.preference is Preference.ARRIVAL and not conditions
    return takes_over and OPERATORS[node.operator].ends is Ends.ANY


def _shares_unsurely(node: Combined) -> bool:
    """Whether the operands share a variable that one side of an OR does not bind."""
    shared = mentioned_variables(node.left) & mentioned_variables(node.right)
    return not shared <= bound_variables(node.left) & bound_variables(node.right)


def _is_finite(pattern: IntervalPattern) -> bool:
    """Whether a pattern has few matches, however long the stream is: it is made of points in time."""
    match pattern:
        case TimePoint():
            return True
        case Lasting(pattern=inner) | Where(pattern=inner):
            return _is_finite(inner)
        case Combined(left=left, right=right) | Either(left=left, right=right) | Absence(first=left, second=right):
            return _is_finite(left) and _is_finite(right)
        case _:
            return False


_EITHER_MAY_COVER = (Operator.AND, Operator.PAR, Operator.EQUALS, Operator.MEETS)
_RIGHT_COVERS = (Operator.DURING, Operator.STARTS, Operator.FINISHES)


def warn_of_endless_rules(rules: Sequence[IntervalRule], findings: Findings) -> None:
    """Warn of rules that one event keeps going for ever."""
    for rule in endless(rules):
        findings.warning(
            "endless-recursion",
            f"rule '{rule.name}' makes '{rule.head.name}' again and again from one event, each time with other values",
            rule.head.span,
            f"let a condition of WHERE end it, as in {_example(rule)}, or let each step take a further event, with SEQ",
        )


def endless(rules: Sequence[IntervalRule]) -> list[IntervalRule]:
    """Find the rules that compute new values from what they make themselves, with no condition that could end it.

    ``e(X + 1) <- e(X).`` is such a rule. ``e(X + 1) <- e(X) SEQ a.`` is not: every step needs an ``a`` of its own.
    """
    return _computing([rule for rule in rules if not _is_guarded(rule)])


def feeds_itself(rule: IntervalRule, rules: Sequence[IntervalRule]) -> bool:
    """Whether a rule makes new values from what it makes itself, whether or not a condition may end that."""
    return any(rule.name == other.name for other in _computing(rules))


def _computing(rules: Sequence[IntervalRule]) -> list[IntervalRule]:
    by_name = {str(rule.name): rule for rule in rules}
    makers: dict[str, list[IntervalRule]] = {}
    for rule in rules:
        makers.setdefault(rule.head.name, []).append(rule)
    edges = {
        name: [
            str(maker.name)
            for atom in _covering(rule.pattern, effective_policy(rule).once)
            for maker in makers.get(atom.type, ())
            if _may_fit(atom, maker)
        ]
        for name, rule in by_name.items()
    }
    found: set[str] = set()
    for component in components(edges):
        made = {by_name[name].head.name for name in component}
        fed = [name for name in component if not set(edges[name]).isdisjoint(component)]
        found.update(name for name in fed if _computes(by_name[name], made))
    return [rule for name, rule in by_name.items() if name in found]


def _covering(pattern: IntervalPattern, once: bool) -> list[Atom]:
    """Find the atoms whose event may last as long as the whole match does.

    Only these can go on for ever: matches of the others are longer than the event, and there are only so many events to
    be longer by. A partner that is used up is another event each time, so that ``once`` comes to an end, unless an
    event is its own partner.
    """
    match pattern:
        case Atom():
            return [pattern]
        case Lasting(pattern=inner) | Where(pattern=inner):
            return _covering(inner, once)
        case Either(left=left, right=right):
            return _covering(left, once) + _covering(right, once)
        case Combined(operator=operator, left=left, right=right) if operator in _EITHER_MAY_COVER:
            one, other = _covering(left, once), _covering(right, once)
            both = {atom.type for atom in one} & {atom.type for atom in other}
            return [atom for atom in one + other if not once or atom.type in both]
        case Combined(operator=operator, right=right) if operator in _RIGHT_COVERS and not once:
            return _covering(right, once)
        case _:
            return []


def _may_fit(atom: Atom, maker: IntervalRule) -> bool:
    """Whether what a rule makes may fit an atom; constants that differ rule it out."""
    pairs = zip(atom.arguments, maker.values, strict=False)
    return not any(
        isinstance(one, Constant) and isinstance(other, Constant) and one.value != other.value for one, other in pairs
    )


def _computes(rule: IntervalRule, made: set[str]) -> bool:
    """Whether an argument of the head is computed from an argument of events of the types ``made``."""
    derived, grown = _flow(rule, made)
    return any(_names(value) & grown or (_grows(value) and _names(value) & derived) for value in rule.values)


def _flow(rule: IntervalRule, made: set[str] | None) -> tuple[set[str], set[str]]:
    """The variables that depend on events of some types (None: all), and of these the ones that are computed."""
    atoms = (node for node in walk(rule.pattern) if isinstance(node, Atom) and (made is None or node.type in made))
    derived = {name for atom in atoms for name in _names(*atom.arguments)}
    grown: set[str] = set()
    for node in reversed([node for node in walk(rule.pattern) if isinstance(node, Where)]):  # inner ones first
        bound = bound_variables(node.pattern)
        for condition in node.conditions:
            match condition:
                case Bind(variable=variable, value=value) if _names(value) & derived:
                    derived.add(variable)
                    grown |= {variable} if _grows(value) or _names(value) & grown else set()
                case Fits(value=Parameter(name=name), pattern=pattern) if name not in bound | derived:
                    if _names(pattern) & derived:
                        derived.add(name)
                        grown.add(name)
                case Fits(value=value, pattern=pattern) if _names(value) & derived:
                    derived |= _names(pattern)
                    grown |= _names(pattern) if _names(value) & grown else set()
                case Element(value=value, elements=elements) if _names(elements) & derived:
                    derived |= _names(value)
                case _:
                    pass
    return derived, grown


def _is_guarded(rule: IntervalRule) -> bool:
    """Whether a condition may end a recursion: it asks something of a value that the head depends on."""
    derived, _ = _flow(rule, None)
    needed = set(_names(*rule.values))
    binds = [condition for condition in _conditions(rule) if isinstance(condition, Bind | Fits)]
    for condition in reversed(binds):
        names = _names(condition)
        own = {condition.variable} if isinstance(condition, Bind) else set()
        if (names | own) & needed:
            needed |= names
    asked = (c for c in _conditions(rule) if isinstance(c, Holds | Known | Unknown | Member | AnyOf | NoneOf))
    return any(_names(condition) & needed & derived for condition in asked)


def _conditions(rule: IntervalRule) -> Iterator[Condition]:
    return (condition for node in walk(rule.pattern) if isinstance(node, Where) for condition in node.conditions)


def _grows(expression: Expression) -> bool:
    """Whether an expression can give ever new values."""
    return any(
        isinstance(node, Arithmetic) or (isinstance(node, Call) and grows(node.function)) for node in walk(expression)
    )


def _names(*nodes: Node | Expression | Argument) -> set[str]:
    return {child.name for node in nodes for child in walk(node) if isinstance(child, Parameter)}


def _example(rule: IntervalRule) -> str:
    name = next((value.name for value in rule.values if isinstance(value, Parameter)), None)
    name = name or min(_flow(rule, None)[0], default="X")
    counts = any(isinstance(node, Arithmetic) for node in walk(rule))
    return f"{name} < 100" if counts else f"length({name}) < 100"
