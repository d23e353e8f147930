"""Open matches in snapshots: threads by partition in order of preferment, the nodes of their rows from the first on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cepheus.engine.rows.kernel import Numbers, Part
from cepheus.engine.rows.looking import POOL_WIDTH, Pool

Blobs = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Threads:
    """Lines of threads and of nodes, as the loop has them (``Look``)."""

    pool: Numbers
    state: Numbers
    node: Numbers
    next: Numbers
    words: Numbers
    parent: Numbers
    node_state: Numbers
    uses: Numbers

    @classmethod
    def empty(cls, lines: int, nodes: int, width: int) -> Threads:
        """Room for so many, with nothing in it."""
        pool = np.zeros(POOL_WIDTH, np.int64)
        pool[[Pool.FREE_THREAD, Pool.FREE_NODE]] = -1
        state, node, following = (np.full(lines, -1, np.int64) for _ in range(3))
        parent, node_state, uses = (np.full(nodes, -1, np.int64) for _ in range(3))
        return cls(pool, state, node, following, np.zeros((lines, width), np.int64), parent, node_state, uses)

    def larger(self) -> Threads:
        """The same with twice the room."""
        fresh = Threads.empty(2 * len(self.next), 2 * len(self.parent), self.words.shape[1])
        fresh.pool[:] = self.pool
        for old, new in (
            (self.state, fresh.state),
            (self.node, fresh.node),
            (self.next, fresh.next),
            (self.words, fresh.words),
            (self.parent, fresh.parent),
            (self.node_state, fresh.node_state),
            (self.uses, fresh.uses),
        ):
            new[: len(old)] = old
        return fresh


def packed_threads(threads: Threads, parts: Numbers) -> Blobs:
    """What is open in partitions, as arrays; every node stands behind the one before it."""
    numbers: dict[int, int] = {}
    lines: list[int] = []
    owners: list[int] = []
    for p in range(len(parts)):
        line = int(parts[p, Part.THREADS])
        while line >= 0:
            lines.append(line)
            owners.append(p)
            line = int(threads.next[line])
    candidates = parts[:, Part.CANDIDATE].tolist()
    ends = threads.node[lines].tolist() if lines else []
    for end in (*ends, *candidates):
        chain = []
        node = end
        while node >= 0 and node not in numbers:
            chain.append(node)
            node = int(threads.parent[node])
        for node in reversed(chain):
            numbers[node] = len(numbers)
    numbers[-1] = -1
    nodes = [node for node in numbers if node >= 0]
    return {
        "thread partition": np.array(owners, np.int64).tobytes(),
        "thread state": threads.state[lines].tobytes(),
        "thread node": np.array([numbers[node] for node in ends], np.int64).tobytes(),
        "thread words": threads.words[lines].tobytes(),
        "node parent": np.array([numbers[int(threads.parent[node])] for node in nodes], np.int64).tobytes(),
        "node state": threads.node_state[nodes].tobytes(),
        "candidates": np.array([numbers[node] for node in candidates], np.int64).tobytes(),
    }


def unpacked_threads(blobs: Blobs, threads: Threads, parts: Numbers, states: int) -> None:
    """Put what was packed into new threads, which have room for it; ValueError if it makes no sense."""
    owners, thread_states, ends = (
        np.frombuffer(blobs[name], np.int64) for name in ("thread partition", "thread state", "thread node")
    )
    parents, node_states, candidates = (
        np.frombuffer(blobs[name], np.int64) for name in ("node parent", "node state", "candidates")
    )
    words = np.frombuffer(blobs["thread words"], np.int64).reshape(len(owners), threads.words.shape[1])
    _check(owners, len(parts), 0)
    _check(thread_states, states, 0)
    _check(ends, len(parents), -1)
    _check(candidates, len(parents), -1)
    _check(node_states, states, 2)
    if not len(owners) == len(thread_states) == len(ends) or len(candidates) != len(parts):
        raise ValueError
    if len(node_states) != len(parents) or np.any(parents >= np.arange(len(parents))) or np.any(parents < -1):
        raise ValueError
    count, nodes = len(owners), len(parents)
    threads.state[:count], threads.node[:count], threads.words[:count] = thread_states, ends, words
    threads.parent[:nodes], threads.node_state[:nodes], threads.uses[:nodes] = parents, node_states, 0
    for used in (ends, parents, candidates):
        np.add.at(threads.uses, used[used >= 0], 1)
    parts[:, Part.THREADS] = -1
    parts[:, Part.CANDIDATE] = candidates
    threads.next[:count] = -1
    for line in range(count - 1, -1, -1):
        threads.next[line] = parts[owners[line], Part.THREADS]
        parts[owners[line], Part.THREADS] = line
    threads.pool[Pool.THREADS], threads.pool[Pool.NODES] = count, nodes


def _check(found: NDArray[np.int64], most: int, least: int) -> None:
    if len(found) and not least <= found.min() <= found.max() < most:
        raise ValueError
