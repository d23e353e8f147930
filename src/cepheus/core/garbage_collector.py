"""Python's cycle collector, put to rest where large models have no cycles: while one is built."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_lock = Lock()
_resting = 0
_was_enabled = False


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Keep the collector from walking a growing model over and over.

    It comes back, if it was there, when the last of all threads that asked for this is done.

    >>> with collector_at_rest():
    ...     gc.isenabled()
    False
    """
    global _resting, _was_enabled  # noqa: PLW0603 - there is one collector
    with _lock:
        if _resting == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _resting += 1
    try:
        yield
    finally:
        with _lock:
            _resting -= 1
            if _resting == 0 and _was_enabled:
                gc.enable()
