"""The engines by name, each imported only when it is asked for, and the goals that wait in what they make up."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, cast

from cepheus.core.errors import OptionError, UnsupportedError, did_you_mean
from cepheus.core.options import AUTO, RunOptions, Threads
from cepheus.core.schema import Schema
from cepheus.engine.assembly.mixed import MixedEngine
from cepheus.engine.assembly.weighted import WeightedEngine
from cepheus.engine.base.interface import Engine
from cepheus.plan.split.memory import memory
from cepheus.rules.interval.model import IntervalRule
from cepheus.rules.model import AnyRule, Rule
from cepheus.rules.resolve import resolve
from cepheus.rules.resolved import since_start
from cepheus.rules.rows.model import RowRule
from cepheus.uncertainty.verdict import Observer

if TYPE_CHECKING:
    from cepheus.engine.goals.engine import GoalsEngine
    from cepheus.plan.interval.goal_texts import Goal
    from cepheus.uncertainty.belief.belief import RuleBelief

_ENGINES: dict[str, tuple[str, str]] = {
    "columns": ("cepheus.engine.columns.engine", "ColumnsEngine"),
    "device": ("cepheus.engine.device.calibration", "measured_engine"),
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

ROWS = "rows"
"""The engine of queries over rows."""

_ONLY_BY_NAME = ("device", "automata", "matching")
"""Engines that ``auto`` passes over: what they can run, a faster one can, or one that needs no driver."""

_ON_A_DEVICE = "device"
"""The engine that works with a device."""

_SAME_STATE = ("columns", _ON_A_DEVICE)
"""Engines whose snapshots are the same."""

_IN_THREADS = "columns"
"""The engine that can spread its work over threads."""

_FOR_CERTAIN_EVENTS = ("columns", "device", "automata")
"""Engines that give way to another as soon as there is something uncertain."""


def names() -> tuple[str, ...]:
    """The names of all engines, the fastest first.

    >>> "reference" in names()
    True
    """
    return tuple(_ENGINES)


def create(
    options: RunOptions | str = AUTO,
    rules: Sequence[AnyRule] = (),
    schema: Schema | None = None,
    *,
    beliefs: Mapping[str, RuleBelief] | None = None,
    observe: Observer | None = None,
) -> Engine:
    """Make an engine and deploy rules in it, with the attribute types that ``Engine.deploy`` asks for.

    ``options`` may be no more than the name of an engine; ``auto`` is the fastest engine that can run all the rules. A
    name that no engine has is an OptionError; rules that the engine cannot run are an UnsupportedError. ``beliefs`` are
    the Bayesian networks of rules that have one. ``observe`` is told of every composite event and the factors of its
    probability, which the reference engine alone can give. The columns engine spreads its work over the threads that
    the options allow; the others have but one.

    >>> create("reference").name
    'reference'
    """
    if isinstance(options, str):
        options = RunOptions(engine=options)
    name = options.engine
    _require_threads(name, options.threads)
    if options.device is not None and _ON_A_DEVICE not in name.split("+"):
        message = f"a device is named, '{options.device}', and the engine {name} works with none"
        raise OptionError.of("device", message, hint=f"choose the engine {_ON_A_DEVICE}")
    if options.threads not in (1, AUTO) and any(isinstance(rule, Rule) and not _is_dealt_out(rule) for rule in rules):
        options = replace(options, threads=1)  # time is one for all rules: moments and totals are not dealt out
    schema = Schema() if schema is None else schema
    if ROWS in name.split("+") or any(isinstance(rule, RowRule) for rule in rules):
        return weighted(_staged(options, rules, schema, observe), beliefs)
    if "+" in name or name in _INTERVAL_ENGINES or any(isinstance(rule, IntervalRule) for rule in rules):
        return weighted(_mixed(options, rules, schema, observe), beliefs)
    if name != AUTO:
        return weighted(_deployed(_load(name, options, observe, rules), rules, schema), beliefs)
    *faster, last = (engine for engine in _ENGINES if engine not in _ONLY_BY_NAME)
    for candidate in faster:
        try:
            return weighted(_deployed(_load(candidate, options, observe, rules), rules, schema), beliefs)
        except UnsupportedError:
            continue
    return weighted(_deployed(_load(last, options, observe), rules, schema), beliefs)


def _staged(options: RunOptions, rules: Sequence[AnyRule], schema: Schema, observe: Observer | None) -> Engine:
    """Make an engine for queries over rows and rules beside them; its name is that of the others' engine, + rows."""
    from cepheus.engine.assembly.staged import StagedEngine

    def make(other: str, rules: Sequence[AnyRule], schema: Schema) -> Engine:
        return create(replace(options, engine=other), rules, schema, observe=observe)

    others = [each for each in options.engine.split("+") if each != ROWS]
    for given in others:
        if given not in (AUTO, *_ENGINES, *_INTERVAL_ENGINES):
            raise _no_such_engine(given)
    return _deployed(StagedEngine("+".join(others) or AUTO, make, options.limit), rules, schema)


def interval_names() -> tuple[str, ...]:
    """The names of all engines of interval rules, the fastest first.

    >>> interval_names()[-1]
    'interval-reference'
    """
    return tuple(_INTERVAL_ENGINES)


