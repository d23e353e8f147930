"""The rules that a checkpoint belongs to: written down in it, and compared when a query starts from it again.

The state of a query goes with its rules, the facts and columns that they read, and how they are split. Tables of
networks may change. Each shard keeps a digest of that; a ``detect`` enough to say what has changed.

Spark has no hook that comes before a query: what runs in it learns of the checkpoint in a task, and only if data comes.
So ``start`` and ``toTable`` of Spark's own writer get a few lines more, which look for a ``detect`` in the query's plan
and do nothing if there is none. What they find is a file in the checkpoint, written when the query is first started.
Sessions of Spark Connect have no plan to look at here; for them, as for checkpoints without the file, the check of the
shards remains, which comes with the first events.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from cepheus.core.errors import Diagnostic, Place, SnapshotError
from cepheus.rules.interval.model import IntervalRule
from cepheus.rules.json_form import to_json
from cepheus.rules.model import AnyRule, RuleSet
from cepheus.runtime.spark.metrics import free_names
from cepheus.runtime.spark.shard import GroupJob, Job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

FORMAT = 2
"""The version of the form in which a query's rules are written down."""


def fingerprint(job: Job, group: GroupJob) -> str:
    """A digest that is equal for equal rules that are split in the same way."""
    known = [to_json(RuleSet.of(group.rules)), _types(group), repr(job.events), len(group.shards), group.options.engine]
    known.append(repr(group.options.calculus))
    known += [belief.rule for belief in group.beliefs]  # their tables may change, what they weigh may not
    known += _facts(group)
    return digest(known)


