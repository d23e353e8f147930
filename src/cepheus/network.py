"""Clients of a network of processors: ``Client`` for plain programs, ``AsyncClient`` for asyncio."""

from cepheus.runtime.network.transport.access import Access
from cepheus.runtime.network.transport.attachments import AsyncSource, Delivery, Subscription
from cepheus.runtime.network.transport.blocking import Client, Events, Source
from cepheus.runtime.network.transport.client import AsyncClient
from cepheus.runtime.network.transport.config import TlsConfig
from cepheus.runtime.network.transport.connection import NetworkError

__all__ = [
    "Access",
    "AsyncClient",
    "AsyncSource",
    "Client",
    "Delivery",
    "Events",
    "NetworkError",
    "Source",
    "Subscription",
    "TlsConfig",
]
