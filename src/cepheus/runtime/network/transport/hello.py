"""How a connection begins: each side says who it is, what it speaks, and how far it got the last time."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from cepheus.core.errors import CepheusError
from cepheus.runtime.network.codec import MAX_BYTES, MessageError
from cepheus.runtime.network.link import Frame, LinkEnd, decode_frame
from cepheus.runtime.network.messages import VERSION

SERVICE = "cepheus.network.v1.Node"
LINK = f"/{SERVICE}/Link"
STATUS = f"/{SERVICE}/Status"

PROCESSOR, CLIENT = "processor", "client"
_LENGTH = struct.Struct("<I")


class NetworkError(CepheusError):
    """A connection that cannot be made, was refused, or was lost for good."""


@dataclass(frozen=True, slots=True)
class Hello:
    """Who connects: a processor or a client by name; ``session`` tells one run of a client from others.

    ``sent`` and ``received`` count the messages of the link so far, as the sender of this knows it; ``kept`` is the
    number of the first that it can still send again.
    """

    name: str
    role: str
    session: str = ""
    sent: int = 0
    kept: int = 1
    received: int = 0

    @classmethod
    def greeting(cls, name: str, role: str, link: LinkEnd, session: str = "") -> Hello:
        """Greet with the state of a link."""
        return cls(name, role, session, link.sent, link.log[0][0] if link.log else link.sent + 1, link.received)


def encode_hello(hello: Hello) -> bytes:
    """Write a greeting as bytes."""
    return json.dumps({"v": VERSION, **asdict(hello)}).encode()


def decode_hello(data: bytes) -> Hello:
    """Read a greeting; MessageError if it is none.

    >>> decode_hello(encode_hello(Hello("p1", "processor", sent=3)))
    Hello(name='p1', role='processor', session='', sent=3, kept=1, received=0)
    """
    try:
        body = json.loads(data)
        version = body.pop("v")
        hello = Hello(**body)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        raise MessageError.of("message", "this is no greeting of the network") from None
    texts = all(type(text) is str and len(text) < 256 for text in (hello.name, hello.role, hello.session))
    if not texts or not all(type(number) is int and number >= 0 for number in (hello.sent, hello.kept, hello.received)):
        raise MessageError.of("message", "this is no greeting of the network")
    if version != VERSION:
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


def encode_bundle(frames: Iterable[bytes]) -> bytes:
    """Put frames together, so that many small ones cost little more than one."""
    parts = []
    for frame in frames:
        parts += [_LENGTH.pack(len(frame)), frame]
    return b"".join(parts)


def decode_bundle(data: bytes, longest: int = MAX_BYTES) -> Iterator[Frame]:
    """Give the frames of a bundle, one after the other; MessageError where they end in something else."""
    start = 0
    while start < len(data):
        if start + _LENGTH.size > len(data):
            raise MessageError.of("message", "this is no message of the network: it is cut off")
        (length,) = _LENGTH.unpack_from(data, start)
        start += _LENGTH.size
        if length > longest:
            raise MessageError.of("message-size", f"a message has {length} bytes, more than {longest} are not taken")
        if start + length > len(data):
            raise MessageError.of("message", "this is no message of the network: it is cut off")
        yield decode_frame(data[start : start + length])
        start += length
