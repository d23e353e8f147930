"""Which types depend on one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def components(edges: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Give the sets of names that depend on one another, what is depended on first.

    ``edges`` gives for each name those that it depends on; only names that are keys count.

    >>> components({"a": ["b"], "b": ["a", "c"], "c": []})
    [['c'], ['a', 'b']]
    >>> components({"a": ["b"], "b": ["b"]})
    [['b'], ['a']]
    """
    reached = {name: {name} | _reachable(name, edges) for name in edges}
    found: list[list[str]] = []
    placed: set[str] = set()
    for name in sorted(edges, key=lambda name: len(reached[name])):
        if name not in placed:
            together = [other for other in edges if other in reached[name] and name in reached[other]]
            placed.update(together)
            found.append(together)
    return found


def on_cycle(name: str, edges: Mapping[str, Sequence[str]]) -> bool:
    """Tell whether a name depends on itself."""
    return name in _reachable(name, edges)


def _reachable(start: str, edges: Mapping[str, Sequence[str]]) -> set[str]:
    found: set[str] = set()
    work = [start]
    while work:
        for successor in edges[work.pop()]:
            if successor in edges and successor not in found:
                found.add(successor)
                work.append(successor)
    return found
