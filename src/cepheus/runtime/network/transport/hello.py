"""How a connection begins: each side says who it is, what it speaks, and how far it got the last time."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from cepheus.core.errors import CepheusError
from cepheus.runtime.network.protocol.codec import MessageError
from cepheus.runtime.network.protocol.link import Frame, LinkEnd
from cepheus.runtime.network.protocol.messages import VERSION
from cepheus.runtime.network.transport.connection import LONGEST

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
