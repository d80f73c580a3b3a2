"""What stands before the page: who may ask, how large a question is, what a browser may load."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable, Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "tidelake_csrf"
HEADER = "x-csrf-token"
FIELD = "csrf"
MOST_BYTES = 1024**2
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_SAFE = ("GET", "HEAD", "OPTIONS")
_HEADERS: Mapping[str, str] = {
    "content-security-policy": (
        "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none';"
        " form-action 'self'; frame-ancestors 'none'"
    ),
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class LoopbackOnly:
    """Answers only those who name this machine by its own names: a name that somebody else made
    lead here does not get past it."""

    def __init__(self, app: ASGIApp, names: Iterable[str] = LOOPBACK) -> None:
        self.app = app
        self.names = frozenset(names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            host = Headers(scope=scope).get("host", "")
            name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
            if name.lower() not in self.names:
                await _refuse(421, f"this page is not {name or 'nobody'}'s")(scope, receive, send)
                return
        await self.app(scope, receive, send)


class Guard:
    """Gives every browser a token, and asks for it back wherever something may change. No script
    and no style comes from elsewhere, and nobody frames the page."""

    def __init__(self, app: ASGIApp, most_bytes: int = MOST_BYTES) -> None:
        self.app = app
        self.most_bytes = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        known = _cookie(headers.get("cookie", ""))
        token = known or secrets.token_urlsafe(32)
        scope["tidelake.csrf"] = token
        body = await _body(scope, receive, self.most_bytes)
        if body is None:
            problem: JSONResponse | None = _refuse(413, "the request is too large")
        else:
            problem = self._problem(scope, headers, known, body)
        told = _with_headers(send, None if known else token, secure=scope["scheme"] == "https")
        if problem is not None:
            await problem(scope, receive, told)
            return
        await self.app(scope, _again(body or b"", receive), told)

    @staticmethod
    def _problem(scope: Scope, headers: Headers, known: str, body: bytes) -> JSONResponse | None:
        """Why a request is refused."""
        if scope["method"] in _SAFE:
            return None
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != headers.get("host"):
            return _refuse(403, "the request comes from another page")
        given = headers.get(HEADER) or _field(headers, body)
        if not known or not hmac.compare_digest(known.encode(), given.encode()):
            return _refuse(403, "the request has no token of this page: load the page again")
        return None


def _refuse(status: int, what: str) -> JSONResponse:
    return JSONResponse({"error": {"message": what, "hint": None}}, status)


def _cookie(text: str) -> str:
    try:
        found = SimpleCookie(text).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None and len(found.value) >= 32 else ""


def _field(headers: Headers, body: bytes) -> str:
    """The token in a form."""
    if not headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return ""
    try:
        return parse_qs(body.decode(), max_num_fields=100).get(FIELD, [""])[0]
    except ValueError:
        return ""


async def _body(scope: Scope, receive: Receive, most: int) -> bytes | None:
    """What is sent along; None if it is too much."""
    if scope["method"] in _SAFE:
        return b""
    found = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return bytes(found)
        found += message.get("body", b"")
        if len(found) > most:
            return None
        if not message.get("more_body"):
            return bytes(found)


def _again(body: bytes, receive: Receive) -> Receive:
    """What has been read is given once more, and then what comes."""
    given = False

    async def next_message() -> Message:
        nonlocal given
        if not given:
            given = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return next_message


def _with_headers(send: Send, token: str | None, *, secure: bool) -> Send:
    async def told(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-store")
            if token is not None:
                kept = f"{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict"
                headers.append("set-cookie", kept + ("; Secure" if secure else ""))
        await send(message)

    return told
