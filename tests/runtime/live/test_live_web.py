"""HTTP and WebSocket, in and out, and the pages of a run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from worlds_live import essence, events, expected, lines_of, live, payloads, run, run_until

from cepheus.runtime.live.run import LiveRun
from cepheus.runtime.live.sinks.http import ToListeners, ToWebhook
from cepheus.runtime.live.sources.http import FromHttp, FromWebSocket
from cepheus.runtime.live.sources.scripted import END, SILENT, Scripted
from cepheus.runtime.live.web import Listen
from servers.process import free_port

EVENTS = events(100)
GIVEN = payloads(EVENTS)
ANSWER = essence(expected(EVENTS))


def complete(folder: Path) -> Any:
    return lambda: len(lines_of(folder / "out.jsonl")) >= len(ANSWER)


def _breaks(_: object) -> None:
    raise KeyError("it breaks")


async def listening(port: int) -> None:
    for _ in range(500):
        try:
            (await asyncio.open_connection("127.0.0.1", port))[1].close()
            return
        except OSError:
            await asyncio.sleep(0.02)


def test_events_are_posted_and_pages_tell_of_them(tmp_path: Path) -> None:
    port = free_port()
    listen = Listen.of(str(port))
    described = live(tmp_path, FromHttp(listen, token="secret"), monitoring=listen)
    address = f"http://127.0.0.1:{port}"

    async def both() -> None:
        at_work = asyncio.create_task(run_until(described, complete(tmp_path)))
        await listening(port)
        head = {"Authorization": "Bearer secret"}
        async with aiohttp.ClientSession() as session:

            async def post(body: bytes, headers: dict[str, str] | None = None) -> tuple[int, Any]:
                for _ in range(100):
                    async with session.post(f"{address}/events", data=body, headers=headers or head) as answer:
                        if answer.status != 404:  # the source listens a little later than the pages
                            return answer.status, await answer.json()
                    await asyncio.sleep(0.02)
                raise AssertionError

            assert (await post(GIVEN[0], {"Authorization": "Bearer wrong"}))[0] == 401
            assert await post(GIVEN[0]) == (200, {"accepted": 1})
            assert await post(b"[" + b",".join(GIVEN[1:20]) + b"]") == (200, {"accepted": 19})
            assert (await post(b"[1"))[0] == 400
            assert await post(b"\n".join(GIVEN[20:99])) == (200, {"accepted": 79})
            async with session.get(f"{address}/health") as answer:
                assert answer.status == 200
                assert (await answer.json())["links"]["in"]["connected"]
            assert await post(GIVEN[99]) == (200, {"accepted": 1})
            async with session.get(f"{address}/nothing") as answer:
                assert answer.status == 404
            async with session.get(f"{address}/metrics") as answer:
                page = await answer.text()
            assert 'cepheus_live_connected{kind="sink",name="out"} 1.0' in page
            assert "cepheus_live_latency_seconds_bucket" in page
        await at_work

    asyncio.run(both())
    assert essence(lines_of(tmp_path / "out.jsonl")) == ANSWER


def test_what_was_posted_survives_a_run_that_never_processed_it(tmp_path: Path) -> None:
    port = free_port()
    described = live(tmp_path, FromHttp(Listen.of(str(port))))

    async def first() -> None:
        at_work = LiveRun(described)
        task = asyncio.create_task(at_work.run())
        await listening(port)
        setattr(at_work._processing, "work", _breaks)  # noqa: B010
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"http://127.0.0.1:{port}/events", data=b"\n".join(GIVEN)) as answer,
        ):
            assert answer.status == 200
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(first())
    assert not lines_of(tmp_path / "out.jsonl")
    asyncio.run(run_until(described, complete(tmp_path)))
    assert essence(lines_of(tmp_path / "out.jsonl")) == ANSWER


def test_a_websocket_takes_events(tmp_path: Path) -> None:
    port = free_port()
    described = live(tmp_path, FromWebSocket(listen=Listen.of(str(port))))

    async def both() -> None:
        at_work = asyncio.create_task(run_until(described, complete(tmp_path)))
        await listening(port)
        async with aiohttp.ClientSession() as session, session.ws_connect(f"ws://127.0.0.1:{port}/events") as socket:
            for payload in GIVEN:
                await socket.send_str(payload.decode())
            answers = [await socket.receive_json() for _ in GIVEN]
            assert answers[-1] == {"accepted": len(GIVEN)}
        await at_work

    asyncio.run(both())
    assert essence(lines_of(tmp_path / "out.jsonl")) == ANSWER


def test_a_websocket_is_connected_to_and_again(tmp_path: Path) -> None:
    port = free_port()
    sent = 0

    async def feed(request: web.Request) -> web.WebSocketResponse:
        nonlocal sent
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        assert (await socket.receive()).data == "all of it"
        for payload in GIVEN[sent : sent + 40]:
            await socket.send_bytes(payload)
            sent += 1
        await socket.close()
        return socket

    async def both() -> None:
        app = web.Application()
        app.router.add_get("/feed", feed)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        source = FromWebSocket(url=f"ws://127.0.0.1:{port}/feed", subscribe="all of it")
        counts = await run_until(live(tmp_path, source), complete(tmp_path))
        assert counts.links["in"].reconnects >= 2
        await runner.cleanup()

    asyncio.run(both())
    assert essence(lines_of(tmp_path / "out.jsonl")) == ANSWER


def test_a_webhook_is_posted_to_until_it_takes_it(tmp_path: Path) -> None:
    port = free_port()
    taken: dict[str, Any] = {}
    calls = 0

    async def hook(request: web.Request) -> web.Response:
        nonlocal calls
        calls += 1
        if calls in (3, 4, 20):
            return web.Response(status=503)
        taken[request.headers["Idempotency-Key"]] = await request.json()
        return web.Response()

    async def both() -> None:
        app = web.Application()
        app.router.add_post("/hook", hook)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        sink = ToWebhook(f"http://127.0.0.1:{port}/hook")
        await LiveRun(live(tmp_path, Scripted((*GIVEN, END), together=5), sink)).run()
        await runner.cleanup()

    asyncio.run(both())
    assert essence(taken.values()) == ANSWER


def test_listeners_get_what_they_missed(tmp_path: Path) -> None:
    port = free_port()
    sink = ToListeners(Listen.of(str(port)))
    described = live(tmp_path, Scripted((*GIVEN, SILENT, END), together=5), sink)

    async def heard(after: str | None, count: int) -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        headers = {} if after is None else {"Last-Event-ID": after}
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}/composites", headers=headers) as answer,
        ):
            key = ""
            async for raw in answer.content:
                name, _, rest = raw.decode().rstrip("\n").partition(": ")
                if name == "id":
                    key = rest
                if name == "data":
                    found.append((key, json.loads(rest)))
                if len(found) == count:
                    break
        return found

    async def both() -> None:
        at_work = LiveRun(described)
        task = asyncio.create_task(at_work.run())
        await listening(port)
        while sum(at_work.counts.composites.values()) < len(ANSWER):
            await asyncio.sleep(0.02)
        everything = await heard("never heard of", len(ANSWER))
        assert essence(event for _, event in everything) == ANSWER
        rest = await heard(everything[4][0], len(ANSWER) - 5)
        assert rest == everything[5:]
        at_work.stop()
        await task
        again = LiveRun(described)  # the state knows what was told
        task = asyncio.create_task(again.run())
        await listening(port)
        assert await heard(everything[4][0], len(ANSWER) - 5) == rest
        again.stop()
        await task

    asyncio.run(both())


def test_sockets_are_told_as_well(tmp_path: Path) -> None:
    port = free_port()
    sink = ToListeners(Listen.of(str(port)), sockets=True)

    async def both() -> None:
        at_work = LiveRun(live(tmp_path, Scripted((*GIVEN, SILENT, END), together=5), sink))
        task = asyncio.create_task(at_work.run())
        await listening(port)
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(f"http://127.0.0.1:{port}/composites?after=nothing") as socket,
        ):
            told = [(await socket.receive_json())["event"] for _ in ANSWER]
        assert essence(told) == ANSWER
        at_work.stop()
        await task

    asyncio.run(both())


def test_a_port_that_is_taken_is_refused(tmp_path: Path) -> None:
    import socket

    import pytest

    from cepheus.core.errors import OptionError

    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        listen = Listen.of(str(held.getsockname()[1]))
        with pytest.raises(OptionError, match="cannot listen"):
            run(live(tmp_path, Scripted((END,)), monitoring=listen))
