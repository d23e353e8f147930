"""``cepheus deploy`` and ``cepheus withdraw``: rules of a network, while it runs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from cepheus.cli.access import Reach, To, announced, connected, with_node_options
from cepheus.cli.check import Rules, read_all
from cepheus.cli.console import note, report
from cepheus.core.errors import RuleError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from cepheus.runtime.network.transport.access import Access
    from cepheus.runtime.network.transport.client import AsyncClient


@with_node_options
def deploy(
    rules: Rules,
    to: To,
    *,
    reach: Reach,
) -> None:
    """Deploy rules in a network: they are split over its processors.

    They hold everywhere from one moment on, which is told. With many trees (MT, MT_PP) there is no such moment: the
    node that is asked takes the rules up and tells the others; each tree begins when its root hears of them.
    """
    from cepheus.rules.check import check

    given = reach(to)
    found = read_all(rules)
    if not found.all_rules:
        raise RuleError.of("no-rules", "there is no rule to deploy", hint="a rule begins with 'define'")
    checked = check(found, closed=False)
    report(checked.warnings)
    since = _at(given, lambda client: client.deploy(checked.rules))
    names = ", ".join(str(rule.name) for rule in checked.rules.rules)
    note(f"deployed: {names}; {_from(since)}")


@with_node_options
def withdraw(
    names: Annotated[list[str], typer.Argument(help="Names of deployed rules.", metavar="NAME...")],
    to: To,
    *,
    reach: Reach,
) -> None:
    """Withdraw rules from a network by name."""
    given = reach(to)
    since = _at(given, lambda client: client.withdraw(names))
    note(f"withdrawn: {', '.join(names)}; {_from(since)}")


def _at(given: Access, action: Callable[[AsyncClient], Awaitable[int | None]]) -> int | None:
    """Connect, do something, and leave."""

    async def act() -> int | None:
        async with await connected(given) as client:
            return await announced(action(client), "the network to change its rules everywhere: are all nodes running?")

    return asyncio.run(act())


def _from(since: int | None) -> str:
    from cepheus.core.time import format_time

    if since is None:
        return (
            "this node has taken the change up and told its neighbours; each of the many trees follows when its root "
            "hears of it, which may be after this answer"
        )
    return "for all events" if since < 0 else f"for events from {format_time(since)} on"
