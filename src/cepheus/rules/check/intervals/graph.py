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
