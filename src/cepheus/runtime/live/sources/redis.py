"""A stream of Redis as a source.

A script on the server puts the payloads of many entries together, so that what arrives is one text, whatever the number
of entries. A position is the id of the last entry that was read and how many there were before.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from cepheus.core.extras import require
from cepheus.runtime.live.contract import Messages, Position, Surroundings
from cepheus.runtime.live.redis_link import connected, lost_as_disconnected

_BLOCK_MILLISECONDS = 1000
_JOIN = """
local entries = redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', ARGV[2])
local found, last = {}, ARGV[1]
for i = 1, #entries do
  local fields, value = entries[i][2], 'null'
  for k = 1, #fields, 2 do
    if fields[k] == ARGV[3] then value = fields[k + 1] break end
  end
  if ARGV[4] == '1' and string.find(value, '\\n', 1, true) then value = string.gsub(value, '\\n', ' ') end
  found[i] = value
  last = entries[i][1]
end
if ARGV[4] == '1' then return {#found, last, table.concat(found, '\\n')} end
return {#found, last, found}
"""


@dataclass(frozen=True, slots=True)
class FromRedis:
    """The entries of a stream; ``field`` is the one of their fields that holds the payload.

    At most ``most`` are asked for at once. With ``binary`` payloads may hold any bytes.

    >>> FromRedis("readings").field
    'data'
    """

    stream: str
    url: str = "redis://127.0.0.1:6379"
    field: str = "data"
    most: int = 20_000
    binary: bool = False

    def build(self, around: Surroundings) -> RedisReader:
        """Make the reader."""
        require("redis", "a source in Redis")
        return RedisReader(self, around)


class RedisReader:
    """Reads entries in the order of their ids."""

    def __init__(self, described: FromRedis, around: Surroundings) -> None:
        self._described = described
        self._around = around
        self._client: Any = None
        self._script: Any = None
        self._last = "0-0"
        self._count = 0

    async def open(self, position: Position) -> None:
        """Connect."""
        self._last, self._count = position or ("0-0", 0)
        self._client = await connected(self._described.url, self._around)
        self._script = self._client.register_script(_JOIN)
        with lost_as_disconnected(self._around):
            await self._warn_of_removed()

    async def read(self) -> Messages | None:
        """The entries that were added."""
        described = self._described
        arguments = [described.most, described.field, "0" if described.binary else "1"]
        with lost_as_disconnected(self._around):
            while True:
                count, last, found = await self._script(keys=[described.stream], args=[self._last, *arguments])
                received = time.perf_counter()
                if count:
                    break
                await self._client.xread({described.stream: self._last}, count=1, block=_BLOCK_MILLISECONDS)
        self._last = last.decode()
        first, self._count = self._count, self._count + count
        numbers = range(first, self._count)
        position = (self._last, self._count)
        if described.binary:
            return Messages(position, numbers, found, received=received)
        return Messages(position, numbers, joined=found, received=received)

    async def acknowledge(self, position: Position) -> None:
        """Redis keeps the entries until somebody removes them."""

    async def close(self) -> None:
        """End the connection."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def _warn_of_removed(self) -> None:
        """Say so if entries were removed before they were read."""
        if not await self._client.exists(self._described.stream):
            return
        info = await self._client.xinfo_stream(self._described.stream)
        removed = info.get("max-deleted-entry-id", b"0-0")
        removed = removed.decode() if isinstance(removed, bytes) else str(removed)
        if self._last != "0-0" and _order(removed) > _order(self._last):
            self._around.say(f"{self._around.name}: entries up to {removed} were removed before they were read")


def _order(entry: str) -> tuple[int, int]:
    head, _, tail = entry.partition("-")
    return int(head), int(tail or 0)
