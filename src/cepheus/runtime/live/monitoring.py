"""The pages by which a live run is watched: ``/health`` for whoever restarts it, ``/metrics`` for Prometheus."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cepheus.runtime.live.counts import LiveCounts
from cepheus.runtime.live.description import Live
from cepheus.runtime.live.metrics import metrics_page
from cepheus.runtime.live.web import WebServers

if TYPE_CHECKING:
    from aiohttp import web

HEALTH, METRICS = "/health", "/metrics"
_OVERDUE_TIMES, _OVERDUE_LEAST = 10, 30.0


class Monitoring:
    """The two pages, where the run says that it wants them."""

    def __init__(self, live: Live, counts: LiveCounts, servers: WebServers) -> None:
        self._live = live
        self._counts = counts
        self._servers = servers

    async def start(self) -> None:
        """Answer from now on."""
        listen = self._live.monitoring
        if listen is not None:
            await self._servers.serve(listen, "GET", HEALTH, self._health)
            await self._servers.serve(listen, "GET", METRICS, self._metrics)

    async def stop(self) -> None:
        """Answer no longer."""
        listen = self._live.monitoring
        if listen is not None:
            self._servers.withdraw(listen, "GET", HEALTH)
            self._servers.withdraw(listen, "GET", METRICS)

    async def _health(self, request: web.Request) -> web.Response:
        from aiohttp import web

        del request
        well, told = self._counts.health(max(_OVERDUE_LEAST, _OVERDUE_TIMES * self._live.every))
        return web.Response(status=200 if well else 503, text=json.dumps(told), content_type="application/json")

    async def _metrics(self, request: web.Request) -> web.Response:
        from aiohttp import web

        del request
        page, kind = metrics_page(self._counts)
        return web.Response(body=page, headers={"Content-Type": kind})
