"""Streams of bytes over gRPC, the same to use from both ends, and the settings that keep them alive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cepheus.runtime.network.transport.connection import LINK, LONGEST, PIECE, STATUS

if TYPE_CHECKING:
    import grpc

Setting = tuple[str, int | str]

_COMMON: tuple[Setting, ...] = (
    ("grpc.max_send_message_length", -1),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
)


def server_settings() -> list[Setting]:
    """The settings of a server: nobody sends it more than a piece at a time."""
    return [
        *_COMMON,
        ("grpc.http2.max_ping_strikes", 0),
        ("grpc.so_reuseport", 0),
        ("grpc.max_receive_message_length", 2 * PIECE),
    ]


class ServerStream:
    """A stream that somebody opened to this server."""

    def __init__(self, context: Any) -> None:
        self._context = context

    async def read(self) -> bytes | None:
        """The next message; None at the end."""
        import grpc

        data = await self._context.read()
        return None if data is grpc.aio.EOF else data

    async def write(self, data: bytes) -> None:
        """Send a message; waits while the other side takes no more."""
        await self._context.write(data)


class ClientStream:
    """A stream that this process opened to a server."""

    def __init__(self, call: Any) -> None:
        self._call = call

    async def read(self) -> bytes | None:
        """Return the next message; None at the end."""
        import grpc

        data = await self._call.read()
        return None if data is grpc.aio.EOF else data

    async def write(self, data: bytes) -> None:
        """Send a message; waits while the other side takes no more."""
        await self._call.write(data)

    def cancel(self) -> None:
        """Cut the stream."""
        self._call.cancel()


class Dialler:
    """Opens connections to one server; TLS if there are credentials, a token if there is one.

    ``expects`` is the name that the server's certificate must have, if it is not the host's.
    """

    def __init__(
        self,
        address: str,
        credentials: grpc.ChannelCredentials | None = None,
        token: str = "",
        expects: str | None = None,
    ) -> None:
        import grpc

        settings: list[Setting] = [
            *_COMMON,
            ("grpc.enable_http_proxy", 0),
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.max_receive_message_length", LONGEST),
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 2_000),
        ]
        if credentials is None:
            self._channel = grpc.aio.insecure_channel(address, options=settings)
        else:
            if expects is not None:
                settings.append(("grpc.ssl_target_name_override", expects))
            self._channel = grpc.aio.secure_channel(address, credentials, options=settings)
        self._metadata: Sequence[tuple[str, str]] = (("authorization", f"Bearer {token}"),) if token else ()

    def link(self) -> ClientStream:
        """Open a stream."""
        return ClientStream(self._channel.stream_stream(LINK)(metadata=self._metadata))

    async def status(self, timeout: float) -> bytes:
        """Ask the server how it is."""
        answer: bytes = await self._channel.unary_unary(STATUS)(b"", metadata=self._metadata, timeout=timeout)
        return answer

    async def close(self) -> None:
        """Close all connections."""
        await self._channel.close()
