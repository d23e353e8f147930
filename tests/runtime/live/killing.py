"""Runs a live run again and again and kills it at random moments: ``python killing.py live.toml KILLS SEED SECONDS``.

Each run is a process of its own, forked from this one, which has everything imported and does nothing else; so hundreds
of kills take minutes. Before each kill it waits up to SECONDS.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from pathlib import Path

import aiohttp.web  # noqa: F401  # what takes long to import is imported once

from cepheus.runtime.live.live_file import read_live_file
from cepheus.runtime.live.run import LiveRun


async def _run(path: Path) -> None:
    await LiveRun(read_live_file(path)).run()


def main() -> None:
    path, kills, chance = Path(sys.argv[1]), int(sys.argv[2]), random.Random(sys.argv[3])
    killed = 0
    while killed < kills:
        process = os.fork()
        if not process:
            try:
                asyncio.run(_run(path))
            finally:
                os._exit(3)
        time.sleep(chance.random() * float(sys.argv[4]))
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            sys.exit(f"the run ended by itself: {status}")
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        killed += 1
        print(killed, flush=True)


if __name__ == "__main__":
    main()
