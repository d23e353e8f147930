"""The engines by name, each imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, cast

from cepheus.core.errors import OptionError, UnsupportedError, did_you_mean
from cepheus.core.schema import Schema
from cepheus.core.values import INT_MAX
from cepheus.engine.base.interface import Engine
from cepheus.engine.base.limits import DEFAULT_LIMIT
from cepheus.rules.interval.model import IntervalRule
from cepheus.rules.model import AnyRule
from cepheus.uncertainty.calculus import DEFAULT_CALCULUS, Calculus
from cepheus.uncertainty.verdict import Observer

if TYPE_CHECKING:
    from cepheus.uncertainty.belief.belief import RuleBelief

AUTO = "auto"
"""Asks for the fastest engine that can run all the rules."""

_ENGINES: dict[str, tuple[str, str]] = {
    "columns": ("cepheus.engine.columns.engine", "ColumnsEngine"),
    "automata": ("cepheus.engine.automata.engine", "AutomataEngine"),
    "matching": ("cepheus.engine.matching.engine", "MatchingEngine"),
    "reference": ("cepheus.engine.reference.engine", "ReferenceEngine"),
}
"""The module and class of every engine, the fastest first."""

_INTERVAL_ENGINES: dict[str, tuple[str, str]] = {
    "goals": ("cepheus.engine.goals.engine", "GoalsEngine"),
    "interval-reference": ("cepheus.engine.reference.interval_engine", "IntervalReferenceEngine"),
}
"""The module and class of every engine of interval rules, the fastest first; the last one is their reference."""

_ONLY_BY_NAME = ("automata", "matching")
"""Engines that ``auto`` passes over: what they can run, a faster one can."""

_IN_THREADS = "columns"
"""The engine that can spread its work over threads."""

_MOST_THREADS = 1024
"""More than any machine has a use for."""

_FOR_CERTAIN_EVENTS = ("columns", "automata")
"""Engines that give way to another as soon as there is something uncertain."""


def names() -> tuple[str, ...]:
    """Give the names of all engines, the fastest first.

    >>> "reference" in names()
    True
    """
    return tuple(_ENGINES)


def create(
    name: str = AUTO,
    rules: Sequence[AnyRule] = (),
    schema: Schema | None = None,
    *,
    limit: int = DEFAULT_LIMIT,
    beliefs: Mapping[str, RuleBelief] | None = None,
    calculus: Calculus = DEFAULT_CALCULUS,
    observe: Observer | None = None,
    threads: int = 1,
) -> Engine:
    """Make an engine and deploy rules in it, with the attribute types that ``Engine.deploy`` asks for.

    ``auto`` is the fastest engine that can run all of them; ``limit`` is the number of composite events that one event
    may make; ``networks`` are those of rules that have one; ``calculus`` is how probabilities are worked out. A name
    that no engine has is an OptionError; rules that the engine cannot run are an UnsupportedError.
    ``observe`` is told of every composite event and the factors of its probability, which the reference engine alone
    can give. The columns engine spreads its work over so many ``threads``; the others have but one.

    >>> create("reference").name
    'reference'
    """
    _require_limit(limit)
    _require_threads(name, threads)
    schema = Schema() if schema is None else schema
    if "+" in name or name in _INTERVAL_ENGINES or any(isinstance(rule, IntervalRule) for rule in rules):
        return weighted(_mixed(name, rules, schema, limit, calculus, observe, threads), beliefs)
    if name != AUTO:
        return weighted(_deployed(_load(name, limit, calculus, observe, threads), rules, schema), beliefs)
    *faster, last = (engine for engine in _ENGINES if engine not in _ONLY_BY_NAME)
    for candidate in faster:
        try:
            return weighted(_deployed(_load(candidate, limit, calculus, observe, threads), rules, schema), beliefs)
        except UnsupportedError:
            continue
    return weighted(_deployed(_load(last, limit, calculus, observe, threads), rules, schema), beliefs)


def interval_names() -> tuple[str, ...]:
    """Give the names of all engines of interval rules, the fastest first.

    >>> interval_names()[-1]
    'interval-reference'
    """
    return tuple(_INTERVAL_ENGINES)


def _mixed(
    name: str,
    rules: Sequence[AnyRule],
    schema: Schema,
    limit: int,
    calculus: Calculus,
    observe: Observer | None,
    threads: int,
) -> Engine:
    """Make an engine for rules of both families; ``name`` is that of either engine, or of both as in columns+goals."""
    from cepheus.engine.assembly.mixed import MixedEngine, feed_each_other

    def make_tesla(tesla: str, rules: Sequence[AnyRule], schema: Schema) -> Engine:
        return create(tesla, rules, schema, limit=limit, calculus=calculus, observe=observe, threads=threads)

    def make_intervals(intervals: str, rules: Sequence[AnyRule], schema: Schema) -> Engine:
        return _interval_engine(intervals, rules, schema, limit)

    tesla, plus, intervals = name.partition("+")
    if not plus:
        intervals = name if name in _INTERVAL_ENGINES else "interval-reference" if name == "reference" else AUTO
        tesla = "reference" if name == "interval-reference" else AUTO if name in _INTERVAL_ENGINES else name
    if tesla == AUTO and feed_each_other(rules):
        tesla = "reference"  # the compiled engines take every event they are fed for an instant
    for given in (tesla, intervals):
        if given not in (AUTO, *_ENGINES, *_INTERVAL_ENGINES):
            raise _no_such_engine(given)
    return _deployed(MixedEngine(tesla, make_tesla, intervals, make_intervals), rules, schema)


def _interval_engine(name: str, rules: Sequence[AnyRule], schema: Schema, limit: int) -> Engine:
    *faster, last = _INTERVAL_ENGINES if name == AUTO else (name,)
    for candidate in faster:
        try:
            return _deployed(_load_interval_engine(candidate, limit), rules, schema)
        except UnsupportedError:
            continue
    return _deployed(_load_interval_engine(last, limit), rules, schema)


def _load_interval_engine(name: str, limit: int) -> Engine:
    module, cls = _INTERVAL_ENGINES[name]
    return cast(Engine, getattr(import_module(module), cls)(limit))


def weighted(engine: Engine, beliefs: Mapping[str, RuleBelief] | None) -> Engine:
    """Give an engine that weighs its rules by their networks, if there are any."""
    if not beliefs:
        return engine
    from cepheus.engine.assembly.weighted import WeightedEngine

    return WeightedEngine(engine, beliefs)


def _deployed(engine: Engine, rules: Sequence[AnyRule], schema: Schema) -> Engine:
    if rules:
        engine.deploy(rules, schema)
    return engine


def threads_for(name: str, threads: int) -> int:
    """Give how many of so many threads an engine can use."""
    return threads if name == _IN_THREADS or name.startswith(f"{_IN_THREADS}+") else 1


def _require_limit(limit: int) -> None:
    """Refuse a limit that is not a number of composite events."""
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= INT_MAX:
        raise OptionError.of(
            "limit",
            f"{limit!r} is not a number of composite events",
            hint=f"give a whole number from 1 to {INT_MAX}",
        )


def _require_threads(name: str, threads: int) -> None:
    """Refuse a number of threads that cannot be, or several for an engine that has but one."""
    if not isinstance(threads, int) or isinstance(threads, bool) or not 1 <= threads <= _MOST_THREADS:
        raise OptionError.of(
            "threads", f"{threads!r} is not a number of threads", hint=f"give a whole number from 1 to {_MOST_THREADS}"
        )
    if threads > 1 and name in _ENGINES and name != _IN_THREADS:
        raise OptionError.of(
            "threads", f"the engine {name} runs on one thread", hint=f"choose the engine {_IN_THREADS}"
        )


def _load(name: str, limit: int, calculus: Calculus, observe: Observer | None, threads: int) -> Engine:
    if name not in _ENGINES:
        raise _no_such_engine(name)
    module, cls = _ENGINES[name]
    make = getattr(import_module(module), cls)
    if name == "reference":
        return cast(Engine, make(limit, calculus, observe))
    if name not in _FOR_CERTAIN_EVENTS:
        return cast(Engine, make(limit))
    from cepheus.engine.assembly.certain_first import (
        CertainFirstEngine,  # it knows the compiled engines, which are imported when asked for
    )

    if threads > 1 and name == _IN_THREADS:
        from cepheus.engine.parallel.engine import ParallelEngine

        return CertainFirstEngine(ParallelEngine(limit, threads), limit, calculus)
    return CertainFirstEngine(make(limit), limit, calculus)


def _no_such_engine(name: str) -> OptionError:
    known = (AUTO, *_ENGINES, *_INTERVAL_ENGINES)
    hint = did_you_mean(name, known) or f"the engines are {', '.join(known)}"
    return OptionError.of("engine", f"there is no engine '{name}'", hint=hint)
