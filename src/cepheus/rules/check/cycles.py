"""Do rules wait for one another at the same instant?"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from cepheus.rules.check.findings import Findings
from cepheus.rules.check.wording import find_name
from cepheus.rules.model import Rule, RuleSet


def cycles(rules: RuleSet, findings: Findings) -> None:
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
    for component in _components(edges):
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
        "a composite event happens with its terminator; let another event be the terminator of one of these rules",
    )


def _shortest(start: str, members: set[str], edges: dict[str, list[str]]) -> list[str]:
    """The types of a shortest cycle through ``start``."""
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


def _components(edges: dict[str, list[str]]) -> list[list[str]]:
    """The strongly connected components (Tarjan's algorithm, without recursion)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    waiting: list[str] = []
    finished: set[str] = set()
    components: list[list[str]] = []
    work: list[tuple[str, Iterator[str]]] = []

    def enter(name: str) -> None:
        order[name] = lowest[name] = len(order)
        waiting.append(name)
        work.append((name, iter(edges[name])))

    for root in edges:
        if root not in order:
            enter(root)
        while work:
            name, successors = work[-1]
            for successor in successors:
                if successor not in order:
                    enter(successor)
                    break
                if successor not in finished:
                    lowest[name] = min(lowest[name], order[successor])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[name])
                if lowest[name] == order[name]:
                    components.append(_cut(waiting, name))
                    finished.update(components[-1])
    return components


def _cut(waiting: list[str], name: str) -> list[str]:
    """Take everything from ``name`` on off the end of the list."""
    taken = [waiting.pop()]
    while taken[-1] != name:
        taken.append(waiting.pop())
    return taken
