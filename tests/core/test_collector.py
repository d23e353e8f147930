from __future__ import annotations

import gc
import subprocess
import sys
from threading import Barrier, Thread

from cepheus.core.garbage_collector import collector_at_rest


def test_the_collector_comes_back_when_the_last_thread_is_done() -> None:
    """Two threads overlap: the first to leave must not wake the collector, and the last must."""
    inside, left = Barrier(2), Barrier(2)
    seen: list[bool] = []

    def first() -> None:
        with collector_at_rest():
            inside.wait()
        left.wait()

    thread = Thread(target=first)
    assert gc.isenabled()
    with collector_at_rest():
        thread.start()
        inside.wait()
        left.wait()
        seen.append(gc.isenabled())
    thread.join()
    assert seen == [False]
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with collector_at_rest():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_rules_are_compiled_without_what_only_servers_need() -> None:
    """Loading asyncio takes as long as a small compilation, and only networks need it."""
    program = "import sys, cepheus; cepheus.compile('define Fire() from Smoke()'); print('asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "False"
