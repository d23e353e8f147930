"""One event loop on a thread of its own, for all clients of programs without asyncio.

It lives as long as the process: gRPC does not bear that loops come and go.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_lock = threading.Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}


def background_loop() -> asyncio.AbstractEventLoop:
    """Give the loop of this process, running."""
    with _lock:
        found = _loops.get(os.getpid())
        if found is None:
            found = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=found.run_forever, name="cepheus-clients", daemon=True).start()
        return found


def wait(work: Coroutine[Any, Any, T]) -> T:
    """Let the loop do something and wait for it."""
    future = asyncio.run_coroutine_threadsafe(work, background_loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
