"""The start of a streaming query: its checkpoint is asked which rules made it, so that others are refused at once.

Spark has no hook that comes before a query: what runs in it learns of the checkpoint in a task, and only if data comes.
So ``start`` and ``toTable`` of Spark's own writer get a few lines more, which look for a ``detect`` in the query's plan
and do nothing if there is none. What they find is a file in the checkpoint, written when the query is first started.
Sessions of Spark Connect have no plan to look at here; for them, as for checkpoints without the file, the check of the
shards remains, which comes with the first events.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from cepheus.runtime.spark.metrics import free_names
from cepheus.runtime.spark.state_rules import Described, from_bytes, refuse_changed, to_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

FILE = "cepheus.json"
"""The file in a checkpoint that says which rules made it."""

DESCRIBED = "cepheus"
"""Where the metadata of a column of a stateful operator's answer say what its state goes with."""

_CHECKPOINTS = "spark.sql.streaming.checkpointLocation"
_WATCHED = "_cepheus_watched"


def watch_starts() -> None:
    """Let every query that is started from now on look at its checkpoint first."""
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    for name in ("start", "toTable"):
        method = getattr(DataStreamWriter, name)
        if not hasattr(method, _WATCHED):
            setattr(DataStreamWriter, name, _watched(method))


def _watched(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def started(writer: DataStreamWriter, *arguments: Any, **options: Any) -> Any:
        look_at_checkpoint(writer, options)
        return method(writer, *arguments, **options)

    setattr(started, _WATCHED, True)
    return started


def look_at_checkpoint(writer: DataStreamWriter, options: Mapping[str, Any]) -> None:
    """Refuse to start a query from a checkpoint of other rules; a new checkpoint is told which rules there are.

    ``options`` are those that come with the start itself. What cannot be read here, Spark will complain about.
    """
    from py4j.protocol import Py4JError

    try:
        plan = list(_nodes(writer._df))
        now = tuple(_detections(plan))
        if not now:
            return
        free_names(writer._spark, [node.name() for node in plan if node.nodeName() == "CollectMetrics"])
        # another query of the session may have set it back: see stream_settings
        writer._spark.conf.set("spark.sql.exchange.reuse", "false")
        location = _location(writer, options)
        if location is None:
            return
        folder = _Folder(writer._spark, location)
        made_by = from_bytes(found) if (found := folder.read(FILE)) is not None else None
        if not folder.has_batches():
            folder.write(FILE, to_bytes(now))
            return
    except Py4JError:
        return
    if made_by is not None:
        refuse_changed(made_by, now, location)


def _nodes(frame: DataFrame) -> Iterator[Any]:
    """The nodes of the plan of a DataFrame, each as often as it stands there, from the top."""
    waiting = [frame._jdf.queryExecution().analyzed()]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(list(_each(node.children())))


def _detections(plan: Sequence[Any]) -> Iterator[Described]:
    """Find each ``detect`` in a plan, and what its state goes with."""
    for node in plan:
        if node.nodeName() == "TransformWithStateInPySpark":
            for attribute in _each(node.output()):
                if attribute.metadata().contains(DESCRIBED):
                    yield Described.from_json(json.loads(attribute.metadata().getString(DESCRIBED)))


def _each(sequence: Any) -> Iterator[Any]:
    """The elements of a sequence of Scala's."""
    return (sequence.apply(number) for number in range(sequence.size()))


def _location(writer: DataStreamWriter, options: Mapping[str, Any]) -> str | None:
    """The checkpoint that Spark will use, by its own rules; None if it will be a new one."""
    field = writer._jwrite.getClass().getDeclaredField("extraOptions")  # there is no other way to learn of them
    field.setAccessible(True)
    set_before = field.get(writer._jwrite)
    given = {name.lower(): value for name, value in options.items() if value is not None}

    def option(name: str) -> str | None:
        if name in given:
            return str(given[name])
        found = set_before.get(name)
        return str(found.get()) if found.isDefined() else None

    own = option("checkpointlocation")
    if own is not None:
        return own
    parent, name = writer._spark.conf.get(_CHECKPOINTS, None), option("queryname")
    return f"{parent}/{name}" if parent and name else None


class _Folder:
    """A folder wherever Spark can keep a checkpoint."""

    def __init__(self, spark: Any, location: str) -> None:
        self._paths = spark._jvm.org.apache.hadoop.fs.Path
        self._root = self._paths(location)
        self._system = self._root.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())

    def has_batches(self) -> bool:
        """Whether a micro-batch was ever planned: before that there is no state."""
        offsets = self._paths(self._root, "offsets")
        if not self._system.exists(offsets):
            return False
        return any(status.getPath().getName().isdigit() for status in self._system.listStatus(offsets))

    def read(self, name: str) -> bytes | None:
        """Read a file; None if there is none."""
        path = self._paths(self._root, name)
        if not self._system.exists(path):
            return None
        stream = self._system.open(path)
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()

    def write(self, name: str, data: bytes) -> None:
        """Write a file, whole or not at all."""
        path, fresh = self._paths(self._root, name), self._paths(self._root, f".{name}.{uuid4().hex}")
        stream = self._system.create(fresh, True)
        try:
            stream.write(bytearray(data))
        finally:
            stream.close()
        self._system.delete(path, False)
        self._system.rename(fresh, path)
