"""How a live run is watched and steered while it works: by a socket in its state folder, which only its user can open.

A request is a line of JSON, and so is its answer. What may be asked: how the run is, that it pauses or goes on, what
would change if other rules were at work, and that they are. Where the system has no such sockets, or the path of the
folder is too long for one, there is none, and the run says so.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from cepheus.core.errors import CepheusError, Diagnostic, OptionError

log = logging.getLogger("cepheus.live")

SOCKET = "control"
"""The name of the socket in the state folder."""

MOST_ASKED = 8 * 1024 * 1024
"""How many bytes a request may have: a text of rules."""

Request = Mapping[str, Any]
Answering = Callable[[Request], Awaitable[dict[str, Any]]]


class ControlSocket:
    """Answers those who connect to the socket of a run."""

    def __init__(self, folder: Path, answering: Answering) -> None:
        self._path = folder / SOCKET
        self._answering = answering
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        """Answer from now on."""
        try:
            self._path.unlink(missing_ok=True)  # of a run that was killed: the folder is locked, so there is no other
            before = os.umask(0o177)
            try:
                self._server = await asyncio.start_unix_server(self._serve, self._path, limit=MOST_ASKED)
            finally:
                os.umask(before)
        except (OSError, AttributeError, NotImplementedError) as error:
            log.info("the run cannot be steered while it works: %s", error)

    async def stop(self) -> None:
        """Answer no longer."""
        if self._server is None:
            return
        self._server.close()
        for writer in list(self._open):
            writer.close()
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            while line := await reader.readline():
                writer.write(json.dumps(await self._answer(line)).encode() + b"\n")
                await writer.drain()
        except (ConnectionError, ValueError, asyncio.LimitOverrunError):  # it went away, or asked for too much
            pass
        finally:
            self._open.discard(writer)
            writer.close()

    async def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
            if not isinstance(request, dict):
                raise OptionError.of("control", "a request is an object of JSON")
            return await self._answering(request)
        except (ValueError, RecursionError):
            return refusal(OptionError.of("control", "the request is no JSON"))
        except CepheusError as error:
            return refusal(error)


def refusal(error: CepheusError) -> dict[str, Any]:
    """What is answered to a request that cannot be granted."""
    return {"refused": [{"code": e.code, "message": e.message, "hint": e.hint} for e in error.diagnostics]}


def granted(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer; OptionError if it is a refusal."""
    refused = answer.get("refused")
    if refused:
        raise OptionError([Diagnostic(e["code"], e["message"], hint=e["hint"]) for e in refused])
    return answer


class ControlClient:
    """Talks to a run of another process; for one thread at a time."""

    def __init__(self, folder: Path, seconds: float = 10.0) -> None:
        self._folder = folder
        self._seconds = seconds
        self._connection: socket.socket | None = None
        self._file: Any = None
        self._connect()

    def ask(self, request: Request) -> dict[str, Any]:
        """Ask the run; OptionError if it refuses, or is no longer there."""
        for last in (False, True):
            try:
                if self._connection is None:
                    self._connect()
                assert self._connection is not None
                self._connection.sendall(json.dumps(request).encode() + b"\n")
                line = self._file.readline()
                if line.endswith(b"\n"):
                    return granted(json.loads(line))
                raise ConnectionError
            except OSError:
                self.close()
                if last:
                    raise self._gone() from None
        raise self._gone()

    def close(self) -> None:
        """Leave it."""
        if self._connection is not None:
            self._file.close()
            self._connection.close()
            self._connection = None

    def _connect(self) -> None:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.settimeout(self._seconds)
        try:
            made.connect(str(self._folder / SOCKET))
        except OSError:
            made.close()
            raise self._gone() from None
        self._connection, self._file = made, made.makefile("rb")

    def _gone(self) -> OptionError:
        hint = "start it with 'cepheus live', or let the studio run it: it does if no other process has it"
        return OptionError.of("control", f"no live run answers in '{self._folder.name}'", hint=hint)
