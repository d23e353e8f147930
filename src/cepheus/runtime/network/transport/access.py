"""How a client reaches a node: an address and what to show there; what is said when that does not work."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from cepheus.core.extras import require
from cepheus.runtime.network.transport.config import TlsConfig
from cepheus.runtime.network.transport.diagnosis import diagnose
from cepheus.runtime.network.transport.hello import NetworkError
from cepheus.runtime.network.transport.security import channel_credentials
from cepheus.runtime.network.transport.streams import Dialler

FATAL = ("PERMISSION_DENIED", "UNAUTHENTICATED", "INVALID_ARGUMENT", "UNIMPLEMENTED", "RESOURCE_EXHAUSTED")
"""Answers of a node after which there is no use in asking again."""


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach a node: its address, certificates, a token, the name that its certificate must have.

    ``patience`` is how many seconds a node may be away before a client gives up.
    """

    address: str
    tls: TlsConfig = field(default_factory=TlsConfig)
    token: str = field(default="", repr=False)
    server_name: str | None = None
    patience: float = 60.0

    def dialler(self) -> Dialler:
        """What opens connections."""
        require("grpc", "a network")
        return Dialler(self.address, channel_credentials(self.tls), self.token, self.server_name)


async def status(access: Access, dialler: Dialler | None = None, timeout: float = 10.0) -> dict[str, Any]:
    """Ask a node how it is."""
    require("grpc", "a network")
    import grpc

    used = dialler or access.dialler()
    try:
        found: dict[str, Any] = json.loads(await used.status(timeout))
    except grpc.aio.AioRpcError as error:
        reason = error.details() or error.code().name.lower()
        if error.code().name in FATAL:
            raise refused(access.address, reason) from None
        raise await unreachable(access, reason) from None
    finally:
        if dialler is None:
            await used.close()
    return found


def refused(address: str, reason: str) -> NetworkError:
    """Say that a node does not want this client, and why."""
    return NetworkError.of("network-refused", f"the node at {address} refuses: {reason}")


async def unreachable(access: Access, reason: str) -> NetworkError:
    """Say that there is no connection; ``reason`` is why as far as gRPC knows, if nothing better is found."""
    finding = await diagnose(access.address, access.tls, access.server_name)
    return NetworkError.of(
        "network-unreachable",
        f"there is no connection to a node at {access.address}: {reason if finding is None else finding.reason}",
        hint="is the node running, and do address, certificates and token fit?" if finding is None else finding.hint,
    )
