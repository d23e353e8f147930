"""What a live run is: rules, sources, sinks and how state is kept. A frozen description; ``LiveRun`` is it at work."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from cepheus.core.errors import OptionError
from cepheus.core.options import RunOptions
from cepheus.runtime.embedded.rule_sources import RuleSource
from cepheus.runtime.live.contract import DescribesSink, DescribesSource
from cepheus.runtime.live.payload import Payload
from cepheus.runtime.live.sinks.file import ToFile
from cepheus.runtime.live.web import Listen


class When(Enum):
    """When sinks are given what was found: at once, or after the state that knows of it was saved."""

    AT_ONCE = "at once"
    SAVED = "saved"


class Clock(Enum):
    """What lets time go on where no event does: nothing, or the clock on the wall."""

    EVENTS = "events"
    WALL = "wall"


@dataclass(frozen=True, slots=True)
class NamedSource:
    """A source of a run, under the name that its position is saved by, and what its messages hold."""

    name: str
    source: DescribesSource
    payload: Payload = field(default_factory=Payload)


@dataclass(frozen=True, slots=True)
class NamedSink:
    """A sink of a run, under the name that its position is saved by; ``composite`` is the one type it takes."""

    name: str
    sink: DescribesSink
    composite: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """A live run.

    State is saved in the folder ``state`` every so many seconds. At most ``ahead`` messages are read before they are
    processed, at most ``batch`` together. What is no event goes to ``dead_letters``; with ``stop_on_bad`` it ends the
    run. With the clock on the wall time goes on by itself when no source has given anything for ``idle`` seconds. A run
    that is stopped has ``grace`` seconds to end in order, if a sink is away, say; then it ends as if it was killed.
    """

    rules: RuleSource
    sources: tuple[NamedSource, ...]
    sinks: tuple[NamedSink, ...]
    state: Path
    options: RunOptions = field(default_factory=RunOptions)
    every: float = 1.0
    when: When = When.AT_ONCE
    clock: Clock = Clock.EVENTS
    idle: float = 1.0
    ahead: int = 200_000
    batch: int = 65_536
    grace: float = 10.0
    dead_letters: NamedSink | None = None
    stop_on_bad: bool = False
    monitoring: Listen | None = None

    def __post_init__(self) -> None:
        names = [source.name for source in self.sources] + [sink.name for sink in self.sinks]
        names += [self.dead_letters.name] if self.dead_letters else []
        for name in names:
            if names.count(name) > 1:
                raise OptionError.of("live", f"two sources or sinks are called '{name}'", hint="give each its name")
        ends = [*self.sinks, *([self.dead_letters] if self.dead_letters else [])]
        paths = [each.sink.path.resolve() for each in ends if isinstance(each.sink, ToFile)]
        for path in paths:
            if paths.count(path) > 1:  # each would cut off what the other wrote
                raise OptionError.of("live", f"two sinks write to '{path}'", hint="give each a file of its own")
        if not self.sources:
            raise OptionError.of("live", "the run has no source", hint="write [[sources]]")
