"""Reads a scenario from a TOML file: the network, the rules, sources and sinks, drawn at random or given by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cepheus.core.errors import OptionError, Place, did_you_mean
from cepheus.core.toml_file import (
    ByName,
    KeyPath,
    Table,
    Tables,
    TomlFile,
    Values,
    WrongValueError,
    boolean,
    duration,
    integer,
    member_of,
    number,
    rows,
    share,
    text,
    texts,
)
from cepheus.core.values import Scalar
from cepheus.language.tesla import parse
from cepheus.rules.check import check
from cepheus.runtime.network.protocol.strategy import (
    Delivery,
    Filter,
    Masters,
    Options,
    Order,
    Strategy,
    check_supported,
)
from cepheus.runtime.network.simulation.faults import Faults
from cepheus.runtime.network.simulation.scenario import (
    Draw,
    Links,
    Plan,
    Rates,
    Scenario,
    SourcePlan,
    check_connected,
    draw,
    draw_links,
    read_links,
)

_CHECKPOINT_EVERY = 1000


def _values_to_draw(value: object, name: str) -> Draw:
    if not isinstance(value, list) or not value or not all(isinstance(each, Scalar) for each in value):
        raise WrongValueError(f"attribute '{name}' has no list of values", f"write for example {name} = [1, 2]")
    return tuple(value)


_OPTIONS = {
    "strategy": member_of(Strategy),
    "filter": member_of(Filter),
    "order": member_of(Order),
    "masters": member_of(Masters),
    "delivery": member_of(Delivery),
    "adapt_every": duration(positive=True),
}
_TIMES = {"duration": duration(positive=True), "warm_up": duration(), "heartbeat": duration(positive=True)}
_NETWORK: Table[Values] = Table(
    "[network]",
    dict,
    {
        "topology": text,
        "processors": integer(1),
        "neighbours": number(),
        "delay": duration(),
        "bandwidth": number(above=0),
        "number": integer(),
        "links": rows('["p1", "p2", "5 ms"]: two processors and a delay', text, text, duration()),
        "file": text,
    },
)
_WORKLOAD: Table[Values] = Table(
    "[workload]",
    dict,
    {
        **dict.fromkeys(("types", "rules", "length", "values"), integer(1)),
        **dict.fromkeys(("classes", "near"), integer(0)),
        **dict.fromkeys(("slowest", "fastest", "subscriptions"), number()),
        "rates": member_of(Rates),
        "each_share": share(whole=True),
        "apart": boolean,
        "window": duration(),
    },
)
_PROCESSOR = {"processor": 'such as processor = "p1"'}
_SOURCE: Table[Values] = Table(
    "a source",
    dict,
    {
        "processor": text,
        "types": texts,
        "rate": number(above=0),
        "attributes": ByName(_values_to_draw, "write attributes = { n = [1, 2] }"),
    },
    _PROCESSOR,
)
_SINK: Table[Values] = Table(
    "a sink", dict, {"processor": text, "subscribes": texts}, {"processor": 'such as processor = "p1"'}
)
_FAULTS: Table[Values] = Table(
    "[faults]",
    dict,
    {
        "loss": share(whole=False),
        "duplication": share(whole=False),
        "extra_delay": duration(),
        "retry": duration(positive=True),
        "checkpoint_every": integer(1),
        "crashes": rows('["p1", "10 s", "2 s"]: who, when, for how long', text, duration(), duration()),
        "cuts": rows(
            '["p1", "p2", "10 s", "2 s"]: between whom, when, for how long', text, text, duration(), duration()
        ),
    },
)
_SCENARIO: Table[Values] = Table(
    "a scenario",
    dict,
    {
        **_OPTIONS,
        **_TIMES,
        "seed": integer(),
        "rules": text,
        "network": _NETWORK,
        "workload": _WORKLOAD,
        "source": Tables(_SOURCE),
        "sink": Tables(_SINK),
        "faults": _FAULTS,
    },
)


def read_plan(path: Path, seed: int | None = None, strategy: Strategy | None = None) -> Plan:
    """Read a scenario and draw what it leaves to chance; a seed or strategy given here goes before the file's."""
    file = TomlFile(path, "scenario")
    values = file.read(_SCENARIO)
    file.raise_findings()
    try:
        return _plan(values, file, seed, strategy)
    except OptionError as error:
        raise OptionError([replace(d, place=d.place or Place(str(path))) for d in error.diagnostics]) from None


