"""``cepheus status``: how the nodes of a network are."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cepheus.cli.access import Reach, with_node_options
from cepheus.cli.console import note, write_file

if TYPE_CHECKING:
    from rich.table import Table

_PIPE_WIDTH = 120

Status = dict[str, Any]


@with_node_options
def status(
    addresses: Annotated[list[str], typer.Argument(help="Nodes to ask.", metavar="HOST:PORT...")],
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as a JSON array.")] = False,
    svg: Annotated[Path | None, typer.Option("--svg", help="Also draw the network with its traffic so far.")] = None,
    *,
    reach: Reach,
) -> None:
    """Show the trees, rules, links and clients of nodes."""
    from rich.console import Console

    from cepheus.runtime.network.transport.access import status as ask

    given = [reach(to) for to in addresses]

    async def ask_all() -> list[Status]:
        return list(await asyncio.gather(*(ask(each, timeout=each.patience) for each in given)))

    found = asyncio.run(ask_all())
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=_PIPE_WIDTH)
        for table in (_nodes(found), _trees(found), _parts(found), _links(found), _clients(found)):
            if table.row_count:
                console.print(table)
        idle = evaluated_nowhere(found)
        if idle:
            console.print(f"Deployed, but evaluated at none of these nodes: {', '.join(idle)}.", markup=False)
            console.print("With many trees a rule is evaluated for those who subscribe to what it makes.")
        held_up_by = sorted({name for node in found for name in node["held_up_by"]})
        if held_up_by:
            console.print(f"Sources have to wait: too much waits to be sent by {', '.join(held_up_by)}.")
    if svg is not None:
        write_file(svg, _picture(found))
        note(f"drawn: {svg}")


def evaluated_nowhere(found: list[Status]) -> list[str]:
    """The rules of a network with many trees that nodes know of, and that none of them evaluates."""
    evaluated = {rule for node in found for tree in node["trees"] for rule in tree["rules"]}
    known = dict.fromkeys(rule for node in found if _has_many_trees(node) for rule in node["rules"])
    return [rule for rule in known if rule not in evaluated]


def _has_many_trees(node: Status) -> bool:
    from cepheus.runtime.network.protocol.strategy import Strategy

    return Strategy(node["strategy"]).many_trees


def _table(title: str, *columns: str) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        name = column.removeprefix(">")
        table.add_column(name, justify="right" if column.startswith(">") else "left")
    return table


def _nodes(found: list[Status]) -> Table:
    table = _table("Nodes", "node", "listens on", "strategy", "leader", ">up", ">events published", ">messages")
    table.caption = "events, messages and bytes are counted since the node was started; ties are not counted"
    table.caption_justify = "left"
    for node in found:
        up = f"{node['seconds']:.0f} s"
        leader = "-" if _has_many_trees(node) else node["leader"] or "-"
        table.add_row(
            node["name"], node["listen"], node["strategy"], leader, up, str(node["events"]), str(node["messages"])
        )
    return table


def _trees(found: list[Status]) -> Table:
    table = _table("Trees", "node", "root", "father", "children", "rules", ">partial rules", ">events remembered")
    for node in found:
        for tree in node["trees"]:
            table.add_row(
                node["name"],
                tree["root"],
                tree["father"] or "-",
                _list(tree["children"]),
                _list(tree["rules"]),
                str(len(tree["partial_rules"])),
                str(tree["remembered"]),
            )
    return table


def _parts(found: list[Status]) -> Table:
    table = _table("Partial rules", "node", "root", "of rule", "sends", "what matches")
    for node in found:
        for tree in node["trees"]:
            for part in tree["partial_rules"]:
                sends = "when asked" if part["waits"] else "at once"
                table.add_row(node["name"], tree["root"], part["name"].partition("/")[0], sends, part["pattern"])
    return table


def _links(found: list[Status]) -> Table:
    table = _table(
        "Links", "node", "neighbour", "connected", ">sent", ">received", ">waiting", ">bytes out", ">bytes in"
    )
    for node in found:
        for link in node["links"]:
            table.add_row(node["name"], link["name"], "yes" if link["connected"] else "no", *_figures(link))
    return table


def _clients(found: list[Status]) -> Table:
    columns = ("node", "client", "connected", "sources", "sinks", ">sent", ">received", ">waiting", ">out", ">in")
    table = _table("Clients", *columns)
    for node in found:
        for client in node["clients"]:
            here = "yes" if client["connected"] else "no"
            sources, sinks = _list(client["sources"]), str(len(client["sinks"]))
            table.add_row(node["name"], client["name"], here, sources, sinks, *_figures(client))
    return table


def _figures(link: Status) -> list[str]:
    return [str(link[name]) for name in ("sent", "received", "waiting", "bytes_sent", "bytes_received")]


def _list(names: list[str]) -> str:
    return ", ".join(names) or "-"


def _picture(found: list[Status]) -> str:
    from cepheus.explain.deployment import draw_network

    links = {tuple(sorted((node["name"], link["name"]))): 1 for node in found for link in node["links"]}
    tree = {(node["name"], tree["father"]) for node in found for tree in node["trees"] if tree["father"]}
    traffic = {
        (node["name"], link["name"]): link["sent"] / max(node["seconds"], 1e-9)
        for node in found
        for link in node["links"]
    }
    notes = {node["name"]: ", ".join(rule for tree in node["trees"] for rule in tree["rules"]) for node in found}
    return draw_network(
        {(one, other): delay for (one, other), delay in links.items()},
        tree,
        traffic,
        {name: words for name, words in notes.items() if words},
        "messages per second since the nodes started",
    )
