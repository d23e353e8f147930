"""What a DataFrame reads, if it is a plain scan of Parquet files: the files, the columns, the conditions on rows.

Spark's optimized plan is looked at. Understood are the scan itself, columns that are taken or renamed, partition
columns, and conditions of comparisons, lists, nulls and logic; whatever else stands in a plan, only Spark can read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cepheus.runtime.spark.file_conditions import Condition, Value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class NotPlainError(Exception):
    """Why a DataFrame is not a plain scan, in words."""


@dataclass(frozen=True, slots=True)
class ScanFile:
    """A file of a scan, how many bytes it has, and the values of its partition."""

    path: str
    size: int
    partition: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scan:
    """A plain scan: its files, by name the columns of the DataFrame as the files call them, and their types.

    ``condition`` is over the names of the files' columns; rows for which it is not true are left out.
    """

    files: tuple[ScanFile, ...]
    columns: Mapping[str, str]
    types: Mapping[str, str]
    condition: Condition | None


def is_scan_of_parquet(frame: DataFrame) -> bool:
    """Whether a DataFrame reads Parquet files and nothing else, in however complicated a way."""
    if not hasattr(frame, "_jdf"):
        return False
    leaves = list(_each(frame._jdf.queryExecution().optimizedPlan().collectLeaves()))
    return bool(leaves) and all(_is_parquet(leaf) for leaf in leaves)


def scan_of(frame: DataFrame) -> Scan:
    """Take a plan apart; NotPlainError says what is in the way."""
    if not hasattr(frame, "_jdf"):
        raise NotPlainError("over Spark Connect plans cannot be looked at")
    reader = _PlanReader(by_field_id=frame.sparkSession.conf.get(_BY_FIELD_ID, "false") == "true")
    condition = reader.read(frame._jdf.queryExecution().optimizedPlan())
    columns, types = {}, {}
    for attribute, name in zip(reader.output, frame.columns, strict=True):
        columns[name] = attribute.name
        types[name] = attribute.type
    return Scan(tuple(_files(reader.relation)), columns, types, condition)


_BY_FIELD_ID = "spark.sql.parquet.fieldId.read.enabled"


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the files."""

    name: str
    type: str


class _PlanReader:
    """Reads a plan from its leaf upwards."""

    def __init__(self, *, by_field_id: bool) -> None:
        self._by_field_id = by_field_id
        self.relation: Any = None
        self.output: list[_Column] = []
        self._known: dict[int, _Column] = {}

    def read(self, plan: Any) -> Condition | None:
        """Read a plan and those below it; gives the conditions on its rows."""
        match plan.getClass().getSimpleName():
            case "LogicalRelation":
                self._relation(plan)
                return None
            case "Filter":
                below = self.read(plan.child())
                own = self._expression(plan.condition())
                return own if below is None else Condition("and", (below, own))
            case "Project":
                below = self.read(plan.child())
                self.output = [self._named(each) for each in _each(plan.projectList())]
                return below
            case other:
                raise NotPlainError(f"the events are more than a scan of files: Spark's plan has {_in_words(other)}")

    def _relation(self, leaf: Any) -> None:
        if not _is_parquet(leaf):
            raise NotPlainError("the events are not read from Parquet files")
        self.relation = leaf.relation()
        for attribute in _each(leaf.output()):
            self._known[attribute.exprId().id()] = _Column(attribute.name(), self._type_of(attribute))
        self.output = list(self._known.values())

    def _type_of(self, attribute: Any) -> str:
        """The type of a column; in words that are no type where it is not what files have under its name."""
        kind = str(attribute.dataType().catalogString())
        if attribute.metadata().contains("EXISTS_DEFAULT"):
            return f"{kind} with a default, which Spark puts in where a file has no such column"
        if self._by_field_id and attribute.metadata().contains("parquet.field.id"):
            return f"{kind} with a field id, by which Spark finds it"
        return kind

    def _named(self, expression: Any) -> _Column:
        match expression.getClass().getSimpleName():
            case "AttributeReference":
                return self._column(expression)
            case "Alias" if expression.child().getClass().getSimpleName() == "AttributeReference":
                found = self._column(expression.child())
                self._known[expression.exprId().id()] = found
                return found
            case _:
                raise NotPlainError(f"the column '{expression.name()}' is computed")

    def _column(self, attribute: Any) -> _Column:
        found = self._known.get(attribute.exprId().id())
        if found is None:
            raise NotPlainError(f"'{attribute.name()}' is no column of the files")
        return found

    def _expression(self, node: Any) -> Condition:
        kind = node.getClass().getSimpleName()
        match kind:
            case "AttributeReference":
                found = self._column(node)
                return Condition("column", (), (found.name, found.type))
            case "Literal":
                return Condition("literal", (), (_literal(node), node.dataType().catalogString()))
            case "In":
                return Condition("in", self._all([node.value(), *_each(node.list())]))
            case "InSet":
                kind_of_value = node.child().dataType().catalogString()
                values = [_java_value(value, kind_of_value) for value in _each(node.hset().toSeq())]
                choices = (Condition("literal", (), (value, kind_of_value)) for value in values)
                return Condition("in", (self._expression(node.child()), *choices))
            case "Cast" if (wider := _wider(node)) is not None:
                return Condition("cast", self._all(_each(node.children())), (wider,))
            case "StartsWith" | "EndsWith" | "Contains" if not _is_text(node.right()):
                raise NotPlainError(f"only Spark can tell the condition {_short(node.sql())}")
            case _ if kind in _OPERATORS:
                return Condition(_OPERATORS[kind], self._all(_each(node.children())))
            case _:
                raise NotPlainError(f"only Spark can tell the condition {_short(node.sql())}")

    def _all(self, nodes: Sequence[Any] | Iterator[Any]) -> tuple[Condition, ...]:
        return tuple(self._expression(node) for node in nodes)


