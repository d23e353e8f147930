"""Reads a scenario from a TOML file: the network, the rules, sources and sinks, drawn at random or given by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from cepheus.core.errors import OptionError, Place, did_you_mean
from cepheus.core.time import parse_duration
from cepheus.core.toml_file import read_toml
from cepheus.core.values import Scalar
from cepheus.language.tesla import parse
from cepheus.rules.check import check
from cepheus.runtime.network.protocol.strategy import Filter, Masters, Options, Order, Strategy
from cepheus.runtime.network.protocol.supported import check_supported
from cepheus.runtime.network.simulation.faults import Faults
from cepheus.runtime.network.simulation.scenario import Draw, Plan, Scenario, SourcePlan, draw, draw_links
from cepheus.runtime.network.simulation.topology import Links, by_hand, check_connected, read_links

E = TypeVar("E", bound=Enum)
_CHECKPOINT_EVERY = 1000
Table = Mapping[str, Any]

_TOP = ("strategy", "filter", "order", "masters", "duration", "warm_up", "heartbeat", "adapt_every", "seed", "rules")
_TABLES = ("network", "workload", "source", "sink", "faults")
_NETWORK = ("topology", "processors", "neighbours", "delay", "bandwidth", "number", "links", "file")
_FAULTS = ("loss", "duplication", "extra_delay", "retry", "checkpoint_every", "crashes", "cuts")
_COUNTS = {"types": 1, "rules": 1, "length": 1, "values": 1, "classes": 0, "near": 0}
"""Whole numbers of a workload, each with the least that makes sense."""
_AMOUNTS = ("slowest", "fastest", "subscriptions")
_WORKLOAD = (*_COUNTS, *_AMOUNTS, "each_share", "apart", "window")


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
    options = replace(options, adapt_every=_positive_duration(table, "adapt_every", options.adapt_every))
    network = _table(table, "network")
    _known(network, _NETWORK, "[network]")
    workload = _table(table, "workload")
    _known(workload, _WORKLOAD, "[workload]")
    scenario = Scenario(options=options)
    scenario = replace(
        scenario,
        duration=_positive_duration(table, "duration", scenario.duration),
        warm_up=_duration(table, "warm_up", scenario.warm_up),
        heartbeat=_positive_duration(table, "heartbeat", scenario.heartbeat),
        delay=_duration(network, "delay", scenario.delay),
        processors=_count(network, "processors", scenario.processors, 1),
        neighbours=_amount(network, "neighbours", scenario.neighbours),
        topology=str(network.get("topology", scenario.topology)),
        bandwidth=_positive(network, "bandwidth", "bytes") if "bandwidth" in network else None,
        network=_count(network, "number", 0, None) if "number" in network else None,
    )
    scenario = _with_workload(workload, scenario)
    chosen = _count(table, "seed", 1, None) if seed is None else seed
    links = _links(network, scenario, path, chosen)
    if "faults" in table:
        scenario = _with_faults(_table(table, "faults"), scenario, links)
    if "rules" not in table:
        return draw(scenario, chosen, links)
    return _by_hand(table, scenario, chosen, links, path)


def _links(network: Table, scenario: Scenario, path: Path, seed: int) -> Links:
    if "file" in network:
        given = path.parent / str(network["file"])
        links = read_links(given)
    elif "links" in network:
        entries = _entries(network, "links", 3, '["p1", "p2", "5 ms"]: two processors and a delay')
        given, links = path, by_hand([(str(one), str(other), str(delay)) for one, other, delay in entries])
    else:
        return draw_links(scenario, seed)
    check_connected(links, Place(str(given)))
    return links


def _with_workload(given: Table, scenario: Scenario) -> Scenario:
    numbers: dict[str, Any] = {name: _amount(given, name, getattr(scenario, name)) for name in _AMOUNTS}
    numbers["each_share"] = _share(given, "each_share", whole=True)
    numbers |= {name: _count(given, name, getattr(scenario, name), least) for name, least in _COUNTS.items()}
    apart = given.get("apart", scenario.apart)
    if not isinstance(apart, bool):
        raise OptionError.of("scenario", f"'apart' is {apart!r}", hint="write true or false")
    found = replace(scenario, apart=apart, window=_duration(given, "window", scenario.window), **numbers)
    if not 0 < found.slowest <= found.fastest:
        raise OptionError.of("scenario", "'slowest' is not a rate below 'fastest'", hint="write events per second")
    if found.length > found.types and not found.apart:
        raise OptionError.of(
            "scenario", f"rules of {found.length} events need as many types, not {found.types}", hint="raise 'types'"
        )
    return found


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
        checkpoint_every=_count(given, "checkpoint_every", _CHECKPOINT_EVERY, 1),
        crashes=tuple(crashes),
        cuts=tuple(cuts),
    )
    return replace(scenario, faults=faults, retry=_positive_duration(given, "retry", scenario.retry))


def _entries(given: Table, name: str, length: int, words: str) -> list[list[Any]]:
    """Give the entries of a list of lists, each of one length."""
    found = given.get(name, [])
    if not isinstance(found, list) or not all(isinstance(entry, list) and len(entry) == length for entry in found):
        raise OptionError.of(
            "scenario", f"'{name}' is not a list of lists of {length}", hint=f"its entries are {words}"
        )
    return found


def _share(given: Table, name: str, *, whole: bool = False) -> float:
    """Give a share, 0 if there is none; only some may be ``whole``: with all messages lost, there is no network."""
    share = given.get(name, 0.0)
    number = isinstance(share, int | float) and not isinstance(share, bool)
    if not number or not 0 <= share <= 1 or (share == 1 and not whole):
        hint = "write a number from 0 to 1" if whole else "write a number from 0 to below 1"
        raise OptionError.of("scenario", f"'{name}' is not a probability", hint=hint)
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
    for number, given in enumerate(_tables(table, "source")):
        _known(given, ("processor", "types", "rate", "attributes"), "[[source]]")
        place = _processor(given, processors)
        sources += [
            SourcePlan(f"s{number}-{kind}", place, kind, _positive(given, "rate", "events"), _draws(given))
            for kind in _names(given, "types")
        ]
    sinks = []
    for number, given in enumerate(_tables(table, "sink")):
        _known(given, ("processor", "subscribes"), "[[sink]]")
        sinks += [(f"k{number}", _processor(given, processors), str(kind)) for kind in _names(given, "subscribes")]
    return Plan(scenario, seed, links, processors, tuple(sources), rules.rules, rules.declarations, tuple(sinks))


def _draws(given: Table) -> tuple[tuple[str, Draw], ...]:
    found = []
    for name, values in _table(given, "attributes").items():
        if not isinstance(values, list) or not values or not all(isinstance(v, Scalar) for v in values):
            raise OptionError.of(
                "scenario", f"attribute '{name}' has no list of values", hint=f"write for example {name} = [1, 2]"
            )
        found.append((name, tuple(values)))
    return tuple(found)


def _positive(given: Table, name: str, what: str) -> float:
    """Give how much of something there is per second, 1 if that is not said."""
    rate = _amount(given, name, 1.0)
    if not rate:
        raise OptionError.of("scenario", f"'{name}' is 0", hint=f"write how many {what} there are per second")
    return rate


def _names(given: Table, name: str) -> list[str]:
    """Give a list of names."""
    found = given.get(name, [])
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise OptionError.of("scenario", f"'{name}' is not a list of names", hint=f'write for example {name} = ["A"]')
    return found


def _table(given: Table, name: str) -> Table:
    found = given.get(name, {})
    if not isinstance(found, Mapping):
        raise OptionError.of("scenario", f"'{name}' is not a table", hint=f"write [{name}] above its entries")
    return found


def _tables(given: Table, name: str) -> list[Table]:
    found = given.get(name, [])
    if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
        raise OptionError.of("scenario", f"'{name}' is not a list of tables", hint=f"write [[{name}]] above each")
    return found


def _count(given: Table, name: str, default: int, least: int | None) -> int:
    """Give a whole number that is at least so large."""
    found = given.get(name, default)
    if isinstance(found, bool) or not isinstance(found, int) or (least is not None and found < least):
        hint = "write a whole number" if least is None else f"write a whole number from {least} on"
        raise OptionError.of("scenario", f"'{name}' is {found!r}", hint=hint)
    return found


def _amount(given: Table, name: str, default: float) -> float:
    """Give a number that is not negative."""
    found = given.get(name, default)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < math.inf:
        raise OptionError.of("scenario", f"'{name}' is {found!r}", hint="write a number that is not negative")
    return float(found)


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


def _positive_duration(table: Table, name: str, default: int) -> int:
    found = _duration(table, name, default)
    if found <= 0:
        raise OptionError.of("scenario", f"'{name}' is {table[name]!r}, which is no time", hint="write, say, 10 s")
    return found
