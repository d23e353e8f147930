"""Functions that compiled code calls are lowered once, for the types they state; what Python calls is compiled once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from cepheus.kernel.cache import KernelStore
from cepheus.kernel.checked import CHECKED
from cepheus.kernel.compiled import compiled, inlined


@inlined
def _twice(number: int) -> int:
    return 2 * number


@compiled
def _twice_and(number: int, flag: bool) -> int:
    return _twice(number) + _twice(flag) + _twice(3)


@compiled
def _over_all(count: int) -> int:
    total = 0
    for number in range(count):
        total += _twice_and(number, number % 2 == 0)
    return total


def test_what_python_calls_takes_in_all_it_needs() -> None:
    assert _over_all(4) == sum(2 * n + 2 * (n % 2 == 0) + 6 for n in range(4))


def test_a_function_is_lowered_once_for_the_types_it_states_and_not_compiled() -> None:
    _over_all(1)
    inner: Any = _twice
    assert not inner.overloads, "nobody called it from Python"
    if not CHECKED:  # which goes by the types of fields
        assert len(inner._lowered.overloads) == 1, "a flag and a constant are integers to it as well"


def test_a_function_that_others_call_can_be_called_from_python_too() -> None:
    assert _twice(21) == 42
    assert _twice_and(1, False) == 8


_SCRIPT = """
import sys
from pathlib import Path
from cepheus.kernel.cache import KernelStore
store = KernelStore(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
with store.turn("kernel"):
    if store.read("kernel") is None:
        sys.stdin.readline()
        store.write("kernel", b"made by " + sys.argv[2].encode())
print(store.read("kernel").decode(), flush=True)
"""


def test_processes_that_need_the_same_kernel_wait_for_the_first_of_them(tmp_path: Path) -> None:
    def start(name: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", _SCRIPT, str(tmp_path), name]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    first, second = start("one"), start("two")
    for process, is_begun in ((first, True), (second, False)):
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        while is_begun and not (tmp_path / "kernel.making").exists():
            os.sched_yield()
    told = [first.communicate("\n")[0], second.communicate()[0]]
    assert told == ["made by one\n", "made by one\n"]


def test_a_kernel_that_is_kept_is_nobodys_turn(tmp_path: Path) -> None:
    store = KernelStore(tmp_path)
    store.write("kernel", b"made")
    with store.turn("kernel"):
        assert [path.name for path in tmp_path.iterdir()] == ["kernel.kernel"]
