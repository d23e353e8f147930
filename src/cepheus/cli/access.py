"""What all commands have that talk to a node: options for where it is and who one is, and patience to connect."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from cepheus.cli.console import note
from cepheus.core.errors import OptionError

if TYPE_CHECKING:
    from cepheus.runtime.network.transport.access import Access
    from cepheus.runtime.network.transport.client import AsyncClient

To = Annotated[str, typer.Option("--to", metavar="HOST:PORT", help="The node to talk to.")]
Reach = Callable[[str], "Access"]
"""From the address of a node to what a client needs to talk to it."""


def with_node_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say how to reach nodes to a command; it takes what they amount to as ``reach``.

    Whatever talks to a node has the same options, so they are written once and added to the command's own.
    """
    own = [each for each in inspect.signature(command, eval_str=True).parameters.values() if each.name != "reach"]
    options = list(inspect.signature(reach_by, eval_str=True).parameters.values())

    @functools.wraps(command)
    def with_options(**given: Any) -> None:
        reach = reach_by(**{each.name: given.pop(each.name) for each in options})
        command(**given, reach=reach)

    everything = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*own, *options)]
    with_options.__signature__ = inspect.Signature(everything)  # type: ignore[attr-defined]  # where Typer looks
    with_options.__annotations__ = {each.name: each.annotation for each in everything}
    return with_options


def reach_by(
    authority: Annotated[
        Path | None, typer.Option("--ca", metavar="PEM", help="The authority that signed the node's certificate.")
    ] = None,
    certificate: Annotated[Path | None, typer.Option("--cert", metavar="PEM", help="One's own certificate.")] = None,
    key: Annotated[Path | None, typer.Option("--key", metavar="PEM", help="The key of one's own certificate.")] = None,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", metavar="FILE", help="A file with one's token.")
    ] = None,
    server_name: Annotated[
        str | None, typer.Option("--server-name", metavar="NAME", help="The name on the node's certificate.")
    ] = None,
    patience: Annotated[
        str, typer.Option("--patience", metavar="DURATION", help="How long the node may be away before giving up.")
    ] = "10s",
) -> Reach:
    """Put the options together; OptionError if they do not make sense."""
    from cepheus.core.time import parse_duration
    from cepheus.runtime.network.transport.access import Access
    from cepheus.runtime.network.transport.config import AddressError, TlsConfig, parse_address
    from cepheus.runtime.network.transport.security import read_token

    if (certificate is None) != (key is None):
        raise OptionError.of("certificate", "a certificate and its key go together", hint="give both --cert and --key")
    token = read_token(token_file) if token_file is not None else ""
    seconds = parse_duration(patience) / 1_000_000
    tls = TlsConfig(certificate, key, authority)

    def reach(to: str) -> Access:
        try:
            address = str(parse_address(to))
        except AddressError as error:
            raise OptionError.of("address", str(error), hint="write host:port, such as 127.0.0.1:7600") from None
        return Access(address, tls, token, server_name, seconds)

    return reach


T = TypeVar("T")
_MOMENT = 1.0


async def announced(work: Awaitable[T], waits_for: str) -> T:
    """Wait for something; after a second, say on stderr what for."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait([task], timeout=_MOMENT)
        if not task.done():
            note(f"waiting for {waits_for}")
        return await task
    finally:
        task.cancel()


async def connected(given: Access) -> AsyncClient:
    """Connect to a node; say so if it does not answer at once."""
    from cepheus.runtime.network.transport.client import AsyncClient

    words = f"the node at {given.address}, for {given.patience:g} s at most (--patience)"
    return await announced(AsyncClient.connect(given), words)
