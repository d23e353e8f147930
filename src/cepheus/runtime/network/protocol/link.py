"""Links that lose and double nothing, over connections that may: numbered messages, acknowledgements, a log to resend.

Both ends keep a ``LinkEnd`` for each other. What arrives out of order is dropped and comes again with the rest, so
messages reach a processor in the order of sending, each once.
"""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import dataclass, field

from cepheus.runtime.network.protocol.codec import MessageError, decode, encode
from cepheus.runtime.network.protocol.messages import Message

_HEAD = struct.Struct("<QQ")


@dataclass(frozen=True, slots=True)
class Frame:
    """What travels: a numbered message, or none, and the number of the last message received from the other side.

    ``body`` is the message as bytes, so that none is encoded twice. With number 0 it is a note between two hosts, which
    no processor hears of and nobody sends again.
    """

    number: int
    received: int
    message: Message | None = None
    body: bytes = field(default=b"", compare=False, repr=False)


def encode_frame(frame: Frame) -> bytes:
    """Write a frame as bytes.

    >>> decode_frame(encode_frame(Frame(0, 7)))
    Frame(number=0, received=7, message=None)
    """
    body = encode(frame.message) if frame.message is not None and not frame.body else frame.body
    return _HEAD.pack(frame.number, frame.received) + body


def decode_frame(data: bytes) -> Frame:
    """Read a frame; MessageError if it is none."""
    if len(data) < _HEAD.size:
        raise MessageError.of("message", "this is no message of the network: it is too short")
    number, received = _HEAD.unpack_from(data)
    body = data[_HEAD.size :]
    if number and not body:
        raise MessageError.of("message", "this is no message of the network: it has a number and says nothing")
    return Frame(number, received, decode(body) if number else None, body)


@dataclass(slots=True)
class LinkEnd:
    """One end of a link: how many messages were sent and received, and those sent that are not acknowledged.

    >>> here, there = LinkEnd(), LinkEnd()
    >>> from cepheus.runtime.network.protocol.messages import Tick
    >>> first, second = here.send(Tick(1)), here.send(Tick(2))
    >>> there.receive(second), there.receive(first), there.receive(first)
    (None, Tick(through=1), None)
    >>> [there.receive(frame) for frame in here.resend()]
    [None, Tick(through=2)]
    >>> here.receive(there.acknowledge()), len(here.log)
    (None, 0)
    """

    sent: int = 0
    received: int = 0
    log: deque[tuple[int, bytes]] = field(default_factory=deque)
    waiting: int = 0
    """Bytes of the messages in the log."""

    def __post_init__(self) -> None:
        self.waiting = sum(len(body) for _, body in self.log)

    def send(self, message: Message) -> Frame:
        """Number a message and keep it until it is acknowledged."""
        return self.send_encoded(encode(message), message)

    def send_encoded(self, body: bytes, message: Message) -> Frame:
        """Do the same with a message that has been encoded already."""
        self.sent += 1
        self.log.append((self.sent, body))
        self.waiting += len(body)
        return Frame(self.sent, self.received, message, body)

    def receive(self, frame: Frame) -> Message | None:
        """Take a frame; give its message if it is the next one."""
        while self.log and self.log[0][0] <= frame.received:
            self.waiting -= len(self.log.popleft()[1])
        if frame.number != self.received + 1:
            return None
        self.received += 1
        return frame.message

    def acknowledge(self) -> Frame:
        """Return a frame that only tells what was received."""
        return Frame(0, self.received)

    def resend(self) -> list[Frame]:
        """All messages that are not acknowledged, to be sent again."""
        return [Frame(number, self.received, decode(body), body) for number, body in self.log]
