"""The engines by name, each imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, cast

from cepheus.core.errors import OptionError, UnsupportedError, did_you_mean
from cepheus.core.schema import Schema
from cepheus.engine.interface import Engine
from cepheus.engine.limits import DEFAULT_LIMIT
from cepheus.rules.model import Rule
from cepheus.uncertainty.calculus import DEFAULT_CALCULUS, Calculus
from cepheus.uncertainty.verdict import Observer

if TYPE_CHECKING:
    from cepheus.uncertainty.bayes.network import RuleNetwork

AUTO = "auto"
"""Asks for the fastest engine that can run all the rules."""

_ENGINES: dict[str, tuple[str, str]] = {
    "columns": ("cepheus.engine.columns.engine", "ColumnsEngine"),
    "automata": ("cepheus.engine.automata.engine", "AutomataEngine"),
    "reference": ("cepheus.engine.reference", "ReferenceEngine"),
}
"""The module and class of every engine, the fastest first."""

_ONLY_BY_NAME = ("automata",)
"""Engines that ``auto`` passes over: what they can run, a faster one can."""


def names() -> tuple[str, ...]:
    """Give the names of all engines, the fastest first.

    >>> "reference" in names()
    True
    """
    return tuple(_ENGINES)


def create(
    name: str = AUTO,
    rules: Sequence[Rule] = (),
    schema: Schema | None = None,
    *,
    limit: int = DEFAULT_LIMIT,
    networks: Mapping[str, RuleNetwork] | None = None,
    calculus: Calculus = DEFAULT_CALCULUS,
    observe: Observer | None = None,
) -> Engine:
    """Make an engine and deploy rules in it, with the attribute types that ``Engine.deploy`` asks for.

    ``auto`` is the fastest engine that can run all of them; ``limit`` is the number of composite events that one event
    may make; ``networks`` are those of rules that have one; ``calculus`` is how probabilities are worked out. A name
    that no engine has is an OptionError; rules that the engine cannot run are an UnsupportedError.
    ``observe`` is told of every composite event and the factors of its probability, which the reference engine alone
    can give.

    >>> create("reference").name
    'reference'
    """
    schema = Schema() if schema is None else schema
    if name != AUTO:
        return networked(_deployed(_load(name, limit, calculus, observe), rules, schema), networks)
    *faster, last = (engine for engine in _ENGINES if engine not in _ONLY_BY_NAME)
    for candidate in faster:
        try:
            return networked(_deployed(_load(candidate, limit, calculus, observe), rules, schema), networks)
        except UnsupportedError:
            continue
    return networked(_deployed(_load(last, limit, calculus, observe), rules, schema), networks)


def networked(engine: Engine, networks: Mapping[str, RuleNetwork] | None) -> Engine:
    """Give an engine that weighs its rules by their networks, if there are any."""
    if not networks:
        return engine
    from cepheus.engine.networked import NetworkedEngine

    return NetworkedEngine(engine, networks)


def _deployed(engine: Engine, rules: Sequence[Rule], schema: Schema) -> Engine:
    if rules:
        engine.deploy(rules, schema)
    return engine


def _load(name: str, limit: int, calculus: Calculus, observe: Observer | None) -> Engine:
    if name not in _ENGINES:
        known = (AUTO, *_ENGINES)
        hint = did_you_mean(name, known) or f"the engines are {', '.join(known)}"
        raise OptionError.of("engine", f"there is no engine '{name}'", hint=hint)
    module, cls = _ENGINES[name]
    options = {"calculus": calculus, "observe": observe} if name == "reference" else {}
    return cast(Engine, getattr(import_module(module), cls)(limit, **options))
