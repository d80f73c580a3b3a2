"""The service: the page, Flight SQL, metrics and health, until somebody stops it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread, current_thread, main_thread
from time import monotonic, sleep
from typing import Any

import pyarrow as pa
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from tidelake.errors import TidelakeError, Unavailable
from tidelake.lake.lake import Lake
from tidelake.web.access import is_loopback
from tidelake.web.app import application
from tidelake.web.entry import Entry, visitor_of
from tidelake.web.flight.desk import Desk
from tidelake.web.flight.server import LakeServer
from tidelake.web.lakes import Lakes
from tidelake.web.limits import Limits
from tidelake.web.logs import LOG, tell
from tidelake.web.metrics import Metrics, head_of
from tidelake.web.port import open_port
from tidelake.web.request_checks import Bounds, Origin, header_protocol
from tidelake.web.settings import ServeSettings

_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


class Service:
    """Serves a lake that was opened in `settings.sandbox`. Flight answers from the beginning;
    `run` answers HTTP too, until a signal comes. Close it afterwards."""

    def __init__(self, lake: Lake, settings: ServeSettings, limits: Limits | None = None) -> None:
        self.settings = settings
        self.limits = limits or settings.limits
        self.metrics = Metrics()
        self.lakes = Lakes(lake, settings.sandbox)
        self.metrics.about_lake(self.lakes)
        self._access = settings.access()
        self.desk = Desk(self.lakes, self.limits, self.metrics, log_sql=settings.log_sql)
        tls = settings.tls
        scheme = "grpc" if tls is None else "grpc+tls"
        address = f"{scheme}://{_in_url(settings.host)}:{settings.flight_port}"
        try:
            self.flight = LakeServer(address, self.desk, self._access, tls)
        except (OSError, pa.ArrowException):  # it tells the reason on standard error alone
            raise Unavailable(
                f"cannot listen at {address}",
                hint="is the port taken, or the address not this machine's? --flight-port, --host",
            ) from None
        self.port = settings.port
        self.http = self._http()

    def asgi(self) -> ASGIApp:
        """All that is answered over HTTP, with its guards before it, the outermost last."""
        writable = self._access.needs_tokens or self.settings.role != "read"
        page = application(lambda request: self.lakes.of(visitor_of(request)), writable=writable)
        app: ASGIApp = Starlette(
            routes=[
                Route("/health", self._health),
                Route("/metrics", self._tell_metrics),
                Mount("/", page),
            ]
        )
        open_door = is_loopback(self.settings.host) and not self._access.needs_tokens
        hosts = (self.settings.host, *self.settings.hosts) if open_door else None
        app = Entry(app, self._access, self.metrics)
        return Origin(Bounds(app, self.limits), hosts)

    def _http(self) -> uvicorn.Server:
        limits = self.limits
        return uvicorn.Server(
            uvicorn.Config(
                self.asgi(),
                host=self.settings.host,
                port=self.settings.port,
                http=header_protocol(limits.header_s),
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                h11_max_incomplete_event_size=64 * 1024,
                limit_concurrency=limits.requests * 4,
                timeout_keep_alive=max(1, int(limits.header_s)),
                timeout_graceful_shutdown=int(self.settings.grace),
                ssl_certfile=self.settings.tls_cert,
                ssl_keyfile=self.settings.tls_key,
            )
        )

    async def _health(self, _: Request) -> Response:
        try:
            snapshot = await run_in_threadpool(head_of, self.lakes.whole)
        except TidelakeError:
            return JSONResponse({"status": "unavailable"}, 503)
        return JSONResponse({"status": "ok", "snapshot": snapshot})

    async def _tell_metrics(self, request: Request) -> Response:
        """Of the whole lake, so no tenant's to see."""
        if visitor_of(request).tenant is not None:
            return JSONResponse({"error": {"message": "metrics are of the whole lake"}}, 403)
        return Response(await run_in_threadpool(self.metrics.text), media_type=_PROMETHEUS)

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Until SIGINT or SIGTERM. What has begun may end within the time of grace."""
        with open_port(self.settings.host, self.settings.port) as listener:
            self.port = listener.getsockname()[1]
            tell("serving", host=self.settings.host, flight=self.flight.port)
            ready()
            with _heard_once():
                self.http.run(sockets=[listener])

    def close(self) -> bool:
        """Let running queries end, end those that do not, and close the lake. False if a client
        would not let go."""
        until = monotonic() + self.settings.grace
        self.desk.refuse()
        while self.desk.slots.busy and monotonic() < until:
            sleep(0.05)
        self.desk.close()
        ending: Any = Thread(target=self.flight.shutdown, daemon=True)
        ending.start()
        ending.join(max(1.0, until - monotonic()))
        self.lakes.close()
        tell("stopped")
        return not ending.is_alive()


@contextmanager
def _heard_once() -> Iterator[None]:
    """Uvicorn stops at a signal, and sends it again afterwards, when there is still to be tidied
    up."""
    if current_thread() is not main_thread():
        yield
        return
    before = {each: signal.signal(each, _ignore) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _ignore(*_: object) -> None: ...


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def serve(lake: Lake, settings: ServeSettings, ready: Callable[[Service], None]) -> None:
    """Run a service, from its beginning to its end."""
    service = Service(lake, settings)
    try:
        service.run(lambda: ready(service))
    finally:
        if not service.close():
            LOG.warning("a client does not let go of its connection: ending without it")
            os._exit(0)
