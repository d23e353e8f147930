"""Everything that can be measured, in parts that can be asked for one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from benchmarks.growth import footprint, scaling, startup
from benchmarks.growth.footprint import Footprint
from benchmarks.growth.scaling import Scaling
from benchmarks.growth.startup import Startup
from benchmarks.papers.etalis import stock_ticker
from benchmarks.papers.etalis.stock_ticker import StockMeasured
from benchmarks.papers.overview import figure6, figure7
from benchmarks.papers.overview.figure6 import Figure6Point
from benchmarks.papers.overview.figure7 import Figure7Point
from benchmarks.papers.uncertainty import accuracy, bayes, certain, overhead
from benchmarks.papers.uncertainty.accuracy import AccuracyCurve
from benchmarks.papers.uncertainty.bayes import Figure12Point
from benchmarks.papers.uncertainty.certain import PlainPoint
from benchmarks.papers.uncertainty.overhead import OverheadPoint
from benchmarks.peers.compare import PeerRow, peers
from benchmarks.spark.measure import SPARK_FULL, SPARK_QUICK, SparkMeasured, measure_spark
from benchmarks.spark.stream import STREAM_FULL, STREAM_QUICK, StreamMeasured, stream

_MOST_REPEATS = 3  # of what takes long; its times are of many events, and so already even

Say = Callable[[str], None]


class Part(Enum):
    """What to measure."""

    PEERS = "peers"
    FIGURE6 = "figure6"
    FIGURE7 = "figure7"
    SCALING = "scaling"
    CERTAIN = "certain"
    UNCERTAIN = "uncertain"
    ACCURACY = "accuracy"
    BAYES = "bayes"
    SPARK = "spark"
    STREAMING = "streaming"
    ETALIS = "etalis"


UNCERTAINTY = (Part.CERTAIN, Part.UNCERTAIN, Part.ACCURACY, Part.BAYES)
"""The parts that are about uncertainty, section 6 of its paper."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How cost grows with rules, events and processes."""

    scaling: Scaling
    footprint: Footprint
    startup: Startup


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured; a part that was not asked for is None.

    ``judged`` tells whether it was enough to say what is reached.
    """

    peers: tuple[PeerRow, ...] | None = None
    figure6: tuple[Figure6Point, ...] | None = None
    figure7: tuple[Figure7Point, ...] | None = None
    growth: Growth | None = None
    figure12: tuple[Figure12Point, ...] | None = None
    spark: SparkMeasured | None = None
    stream: StreamMeasured | None = None
    stock: StockMeasured | None = None
    certain: tuple[PlainPoint, ...] | None = None
    uncertain: tuple[OverheadPoint, ...] | None = None
    accuracy: tuple[AccuracyCurve, ...] | None = None
    judged: bool = True


def measure(part: Part, say: Say, *, workloads: Sequence[str] = (), repeat: int = 5, quick: bool = False) -> Measured:
    """Measure a part; ``say`` is told what is under way, ``quick`` measures next to nothing, to try it out."""
    some = min(repeat, _MOST_REPEATS)
    judged = not quick
    match part:
        case Part.PEERS:
            return Measured(peers=tuple(peers(workloads, repeat, say, quick=quick)), judged=judged)
        case Part.FIGURE6:
            lengths = figure6.figure6(some, say, figure6.QUICK if quick else figure6.FULL)
            return Measured(figure6=tuple(lengths), judged=judged)
        case Part.FIGURE7:
            windows = figure7.figure7(some, say, figure7.QUICK if quick else figure7.FULL)
            return Measured(figure7=tuple(windows), judged=judged)
        case Part.SCALING:
            growth = Growth(
                scaling.scaling(some, say, scaling.QUICK if quick else scaling.FULL),
                footprint.footprint(say, footprint.QUICK if quick else footprint.FULL),
                startup.startup(some, say, quick=quick),
            )
            return Measured(growth=growth, judged=judged)
        case Part.BAYES:
            networks = bayes.figure12(say, bayes.QUICK if quick else bayes.FULL)
            return Measured(figure12=tuple(networks), judged=judged)
        case Part.SPARK:
            on_spark = measure_spark(some, say, SPARK_QUICK if quick else SPARK_FULL)
            return Measured(spark=on_spark, judged=judged)
        case Part.STREAMING:
            return Measured(stream=stream(say, STREAM_QUICK if quick else STREAM_FULL), judged=judged)
        case Part.ETALIS:
            stock = stock_ticker.stock_ticker(some, say, stock_ticker.QUICK if quick else stock_ticker.FULL)
            return Measured(stock=stock, judged=judged)
        case Part.CERTAIN:
            plain = certain.plainness(repeat, say, overhead.QUICK if quick else overhead.FULL)
            return Measured(certain=tuple(plain), judged=judged)
        case Part.UNCERTAIN:
            costs = overhead.overhead(some, say, overhead.QUICK if quick else overhead.FULL)
            return Measured(uncertain=tuple(costs), judged=judged)
        case Part.ACCURACY:
            curves = accuracy.accuracy(say, *((600, 11) if quick else ()))
            return Measured(accuracy=tuple(curves), judged=judged)
