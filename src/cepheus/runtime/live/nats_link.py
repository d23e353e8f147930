"""Connections to NATS, for its source and its sink."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cepheus.runtime.live.contract import Disconnected, Surroundings


async def _quiet(error: Exception) -> None:
    """What the library would print is told by whoever waits."""
    del error


async def connected(url: str, around: Surroundings) -> Any:
    """A connection that works; when it is lost, it is we who connect again."""
    import nats

    with lost_as_disconnected(around):
        return await nats.connect(
            url, allow_reconnect=False, connect_timeout=5, error_cb=_quiet, name=f"cepheus {around.name}"
        )


@contextmanager
def lost_as_disconnected(around: Surroundings) -> Iterator[None]:
    """Take what the library raises for what it is: a connection that is gone, or a wish that NATS refuses."""
    import nats.errors
    import nats.js.errors

    try:
        yield
    except nats.errors.AuthorizationError as error:
        raise around.refused(f"NATS does not let us in: {error}") from None
    except nats.js.errors.NoStreamResponseError:
        raise around.refused("no stream of NATS takes this subject", "create one: nats stream add") from None
    except nats.js.errors.NotFoundError as error:
        raise Disconnected(f"NATS does not know it: {error.description}") from None
    except nats.js.errors.BadRequestError as error:
        raise around.refused(f"NATS refuses: {error.description}") from None
    except (nats.errors.Error, nats.js.errors.Error, OSError) as error:
        reason = str(error) or "it does not answer"
        raise Disconnected(f"no connection to NATS ({reason})") from None
