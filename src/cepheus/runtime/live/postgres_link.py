"""Connections to PostgreSQL, for its source and its sink."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cepheus.runtime.live.contract import Disconnected, Surroundings


async def connected(url: str, around: Surroundings) -> Any:
    """A connection on which every statement stands for itself."""
    import psycopg

    with lost_as_disconnected(around):
        return await psycopg.AsyncConnection.connect(url, autocommit=True, connect_timeout=5)


@contextmanager
def lost_as_disconnected(around: Surroundings) -> Iterator[None]:
    """Take what the library raises for what it is: a connection that is gone, or a wish that PostgreSQL refuses."""
    import psycopg

    try:
        yield
    except (psycopg.errors.InvalidPassword, psycopg.errors.InvalidAuthorizationSpecification) as error:
        raise around.refused(f"PostgreSQL does not let us in: {_line(error)}") from None
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise Disconnected(f"no connection to PostgreSQL ({_line(error)})") from None
    except psycopg.Error as error:
        raise around.refused(f"PostgreSQL refuses: {_line(error)}") from None


def _line(error: Exception) -> str:
    return (str(error).splitlines() or ["it gave no reason"])[0]
