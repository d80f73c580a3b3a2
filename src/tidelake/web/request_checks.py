"""What stands before every request over HTTP: where it comes from, how much it brings, how long
it takes, and what a browser may do with the answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidelake.web.limits import Limits

_SAFE = {"GET", "HEAD", "OPTIONS"}
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?", re.ASCII)
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'self'; img-src 'self' data:;"
    " style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'self'; form-action 'self';"
    " frame-ancestors 'none'",
}


def refusal(status: int, message: str, hint: str, **headers: str) -> JSONResponse:
    """Why a request is not answered, as programs and people can read it."""
    said = {"error": {"message": message, "hint": hint}}
    return JSONResponse(said, status, {name.replace("_", "-"): v for name, v in headers.items()})


class Origin:
    """Pages of other sites get nothing done here: the host must be one of ours, whatever name
    leads to it, and what changes something must come from our own pages, or from no browser.
    Without `hosts`, every name is ours: a token tells then who comes."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str] | None) -> None:
        self._app = app
        self._hosts = None if hosts is None else {*_LOOPBACK, *(h.lower() for h in hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        problem = self._problem(scope, headers)
        if problem is not None:
            await problem(scope, receive, _with_headers(send))
            return
        await self._app(scope, receive, _with_headers(send))

    def _problem(self, scope: Scope, headers: Headers) -> JSONResponse | None:
        host = headers.get("host", "")
        found = _HOST.fullmatch(host)
        if found is None or (self._hosts is not None and found[1].lower() not in self._hosts):
            return refusal(421, "this server has another name", "use the address it printed")
        if scope["method"] in _SAFE:
            return None
        origin = headers.get("origin")
        site = headers.get("sec-fetch-site", "same-origin")
        ours = origin is None or urlsplit(origin).netloc.lower() == host.lower()
        if not ours or site not in ("same-origin", "none"):
            return refusal(403, "the request comes from another site", "use this server's own page")
        return None


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


class Bounds:
    """No request may bring too much, take too long, or be one of too many."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app, self._limits = app, limits
        self._busy = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._busy >= self._limits.requests:
            busy = refusal(503, "too many requests at once", "try again", retry_after="1")
            await busy(scope, receive, send)
            return
        self._busy += 1
        try:
            await self._bounded(scope, receive, send)
        finally:
            self._busy -= 1

    async def _bounded(self, scope: Scope, receive: Receive, send: Send) -> None:
        most = self._limits.request_bytes
        said = Headers(scope=scope).get("content-length", "0")
        if not said.isdigit() or int(said) > most:
            await _too_much(most)(scope, receive, send)
            return
        begun = _Begun(send)
        try:
            async with asyncio.timeout(self._limits.request_s):
                await self._app(scope, _counted(receive, most), begun.send)
        except _TooMuch:
            if not begun.is_so:
                await _too_much(most)(scope, receive, send)
        except TimeoutError:
            if begun.is_so:
                raise
            late = refusal(504, "the request took too long", "ask for less")
            await late(scope, receive, send)


class _TooMuch(Exception):
    """More has come than is allowed."""


class _Begun:
    """Remembers whether an answer has begun: there cannot be a second one."""

    def __init__(self, send: Send) -> None:
        self._send, self.is_so = send, False

    async def send(self, message: Message) -> None:
        self.is_so |= message["type"] == "http.response.start"
        await self._send(message)


def _counted(receive: Receive, most: int) -> Receive:
    size = 0

    async def receiving() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > most:
            raise _TooMuch
        return message

    return receiving


def _too_much(most: int) -> JSONResponse:
    return refusal(413, f"a request has at most {most:,} bytes", "ingest rows with Flight SQL")


def header_protocol(seconds: float) -> type[Any]:
    """Uvicorn's protocol, which hangs up on whoever takes longer to say what they want."""
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Protocol(H11Protocol):
        clock: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wind()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
                if self.clock is None:
                    self._wind()
            elif self.clock is not None:
                self.clock.cancel()
                self.clock = None

        def _wind(self) -> None:
            self.clock = self.loop.call_later(seconds, self.transport.close)

    return Protocol
