"""What Spark prints of its own accord is kept from the terminal, and nothing else is."""

from __future__ import annotations

import subprocess
import sys
from random import Random

from cepheus.runtime.spark.session import ChatterFilter

CHATTER = """Starting Streaming TransformWithStateInPandas Python worker.

Streaming TransformWithStateInPandas Python worker finish init stage of Python runner. Received UDF from JVM: <bound ..>

Streaming TransformWithStateInPandas Python worker Completed execution of UDF: <bound ..>.

"""
ERRORS = """26/01/01 00:00:00 ERROR MicroBatchExecution: Query [id = 1] terminated with error
java.lang.IllegalStateException: no

\tat org.apache.spark.sql.execution.TransformWithStateInPandas
Starting something else
"""


def test_only_chatter_is_kept_back_however_it_comes_in_pieces() -> None:
    text = (ERRORS + CHATTER + ERRORS + CHATTER + "\n" + ERRORS).encode()
    for seed in range(50):
        random, chatter_filter, given, at = Random(seed), ChatterFilter(), b"", 0
        while at < len(text):
            size = random.choice((1, 3, 40, 200))
            given += chatter_filter.take(text[at : at + size])
            at += size
        assert given.decode() == ERRORS * 2 + "\n" + ERRORS


def test_what_does_not_end_in_a_line_is_not_held_back() -> None:
    chatter_filter = ChatterFilter()
    assert chatter_filter.take(b"[Stage 3:==>") == b"[Stage 3:==>"
    assert chatter_filter.take(b"\r") == b"\r"
    assert chatter_filter.take(b"Starting") == b""
    assert chatter_filter.end() == b"Starting"


PROGRAM = """
import subprocess, sys, threading
from cepheus.runtime.spark.session import without_chatter
with without_chatter():
    child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=subprocess.PIPE)
print("from the program itself", file=sys.stderr, flush=True)
child.communicate(b"go")
[thread.join() for thread in threading.enumerate() if thread.name == "cepheus-stderr"]
"""
CHILD = f"import sys; sys.stdin.read(); sys.stderr.write({CHATTER!r} + {ERRORS!r})"


def test_a_process_that_was_started_meanwhile_is_heard_for_as_long_as_it_lives() -> None:
    said = subprocess.run([sys.executable, "-c", PROGRAM, CHILD], capture_output=True, text=True, check=True).stderr
    assert said == "from the program itself\n" + ERRORS
