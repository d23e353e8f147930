"""The kinds of sources and sinks that a file can name: of each the keys that it has, and what is made of them.

To add one: write its module in ``sources`` or ``sinks`` against the contract, and its record here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cepheus.core.toml_file import ByName, Keys, Read, boolean, duration, integer, one_of, parsed, path_from, text, texts
from cepheus.runtime.live.contract import DescribesSink, DescribesSource
from cepheus.runtime.live.sinks.file import ToConsole, ToFile
from cepheus.runtime.live.sources.file import FromFile
from cepheus.runtime.live.web import Listen


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of source or sink: what describes it, the keys of its table, and those that must be there, with a hint."""

    make: Callable[..., DescribesSource | DescribesSink]
    keys: Keys
    needed: Mapping[str, str] = field(default_factory=dict)


def seconds(value: object, key: str) -> float:
    """Read a duration, in seconds."""
    return duration(positive=True)(value, key) / 1e6


def source_kinds(folder: Path) -> dict[str, Kind]:
    """The kinds of sources; paths in a file are relative to its folder."""
    path = path_from(folder)
    return {
        "file": Kind(FromFile, {"path": path, "follow": boolean, "poll": seconds}, _PATH),
    }


def sink_kinds(folder: Path) -> dict[str, Kind]:
    """The kinds of sinks; paths in a file are relative to its folder."""
    path = path_from(folder)
    return {
        "file": Kind(ToFile, {"path": path}, _PATH),
        "console": Kind(ToConsole, {}),
    }


_LISTEN: Read[Listen] = parsed(Listen.of)
_PATH = {"path": 'such as path = "events.jsonl"'}
