"""Files of history as Spark reads them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from cepheus.core.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FORMATS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".csv": "csv"}
_OPTIONS = {"csv": {"header": "true", "inferSchema": "true"}}


def history_frame(spark: SparkSession, paths: Sequence[Path]) -> DataFrame:
    """All events of files, or folders of files, as one DataFrame."""
    frames = [_read(spark, path) for path in paths]
    if not frames:
        raise OptionError.of("events", "there is no history to learn from", hint="name a file of events")
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


def _read(spark: SparkSession, path: Path) -> DataFrame:
    if not path.exists():
        raise OptionError.of("file", f"there is no file '{path}'")
    inside = [path] if path.is_file() else [each for each in sorted(path.iterdir()) if each.suffix in _FORMATS]
    formats = {_FORMATS.get(each.suffix) for each in inside}
    name = formats.pop() if len(formats) == 1 else None
    if name is None:
        what = f"'{path}' is in no format that Spark reads here"
        raise OptionError.of("format", what, hint=f"{', '.join(_FORMATS)}; or read it and call cepheus.spark.learn")
    try:
        frame: DataFrame = spark.read.format(name).options(**_OPTIONS.get(name, {})).load(str(path))
        frame.schema  # noqa: B018  # Spark looks at the files now
    except Exception as error:
        reason = (str(error).splitlines() or ["it gave no reason"])[0]
        raise OptionError.of("source", f"Spark cannot read '{path}': {reason}") from None
    return frame
