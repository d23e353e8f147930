"""What all parts of a processor share: who it is, its neighbours, the time, and the messages on their way out."""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheus.runtime.network.protocol.messages import Message
from cepheus.runtime.network.protocol.strategy import Delivery, Options, Order

Outgoing = tuple[str, Message]
"""A message and whom it is for: a neighbour, or a client by the name it gave."""


History = list[tuple[int, int]]
"""Moments of the clock, and how far something was then; times are microseconds."""

_NOTES = 8
"""So many notes are made in the time that one looks back."""


def value_ago(past: History, ago: int, now: int, value: int) -> int | None:
    """Note how far something is now, if the last note is old; returns how far it was that long ago, None if unknown.

    Windows are told in the time of events, outages in that of the clock; a history that is published again passes much
    faster than it once happened. So how far something was a while ago is noted, not worked out.

    >>> past: History = []
    >>> [value_ago(past, 80, now, 1000 * now) for now in (0, 5, 10, 50, 85, 95, 300)]
    [None, None, None, None, 0, 10000, 95000]
    >>> past
    [(95, 95000), (300, 300000)]
    """
    if not past or now - past[-1][0] >= ago // _NOTES:
        past.append((now, value))
    while len(past) > 1 and past[1][0] <= now - ago:
        del past[0]
    moment, then = past[0]
    return then if moment <= now - ago else None


@dataclass(slots=True)
class Common:
    """One processor as all of its parts see it.

    ``now`` is the host's time in microseconds. An ``epoch`` begins whenever trees are built anew.
    """

    name: str
    neighbours: tuple[str, ...]
    options: Options
    now: int = 0
    epoch: int = 0
    outgoing: list[Outgoing] = field(default_factory=list)
    many_trees: bool = field(init=False)
    pulls: bool = field(init=False)
    in_order: bool = field(init=False)
    from_root: bool = field(init=False)

    def __post_init__(self) -> None:
        self.many_trees = self.options.strategy.many_trees
        self.pulls = self.options.strategy.pulls
        self.in_order = self.options.order is Order.PROGRESS
        self.from_root = self.options.delivery is Delivery.FROM_ROOT and not self.many_trees

    def send(self, to: str, message: Message) -> None:
        """Put a message on its way to a neighbour or a client."""
        self.outgoing.append((to, message))

    def send_to_neighbours(self, message: Message, *, but: str = "") -> None:
        """Put a message on its way to all neighbours, one of them perhaps excepted."""
        for neighbour in self.neighbours:
            if neighbour != but:
                self.outgoing.append((neighbour, message))
