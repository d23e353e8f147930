"""Packages that only some uses need: which extra brings them, and what is said where they are missing."""

from __future__ import annotations

from importlib.util import find_spec

from cepheus.core.errors import OptionError

_PACKAGES = {
    "grpc": ("grpcio", "network"),
    "networkx": ("networkx", "network"),
    "prometheus_client": ("prometheus-client", "network"),
    "pygls": ("pygls", "editor"),
    "eql": ("eql", "import"),
    "sigma": ("pysigma", "import"),
    "pyopencl": ("pyopencl", "device"),
    "aiohttp": ("aiohttp", "live"),
    "confluent_kafka": ("confluent-kafka", "live"),
    "fastavro": ("fastavro", "live"),
    "google.protobuf": ("protobuf", "live"),
    "nats": ("nats-py", "live"),
    "paho.mqtt.client": ("paho-mqtt", "live"),
    "psycopg": ("psycopg[binary]", "live"),
    "redis": ("redis", "live"),
    "fastapi": ("fastapi", "studio"),
    "uvicorn": ("uvicorn", "studio"),
}


def how_to_install(extra: str) -> str:
    """Say how an extra is installed; there is no release yet, so from a clone.

    >>> how_to_install("network")
    "pip install '.[network]' in a clone of Cepheus"
    """
    return f"pip install '.[{extra}]' in a clone of Cepheus"


def missing(module: str, use: str) -> OptionError:
    """Say that a use needs a package which is not installed, and which extra brings it.

    >>> print(missing("grpc", "a network"))
    error[missing-package]: a network needs the package 'grpcio', which is not there
      hint: pip install '.[network]' in a clone of Cepheus
    """
    package, extra = _PACKAGES[module]
    message = f"{use} needs the package '{package}', which is not there"
    return OptionError.of("missing-package", message, hint=how_to_install(extra))


def require(module: str, use: str) -> None:
    """Refuse a use whose package is not installed."""
    try:
        found = find_spec(module) is not None
    except ModuleNotFoundError:  # of a package inside another that is not there
        found = False
    if not found:
        raise missing(module, use)