def _plan(values: Values, file: TomlFile, seed: int | None, strategy: Strategy | None) -> Plan:
    options = replace(Options(), **_given(values, *_OPTIONS))
    scenario = Scenario(options=options if strategy is None else replace(options, strategy=strategy))
    network = values.get("network", {})
    scenario = replace(
        scenario,
        network=network.get("number"),
        **_given(values, *_TIMES),
        **_given(network, "delay", "processors", "neighbours", "topology", "bandwidth"),
        **values.get("workload", {}),
    )
    _check_workload(scenario, file)
    chosen = values.get("seed", 1) if seed is None else seed
    links = _links(network, scenario, file, chosen)
    if "faults" in values:
        scenario = _with_faults(values["faults"], scenario, links, file)
    if "rules" not in values:
        return draw(scenario, chosen, links)
    return _by_hand(values, scenario, chosen, links, file)


def _given(values: Values, *names: str) -> Values:
    return {name: values[name] for name in names if name in values}


def _links(network: Values, scenario: Scenario, file: TomlFile, seed: int) -> Links:
    if "file" in network:
        given = file.path.parent / network["file"]
        place, links = Place(str(given)), read_links(given)
    elif "links" in network:
        place = file.place(("network", "links"))
        links = {(min(one, other), max(one, other)): delay for one, other, delay in network["links"]}
    else:
        return draw_links(scenario, seed)
    check_connected(links, place)
    return links


def _check_workload(found: Scenario, file: TomlFile) -> None:
    """Look at what keys of the workload mean together."""
    if not 0 < found.slowest <= found.fastest:
        file.fail(("workload", "slowest"), "'slowest' is not a rate below 'fastest'", "write events per second")
    if found.length > found.types and not found.apart:
        message = f"rules of {found.length} events need as many types, not {found.types}"
        file.fail(("workload", "length"), message, "raise 'types'")


def _with_faults(given: Values, scenario: Scenario, links: Links, file: TomlFile) -> Scenario:
    """Put together what goes wrong; times count from the end of the warm-up."""
    if scenario.bandwidth is not None:
        file.fail(("faults",), "faults and a bandwidth exclude one another", "leave one of them out")
    processors = tuple(sorted({name for link in links for name in link}))
    crashes = []
    for name, start, length in given.get("crashes", ()):
        crashes.append((_processor(name, processors, file, ("faults", "crashes")), start, start + length))
    cuts = []
    for *names, start, length in given.get("cuts", ()):
        one, other = sorted(_processor(name, processors, file, ("faults", "cuts")) for name in names)
        if (one, other) not in links:
            file.fail(("faults", "cuts"), f"there is no link between '{one}' and '{other}'")
        cuts.append(((one, other), start, start + length))
    faults = Faults(
        loss=given.get("loss", 0.0),
        duplication=given.get("duplication", 0.0),
        extra_delay=given.get("extra_delay", 0),
        checkpoint_every=given.get("checkpoint_every", _CHECKPOINT_EVERY),
        crashes=tuple(crashes),
        cuts=tuple(cuts),
    )
    return replace(scenario, faults=faults, **_given(given, "retry"))


def _by_hand(values: Values, scenario: Scenario, seed: int, links: Links, file: TomlFile) -> Plan:
    """Take rules from a file, and sources and sinks as they are given."""
    given = values["rules"]
    path = file.path.parent / given
    try:
        is_file = given.endswith(".tesla")
        source, name = (path.read_text(encoding="utf-8"), str(path)) if is_file else (given, str(file.path))
    except (OSError, UnicodeDecodeError):
        raise OptionError.of(
            "file", f"'{path}' cannot be read", hint="name a file of rules", place=file.place(("rules",))
        ) from None
    rules = check(parse(source, name)).rules
    check_supported(rules)
    processors = tuple(sorted({processor for link in links for processor in link}))
    sources = []
    for at, each in enumerate(values.get("source", ())):
        place = _processor(each["processor"], processors, file, ("source", at, "processor"))
        draws = tuple(each.get("attributes", {}).items())
        sources += [
            SourcePlan(f"s{at}-{kind}", place, kind, each.get("rate", 1.0), draws) for kind in each.get("types", ())
        ]
    sinks = []
    for at, each in enumerate(values.get("sink", ())):
        place = _processor(each["processor"], processors, file, ("sink", at, "processor"))
        sinks += [(f"k{at}", place, kind) for kind in each.get("subscribes", ())]
    return Plan(scenario, seed, links, processors, tuple(sources), rules.rules, rules.declarations, tuple(sinks))


def _processor(name: str, processors: tuple[str, ...], file: TomlFile, at: KeyPath) -> str:
    if name not in processors:
        hint = did_you_mean(name, processors) or f"the processors are {', '.join(processors)}"
        file.fail(at, f"there is no processor '{name}'", hint)
    return name
