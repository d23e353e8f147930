"""What the page asks of networks: a scenario simulated in virtual time, with what each link carried as time went by."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from cepheus.core.errors import OptionError, did_you_mean
from cepheus.core.garbage_collector import collector_at_rest
from cepheus.runtime.network.protocol.strategy import Strategy
from cepheus.runtime.network.simulation.experiment import Feed, run_plan, set_up
from cepheus.runtime.network.simulation.faults import Faults, FaultyNetwork
from cepheus.runtime.network.simulation.scenario import Plan
from cepheus.runtime.network.simulation.scenario_file import read_plan
from cepheus.runtime.network.simulation.simulator import Network, Traffic
from cepheus.studio.workspace import Workspace

FRAMES = 60
"""How many moments of a simulation the playback has."""

MOST_SECONDS = 600
"""How many seconds of virtual time are simulated for the page."""


class Simulated(BaseModel):
    """A scenario file, the strategy instead of its own, a processor to crash (in the middle, for so many seconds)."""

    scenario: str
    strategy: str | None = None
    crash: str | None = None
    seconds: float = Field(default=5.0, gt=0, le=60)


def routes(workspace: Workspace) -> APIRouter:
    """The routes of networks."""
    router = APIRouter(prefix="/api/network")

    @router.get("")
    def scenarios() -> dict[str, Any]:
        return {
            "scenarios": [path.name for path in workspace.scenarios],
            "strategies": [strategy.value for strategy in Strategy],
        }

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
    if given.crash is not None:
        plan = _with_crash(plan, given.crash, round(given.seconds * 1_000_000))
    frames: list[dict[str, Any]] = []
    network: Network | FaultyNetwork
    if plan.scenario.faults is None:
        network, frames = _played(plan)
    else:
        network = run_plan(plan).network
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
        "frames": frames,
        "received": len(network.receipts),
        "traffic": traffic.total / seconds,
        "bytes": traffic.bytes.total() / seconds,
        "delay": _mean_delay(network),
        "rules": [str(rule.name) for rule in plan.rules],
        "faults": given.crash if given.crash is not None else ("of the scenario" if plan.scenario.faults else None),
    }


def _with_crash(plan: Plan, name: str, length: int) -> Plan:
    """The plan with a processor that crashes in the middle and comes back."""
    if name not in plan.processors:
        hint = did_you_mean(name, plan.processors)
        raise OptionError.of("studio", f"there is no processor '{name}'", hint=hint)
    middle = plan.scenario.duration // 2
    faults = replace(plan.scenario.faults or Faults(), crashes=((name, middle, middle + length),))
    return replace(plan, scenario=replace(plan.scenario, faults=faults, bandwidth=None))


def _played(plan: Plan) -> tuple[Network, list[dict[str, Any]]]:
    """Run a plan without faults and note at equal steps what each link has carried since the step before."""
    scenario = plan.scenario
    with collector_at_rest():
        network = Network(plan.links, scenario.options, plan.processors, scenario.bandwidth)
        set_up(plan, network)
        feed = Feed(plan, network)
        feed.begin()
        begin = feed.start + scenario.warm_up
        network.run(begin)
        network.traffic = Traffic()
        network.receipts.clear()
        frames: list[dict[str, Any]] = []
        before: Counter[tuple[str, str]] = Counter()
        received = 0
        for step in range(1, FRAMES + 1):
            network.run(begin + scenario.duration * step // FRAMES)
            now = Counter(network.traffic.notifications)
            frames.append(
                {
                    "time": scenario.duration * step / FRAMES / 1_000_000,
                    "links": [[one, other, count - before[one, other]] for (one, other), count in sorted(now.items())],
                    "received": len(network.receipts) - received,
                }
            )
            before, received = now, len(network.receipts)
    return network, frames


def _processors(plan: Plan, network: Network | FaultyNetwork) -> list[dict[str, Any]]:
    told = []
    for name in plan.processors:
        trees = network.processors[name].trees.by_name.values()
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
