"""Everything that can be measured and reported, in parts that can be asked for one by one."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.growth import deadlines, footprint, scaling, startup
from benchmarks.growth.report import growth_section
from benchmarks.measuring.timing import Say
from benchmarks.papers.etalis import stock_ticker
from benchmarks.papers.etalis.report import stock_section
from benchmarks.papers.overview import figure6, figure7
from benchmarks.papers.overview.report import figure6_section, figure7_section
from benchmarks.papers.uncertainty import accuracy, bayes, certain, overhead
from benchmarks.papers.uncertainty.report import accuracy_section, bayes_section, certain_section, uncertain_section
from benchmarks.peers.compare import peers
from benchmarks.peers.report import peer_section
from benchmarks.reactive import speed as reactive
from benchmarks.reactive.report import reactive_section
from benchmarks.reports.section import Part, Section
from benchmarks.rows import on_spark as rows_on_spark
from benchmarks.rows import speed
from benchmarks.rows.report import rows_section
from benchmarks.spark import stream as under_load
from benchmarks.spark.files import measure_files
from benchmarks.spark.jobs import SPARK_FULL, SPARK_QUICK
from benchmarks.spark.measure import measure_spark
from benchmarks.spark.report import files_section, spark_section, stream_section

_RUNS = 10  # of which there are intervals, as in the papers
_MOST_REPEATS = 3  # of what takes long; its times are of many events, and so already even


def measure(part: Part, say: Say, *, workloads: Sequence[str] = (), repeat: int = 5, quick: bool = False) -> Section:
    """Measure a part and report on it; ``say`` is told what is under way.

    ``quick`` measures next to nothing, to try it out; nothing is judged by that.
    """
    some = min(repeat, _MOST_REPEATS)
    judged = not quick
    match part:
        case Part.PEERS:
            return peer_section(peers(workloads, repeat, say, quick=quick), judged=judged)
        case Part.FIGURE6:
            return figure6_section(figure6.figure6(some, say, figure6.QUICK if quick else figure6.FULL))
        case Part.FIGURE7:
            return figure7_section(figure7.figure7(some, say, figure7.QUICK if quick else figure7.FULL))
        case Part.SCALING:
            return growth_section(
                scaling.scaling(some, say, scaling.QUICK if quick else scaling.FULL),
                footprint.footprint(say, footprint.QUICK if quick else footprint.FULL),
                startup.startup(some, say, quick=quick),
                deadlines.pending_deadlines(some, say, deadlines.QUICK if quick else deadlines.FULL),
                judged=judged,
            )
        case Part.CERTAIN:
            plain = certain.plainness(repeat, say, certain.QUICK if quick else certain.FULL)
            return certain_section(plain, judged=judged)
        case Part.UNCERTAIN:
            costs = overhead.overhead(2 if quick else _RUNS, say, overhead.QUICK if quick else overhead.FULL)
            return uncertain_section(costs, judged=judged)
        case Part.ACCURACY:
            return accuracy_section(accuracy.accuracy(say, *((2, 600, 11) if quick else ())), judged=judged)
        case Part.BAYES:
            return bayes_section(bayes.figure12(say, bayes.QUICK if quick else bayes.FULL), judged=judged)
        case Part.SPARK:
            return spark_section(measure_spark(some, say, SPARK_QUICK if quick else SPARK_FULL), judged=judged)
        case Part.FILES:
            return files_section(measure_files(some, say, SPARK_QUICK if quick else SPARK_FULL), judged=judged)
        case Part.STREAMING:
            steady = under_load.stream(say, under_load.STREAM_QUICK if quick else under_load.STREAM_FULL)
            return stream_section(steady, judged=judged)
        case Part.ETALIS:
            stock = stock_ticker.stock_ticker(some, say, stock_ticker.QUICK if quick else stock_ticker.FULL)
            return stock_section(stock, judged=judged)
        case Part.ROWS:
            found = speed.paces(speed.QUICK if quick else speed.FULL, some, say)
            shared = rows_on_spark.paces_on_spark(
                rows_on_spark.QUICK if quick else rows_on_spark.FULL, min(some, 2), say
            )
            return rows_section(found, shared, judged=judged)
        case Part.REACTIVE:
            signals = reactive.paces(some, say, reactive.QUICK if quick else reactive.FULL)
            return reactive_section(signals, judged=judged)
