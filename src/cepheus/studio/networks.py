"""What the page asks of networks: a scenario simulated in virtual time, as time went by; and nodes that run."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from cepheus.core.errors import CepheusError, OptionError, did_you_mean
from cepheus.runtime.embedded.rule_changes import rule_text
from cepheus.runtime.network.protocol.strategy import Strategy
from cepheus.runtime.network.simulation.experiment import run_plan
from cepheus.runtime.network.simulation.faults import Faults, FaultyNetwork
from cepheus.runtime.network.simulation.scenario import Plan
from cepheus.runtime.network.simulation.scenario_file import read_plan
from cepheus.runtime.network.simulation.simulator import Network, Traffic
from cepheus.studio.workspace import Workspace

if TYPE_CHECKING:
    from cepheus.runtime.network.transport.access import Access

FRAMES = 60
"""How many moments of a simulation the playback has."""

_NODE_PATIENCE = 3.0

MOST_SECONDS = 600
"""How many seconds of virtual time are simulated for the page."""


class Fault(BaseModel):
    """What goes wrong: a processor that crashes or a link that is cut, at a time and for so many seconds."""

    processor: str | None = None
    link: tuple[str, str] | None = None
    at: float = Field(ge=0, le=MOST_SECONDS)
    seconds: float = Field(default=5.0, gt=0, le=60)


class Simulated(BaseModel):
    """A scenario file, the strategy instead of its own, and faults besides its own."""

    scenario: str
    strategy: str | None = None
    faults: list[Fault] = Field(default_factory=list, max_length=100)


@dataclass(slots=True)
class TimedTraffic(Traffic):
    """Traffic that also tells when it was, in equal stretches of time from ``begin`` on."""

    clock: Callable[[], int] = int
    begin: int = 0
    stretch: int = 1
    stretches: list[Counter[tuple[str, str]]] = field(default_factory=lambda: [Counter() for _ in range(FRAMES)])

    def _count_events(self, name: str, to: str, count: int, size: int) -> int:
        place = min(max(0, self.clock() - self.begin) // self.stretch, FRAMES - 1)
        self.stretches[place][name, to] += count
        return Traffic._count_events(self, name, to, count, size)


def routes(workspace: Workspace, nodes: Sequence[Access] = ()) -> APIRouter:
    """The routes of networks."""
    router = APIRouter(prefix="/api/network")

    @router.get("")
    def scenarios() -> dict[str, Any]:
        return {
            "scenarios": [path.name for path in workspace.scenarios],
            "strategies": [strategy.value for strategy in Strategy],
        }

    @router.get("/nodes")
    async def live_nodes() -> list[dict[str, Any]]:
        return await nodes_told(nodes)

    @router.post("/simulate")
    def simulate(given: Simulated) -> dict[str, Any]:
        return simulated(_scenario(workspace, given.scenario), given)

    return router


def _scenario(workspace: Workspace, name: str) -> Path:
    for path in workspace.scenarios:
        if path.name == name:
            return path
    names = [path.name for path in workspace.scenarios]
    raise OptionError.of("studio", f"there is no scenario '{name}'", hint=did_you_mean(name, names))


def simulated(path: Path, given: Simulated) -> dict[str, Any]:
    """Simulate a scenario and tell its network, trees, partial rules, totals and frames."""
    known = {strategy.value: strategy for strategy in Strategy}
    if given.strategy is not None and given.strategy not in known:
        raise OptionError.of("studio", f"there is no strategy '{given.strategy}'", hint=f"{', '.join(known)}")
    plan = read_plan(path, None, known.get(given.strategy or ""))
    if plan.scenario.duration > MOST_SECONDS * 1_000_000:
        plan = replace(plan, scenario=replace(plan.scenario, duration=MOST_SECONDS * 1_000_000))
    calm = None
    if given.faults:
        calm = _received_without(plan)
        plan = _with_faults(plan, given.faults)
    counted: list[TimedTraffic] = []

    def counting(network: Network | FaultyNetwork) -> Traffic:
        stretch = max(1, plan.scenario.duration // FRAMES)
        counted.append(TimedTraffic(clock=lambda: network.now, begin=network.now, stretch=stretch))
        return counted[-1]

    network = run_plan(plan, counting).network
    seconds = plan.scenario.duration / 1_000_000
    traffic = network.traffic
    return {
        "strategy": plan.scenario.options.strategy.value,
        "seconds": seconds,
        "processors": _processors(plan, network),
        "links": [
            {
                "one": one,
                "other": other,
                "delay": delay / 1000,
                "there": traffic.notifications[one, other] / seconds,
                "back": traffic.notifications[other, one] / seconds,
            }
            for (one, other), delay in plan.links.items()
        ],
        "frames": _frames(plan, counted[-1], network),
        "received": len(network.receipts),
        "calm": calm,
        "traffic": traffic.total / seconds,
        "bytes": traffic.bytes.total() / seconds,
        "delay": _mean_delay(network),
        "worst": _worst_delay(network),
        "rules": [str(rule.name) for rule in plan.rules],
        "texts": [str(rule_text(rule)) for rule in plan.rules],
        "faults": _told_faults(plan),
    }


def _received_without(plan: Plan) -> int:
    """How much sinks receive without the faults of the page, once all that is under way has arrived, as with them."""
    own = plan.scenario.faults or Faults()
    settled = replace(plan, scenario=replace(plan.scenario, faults=own, bandwidth=None))
    return len(run_plan(settled).network.receipts)


def _with_faults(plan: Plan, faults: list[Fault]) -> Plan:
    """The plan with more going wrong."""
    own = plan.scenario.faults or Faults()
    crashes, cuts = list(own.crashes), list(own.cuts)
    for fault in faults:
        start = round(fault.at * 1_000_000)
        end = start + round(fault.seconds * 1_000_000)
        if start >= plan.scenario.duration:
            raise OptionError.of("studio", f"the simulation is over after {plan.scenario.duration / 1e6:g} s")
        if fault.processor is not None:
            if fault.processor not in plan.processors:
                hint = did_you_mean(fault.processor, plan.processors)
                raise OptionError.of("studio", f"there is no processor '{fault.processor}'", hint=hint)
            crashes.append((fault.processor, start, end))
        elif fault.link is not None:
            link = next((each for each in plan.links if set(each) == set(fault.link)), None)
            if link is None:
                raise OptionError.of("studio", f"there is no link between {' and '.join(fault.link)}")
            cuts.append((link, start, end))
    changed = replace(own, crashes=tuple(crashes), cuts=tuple(cuts))
    return replace(plan, scenario=replace(plan.scenario, faults=changed, bandwidth=None))


def _told_faults(plan: Plan) -> list[dict[str, Any]]:
    faults = plan.scenario.faults or Faults()
    crashes = [{"processor": name, "at": start / 1e6, "until": end / 1e6} for name, start, end in faults.crashes]
    cuts = [{"link": list(link), "at": start / 1e6, "until": end / 1e6} for link, start, end in faults.cuts]
    losses: list[dict[str, Any]] = [
        {"processor": name, "at": death / 1e6, "until": plan.scenario.duration / 1e6 if back is None else back / 1e6}
        for name, death, _, back in faults.losses
    ]
    return [*crashes, *cuts, *losses]


def _frames(plan: Plan, traffic: TimedTraffic, network: Network | FaultyNetwork) -> list[dict[str, Any]]:
    """What each link carried, and how much sinks received, in each stretch of the simulation."""
    received = Counter(min((r.received - traffic.begin) // traffic.stretch, FRAMES - 1) for r in network.receipts)
    return [
        {
            "time": plan.scenario.duration * (place + 1) / FRAMES / 1_000_000,
            "links": [[one, other, count] for (one, other), count in sorted(carried.items())],
            "received": received[place],
        }
        for place, carried in enumerate(traffic.stretches)
    ]


def _processors(plan: Plan, network: Network | FaultyNetwork) -> list[dict[str, Any]]:
    told = []
    for name in plan.processors:
        processor = network.processors.get(name)  # one that died for good has none
        trees = [] if processor is None else list(processor.trees.by_name.values())
        told.append(
            {
                "name": name,
                "sources": sorted({source.type for source in plan.sources if source.processor == name}),
                "sinks": sorted({kind for _, at, kind in plan.sinks if at == name}),
                "trees": [{"root": tree.name, "father": tree.father} for tree in trees],
                "parts": [
                    {
                        "tree": tree.name,
                        "rule": part.name.partition("/")[0],
                        "sends": "when asked" if part.waits else "at once",
                        "text": part.pattern,
                    }
                    for tree in trees
                    for part in tree.written_parts()
                ],
            }
        )
    return told


def _mean_delay(network: Network | FaultyNetwork) -> float | None:
    delays = [receipt.received - receipt.event.time for receipt in network.receipts]
    return sum(delays) / len(delays) / 1000 if delays else None


def _worst_delay(network: Network | FaultyNetwork) -> float | None:
    return max((r.received - r.event.time for r in network.receipts), default=0) / 1000 if network.receipts else None


async def nodes_told(nodes: Sequence[Access]) -> list[dict[str, Any]]:
    """How nodes are that run: trees, partial rules, and what each link has carried since they were started."""
    from cepheus.runtime.network.transport.access import status

    async def one(access: Access) -> dict[str, Any]:
        try:
            found = await status(access, timeout=_NODE_PATIENCE)
        except CepheusError as error:
            return {"address": access.address, "error": error.diagnostics[0].message}
        return {"address": access.address, "error": None, "at": time.time(), **_node_told(found)}

    return list(await asyncio.gather(*(one(each) for each in nodes)))


def _node_told(found: dict[str, Any]) -> dict[str, Any]:
    clients = found["clients"]
    return {
        "name": found["name"],
        "seconds": found["seconds"],
        "events": found["events"],
        "sources": sorted({kind for client in clients for kind in _names(client["sources"])}),
        "sinks": sorted({kind for client in clients for kind in _names(client["sinks"])}),
        "trees": [{"root": tree["root"], "father": tree["father"]} for tree in found["trees"]],
        "rules": sorted({name for tree in found["trees"] for name in tree["rules"]}),
        "parts": [
            {
                "tree": tree["root"],
                "rule": part["name"].partition("/")[0],
                "sends": "when asked" if part["waits"] else "at once",
                "text": part["pattern"],
            }
            for tree in found["trees"]
            for part in tree["partial_rules"]
        ],
        "links": [
            {name: link[name] for name in ("name", "connected", "sent", "received", "bytes_sent", "waiting")}
            for link in found["links"]
        ],
        "lost": found["lost"],
    }


def _names(listed: Any) -> list[str]:
    return [str(each) for each in listed]
