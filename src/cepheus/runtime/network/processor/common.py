"""What all parts of a processor share: who it is, its neighbours, the time, and the messages on their way out."""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheus.runtime.network.protocol.messages import Message
from cepheus.runtime.network.protocol.strategy import Options, Order

Outgoing = tuple[str, Message]
"""A message and whom it is for: a neighbour, or a client by the name it gave."""


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

    def __post_init__(self) -> None:
        self.many_trees = self.options.strategy.many_trees
        self.pulls = self.options.strategy.pulls
        self.in_order = self.options.order is Order.PROGRESS

    def send(self, to: str, message: Message) -> None:
        """Put a message on its way to a neighbour or a client."""
        self.outgoing.append((to, message))

    def send_to_neighbours(self, message: Message, *, but: str = "") -> None:
        """Put a message on its way to all neighbours, one of them perhaps excepted."""
        for neighbour in self.neighbours:
            if neighbour != but:
                self.outgoing.append((neighbour, message))