def _mixed(options: RunOptions, rules: Sequence[AnyRule], schema: Schema, observe: Observer | None) -> Engine:
    """Make an engine for rules of both families; its name is that of either engine, or of both as in columns+goals."""
    from cepheus.engine.assembly.mixed import MixedEngine, feed_each_other

    name = options.engine

    def make_tesla(tesla: str, rules: Sequence[AnyRule], schema: Schema) -> Engine:
        return create(replace(options, engine=tesla), rules, schema, observe=observe)

    def make_intervals(intervals: str, rules: Sequence[AnyRule], schema: Schema) -> Engine:
        return _interval_engine(intervals, rules, schema, options.limit)

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
    """Return an engine that weighs its rules by their networks, if there are any."""
    if not beliefs:
        return engine
    from cepheus.engine.assembly.weighted import WeightedEngine

    return WeightedEngine(engine, beliefs)


def _deployed(engine: Engine, rules: Sequence[AnyRule], schema: Schema) -> Engine:
    if rules:
        engine.deploy(rules, schema)
    return engine


def threads_for(name: str, threads: Threads) -> Threads:
    """The number of threads, of so many, that an engine can use."""
    return threads if name == _IN_THREADS or name.startswith(f"{_IN_THREADS}+") else 1


def goes_on_as(name: str, wanted: str) -> str:
    """The engine that goes on from a snapshot of another: the one that is wanted, if it has the same state.

    >>> goes_on_as("device", "columns"), goes_on_as("reference", "columns")
    ('columns', 'reference')
    """
    return wanted if name in _SAME_STATE and wanted in _SAME_STATE else name


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _require_threads(name: str, threads: Threads) -> None:
    """Refuse several threads for an engine that has but one."""
    if threads not in (1, AUTO) and name in _ENGINES and name != _IN_THREADS:
        raise OptionError.of(
            "threads", f"the engine {name} runs on one thread", hint=f"choose the engine {_IN_THREADS}"
        )


def _load(name: str, options: RunOptions, observe: Observer | None, rules: Sequence[AnyRule] = ()) -> Engine:
    if name not in _ENGINES:
        raise _no_such_engine(name)
    module, cls = _ENGINES[name]
    make = getattr(import_module(module), cls)
    limit, calculus = options.limit, options.calculus
    if name == "reference":
        return cast(Engine, make(limit, calculus, observe))
    if name not in _FOR_CERTAIN_EVENTS:
        return cast(Engine, make(limit))
    from cepheus.engine.assembly.certain_first import (
        CertainFirstEngine,  # it knows the compiled engines, which are imported when asked for
    )

    if name == _ON_A_DEVICE:
        return CertainFirstEngine(make(limit, options.device), limit, calculus)
    threads = options.threads if isinstance(options.threads, int) else processors()
    if threads > 1 and name == _IN_THREADS:
        from cepheus.engine.parallel.engine import ParallelEngine
        from cepheus.engine.parallel.slices import SlicedEngine

        resolved = [resolve(rule) for rule in rules if isinstance(rule, Rule)]
        by_time = options.threads == AUTO or memory(resolved) is not None
        threaded: type[SlicedEngine | ParallelEngine] = SlicedEngine if by_time else ParallelEngine
        return CertainFirstEngine(threaded(limit, threads), limit, calculus, threads)
    return CertainFirstEngine(make(limit), limit, calculus)


_RENAMED = {"figure2": "it is called interval-reference"}


def _no_such_engine(name: str) -> OptionError:
    known = (AUTO, *_ENGINES, *_INTERVAL_ENGINES, ROWS)
    hint = _RENAMED.get(name) or did_you_mean(name, known) or f"the engines are {', '.join(known)}"
    return OptionError.of("engine", f"there is no engine '{name}'", hint=hint)


def take_for_instants(engine: Engine, lasting: Collection[str]) -> None:
    """Let an engine take events from outside for instants until one of their type lasts, if it can make use of that.

    Events of the types ``lasting`` are made by rules of another family.
    """
    if isinstance(engine, WeightedEngine):
        take_for_instants(engine.engine, lasting)
    elif isinstance(engine, MixedEngine):
        take = getattr(engine.intervals, "take_for_instants", None)
        if take is not None:
            take(lasting)


def goals_of(engine: Engine, rule: str | None = None, least: float = 0.0) -> list[Goal]:
    """List the goals that wait in an engine, of one rule or of all, with at least so much of their pattern there.

    Rules of TESLA have none. An engine of interval rules that does not show its goals is an UnsupportedError.
    """
    showing = _showing(engine)
    return [] if showing is None else showing.goals(rule, least=least)


def goals_since(engine: Engine, since: int, least: float) -> tuple[int, list[Goal]]:
    """The present time of an engine of goals, and the goals that wait since a time or later."""
    showing = _showing(engine)
    return (since, []) if showing is None else (showing.time, showing.goals(least=least, since=since))


def _showing(engine: Engine) -> GoalsEngine | None:
    """The engine inside of another that shows its goals, None if there are no interval rules."""
    if isinstance(engine, WeightedEngine):
        return _showing(engine.engine)
    if not isinstance(engine, MixedEngine) or engine.intervals is None:
        return None
    if not hasattr(engine.intervals, "goals"):
        name = engine.intervals.name
        raise UnsupportedError.of(
            "unsupported", f"the engine {name} does not show what is under way", hint="choose the engine goals"
        )
    return cast("GoalsEngine", engine.intervals)


def _is_dealt_out(rule: Rule) -> bool:
    """Whether the events of a rule can be dealt out to several threads."""
    return rule.pattern.timer is None and not since_start(resolve(rule))
