"""One live connection of a link: writes what the link's log holds, at the pace at which the other side takes it.

The log is the queue: a connection only knows how far it has written. What the other side did not acknowledge when a
connection breaks is written again by the next one. Frames are a stream of bytes, each with its length before it: small
ones travel many together, long ones in several pieces that connections bear. In the first, each side says who it is,
what it speaks, and how far it got the last time.
"""

from __future__ import annotations

import asyncio
import json
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Protocol

from cepheus.core.errors import CepheusError
from cepheus.runtime.network.protocol.codec import MessageError
from cepheus.runtime.network.protocol.link import Frame, LinkEnd, decode_frame, encode_frame
from cepheus.runtime.network.protocol.messages import VERSION

PIECE = 1 << 20
"""Bytes of the longest piece."""

LONGEST = 1 << 30
"""Bytes of the longest message between processors, who trust one another."""

_LENGTH = struct.Struct("<I")


def encode_frames(frames: Iterable[bytes]) -> bytes:
    """Put frames one after the other, each with its length before it."""
    parts = []
    for frame in frames:
        parts += [_LENGTH.pack(len(frame)), frame]
    return b"".join(parts)


def pieces(data: bytes) -> Iterator[bytes]:
    """Cut bytes into pieces."""
    if len(data) <= PIECE:
        yield data
        return
    for start in range(0, len(data), PIECE):
        yield data[start : start + PIECE]


class FrameReader:
    """Puts frames together again; MessageError where there is something else, or one longer than ``longest``.

    >>> reader, data = FrameReader(), encode_frames([bytes(16), bytes(16)])
    >>> len([*reader.take(data[:30])]), len([*reader.take(data[30:])])
    (1, 1)
    """

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._missing = 0

    def take(self, data: bytes) -> Iterator[Frame]:
        """The frames that end in these bytes, one after the other."""
        if self._parts:
            self._parts.append(data)
            self._missing -= len(data)
            if self._missing > 0:
                return
            data = b"".join(self._parts)
            self._parts = []
        start = 0
        while start < len(data):
            end = start + _LENGTH.size
            if end <= len(data):
                end += self._length(data, start)
            if end > len(data):
                self._parts, self._missing = [data[start:]], end - len(data)
                return
            yield decode_frame(data[start + _LENGTH.size : end])
            start = end

    def end(self) -> None:
        """No more bytes come."""
        if self._parts:
            raise MessageError.of("message", "this is no message of the network: it is cut off")

    def _length(self, data: bytes, start: int) -> int:
        (length,) = _LENGTH.unpack_from(data, start)
        if length > self._longest:
            raise MessageError.of(
                "message-size", f"a message has {length} bytes, more than {self._longest} are not taken"
            )
        return int(length)


_BUNDLE = 256 * 1024
_NOTHING = -1


class Stream(Protocol):
    """A stream of bytes messages in both directions."""

    async def read(self) -> bytes | None:
        """The next message; None at the end."""

    async def write(self, data: bytes) -> None:
        """Send a message; waits while the other side takes no more."""


