"""What sources and sinks of a live run are: two small contracts, and what passes between them and the loop.

A source is described by a frozen record (``FromFile``, ``FromRedis``, ..) whose ``build`` gives the object that is at
work; the same holds for sinks (``ToFile``, ``ToRedis``, ..). The loop calls a source's methods in this order:

    open(position), then read() again and again, acknowledge(position) after each saving of state, close()

and a sink's in this one:

    open(position), then write(output) again and again, flush() before each saving of state, close()

Whoever loses its connection raises ``Disconnected``; the loop closes it, waits, and opens it again where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from cepheus.core.errors import OptionError, Place
from cepheus.formats.rows import Numbers

if TYPE_CHECKING:
    from cepheus.runtime.live.web import WebServers

Position = Any
"""Where a source or a sink stands, in whatever terms it has: something that JSON can hold."""

NOWHERE: Position = None
"""The position of whoever has not begun."""


class Disconnected(Exception):  # noqa: N818  # it is no fault of the user's: it passes
    """The other side is not there now; the message says why. It is tried again.

    A sink may tell that the first few of what it was to write have ``arrived``.
    """

    def __init__(self, message: str, arrived: int = 0) -> None:
        super().__init__(message)
        self.arrived = arrived


@dataclass(frozen=True, slots=True)
class Messages:
    """Some messages of a source, in its order.

    ``position`` is where the source stands after them: opened there, it goes on with the next one. ``numbers`` name the
    messages for ever: the same message has the same number whenever it is read. Numbers of different ``lane``s (the
    partitions of a topic) have nothing to do with one another. ``joined`` are the payloads as lines, where
    the source has them so already; then ``payloads`` is empty. ``origins`` are the topics or subjects of
    messages, where they have any. ``received`` is when they came, on the clock ``time.perf_counter``.

    ``more`` says that further messages of the lane are there already: until they have come, no message of another lane
    makes them late. A source with several lanes says so of each, without a message, before it gives those of others.
    """

    position: Position
    numbers: Numbers
    payloads: Sequence[bytes] = ()
    joined: bytes | None = None
    lane: str | None = None
    origins: Sequence[str] | None = None
    received: float = 0.0
    more: bool = False

    def __len__(self) -> int:
        return len(self.numbers)

    def payload_list(self) -> Sequence[bytes]:
        """The payload of each message."""
        return self.payloads if self.joined is None else self.joined.split(b"\n")


@dataclass(frozen=True, slots=True)
class Output:
    """Composite events on their way out: of each its key, its type and its JSON, in the order in which they were found.

    A key names one composite event for ever: a run that is killed and goes on gives what it finds again the same key.
    """

    keys: Sequence[str]
    types: Sequence[str]
    lines: Sequence[str]

    def __len__(self) -> int:
        return len(self.keys)

    def only(self, composite: str | None) -> Output:
        """Those of one type."""
        if composite is None:
            return self
        rows = [row for row, name in enumerate(self.types) if name == composite]
        return self.picked(rows)

    def picked(self, rows: Sequence[int]) -> Output:
        """Some of them."""
        return Output(
            [self.keys[row] for row in rows], [self.types[row] for row in rows], [self.lines[row] for row in rows]
        )


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a source or sink finds around it: its name in the run, a folder of its own, and the web servers of the run.

    ``say`` takes what an operator should know, as a line of the log.
    """

    name: str
    folder: Path
    web: WebServers
    say: Callable[[str], None] = field(default=lambda _: None)

    def refused(self, message: str, hint: str | None = None) -> OptionError:
        """The error for what no waiting will mend."""
        return OptionError.of("live", f"{self.name}: {message}", hint=hint)

    def place(self) -> Place:
        """The name, for messages."""
        return Place(self.name)


class Source(Protocol):
    """A source at work."""

    async def open(self, position: Position) -> None:
        """Begin, or go on, right after a position; ``NOWHERE`` is the beginning. Called before anything else."""

    async def read(self) -> Messages | None:
        """The next messages, as many as are there, at least one; waits until there are. None once it is over."""

    async def acknowledge(self, position: Position) -> None:
        """All up to a position is safe: it will never be asked for again."""

    async def close(self) -> None:
        """End; may be called at any time, also if ``open`` failed."""


class Sink(Protocol):
    """A sink at work; of one that is ``sure``, what was written has arrived when ``write`` returns."""

    sure: bool

    async def open(self, position: Position) -> None:
        """Begin, or go on; the position is what ``flush`` gave before the state was last saved, or ``NOWHERE``."""

    async def write(self, output: Output) -> None:
        """Take composite events; unless the sink is sure, they need not have arrived when this returns."""

    async def flush(self) -> Position:
        """Wait until all that was written has arrived for good; give where the sink stands."""

    async def close(self) -> None:
        """End; may be called at any time, also if ``open`` failed."""


@runtime_checkable
class DescribesSource(Protocol):
    """A description of a source."""

    def build(self, around: Surroundings) -> Source:
        """Make the source that is at work; it does nothing yet."""


@runtime_checkable
class DescribesSink(Protocol):
    """A description of a sink."""

    def build(self, around: Surroundings) -> Sink:
        """Make the sink that is at work; it does nothing yet."""
