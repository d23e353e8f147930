"""Who may talk to the studio: whoever has its token, from a page that it served itself, under a name that it knows.

The server listens on loopback unless it is given a certificate. Even there a page of another site that is open in the
same browser could send requests, or let its own name point to this machine (DNS rebinding): the Host header must be a
name of the server, the Origin of a request its own, and every answer forbids scripts that are not files of the studio.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cepheus.core.errors import OptionError

MOST_UPLOADED = 512 * 1024 * 1024
"""How many bytes a request may bring: a file of events."""

MOST_SENT = 4 * 1024 * 1024
"""How many bytes any other request may bring: rule texts and settings."""

COOKIE = "cepheus-studio"

KEY_SECONDS = 120.0
"""How long a key that opens the studio once is good."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Access:
    """Where the studio listens and what opens it: a host, a port, a token, and with TLS the files of a certificate.

    ``known_as`` are the names by which browsers reach it where that is not the host itself: those of the certificate.
    """

    host: str = "127.0.0.1"
    port: int = 0
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    certificate: str | None = None
    key: str | None = None
    known_as: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.is_loopback and (self.certificate is None or self.key is None):
            hint = "name --certificate and --key, or leave --host away: the studio then listens on this machine alone"
            raise OptionError.of("studio", f"on '{self.host}' others could listen in without TLS", hint=hint)
        if (self.certificate is None) != (self.key is None):
            raise OptionError.of("studio", "a certificate and its key go together", hint="name both files")
        if self.is_anywhere and not self.known_as:
            hint = "name it with --name, as it stands in the certificate and as browsers will call it"
            raise OptionError.of("studio", f"'{self.host}' is no name by which a browser could reach this", hint=hint)
        if len(self.token) < 16:
            raise OptionError.of("studio", "the token is too short", hint="take at least 16 characters")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def is_anywhere(self) -> bool:
        """Whether it listens at all addresses of this machine."""
        try:
            return ipaddress.ip_address(self.host).is_unspecified
        except ValueError:
            return False

    @property
    def origin(self) -> str:
        """The origin of its pages."""
        name = self.known_as[0] if self.known_as else self.host
        host = f"[{name}]" if ":" in name else name
        return f"{'https' if self.certificate else 'http'}://{host}:{self.port}"

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"{self.origin}/?token={self.token}"

    def names(self) -> frozenset[str]:
        """The values of the Host header that name this server."""
        hosts = {self.host, *self.known_as, *(("localhost", "127.0.0.1", "[::1]") if self.is_loopback else ())}
        return frozenset(f"{f'[{host}]' if ':' in host and '[' not in host else host}:{self.port}" for host in hosts)


class OpeningKeys:
    """Keys that open the studio once, and soon: what others may read in a list of processes is worth nothing then."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def make(self) -> str:
        """A new key."""
        key = secrets.token_urlsafe(24)
        self._until[key] = self._clock() + KEY_SECONDS
        return key

    def take(self, given: str) -> bool:
        """Whether a key is good; afterwards it is not."""
        now = self._clock()
        self._until = {key: until for key, until in self._until.items() if until > now}
        return self._until.pop(given, None) is not None


class Guard:
    """Lets through what comes from the studio's own page, and puts the headers on every answer that keep it so."""

    def __init__(self, app: App, access: Callable[[], Access], keys: OpeningKeys) -> None:
        self._app = app
        self._access = access
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        access = self._access()
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        nonce = secrets.token_urlsafe(16)
        scope["state"] = {**scope.get("state", {}), "nonce": nonce}
        shielded = _with_headers(send, nonce)
        refusal = _refusal(scope, headers, access)
        if refusal is not None:
            await _answer(shielded, 403, refusal)
            return
        if not _has_token(headers, access):
            await self._open(scope, shielded, access)
            return
        limit = MOST_UPLOADED if scope["path"] == "/api/upload" else MOST_SENT
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > limit:
            await _answer(shielded, 413, f"this is more than {limit // 1024**2} MB")
            return
        await self._app(scope, _limited(receive, limit), shielded)

    async def _open(self, scope: Scope, send: Send, access: Access) -> None:
        """Take the token or a key from the address, and keep the token in a cookie of this browser."""
        given = parse_qs(scope["query_string"].decode("latin-1"))
        token, key = (given.get(name, [""])[0] for name in ("token", "key"))
        by_token = hmac.compare_digest(token.encode(), access.token.encode())
        if scope["path"] != "/" or not (by_token or self._keys.take(key)):
            await _answer(send, 403, "open the address that cepheus studio printed: it holds the token")
            return
        secure = "; Secure" if access.certificate else ""
        cookie = f"{COOKIE}-{access.port}={access.token}; Path=/; HttpOnly; SameSite=Strict{secure}"
        headers = [(b"set-cookie", cookie.encode())]
        if by_token:
            await send({"type": "http.response.start", "status": 303, "headers": [(b"location", b"/"), *headers]})
            await send({"type": "http.response.body", "body": b""})
            return
        # the browser came from a file: a redirect would still count as coming from there, and get no strict cookie
        await _answer(send, 200, '<meta http-equiv="refresh" content="0; url=/">', "text/html", headers)


def _refusal(scope: Scope, headers: dict[str, str], access: Access) -> str | None:
    if headers.get("host", "") not in access.names():
        return "this is not a name of the studio"
    origin = headers.get("origin")
    if origin is not None and _place(origin) not in access.names():
        return "requests of other sites are refused"
    site = headers.get("sec-fetch-site", "none")
    opens_page = scope["path"] == "/" and scope["method"] == "GET"
    if site not in ("none", "same-origin") and not opens_page:
        return "requests of other sites are refused"
    if scope["method"] not in ("GET", "HEAD"):
        kind = headers.get("content-type", "").partition(";")[0].strip()
        wanted = "application/octet-stream" if scope["path"] == "/api/upload" else "application/json"
        if kind != wanted:
            return f"requests are sent as {wanted}"
    return None


def _place(origin: str) -> str | None:
    """The host and port of an origin, None if it is none."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _has_token(headers: dict[str, str], access: Access) -> bool:
    wanted = access.token.encode()
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    cookies = (each.strip().partition("=") for each in headers.get("cookie", "").split(";"))
    given = [bearer, *(value for name, _, value in cookies if name == f"{COOKIE}-{access.port}")]
    return any(hmac.compare_digest(each.encode(), wanted) for each in given)


def _with_headers(send: Send, nonce: str) -> Send:
    """Add to every answer what a browser must not do with it; styles of the editor carry the nonce."""
    policy = (
        "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' blob: data:; font-src 'self'; "
        f"style-src 'self' 'nonce-{nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    added = {
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
    }

    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", []))
            known = {name.lower() for name, _ in given}
            given += [(n.encode(), v.encode()) for n, v in added.items() if n.encode() not in known]
            if b"cache-control" not in known:
                given.append((b"cache-control", b"no-store"))
            message = {**message, "headers": given}
        await send(message)

    return sending


def _limited(receive: Receive, limit: int) -> Receive:
    """Stop a request that brings more than it said."""
    taken = 0

    async def receiving() -> MutableMapping[str, Any]:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        return {"type": "http.disconnect"} if taken > limit else message

    return receiving


async def _answer(
    send: Send, status: int, text: str, kind: str = "text/plain", more: Sequence[tuple[bytes, bytes]] = ()
) -> None:
    body = text.encode()
    headers = [(b"content-type", f"{kind}; charset=utf-8".encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *more]})
    await send({"type": "http.response.body", "body": body})
