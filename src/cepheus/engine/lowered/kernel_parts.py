"""What an engine of lowered rules is made with: the functions of its kernel, and rules as the tables that they read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from cepheus.kernel.process import Replay
from cepheus.kernel.program import Program, TypeField


class Kernel(NamedTuple):
    """Compiled functions: ``run`` takes the events of a context in, ``replay`` puts the rows of a snapshot back."""

    run: Callable[[int], int]
    replay: Replay


class Flattened(NamedTuple):
    """Rules as the tables that a kernel reads, and what these ask for besides the usual.

    ``fields`` is how many fields a composite event has behind its own, ``members`` how many rules and columns more an
    event may concern, ``listening`` the types of events that something else than the program listens to.
    """

    program: Program
    fields: int = 0
    members: int = 0
    listening: Sequence[int] = ()

    def heard_types(self) -> list[bool]:
        """For each type, whether anything listens to its events."""
        types = self.program.types
        heard = types[:, TypeField.MEMBERS] < types[:, TypeField.MEMBERS_END]
        heard |= types[:, TypeField.INDEXES] < types[:, TypeField.INDEXES_END]
        heard[list(self.listening)] = True
        return list(map(bool, heard))
