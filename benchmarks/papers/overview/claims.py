"""What the overview chapter says of algorithms, section 3.4: figures 6 and 7."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.papers.claims.model import GREATER, GROWS, Claim, Level, Paper, Part, Ratio, Region
from benchmarks.papers.overview.figure6 import ENGINES, FULL, SELECTIONS, Figure6Point
from benchmarks.papers.overview.figure7 import FULL as WINDOWS
from benchmarks.papers.overview.figure7 import Figure7Point


def _of_length(engine: str, selection: str, length: int) -> str:
    return f"single event, {engine}, {selection}, sequences of {length}"


def _of_window(engine: str, selection: str, per_state: int) -> str:
    return f"single event, {engine}, {selection}, {per_state} events a state"


def _of_batch(engine: str, selection: str, per_state: int) -> str:
    return f"batch, wall clock, {engine}, {selection}, {per_state} events a state"


def samples_of(points: Iterable[Figure6Point | Figure7Point]) -> dict[str, dict[int, float]]:
    """The mean microseconds of single events, and those of batches as windows grow, run by run."""
    samples = {}
    for point in points:
        if isinstance(point, Figure6Point):
            name = _of_length(point.engine, point.selection, point.length)
        elif point.compared:
            name = _of_window(point.engine, point.selection, point.per_state)
            if point.walls:
                batch = _of_batch(point.engine, point.selection, point.per_state)
                samples[batch] = dict(enumerate(point.walls, 1))
        else:
            continue
        samples[name] = dict(enumerate(point.means, 1))
    return samples


def algorithm_claims() -> list[Claim]:
    """All of them."""
    lengths = FULL.lengths
    smallest, largest = WINDOWS.per_state[0], WINDOWS.per_state[-1]
    six, seven = "cepheus bench figure6 --write-docs", "cepheus bench figure7 --write-docs"
    return [
        Claim(
            Paper.OVERVIEW,
            "3.4, figure 6",
            "Automata and columns process an event in less than a millisecond.",
            "us for a single event",
            Region("at most 1,000 us", high=1000.0),
            tuple(
                Part(f"{engine}, {selection}, {length}", Level(_of_length(engine, selection, length)))
                for engine in ENGINES
                for selection in SELECTIONS
                for length in lengths
            ),
            six,
        ),
        Claim(
            Paper.OVERVIEW,
            "3.4, figure 6",
            "Each-within is more expensive than last-within for both.",
            "time, each to last",
            GREATER,
            tuple(
                Part(
                    f"{engine}, {length}", Ratio(_of_length(engine, "each", length), _of_length(engine, "last", length))
                )
                for engine in ENGINES
                for length in lengths
            ),
            six,
        ),
        Claim(
            Paper.OVERVIEW,
            "3.4, figure 6",
            "Automata are less efficient than columns.",
            "time, automata to columns",
            GREATER,
            tuple(
                Part(
                    f"{selection}, {length}",
                    Ratio(_of_length("automata", selection, length), _of_length("columns", selection, length)),
                )
                for selection in SELECTIONS
                for length in lengths
            ),
            six,
        ),
        Claim(
            Paper.OVERVIEW,
            "3.4, figure 7",
            "On a CPU the cost grows with the size of windows.",
            f"time, {largest:,} events a state to {smallest}",
            GROWS,
            tuple(
                Part(
                    f"columns, {selection}",
                    Ratio(_of_window("columns", selection, largest), _of_window("columns", selection, smallest)),
                )
                for selection in ("each", "last")
            ),
            seven,
        ),
        Claim(
            Paper.OVERVIEW,
            "3.4, figure 7",
            "A device pays only if many events are to be processed at each state: its overhead is almost constant. "
            "(Here: kernels for devices on the processor, by PoCL.)",
            f"time of batches, device to columns with {smallest} events a state, columns to device with {largest:,}",
            GREATER,
            tuple(
                part
                for selection in ("each", "last")
                for part in (
                    Part(
                        f"{selection}, {smallest}: the device takes longer",
                        Ratio(_of_batch("device", selection, smallest), _of_batch("columns", selection, smallest)),
                    ),
                    Part(
                        f"{selection}, {largest:,}: columns take longer",
                        Ratio(_of_batch("columns", selection, largest), _of_batch("device", selection, largest)),
                    ),
                )
            ),
            seven,
        ),
        Claim(
            Paper.OVERVIEW,
            "3.4, figure 7",
            "On a GPU it is constant at first (0.017 ms), grows faster with each than with last, and from windows of "
            "4,000 events on a GPU is better.",
            "time on a GPU",
            GROWS,
            (),
            "",
            "there is no GPU on this machine",
        ),
    ]
