"""Who calls, told by the headers of a call: a token, a request's id, the moments to read at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any

import pyarrow.flight as fl

from tidelake.errors import TidelakeError
from tidelake.web.access import Access, Visitor, token_of
from tidelake.web.flight.errors import as_flight_error
from tidelake.web.logs import REQUEST, request_id, tell
from tidelake.web.metrics import Metrics

AS_OF, KNOWN_AT = "x-tidelake-as-of", "x-tidelake-known-at"
REQUEST_ID = "x-request-id"
_KEY = "caller"


class Caller(fl.ServerMiddleware):  # type: ignore[misc]
    """One call, from beginning to end."""

    def __init__(
        self,
        visitor: Visitor,
        method: str,
        headers: Mapping[str, Sequence[Any]],
        metrics: Metrics,
    ) -> None:
        self.visitor, self.method = visitor, method
        self._metrics = metrics
        self.as_of, self.known_at = _first(headers, AS_OF), _first(headers, KNOWN_AT)
        self.request = request_id(_first(headers, REQUEST_ID))
        self._began = monotonic()
        self._greeting: str | None = None

    def sending_headers(self) -> dict[str, str]:
        said = {REQUEST_ID: self.request}
        return said if self._greeting is None else {**said, "authorization": self._greeting}

    def greet(self, token: str | None) -> None:
        """Whoever came with a password gets it back as the token that it is, as clients expect
        after a handshake."""
        self._greeting = None if token is None else f"Bearer {token}"

    def call_completed(self, exception: BaseException | None) -> None:
        seconds = monotonic() - self._began
        self._metrics.flight_call(self.method, seconds, failed=exception is not None)
        tell(
            "flight",
            request=self.request,
            method=self.method,
            visitor=self.visitor.name,
            tenant=self.visitor.tenant,
            seconds=round(seconds, 6),
            error=None if exception is None else type(exception).__name__,
        )


class CallerFactory(fl.ServerMiddlewareFactory):  # type: ignore[misc]
    """Lets in whoever has a token that is known."""

    def __init__(self, access: Access, metrics: Metrics) -> None:
        self._access, self._metrics = access, metrics

    def start_call(self, info: Any, headers: Mapping[str, Sequence[Any]]) -> Caller:
        token = token_of(_first(headers, "authorization"))
        method = info.method.name.lower()
        try:
            visitor = self._access.visitor(token)
        except TidelakeError as error:
            self._metrics.flight_call(method, 0.0, failed=True)
            raise fl.FlightUnauthenticatedError(str(as_flight_error(error))) from None
        caller = Caller(visitor, method, headers, self._metrics)
        if info.method == fl.FlightMethod.HANDSHAKE:
            caller.greet(token)
        REQUEST.set(caller.request)
        return caller


class OpenHandshake(fl.ServerAuthHandler):  # type: ignore[misc]
    """Headers have said who calls; Flight's own handshake has nothing to add."""

    def authenticate(self, outgoing: Any, incoming: Any) -> None: ...

    def is_valid(self, _: bytes) -> str:
        return ""


def middleware(access: Access, metrics: Metrics) -> dict[str, fl.ServerMiddlewareFactory]:
    return {_KEY: CallerFactory(access, metrics)}


def caller_of(context: fl.ServerCallContext) -> Caller:
    found = context.get_middleware(_KEY)
    assert isinstance(found, Caller)
    return found


def _first(headers: Mapping[str, Sequence[Any]], name: str) -> str | None:
    found = next((values for key, values in headers.items() if key.lower() == name), None)
    value = found[0] if found else None
    return value if isinstance(value, str) else None
