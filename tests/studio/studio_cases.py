"""Rules, a network and a way to ask that tests of the studio share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx

from cepheus.studio.server import Studio


def posting(studio: Studio) -> Callable[..., Any]:
    """Asks a studio: the path below /api, what is sent, the status that is expected."""

    def ask(path: str, body: object = None, status: int = 200) -> Any:
        headers = {"authorization": f"Bearer {studio.access.token}"}
        address = f"{studio.access.origin}/api/{path}"
        method = "GET" if body is None else "POST"
        found = httpx.request(method, address, json=body, headers=headers, timeout=60)
        assert found.status_code == status, found.text
        return found.json() if "json" in found.headers["content-type"] else found.text

    return ask


QUERY = """
SELECT * FROM Price MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY time MEASURES A.price AS top
  ONE ROW PER MATCH PATTERN (A B+) DEFINE B AS B.price < PREV(B.price)
) AS Dip
"""
SCENARIO = """
rules = "define C(n: int) from A(n=$x) and last B(n=$x) within 5 s from A where n = A.n"
duration = "5 s"
warm_up = "1 s"
[network]
links = [["p1", "p2", "5 ms"], ["p2", "p3", "5 ms"]]
[[source]]
processor = "p1"
types = ["A"]
rate = 10.0
attributes = { n = [1, 2] }
[[source]]
processor = "p3"
types = ["B"]
rate = 10.0
attributes = { n = [1, 2] }
[[sink]]
processor = "p2"
subscribes = ["C"]
"""
