"""Where a node listens: a host and a port."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass


class AddressError(ValueError):
    """A text that is no address."""


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port; port 0 lets the system choose one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


LOOPBACK = Address("127.0.0.1", 0)


def parse_address(text: str) -> Address:
    """Read ``host:port``.

    >>> parse_address("[::1]:7600"), parse_address("node.example:7600").is_loopback
    (Address(host='::1', port=7600), False)
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or not 0 <= int(port) < 65536:
        raise AddressError(f"'{text}' is no address")
    return Address(host, int(port))
