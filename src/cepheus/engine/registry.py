"""The engines by name, each imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, cast, runtime_checkable

from cepheus.core.errors import OptionError, UnsupportedError, did_you_mean
from cepheus.core.event import Event
from cepheus.engine.interface import Engine
from cepheus.rules.model import Rule

AUTO = "auto"
"""Asks for the fastest engine that can run all the rules."""

_ENGINES: dict[str, tuple[str, str]] = {
    "reference": ("cepheus.engine.reference", "ReferenceEngine"),
}
"""The module and class of every engine, the fastest first."""


@runtime_checkable
class FeedsEvents(Protocol):
    """What an engine offers besides ``Engine`` when it can take a single event without building a batch."""

    def feed_event(self, event: Event) -> list[Event]:
        """Take the next event, which has an id, and give the composite events it completes, as ``feed`` does."""


def names() -> tuple[str, ...]:
    """Give the names of all engines, the fastest first.

    >>> "reference" in names()
    True
    """
    return tuple(_ENGINES)


def create(name: str = AUTO, rules: Sequence[Rule] = ()) -> Engine:
    """Make an engine with rules deployed in it.

    ``auto`` is the fastest engine that can run all of them. A name that no engine has is an OptionError, and rules
    that the engine cannot run are an UnsupportedError.

    >>> create("reference").name
    'reference'
    """
    if name != AUTO:
        return _deployed(name, rules)
    *faster, last = _ENGINES
    for candidate in faster:
        try:
            return _deployed(candidate, rules)
        except UnsupportedError:
            continue
    return _deployed(last, rules)


def _deployed(name: str, rules: Sequence[Rule]) -> Engine:
    engine = _load(name)
    for rule in rules:
        engine.deploy(rule)
    return engine


def _load(name: str) -> Engine:
    if name not in _ENGINES:
        known = (AUTO, *_ENGINES)
        hint = did_you_mean(name, known) or f"the engines are {', '.join(known)}"
        raise OptionError.of("engine", f"there is no engine '{name}'", hint=hint)
    module, cls = _ENGINES[name]
    return cast(Engine, getattr(import_module(module), cls)())
