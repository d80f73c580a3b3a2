"""Who makes a request over HTTP, and what becomes of it: identity, a log line, a count."""

from __future__ import annotations

from time import monotonic

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidelake.errors import Denied
from tidelake.web.access import Access, Visitor, token_of
from tidelake.web.logs import REQUEST, request_id, tell
from tidelake.web.metrics import Metrics
from tidelake.web.request_checks import refusal

_OPEN = {"/health"}
"""What everybody may ask."""
_REALM = 'Basic realm="tidelake", charset="UTF-8"'
_VISITOR = "tidelake.visitor"


class Entry:
    """Nobody gets further without being known. A browser asks for a password: that is the
    token."""

    def __init__(self, app: ASGIApp, access: Access, metrics: Metrics) -> None:
        self._app, self._access, self._metrics = app, access, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, headers = monotonic(), Headers(scope=scope)
        request = request_id(headers.get("x-request-id"))
        REQUEST.set(request)
        status = 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["x-request-id"] = request
            await send(message)

        try:
            await self._answer(scope, receive, sending, headers)
        finally:
            seconds = monotonic() - began
            self._metrics.request(scope["method"], status, seconds)
            visitor = scope.get(_VISITOR)
            tell(
                "http",
                request=request,
                method=scope["method"],
                path=scope["path"],
                status=status,
                visitor=visitor.name if visitor else None,
                tenant=visitor.tenant if visitor else None,
                seconds=round(seconds, 6),
            )

    async def _answer(self, scope: Scope, receive: Receive, send: Send, headers: Headers) -> None:
        if scope["path"] not in _OPEN:
            try:
                token = token_of(headers.get("authorization"))
                scope[_VISITOR] = self._access.visitor(token)
            except Denied as error:
                denied = refusal(401, error.message, error.hint or "", www_authenticate=_REALM)
                await denied(scope, receive, send)
                return
        await self._app(scope, receive, send)


def visitor_of(request: Request) -> Visitor:
    """Whoever the request is from."""
    found = request.scope[_VISITOR]
    assert isinstance(found, Visitor)
    return found
