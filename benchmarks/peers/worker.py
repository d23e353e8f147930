"""A process of its own for each contender, so that none shares threads, memory or settings with another.

``python -m benchmarks.peers.worker`` reads requests from stdin, one JSON object a line: a job is made ready and
answered with ``{}``; ``{}`` runs it once and is answered with what ``Answer`` holds. A job that cannot be done is
answered with ``{"error": ..}``. ``Worker`` is the other end of the line.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from benchmarks.measuring.processes import environment
from benchmarks.measuring.timing import Timing
from benchmarks.peers.contender import Answer, Job, build
from cepheus.core.errors import CepheusError, OptionError

ONE_THREAD = {
    "ARROW_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
}
"""Settings that libraries read when they are imported."""


class Worker:
    """A process that answers jobs on one thread; it ends with the ``with`` block."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.peers.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(**ONE_THREAD),
        )

    def prepare(self, job: Job) -> None:
        """Make a job ready, instead of the one before; OptionError if it cannot be done."""
        self._ask(job.to_json())

    def run(self) -> Answer:
        """Run the job once."""
        answer = self._ask({})
        sums = answer["sums"]
        assert isinstance(sums, dict)
        return Answer(_timing(answer["whole"]), _timing(answer["feed"]), int(str(answer["count"])), sums)

    def _ask(self, request: Mapping[str, object]) -> dict[str, object]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps(request), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise OptionError.of("measurement", "a measuring process ended before its work was done")
        answer: dict[str, object] = json.loads(line)
        if "error" in answer:
            raise OptionError.of("measurement", str(answer["error"]))
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._process.kill()
        self._process.communicate()


def main() -> None:
    """Answer requests until there are no more."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # what a library prints must not get between the answers
    run = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request:
                run = None  # what the job before held is free before the next one takes its place
                gc.collect()
                run = build(Job.from_json(request))
                answer: Mapping[str, object] = {}
            else:
                assert run is not None
                answer = _as_json(run())
        except CepheusError as error:
            answer = {"error": error.diagnostics[0].message}
        except Exception as error:  # whatever a library raises is told at the other end
            answer = {"error": (str(error).splitlines() or ["it gave no reason"])[0]}
        print(json.dumps(answer), file=answers, flush=True)


def _as_json(answer: Answer) -> dict[str, object]:
    return {
        "whole": [answer.whole.wall, answer.whole.cpu],
        "feed": [answer.feed.wall, answer.feed.cpu],
        "count": answer.count,
        "sums": dict(answer.sums),
    }


def _timing(pair: object) -> Timing:
    assert isinstance(pair, list)
    wall, cpu = pair
    return Timing(float(wall), float(cpu))


if __name__ == "__main__":
    main()
