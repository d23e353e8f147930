"""A node's file: what it says, and what is wrong with it, each with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from cepheus.core.errors import OptionError
from cepheus.runtime.network.protocol.strategy import Strategy
from cepheus.runtime.network.transport.config import (
    Address,
    ClientConfig,
    Limits,
    NeighbourConfig,
    TlsConfig,
    read_config,
)
from cepheus.runtime.network.transport.security import check_tokens

GOOD = """
name = "middle"
listen = "0.0.0.0:7602"
state = "state/middle"
rank = 1
strategy = "MT"
metrics = "[::1]:9602"
session_timeout = "2 min"
sync = true
[tls]
certificate = "middle.pem"
key = "middle.key"
authority = "ca.pem"
[limits]
events_per_second = 1000
[[neighbour]]
name = "west"
[[neighbour]]
name = "east"
address = "east.example:7603"
[[client]]
name = "sensors"
publish = "Temp"
"""


def test_a_file_says_what_a_node_is(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    path.write_text(GOOD)
    config = read_config(path)
    assert (config.name, config.listen, config.rank, config.sync) == ("middle", Address("0.0.0.0", 7602), 1, True)
    assert config.state == tmp_path / "state/middle"
    assert config.options.strategy is Strategy.MT
    assert config.metrics == Address("::1", 9602)
    assert config.session_timeout == 120_000_000
    assert config.tls == TlsConfig(tmp_path / "middle.pem", tmp_path / "middle.key", tmp_path / "ca.pem")
    assert config.limits == Limits(events_per_second=1000.0)
    assert config.neighbour == (NeighbourConfig("west"), NeighbourConfig("east", Address("east.example", 7603)))
    assert config.client == (ClientConfig("sensors", publish=("Temp",)),)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "a node has no name"),
        ('name = ""', None, "a node has no name"),
        ('name = "p"\n[[neighbour]]\nname = ""\naddress = "h:1"', 2, "has no name"),
        ('name = "p"\n[[client]]\nname = ""\npublish = "*"', 2, "this client has no name"),
        ('name = "a b"', 1, "no name of a node"),
        ('name = "p"\nlisen = "x"', 2, "did you mean 'listen'"),
        ('name = "p"\nlisten = "7600"', 2, "'7600' is no address"),
        ('name = "p"\nrank = "high"', 2, "'rank' must be an integer"),
        ('name = "p"\nrank = -1', 2, "must not be negative"),
        ('name = "p"\nstrategy = "St"', 2, "did you mean 'ST'"),
        ('name = "p"\nsession_timeout = "5 minuts"', 2, "minuts"),
        ('name = "p"\ntls = 5', 2, "'tls' is a table"),
        ('name = "p"\n[tls]\ncertificate = "a.pem"', 2, "go together"),
        ('name = "p"\n[limits]\nwindow_bytes = 1.5', 3, "must be an integer"),
        ('name = "p"\n[[neighbour]]\naddress = "h:1"', 2, "has no name"),
        ('name = "p"\n[[neighbour]]\nname = "p"', 3, "not its own neighbour"),
        ('name = "p"\n[[neighbour]]\nname = "q"\n[[neighbour]]\nname = "q"', 5, "two neighbours"),
        ('name = "p"\nneighbour = "q"', 2, "is a list of tables"),
        ('name = "p"\n[[client]]\nname = "c"', 2, "nothing tells who is 'c'"),
        ('name = "p"\n[[client]]\ntoken = "t"', 2, "this client has no name"),
        ('name = "p"\n[[client]]\nname = "c"\ntoken = "t"\npublish = 3', 5, "list of texts"),
        ('name = "p"\nlisten = "127.0.0.1:76"\nmetrics = "127.0.0.1:76"', 3, "the node listens on 127.0.0.1:76 itself"),
        ('name = "p"\n[[neighbour]]\nname = "q"\naddress = "h:0"', 4, "nobody can be reached at port 0"),
        ('name = "p"\n[limits]\nclients = 0', 3, "'clients' must be at least 1"),
        ("name = ", None, "not TOML"),
    ],
)
def test_what_is_wrong_has_its_line(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    path = tmp_path / "node.toml"
    path.write_text(text)
    with pytest.raises(OptionError, match=message) as caught:
        read_config(path)
    place = caught.value.diagnostics[0].place
    assert place is not None
    assert (place.name, place.line) == (str(path), line)


def test_all_findings_are_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    path.write_text('name = "p"\nrank = "x"\nsync = 1\n')
    with pytest.raises(OptionError) as caught:
        read_config(path)
    assert len(caught.value.diagnostics) == 2


def test_a_token_that_cannot_be_read_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    path.write_text('name = "p"\n[[client]]\nname = "c"\ntoken_file = "c.token"\n')
    with pytest.raises(OptionError, match="cannot read the token") as caught:
        check_tokens(read_config(path), path)
    place = caught.value.diagnostics[0].place
    assert place is not None
    assert place.line == 4
