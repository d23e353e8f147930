"""What a pipeline file says: where events come from, which rules run, where composite events go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cepheus.core.calculus import Calculus
from cepheus.core.error_columns import ErrorSource


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Something that Spark reads: a format and its options; ``type`` is the event type if rows do not tell it."""

    format: str
    path: str | None = None
    type: str | None = None
    schema: str | None = None
    stream: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SinkSpec:
    """Something that Spark writes; ``composite`` is the one type it takes, None for all.

    ``mode`` is how a batch is written, ``trigger`` how often a stream is: an interval such as ``5 seconds``, or
    ``available now`` to take what is there and end.
    """

    format: str
    path: str | None = None
    composite: str | None = None
    mode: str = "error"
    checkpoint: str | None = None
    trigger: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DetectSpec:
    """The options of ``cepheus.spark.detect``: those that every run takes, and Spark's own."""

    engine: str | None = None
    limit: int | None = None
    threads: int | None = None
    calculus: Calculus | None = None
    lateness: str | int | None = None
    time_unit: str | None = None
    time: str | None = None
    type: str | None = None
    id: str | None = None
    sequence: str | None = None
    start: str | None = None
    probability: str | None = None
    uncertain: Mapping[str, ErrorSource] | None = None
    on_bad_event: str | None = None
    strict: bool | None = None
    ties: str | None = None
    provenance: bool = False
    shards: int | None = None
    split: str = "auto"


@dataclass(frozen=True, slots=True)
class SparkSpec:
    """Where Spark runs, and its settings."""

    master: str = "local[*]"
    name: str = "cepheus"
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A whole pipeline; paths are resolved."""

    rules: tuple[str, ...]
    sources: tuple[SourceSpec, ...]
    sinks: tuple[SinkSpec, ...]
    detect: DetectSpec = field(default_factory=DetectSpec)
    spark: SparkSpec = field(default_factory=SparkSpec)

    @property
    def is_stream(self) -> bool:
        """Whether events come as a stream."""
        return any(source.stream for source in self.sources)
