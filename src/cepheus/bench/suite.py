"""Everything that can be measured, in parts that can be asked for one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from cepheus.bench import (
    figure6,
    figure7,
    figure12,
    footprint,
    scaling,
    startup,
    stock_ticker,
    uncertain_accuracy,
    uncertain_overhead,
    uncertain_plain,
)
from cepheus.bench.figure6 import Figure6Point
from cepheus.bench.figure7 import Figure7Point
from cepheus.bench.figure12 import Figure12Point
from cepheus.bench.footprint import Footprint
from cepheus.bench.peers import PeerRow, peers
from cepheus.bench.scaling import Scaling
from cepheus.bench.spark.measure import SPARK_FULL, SPARK_QUICK, SparkMeasured, measure_spark
from cepheus.bench.spark.stream import STREAM_FULL, STREAM_QUICK, StreamMeasured, stream
from cepheus.bench.startup import Startup
from cepheus.bench.stock_ticker import StockMeasured
from cepheus.bench.uncertain_accuracy import AccuracyCurve
from cepheus.bench.uncertain_overhead import OverheadPoint
from cepheus.bench.uncertain_plain import PlainPoint

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
            networks = figure12.figure12(say, figure12.QUICK if quick else figure12.FULL)
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
            plain = uncertain_plain.plainness(
                repeat, say, uncertain_overhead.QUICK if quick else uncertain_overhead.FULL
            )
            return Measured(certain=tuple(plain), judged=judged)
        case Part.UNCERTAIN:
            costs = uncertain_overhead.overhead(
                some, say, uncertain_overhead.QUICK if quick else uncertain_overhead.FULL
            )
            return Measured(uncertain=tuple(costs), judged=judged)
        case Part.ACCURACY:
            curves = uncertain_accuracy.accuracy(say, *((600, 11) if quick else ()))
            return Measured(accuracy=tuple(curves), judged=judged)
