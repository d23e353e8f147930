"""Complex event processing in a PySpark job: ``cepheus.spark.detect(rules, events)``."""

from cepheus.runtime.spark.detect import Detection, detect
from cepheus.runtime.spark.detect_files import detect_files
from cepheus.runtime.spark.node_source import register_source
from cepheus.runtime.spark.row_patterns import match_recognize
from cepheus.runtime.spark.session import spark_session

__all__ = ["Detection", "detect", "detect_files", "match_recognize", "register_source", "spark_session"]
