"""Reads a scenario from a TOML file: the network, the rules, sources and sinks, drawn at random or given by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from cepheus.core.errors import OptionError, Place, did_you_mean
from cepheus.core.time import parse_duration
from cepheus.core.toml_file import read_toml
from cepheus.language.tesla import parse
from cepheus.rules.check import check
from cepheus.runtime.network.faults import Faults
from cepheus.runtime.network.scenario import Draw, Plan, Scenario, SourcePlan, draw
from cepheus.runtime.network.strategy import Filter, Masters, Options, Order, Strategy
from cepheus.runtime.network.supported import check_supported
from cepheus.runtime.network.topology import Links, by_hand, random_topology, read_links

E = TypeVar("E", bound=Enum)
_CHECKPOINT_EVERY = 1000
Table = Mapping[str, Any]

_TOP = ("strategy", "filter", "order", "masters", "duration", "warm_up", "heartbeat", "adapt_every", "seed", "rules")
_TABLES = ("network", "workload", "source", "sink", "faults")
_NETWORK = ("topology", "processors", "neighbours", "delay", "bandwidth", "links", "file")
_FAULTS = ("loss", "duplication", "extra_delay", "retry", "checkpoint_every", "crashes", "cuts")
_WORKLOAD: dict[str, Callable[[Any], Any]] = {
    "types": int,
    "rules": int,
    "length": int,
    "values": int,
    "classes": int,
    "apart": bool,
    "slowest": float,
    "fastest": float,
    "subscriptions": float,
    "each_share": float,
    "window": parse_duration,
}


def read_plan(path: Path, seed: int | None = None, strategy: Strategy | None = None) -> Plan:
    """Read a scenario and draw what it leaves to chance; a seed or strategy given here goes before the file's."""
    table, _ = read_toml(path, "scenario")
    try:
        return _plan(table, path, seed, strategy)
    except OptionError as error:
        raise OptionError([replace(d, place=d.place or Place(str(path))) for d in error.diagnostics]) from None


def _plan(table: Table, path: Path, seed: int | None, strategy: Strategy | None) -> Plan:
    _known(table, (*_TOP, *_TABLES), "the scenario")
    options = Options(
        strategy or _choice(Strategy, table, "strategy", Strategy.ST),
        _choice(Filter, table, "filter", Filter.EXACT),
        _choice(Order, table, "order", Order.PROGRESS),
        _choice(Masters, table, "masters", Masters.ADAPTIVE),
    )
    options = replace(options, adapt_every=_duration(table, "adapt_every", options.adapt_every))
    network = table.get("network", {})
    _known(network, _NETWORK, "[network]")
    workload = table.get("workload", {})
    _known(workload, _WORKLOAD, "[workload]")
    scenario = Scenario(options=options)
    scenario = replace(
        scenario,
        duration=_duration(table, "duration", scenario.duration),
        warm_up=_duration(table, "warm_up", scenario.warm_up),
        heartbeat=_duration(table, "heartbeat", scenario.heartbeat),
        delay=_duration(network, "delay", scenario.delay),
        processors=int(network.get("processors", scenario.processors)),
        neighbours=float(network.get("neighbours", scenario.neighbours)),
        topology=str(network.get("topology", scenario.topology)),
        bandwidth=network.get("bandwidth"),
        **{name: read(workload[name]) for name, read in _WORKLOAD.items() if name in workload},
    )
    chosen = int(table.get("seed", 1)) if seed is None else seed
    links = _links(network, scenario, path, chosen)
    if "faults" in table:
        scenario = _with_faults(table["faults"], scenario, links)
    if "rules" not in table:
        return draw(scenario, chosen, links)
    return _by_hand(table, scenario, chosen, links, path)


def _links(network: Table, scenario: Scenario, path: Path, seed: int) -> Links:
    if "file" in network:
        return read_links(path.parent / str(network["file"]))
    if "links" in network:
        return by_hand([(str(one), str(other), str(delay)) for one, other, delay in network["links"]])
    random = Random(f"topology {seed}")
    return random_topology(scenario.topology, scenario.processors, scenario.neighbours, scenario.delay, random)


