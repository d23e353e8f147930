"""Connections to Redis, for its source and its sink."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cepheus.runtime.live.contract import Disconnected, Surroundings


async def connected(url: str, around: Surroundings) -> Any:
    """A connection that works."""
    import redis.asyncio

    try:
        client = redis.asyncio.Redis.from_url(url, socket_connect_timeout=5.0)
    except ValueError as error:
        raise around.refused(f"'{url}' is no address of Redis: {error}", "write redis://host:6379") from None
    with lost_as_disconnected(around):
        await client.ping()
    return client


@contextmanager
def lost_as_disconnected(around: Surroundings) -> Iterator[None]:
    """Take what the library raises for what it is: a connection that is gone, or a wish that Redis refuses."""
    import redis.exceptions

    try:
        yield
    except redis.exceptions.AuthenticationError as error:
        raise around.refused(f"Redis does not let us in: {error}") from None
    except (
        redis.exceptions.ConnectionError,
        redis.exceptions.TimeoutError,
        redis.exceptions.ReadOnlyError,
        OSError,
    ) as error:
        raise Disconnected(f"no connection to Redis ({error})") from None
    except redis.exceptions.ResponseError as error:
        raise around.refused(f"Redis refuses: {error}") from None
