"""Election of the leader: waves of candidates, of which the best extinguishes all others, and their echoes."""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheus.runtime.network.protocol.messages import Elect, Elected, Start

Ballot = tuple[int, str]
"""A candidate: rank and name; the lowest wins."""


@dataclass(slots=True)
class Election:
    """One processor's part in the election.

    Every processor starts a wave for itself. A better wave replaces a worse one, and its echo returns to the sender
    once it has come back from all other neighbours. Only the best wave comes back to where it began.
    """

    name: str
    neighbours: tuple[str, ...]
    best: Ballot | None = None
    sponsor: str | None = None
    waiting: set[str] = field(default_factory=set)
    won: bool = False

    def handle(self, message: Start | Elect | Elected, sender: str) -> list[tuple[str, Elect | Elected]]:
        """Take a message of the election and give those it leads to."""
        match message:
            case Start(rank=rank):
                ballot = (rank, self.name)
                return self._adopt(ballot, None) if self.best is None or ballot < self.best else []
            case Elect(rank=rank, candidate=candidate):
                ballot = (rank, candidate)
                if self.best is None or ballot < self.best:
                    return self._adopt(ballot, sender)
                return self._echo(sender) if ballot == self.best else []
            case Elected(rank=rank, candidate=candidate):
                return self._echo(sender) if (rank, candidate) == self.best else []

    def _adopt(self, ballot: Ballot, sponsor: str | None) -> list[tuple[str, Elect | Elected]]:
        self.best, self.sponsor = ballot, sponsor
        others = [neighbour for neighbour in self.neighbours if neighbour != sponsor]
        self.waiting = set(others)
        if not others:
            return self._finish()
        return [(neighbour, Elect(*ballot)) for neighbour in others]

    def _echo(self, sender: str) -> list[tuple[str, Elect | Elected]]:
        self.waiting.discard(sender)
        return [] if self.waiting else self._finish()

    def _finish(self) -> list[tuple[str, Elect | Elected]]:
        assert self.best is not None
        if self.sponsor is None:
            self.won = True
            return []
        return [(self.sponsor, Elected(*self.best))]