def _with_faults(given: Table, scenario: Scenario, links: Links) -> Scenario:
    """Read what goes wrong; times count from the end of the warm-up."""
    _known(given, _FAULTS, "[faults]")
    if scenario.bandwidth is not None:
        raise OptionError.of("scenario", "faults and a bandwidth exclude one another", hint="leave one of them out")
    processors = tuple(sorted({name for link in links for name in link}))
    crashes = []
    for entry in _entries(given, "crashes", 3, '["p1", "10 s", "2 s"]: who, when, for how long'):
        start = parse_duration(str(entry[1]))
        crashes.append((_named_processor(str(entry[0]), processors), start, start + parse_duration(str(entry[2]))))
    cuts = []
    for entry in _entries(given, "cuts", 4, '["p1", "p2", "10 s", "2 s"]: between whom, when, for how long'):
        one, other = sorted(_named_processor(str(name), processors) for name in entry[:2])
        if (one, other) not in links:
            raise OptionError.of("scenario", f"there is no link between '{one}' and '{other}'")
        start = parse_duration(str(entry[2]))
        cuts.append(((one, other), start, start + parse_duration(str(entry[3]))))
    faults = Faults(
        loss=_share(given, "loss"),
        duplication=_share(given, "duplication"),
        extra_delay=_duration(given, "extra_delay", 0),
        checkpoint_every=int(given.get("checkpoint_every", _CHECKPOINT_EVERY)),
        crashes=tuple(crashes),
        cuts=tuple(cuts),
    )
    return replace(scenario, faults=faults, retry=_duration(given, "retry", scenario.retry))


def _entries(given: Table, name: str, length: int, words: str) -> list[list[Any]]:
    """Give the entries of a list of lists, each of one length."""
    found = given.get(name, [])
    if not isinstance(found, list) or not all(isinstance(entry, list) and len(entry) == length for entry in found):
        raise OptionError.of("scenario", f"'{name}' is not a list of what goes wrong", hint=f"its entries are {words}")
    return found


def _share(given: Table, name: str) -> float:
    share = given.get(name, 0.0)
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1:
        raise OptionError.of("scenario", f"'{name}' is not a probability", hint="write a number from 0 to below 1")
    return float(share)


def _by_hand(table: Table, scenario: Scenario, seed: int, links: Links, path: Path) -> Plan:
    """Take rules from a file, and sources and sinks as they are given."""
    text = str(table["rules"])
    file = path.parent / text
    try:
        source, name = (file.read_text(encoding="utf-8"), str(file)) if text.endswith(".tesla") else (text, str(path))
    except OSError:
        raise OptionError.of("file", f"'{file}' cannot be read", hint="name a file of rules") from None
    rules = check(parse(source, name)).rules
    check_supported(rules)
    processors = tuple(sorted({processor for link in links for processor in link}))
    sources = []
    for number, given in enumerate(table.get("source", ())):
        _known(given, ("processor", "types", "rate", "attributes"), "[[source]]")
        place = _processor(given, processors)
        sources += [
            SourcePlan(f"s{number}-{kind}", place, kind, float(given.get("rate", 1.0)), _draws(given))
            for kind in given.get("types", ())
        ]
    sinks = []
    for number, given in enumerate(table.get("sink", ())):
        _known(given, ("processor", "subscribes"), "[[sink]]")
        sinks += [(f"k{number}", _processor(given, processors), str(kind)) for kind in given.get("subscribes", ())]
    return Plan(scenario, seed, links, processors, tuple(sources), rules.rules, rules.declarations, tuple(sinks))


def _draws(given: Table) -> tuple[tuple[str, Draw], ...]:
    return tuple((str(name), tuple(values)) for name, values in given.get("attributes", {}).items())


def _processor(given: Table, processors: tuple[str, ...]) -> str:
    return _named_processor(str(given.get("processor")), processors)


def _named_processor(name: str, processors: tuple[str, ...]) -> str:
    if name not in processors:
        hint = did_you_mean(name, processors) or f"the processors are {', '.join(processors)}"
        raise OptionError.of("scenario", f"there is no processor '{name}'", hint=hint)
    return name


def _known(table: Table, names: Any, where: str) -> None:
    for name in table:
        if name not in names:
            raise OptionError.of(
                "scenario",
                f"'{name}' is not known in {where}",
                hint=did_you_mean(name, names) or f"known are {', '.join(names)}",
            )


def _choice(kind: type[E], table: Table, name: str, default: E) -> E:
    if name not in table:
        return default
    known = {str(member.value): member for member in kind}
    if str(table[name]) not in known:
        hint = did_you_mean(str(table[name]), known) or f"choose one of {', '.join(known)}"
        raise OptionError.of("scenario", f"'{table[name]}' is not a choice for {name}", hint=hint)
    return known[str(table[name])]


def _duration(table: Table, name: str, default: int) -> int:
    return parse_duration(str(table[name])) if name in table else default
