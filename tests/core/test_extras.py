"""A plain installation lacks some packages: whatever needs one says which, and how to get it."""

from __future__ import annotations

import asyncio
import sys
import tomllib
from pathlib import Path

import pytest

from cepheus.core.errors import OptionError
from cepheus.network import AsyncClient
from cepheus.runtime.network.simulation.experiment import run_plan
from cepheus.runtime.network.simulation.scenario import Scenario, draw
from cepheus.runtime.network.transport.access import Access, status
from cepheus.runtime.network.transport.config import read_config
from cepheus.runtime.network.transport.server import NodeServer

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def _connect(_: Path) -> None:
    async def connect() -> None:
        await AsyncClient.connect("127.0.0.1:1")

    asyncio.run(connect())


def _status(_: Path) -> None:
    asyncio.run(status(Access("127.0.0.1:1")))


def _serve(folder: Path) -> None:
    (folder / "node.toml").write_text('name = "p1"\nlisten = "127.0.0.1:0"\n', encoding="utf-8")
    NodeServer(read_config(folder / "node.toml"))


def _simulate(_: Path) -> None:
    run_plan(draw(Scenario(processors=3, types=4, rules=2), 1))


@pytest.mark.parametrize(
    ("module", "package", "extra", "use"),
    [
        ("grpc", "grpcio", "network", _connect),
        ("grpc", "grpcio", "network", _status),
        ("grpc", "grpcio", "network", _serve),
        ("networkx", "networkx", "network", _simulate),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_missing_is_named_with_its_extra(
    module: str, package: str, extra: str, use: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert callable(use)
    with pytest.raises(OptionError, match=f"needs the package '{package}'") as refused:
        use(tmp_path)
    assert refused.value.diagnostics[0].hint == f"pip install '.[{extra}]' in a clone of Cepheus"
    assert any(wanted.startswith(package) for wanted in EXTRAS[extra])
