"""Work in a process beside this one, which begins with all that this one knows and does not hold it up."""

from __future__ import annotations

import gc
import os
import signal
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

_FIRST_OTHER_FILE = 3
_LOOK_EVERY = 0.005


@dataclass(frozen=True, slots=True)
class Beside:
    """Work that is under way in a process of its own, and since when."""

    process: int
    since: float

    @classmethod
    def begin(cls, work: Callable[[], object]) -> Beside:
        """Begin with work that needs nothing but memory and files that it opens itself: no connections, no threads.

        The process is a copy of this one at this moment; memory is copied only where either of them changes it.
        """
        with warnings.catch_warnings():
            # Python warns that locks of other threads stay locked in the copy: the work takes none of them.
            warnings.simplefilter("ignore", DeprecationWarning)
            process = os.fork()
        if process:
            return cls(process, time.perf_counter())
        code = 1
        try:
            gc.disable()
            signal.set_wakeup_fd(-1)
            os.closerange(_FIRST_OTHER_FILE, os.sysconf("SC_OPEN_MAX"))  # connections and locks end with this process
            work()
            code = 0
        finally:
            os._exit(code)

    def ended(self) -> bool | None:
        """Tell whether the work was done: None while it is under way."""
        process, status = os.waitpid(self.process, os.WNOHANG)
        return status == 0 if process else None

    def wait(self, patience: float) -> bool:
        """Wait for the end, and tell whether the work was done; after so many seconds since its beginning, end it."""
        while (done := self.ended()) is None:
            if self.seconds > patience:
                os.kill(self.process, signal.SIGKILL)
                os.waitpid(self.process, 0)
                return False
            time.sleep(_LOOK_EVERY)
        return done

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.perf_counter() - self.since
