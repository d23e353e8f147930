"""What Spark says on stderr, less what the Python behind its stateful operator tells of itself whenever a query starts.

Spark 4.3 prints these lines itself, past all settings of its log. They are known by how they begin; all else, errors
above all, goes on as it comes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

_CHATTER = (
    b"Starting Streaming TransformWithStateInPandas Python worker.",
    b"Streaming TransformWithStateInPandas Python worker ",
)


class Sieve:
    """Takes what is said, in pieces of any size, and gives it without the chatter and the empty lines behind it.

    >>> sieve = Sieve()
    >>> sieve.take(b"an error\\nStreaming TransformWithStateInPandas Python worker finish init st")
    b'an error\\n'
    >>> sieve.take(b"age\\n\\nanother error\\n")
    b'another error\\n'
    """

    def __init__(self) -> None:
        self._held = b""
        self._after_chatter = False

    def take(self, said: bytes) -> bytes:
        """Take some more; what may still turn out to be chatter is held back."""
        *lines, rest = (self._held + said).split(b"\n")
        given = [line + b"\n" for line in lines if self._goes_on(line)]
        may_be_chatter = any(rest.startswith(start) or start.startswith(rest) for start in _CHATTER)
        self._held = rest if may_be_chatter else b""
        return b"".join(given) + (b"" if may_be_chatter else rest)

    def end(self) -> bytes:
        """Give what is left when no more comes."""
        return self._held if self._goes_on(self._held) else b""

    def _goes_on(self, line: bytes) -> bool:
        after, self._after_chatter = self._after_chatter, line.startswith(_CHATTER)
        return not self._after_chatter and not (after and not line.strip())


@contextmanager
def without_chatter() -> Iterator[None]:
    """Let processes that start meanwhile say what they say on stderr by way of a sieve, for as long as they live."""
    sys.stderr.flush()
    stderr = os.dup(2)
    end, beginning = os.pipe()
    os.dup2(beginning, 2)
    os.close(beginning)
    Thread(target=_pass_on, args=(end, os.dup(stderr)), name="cepheus-stderr", daemon=True).start()
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(stderr, 2)
        os.close(stderr)


def _pass_on(end: int, real: int) -> None:
    sieve = Sieve()
    with os.fdopen(end, "rb", buffering=0) as said, os.fdopen(real, "wb") as out:
        while some := said.read(1 << 16):
            out.write(sieve.take(some))
            out.flush()
        out.write(sieve.end())