@dataclass(slots=True, eq=False)
class Connection:
    """A stream and the link it serves.

    ``acknowledges`` gives the number up to which messages may be acknowledged. Whoever serves the connection ends it
    when it is ``closed``; nothing more is written then.
    """

    stream: Stream
    link: LinkEnd
    acknowledges: Callable[[], int]
    dialled: bool = False
    reader: FrameReader = field(default_factory=FrameReader)
    bytes_in: int = 0
    bytes_out: int = 0
    heard: float = field(default_factory=time.monotonic)
    """When the other side last said something, in seconds."""
    said: float = field(default_factory=time.monotonic)
    """When this side last let the other know that it is there."""
    _written: int = 0
    _acknowledged: int = 0
    _notes: list[bytes] = field(default_factory=list)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    why: str = ""
    """Why it was closed, for a client that must not come back to it."""
    leaving: bool = False
    """Whether the other side has said goodbye."""

    def __post_init__(self) -> None:
        self._written = self.link.log[0][0] - 1 if self.link.log else self.link.sent
        self._acknowledged = self.link.received
        self._wake.set()

    def wake(self) -> None:
        """There may be something to write."""
        self._wake.set()

    def close(self, why: str = "") -> None:
        """Let whoever serves the connection end it, and tell the other side why if it must not come back."""
        self.why = why
        self.closed.set()

    def say_something(self) -> None:
        """Acknowledge once more, so that the other side knows that somebody is there."""
        self.said = time.monotonic()
        self._acknowledged = _NOTHING
        self._wake.set()

    def note(self, body: bytes) -> None:
        """Tell the other host something that is neither numbered nor sent again."""
        self._notes.append(body)
        self._wake.set()

    async def write_all(self) -> None:
        """Write as long as the connection lasts."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while not self.closed.is_set() and (data := self._take()) is not None:
                self.bytes_out += len(data)
                for piece in pieces(data):
                    await self.stream.write(piece)

    def _take(self) -> bytes | None:
        """Return the next messages of the log, or an acknowledgement, or None if there is nothing to say."""
        acknowledged = self.acknowledges()
        frames = [encode_frame(Frame(0, acknowledged, None, body)) for body in self._notes]
        self._notes.clear()
        size = 0
        log = self.link.log
        skipped = max(0, self._written + 1 - log[0][0]) if log else 0
        for number, body in islice(log, skipped, None):
            frames.append(encode_frame(Frame(number, acknowledged, None, body)))
            size += len(body)
            self._written = number
            if size >= _BUNDLE:
                break
        if not frames:
            if acknowledged == self._acknowledged:
                return None
            frames.append(encode_frame(Frame(0, acknowledged)))
        self._acknowledged = acknowledged
        return encode_frames(frames)


SERVICE = "cepheus.network.v1.Node"
LINK = f"/{SERVICE}/Link"
STATUS = f"/{SERVICE}/Status"

PROCESSOR, CLIENT = "processor", "client"

GOODBYE = b'{"goodbye": true}'
"""The note of a client whose session may end. A stream that just ends says nothing: so do those of clients that die."""


class NetworkError(CepheusError):
    """A connection that cannot be made, was refused, or was lost for good."""


@dataclass(frozen=True, slots=True)
class Hello:
    """Who connects: a processor or a client by name; ``session`` tells one run of a client from others.

    ``sent`` and ``received`` count the messages of the link so far, as the sender of this knows it; ``kept`` is the
    number of the first that it can still send again. ``takes`` is the longest message that it takes, in bytes.
    """

    name: str
    role: str
    session: str = ""
    sent: int = 0
    kept: int = 1
    received: int = 0
    takes: int = LONGEST

    @classmethod
    def greeting(cls, name: str, role: str, link: LinkEnd, session: str = "", takes: int = LONGEST) -> Hello:
        """Greet with the state of a link."""
        kept = link.log[0][0] if link.log else link.sent + 1
        return cls(name, role, session, link.sent, kept, link.received, takes)


def encode_hello(hello: Hello) -> bytes:
    """Write a greeting as bytes."""
    return json.dumps({"v": VERSION, **asdict(hello)}).encode()


def decode_hello(data: bytes) -> Hello:
    """Read a greeting; MessageError if it is none.

    >>> decode_hello(encode_hello(Hello("p1", "processor", sent=3, takes=1000)))
    Hello(name='p1', role='processor', session='', sent=3, kept=1, received=0, takes=1000)
    """
    try:
        body = json.loads(data)
        version = body.pop("v")
        hello = Hello(**body)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        raise MessageError.of("message", "this is no greeting of the network") from None
    texts = all(type(text) is str and len(text) < 256 for text in (hello.name, hello.role, hello.session))
    numbers = (hello.sent, hello.kept, hello.received, hello.takes)
    if not texts or not all(type(number) is int and number >= 0 for number in numbers):
        raise MessageError.of("message", "this is no greeting of the network")
    if type(version) is not int or version != VERSION:
        raise MessageError.of(
            "message-version",
            f"'{hello.name}' speaks version {version!r} of the protocol, this Cepheus speaks version {VERSION}",
            hint="run the same version of Cepheus on all processors and clients",
        )
    return hello


def resume(link: LinkEnd, hello: Hello) -> bool:
    """Take up a link where both sides stand; False if the other side has forgotten what it once acknowledged."""
    kept = link.log[0][0] if link.log else link.sent + 1
    if not kept <= hello.received + 1 <= link.sent + 1 or not hello.kept <= link.received + 1 <= hello.sent + 1:
        return False
    link.receive(Frame(0, hello.received))
    return True