_OPERATORS = {
    "And": "and",
    "Or": "or",
    "Not": "not",
    "EqualTo": "=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "IsNull": "is null",
    "IsNotNull": "is not null",
    "IsNaN": "is nan",
    "StartsWith": "starts with",
    "EndsWith": "ends with",
    "Contains": "contains",
}
"""What Spark's plans call the operators that conditions may have."""

_WIDER = {
    ("int", "bigint"),
    ("smallint", "bigint"),
    ("tinyint", "bigint"),
    ("int", "double"),
    ("float", "double"),
    ("bigint", "double"),
}


def _wider(cast: Any) -> str | None:
    """The type that a cast leads to, if it only makes numbers wider."""
    pair = (cast.child().dataType().catalogString(), cast.dataType().catalogString())
    return pair[1] if pair in _WIDER or pair[0] == pair[1] else None


def _is_text(node: Any) -> bool:
    return node.getClass().getSimpleName() == "Literal" and node.value() is not None


def _literal(node: Any) -> Value:
    return _java_value(node.value(), node.dataType().catalogString())


def _java_value(value: Any, kind: str) -> Value:
    """A value of Spark's own form in Python: texts are objects there, times are integers."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if kind == "string":
        return str(value.toString())
    raise NotPlainError(f"a condition has a constant of the type {kind}")


def _is_parquet(leaf: Any) -> bool:
    if leaf.getClass().getSimpleName() != "LogicalRelation":
        return False
    relation = leaf.relation()
    if relation.getClass().getSimpleName() != "HadoopFsRelation":
        return False
    return str(relation.fileFormat().getClass().getName()).endswith(".parquet.ParquetFileFormat")


def _files(relation: Any) -> Iterator[ScanFile]:
    """The files of a relation, each with the values of its partition."""
    fields = list(_each(relation.partitionSchema()))
    none = relation.location().rootPaths().take(0)  # a list of Scala's without elements
    for directory in _each(relation.location().listFiles(none, none)):
        values = directory.values()
        partition = {
            each.name(): _java_value(values.get(number, each.dataType()), each.dataType().catalogString())
            for number, each in enumerate(fields)
        }
        for file in _each(directory.files()):
            yield ScanFile(str(file.getPath().toUri().toString()), int(file.getLen()), partition)


def _each(sequence: Any) -> Iterator[Any]:
    """The elements of a sequence of Scala's."""
    return (sequence.apply(number) for number in range(sequence.size()))


_LONGEST = 60


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 2] + ".."


_NAMES = {
    "InMemoryRelation": "a cache",
    "Aggregate": "an aggregate",
    "Join": "a join",
    "Union": "a union",
    "Window": "a window",
    "Sort": "an order",
    "GlobalLimit": "a limit",
    "LocalLimit": "a limit",
    "Sample": "a sample",
    "Repartition": "a repartitioning",
    "RepartitionByExpression": "a repartitioning",
    "LogicalRDD": "rows of the driver",
    "LocalRelation": "rows of the driver",
}


def _in_words(node: str) -> str:
    return _NAMES.get(node, f"'{node}'")