@dataclass(frozen=True, slots=True)
class Described:
    """What the state of one ``detect`` goes with. ``groups`` are the fingerprints of its groups of rules; all else is
    there to tell in words what differs: digests of each rule, of the facts, of the columns of events and of the types
    of attributes, how many shards each group has, and by what probabilities are worked out.
    """

    groups: tuple[str, ...]
    rules: Mapping[str, str]
    facts: str
    columns: str
    types: str
    shards: tuple[int, ...]
    engine: str
    calculus: str
    beliefs: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """All of it in plain words and lists."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Described:
        """Read what ``to_json`` gave."""
        given: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in data.items()}
        return cls(**given)


def describe(job: Job) -> Described:
    """Describe what the state of a job goes with."""
    groups = job.groups
    return Described(
        groups=tuple(fingerprint(job, group) for group in groups),
        rules={str(rule.name): rule_digest(rule) for group in groups for rule in group.rules},
        facts=digest([_facts(group) for group in groups]),
        columns=digest(repr(job.events)),
        types=digest([_types(group) for group in groups]),
        shards=tuple(len(group.shards) for group in groups),
        engine=groups[0].options.engine,
        calculus=digest(repr(groups[0].options.calculus)),
        beliefs=tuple(sorted({belief.rule for group in groups for belief in group.beliefs})),
    )


def rule_digest(rule: AnyRule) -> str:
    """A digest that is equal for rules that say the same."""
    return digest(to_json(RuleSet.of([rule])))


def refuse_changed(made_by: Sequence[Described], now: Sequence[Described], checkpoint: str) -> None:
    """Refuse to go on from a checkpoint with other rules than those that made it; SnapshotError says what changed."""
    if len(made_by) != len(now):
        raise refusal(
            f"the checkpoint was made by a query that runs detect {_times(len(made_by))}, this one does "
            f"{_times(len(now))}",
            "go on with the query that made it, or start this one with a new checkpoint",
            checkpoint,
        )
    for old, new in zip(made_by, now, strict=True):
        if old.groups != new.groups:
            raise refusal(*_what_changed(old, new), checkpoint)


def _what_changed(old: Described, new: Described) -> tuple[str, str]:
    """The message and the hint for two descriptions that differ."""
    if changed := list(_changed_rules(old.rules, new.rules)):
        return (
            f"the checkpoint was made by other rules: {', '.join(changed)}",
            "go on with the rules that made it, or start these with a new checkpoint",
        )
    if old.shards != new.shards and max(old.shards) != max(new.shards):
        return (
            f"the checkpoint was made with {_shards(max(old.shards))}, and now there would be {max(new.shards)}",
            f"go on with as many, shards={max(old.shards)}, or start with a new checkpoint",
        )
    return (
        f"the checkpoint was made by the same rules, but {_other_circumstances(old, new)}",
        "go on as it was, or start with a new checkpoint",
    )


def _changed_rules(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    yield from (f"'{name}' has changed" for name in new if name in old and old[name] != new[name])
    yield from (f"'{name}' is new" for name in new if name not in old)
    yield from (f"'{name}' is gone" for name in old if name not in new)


def _other_circumstances(old: Described, new: Described) -> str:
    if old.facts != new.facts:
        return "facts that they read have changed"
    if old.columns != new.columns or old.types != new.types:
        return "the columns of the events, or their types, have changed"
    if old.engine != new.engine:
        return f"the engine was '{old.engine}' and now is '{new.engine}'"
    if old.beliefs != new.beliefs:
        return "other rules of them have networks"
    if old.calculus != new.calculus:
        return "probabilities are worked out in another way"
    return "they are split in another way"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _shards(count: int) -> str:
    return "1 shard" if count == 1 else f"{count} shards"


def refusal(message: str, hint: str, checkpoint: str) -> SnapshotError:
    """An error about a checkpoint."""
    return SnapshotError([Diagnostic("checkpoint-rules", message, hint=hint, place=Place(checkpoint))])


def to_bytes(described: Sequence[Described]) -> bytes:
    """Write down what the detections of a query are."""
    return json.dumps({"format": FORMAT, "detections": [one.to_json() for one in described]}, indent=1).encode()


def from_bytes(data: bytes) -> tuple[Described, ...] | None:
    """Read what was written down; None if it is damaged or of another version, and hence tells nothing."""
    try:
        found = json.loads(data)
        if found["format"] != FORMAT:
            return None
        return tuple(Described.from_json(one) for one in found["detections"])
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _facts(group: GroupJob) -> list[Any]:
    """The rows of the background knowledge that rules read, in whatever order they were given."""
    relations = {r.name: r for rule in group.rules if isinstance(rule, IntervalRule) for r in rule.relations}
    return [[name, sorted(map(repr, relations[name].rows))] for name in sorted(relations)]


def _types(group: GroupJob) -> list[Any]:
    return [
        [t.name, [[a.name, a.type and a.type.value, a.optional] for a in t.attributes]] for t in group.schema.values()
    ]


def digest(known: object) -> str:
    """A short text that differs where what is known does."""
    return hashlib.blake2b(json.dumps(known).encode(), digest_size=16).hexdigest()


FILE = "cepheus.json"
"""The file in a checkpoint that says which rules made it."""

STREAM_FILE = "cepheus/stream.json"
"""The file in a checkpoint of ``write_stream`` that says which rules its state goes with, and since when."""

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
        folder = CheckpointFolder(writer._spark, location)
        made_by = from_bytes(found) if (found := folder.read(FILE)) is not None else None
        written = folder.read(STREAM_FILE) is not None
        if not folder.has_batches():
            folder.write(FILE, to_bytes(now))
            return
    except Py4JError:
        return
    if written:
        raise refusal(
            "the checkpoint was made by write_stream, which keeps state of its own",
            "go on with detection.write_stream(..), or start this query with a new checkpoint",
            location,
        )
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


class CheckpointFolder:
    """A folder wherever Spark can keep a checkpoint."""

    def __init__(self, spark: Any, location: str) -> None:
        self._paths = spark._jvm.org.apache.hadoop.fs.Path
        self._root = self._paths(location)
        self._system = self._root.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())

    def has_batches(self) -> bool:
        """Whether a micro-batch was ever planned: before that there is no state."""
        return self.last("offsets") is not None

    def last(self, log: str) -> int | None:
        """The last micro-batch in a log of Spark's: ``offsets`` has those that were planned, ``commits`` those done."""
        folder = self._paths(self._root, log)
        if not self._system.exists(folder):
            return None
        names = (status.getPath().getName() for status in self._system.listStatus(folder))
        return max((int(name) for name in names if name.isdigit()), default=None)

    @property
    def location(self) -> str:
        """Where it is, written out, as tasks find it."""
        qualified = self._root.makeQualified(self._system.getUri(), self._system.getWorkingDirectory())
        return str(qualified.toUri().toString())  # encoded, for it is read as a URI

    def has(self, name: str) -> bool:
        """Whether there is a file or folder of the name."""
        return bool(self._system.exists(self._paths(self._root, name)))

    def read(self, name: str) -> bytes | None:
        """Read a file; None if there is none."""
        path = self._paths(self._root, name)
        if not self._system.exists(path):
            path = self._replaced(path)  # a kill while it was written left only that
        if not self._system.exists(path):
            return None
        stream = self._system.open(path)
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()

    def write(self, name: str, data: bytes) -> None:
        """Write a file, whole or not at all."""
        path = self._paths(self._root, name)
        fresh = self._paths(path.getParent(), f".{path.getName()}.{uuid4().hex}")
        stream = self._system.create(fresh, True)
        try:
            stream.write(bytearray(data))
        finally:
            stream.close()
        if self._system.exists(path):
            self._system.delete(self._replaced(path), False)
            self._system.rename(path, self._replaced(path))
        if not self._system.rename(fresh, path):
            raise refusal(f"'{name}' could not be written", "see who may write there", str(self._root))

    def _replaced(self, path: Any) -> Any:
        """What a file was before it was written anew."""
        return self._paths(path.getParent(), f".{path.getName()}.old")
