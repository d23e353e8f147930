"""Nodes in the process of the test, on one event loop with their clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from cepheus.network import Access, TlsConfig
from cepheus.runtime.network.transport.config import NodeConfig, read_config
from cepheus.runtime.network.transport.server import NodeServer

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T], seconds: float = 60.0) -> T:
    """Run a test that must not hang."""
    return asyncio.run(asyncio.wait_for(work, seconds))


def config(folder: Path, text: str = "", name: str = "p1", port: int = 0) -> NodeConfig:
    """Read a configuration from its text."""
    path = folder / f"{name}.toml"
    path.write_text(f'name = "{name}"\nlisten = "127.0.0.1:{port}"\nstate = "{name}.state"\n{text}')
    return read_config(path)


@asynccontextmanager
async def serving(settings: NodeConfig) -> AsyncIterator[NodeServer]:
    """Have a node that serves."""
    server = NodeServer(settings)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


def access(
    server: NodeServer, folder: Path | None = None, name: str | None = None, token: str = "", patience: float = 5.0
) -> Access:
    """Say how to reach a node, with certificates from a folder."""
    address = f"127.0.0.1:{server.port}"
    if folder is None:
        return Access(address, token=token, patience=patience)
    certificate, key = (folder / f"{name}.pem", folder / f"{name}.key") if name is not None else (None, None)
    return Access(address, TlsConfig(certificate, key, folder / "ca.pem"), token, server.config.name, patience)
