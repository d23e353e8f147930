"""Complex event processing in a PySpark job: ``cepheus.spark.detect(rules, events)``."""

from typing import TYPE_CHECKING

from cepheus.learning.spark_api import learn
from cepheus.runtime.spark.detect import Detection, detect
from cepheus.runtime.spark.detect_files import detect_files
from cepheus.runtime.spark.node_source import register_source
from cepheus.runtime.spark.row_patterns import match_recognize
from cepheus.runtime.spark.session import spark_session

if TYPE_CHECKING:
    from cepheus.runtime.spark.micro_batches import DetectionQuery


def serve_metrics(query: "DetectionQuery", port: int = 0, *, host: str = "127.0.0.1", name: str = "cepheus") -> int:
    """Serve the figures of a stream that ``write_stream`` writes, as Prometheus reads them; gives the port.

    Port 0 takes a free one. ``name`` is what the figures call the query.
    """
    from cepheus.runtime.spark import stream_metrics

    return stream_metrics.serve_metrics(query, port, host=host, name=name)


__all__ = [
    "Detection",
    "detect",
    "detect_files",
    "learn",
    "match_recognize",
    "register_source",
    "serve_metrics",
    "spark_session",
]
