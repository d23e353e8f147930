"""Do rules wait for one another at the same instant, within one family of rules or across both?"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from cepheus.rules.check.findings import Findings, find_name
from cepheus.rules.interval.model import Atom, IntervalRule, TimePoint
from cepheus.rules.model import Rule, RuleSet
from cepheus.rules.walk import walk


def components(edges: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The sets of names that depend on one another, what is depended on first.

    ``edges`` gives for each name those that it depends on; only names that are keys count.

    >>> components({"a": ["b"], "b": ["a", "c"], "c": []})
    [['c'], ['a', 'b']]
    >>> components({"a": ["b"], "b": ["b"]})
    [['b'], ['a']]
    """
    order = {name: place for place, name in enumerate(edges)}
    number: dict[str, int] = {}  # in the order in which names are come upon: the algorithm of Tarjan, on a stack
    lowest: dict[str, int] = {}
    waiting: dict[str, None] = {}
    found: list[list[str]] = []
    for start in edges:
        path = [(start, iter(edges[start]))] if start not in number else []
        while path:
            name, successors = path[-1]
            if name not in number:
                number[name] = lowest[name] = len(number)
                waiting[name] = None
            for successor in successors:
                if successor in waiting:
                    lowest[name] = min(lowest[name], number[successor])
                elif successor in edges and successor not in number:
                    path.append((successor, iter(edges[successor])))
                    break
            else:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[name])
                if lowest[name] == number[name]:
                    found.append(sorted(_taken_until(name, waiting), key=order.__getitem__))
    return found


def _taken_until(name: str, waiting: dict[str, None]) -> list[str]:
    taken = [waiting.popitem()[0]]
    while taken[-1] != name:
        taken.append(waiting.popitem()[0])
    return taken


def refuse_cycles(rules: RuleSet, findings: Findings) -> None:
    """Refuse rules whose composite events are, through terminators alone, made of themselves.

    A composite event carries its terminator's time, so such rules would have an event precede itself. One cycle is
    reported for each set of rules that hang together; recursion through other events of a pattern is fine, since
    those lie strictly earlier.
    """
    by_type: dict[str, list[Rule]] = {}
    for rule in rules.rules:
        by_type.setdefault(rule.composite.name, []).append(rule)
    edges = {
        name: list(dict.fromkeys(t for rule in made if (t := rule.pattern.terminator.type) in by_type))
        for name, made in by_type.items()
    }
    position = {name: place for place, name in enumerate(edges)}
    for component in components(edges):
        start = min(component, key=position.__getitem__)
        if len(component) > 1 or start in edges[start]:
            _report(_shortest(start, set(component), edges), by_type, findings)


def _report(cycle: list[str], by_type: dict[str, list[Rule]], findings: Findings) -> None:
    following = [*cycle[1:], cycle[0]]
    steps = [
        next(rule for rule in by_type[name] if rule.pattern.terminator.type == terminator)
        for name, terminator in zip(cycle, following, strict=True)
    ]
    chain = " <- ".join([*cycle, cycle[0]])
    named = ", ".join(f"'{rule.name}'" for rule in steps)
    subject = f"rule {named} makes" if len(steps) == 1 else f"rules {named} make"
    terminator = steps[0].pattern.terminator
    findings.error(
        "cycle",
        f"{subject} a cycle through terminators: {chain}",
        find_name(terminator.span, terminator.type),
        _HINT if all(step.pattern.timer is None for step in steps) else _HINT_WITH_TIMER,
    )


_HINT = "a composite event happens with its terminator; let another event be the terminator of one of these rules"
_HINT_WITH_TIMER = (
    "what such a rule makes sets its next timer; ask again by the clock: from every 5 min and last Alarm(..)"
)


def _shortest(start: str, members: set[str], edges: dict[str, list[str]]) -> list[str]:
    """Find the types of a shortest cycle through ``start``."""
    came_from: dict[str, str] = {}
    queue = deque([start])
    while queue:
        name = queue.popleft()
        for successor in edges[name]:
            if successor == start:
                path = [name]
                while path[-1] != start:
                    path.append(came_from[path[-1]])
                return path[::-1]
            if successor in members and successor not in came_from:
                came_from[successor] = name
                queue.append(successor)
    raise AssertionError("every type of a component lies on a cycle")


def refuse_cycles_across_families(rules: RuleSet, findings: Findings) -> None:
    """Refuse rules of both families that wait for one another at the same instant.

    A composite event carries its terminator's time, and an interval rule may be completed by any of its events. So no
    terminator may depend on its own rule; and what is decided when an instant is over cannot, through a terminator,
    take part in that instant once more.
    """
    if not rules.rules or not rules.interval_rules:
        return
    terminators: dict[str, list[Rule]] = {}
    for rule in rules.rules:
        terminators.setdefault(rule.composite.name, []).append(rule)
    atoms: dict[str, list[str]] = {}
    for interval_rule in rules.interval_rules:
        atoms.setdefault(interval_rule.head.name, []).extend(_types(interval_rule))
    edges = {
        name: [rule.pattern.terminator.type for rule in terminators.get(name, ())] + atoms.get(name, [])
        for name in (*terminators, *atoms)
    }
    _cycles(edges, terminators, atoms, findings)
    _late(rules.interval_rules, terminators, findings)


def _cycles(
    edges: Mapping[str, Sequence[str]],
    terminators: Mapping[str, list[Rule]],
    atoms: Mapping[str, list[str]],
    findings: Findings,
) -> None:
    for component in components(edges):
        if any(name in atoms for name in component):
            for name in component:
                for rule in terminators.get(name, ()):
                    terminator = rule.pattern.terminator
                    if terminator.type in component:
                        chain = " and ".join(f"'{member}'" for member in component)
                        findings.error(
                            "cycle",
                            f"the terminator of rule '{rule.name}' depends on what the rule makes, by way of {chain}",
                            find_name(terminator.span, terminator.type),
                            "let another event be the terminator",
                        )


def _late(rules: Sequence[IntervalRule], terminators: Mapping[str, list[Rule]], findings: Findings) -> None:
    late = {rule.head.name for rule in rules if rule.decided_late or _has_point(rule)}
    by_time: set[str] = set()
    while True:
        more = {rule.head.name for rule in rules if not late.isdisjoint(_types(rule))} - late
        made = {
            name
            for name, defining in terminators.items()
            if any(rule.pattern.terminator.type in late | by_time for rule in defining)
        } - by_time
        if not more and not made:
            break
        late |= more
        by_time |= made
    for rule in rules:
        for node in walk(rule.pattern):
            if isinstance(node, Atom) and node.type in by_time:
                findings.error(
                    "late-feedback",
                    f"'{node.type}' hangs from an event that is only decided when its instant is over, "
                    f"too late for rule '{rule.name}'",
                    node.span,
                    "write the rule that makes it in the ETALIS language, too",
                )


def _types(rule: IntervalRule) -> list[str]:
    return [node.type for node in walk(rule.pattern) if isinstance(node, Atom)]


def _has_point(rule: IntervalRule) -> bool:
    return any(isinstance(node, TimePoint) for node in walk(rule.pattern))
