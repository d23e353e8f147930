"""Options that all commands have that talk to a node: where it is, and how to show who one is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cepheus.core.errors import OptionError

if TYPE_CHECKING:
    from cepheus.runtime.network.transport.client import Access

To = Annotated[str, typer.Option("--to", metavar="HOST:PORT", help="The node to talk to.")]
Authority = Annotated[
    Path | None, typer.Option("--ca", metavar="PEM", help="The authority that signed the node's certificate.")
]
Certificate = Annotated[Path | None, typer.Option("--cert", metavar="PEM", help="One's own certificate.")]
Key = Annotated[Path | None, typer.Option("--key", metavar="PEM", help="The key of one's own certificate.")]
TokenFile = Annotated[Path | None, typer.Option("--token-file", metavar="FILE", help="A file with one's token.")]
ServerName = Annotated[
    str | None, typer.Option("--server-name", metavar="NAME", help="The name on the node's certificate.")
]
Patience = Annotated[
    str, typer.Option("--patience", metavar="DURATION", help="How long the node may be away before giving up.")
]
DEFAULT_PATIENCE = "10s"


def access(
    to: str,
    authority: Path | None,
    certificate: Path | None,
    key: Path | None,
    token_file: Path | None,
    server_name: str | None,
    patience: str,
) -> Access:
    """Put the options together; OptionError if they do not make sense."""
    from cepheus.core.time import parse_duration
    from cepheus.runtime.network.transport.address import AddressError, parse_address
    from cepheus.runtime.network.transport.client import Access
    from cepheus.runtime.network.transport.config import TlsConfig
    from cepheus.runtime.network.transport.security import read_token

    try:
        address = str(parse_address(to))
    except AddressError as error:
        raise OptionError.of("address", str(error), hint="write host:port, such as 127.0.0.1:7600") from None
    if (certificate is None) != (key is None):
        raise OptionError.of("certificate", "a certificate and its key go together", hint="give both --cert and --key")
    token = read_token(token_file) if token_file is not None else ""
    seconds = parse_duration(patience) / 1_000_000
    return Access(address, TlsConfig(certificate, key, authority), token, server_name, seconds)
