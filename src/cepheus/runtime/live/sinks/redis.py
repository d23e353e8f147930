"""A stream of Redis as a sink: each composite event once, also after a kill.

A script on the server adds an entry only if its key is not among those that were written lately; these are in a sorted
set beside the stream, ``<stream>:keys``, by the time when they were written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from cepheus.core.extras import require
from cepheus.runtime.live.contract import Output, Position, Surroundings
from cepheus.runtime.live.redis_link import connected, lost_as_disconnected

_AT_ONCE = 1000
_ADD = """
local now = tonumber(redis.call('TIME')[1])
local most = tonumber(ARGV[2])
for i = 3, #ARGV, 3 do
  if redis.call('ZADD', KEYS[2], 'NX', now, ARGV[i]) == 1 then
    if most > 0 then
      redis.call('XADD', KEYS[1], 'MAXLEN', '~', most, '*', 'key', ARGV[i], 'type', ARGV[i + 1], 'data', ARGV[i + 2])
    else
      redis.call('XADD', KEYS[1], '*', 'key', ARGV[i], 'type', ARGV[i + 1], 'data', ARGV[i + 2])
    end
  end
end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - tonumber(ARGV[1]))
return 1
"""


@dataclass(frozen=True, slots=True)
class ToRedis:
    """A stream whose entries have the fields ``key``, ``type`` and ``data``, the last a composite event as JSON.

    Keys are remembered for so many seconds; a run that goes on later than that may write again what it wrote last.
    ``keep`` is about how many entries the stream keeps, 0 for all of them.
    """

    stream: str
    url: str = "redis://127.0.0.1:6379"
    remember: float = 86_400.0
    keep: int = 0

    def build(self, around: Surroundings) -> RedisWriter:
        """Make the writer."""
        require("redis", "a sink in Redis")
        return RedisWriter(self, around)


class RedisWriter:
    """Adds entries."""

    sure = True

    def __init__(self, described: ToRedis, around: Surroundings) -> None:
        self._described = described
        self._around = around
        self._client: Any = None
        self._script: Any = None

    async def open(self, position: Position) -> None:
        """Connect."""
        del position  # keys tell what is there
        self._client = await connected(self._described.url, self._around)
        self._script = self._client.register_script(_ADD)

    async def write(self, output: Output) -> None:
        """Add what is not there yet."""
        described = self._described
        keys = [described.stream, f"{described.stream}:keys"]
        rows = list(zip(output.keys, output.types, output.lines, strict=True))
        with lost_as_disconnected(self._around):
            for start in range(0, len(rows), _AT_ONCE):
                cells: Sequence[str] = list(chain.from_iterable(rows[start : start + _AT_ONCE]))
                await self._script(keys=keys, args=[int(described.remember), described.keep, *cells])

    async def flush(self) -> Position:
        """Redis has answered each script."""
        return True

    async def close(self) -> None:
        """End the connection."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()
