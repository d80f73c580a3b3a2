"""The page of one lake, for whoever sits at this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import uvicorn
from starlette.middleware import Middleware

from tidelake.web.app import application
from tidelake.web.guard import LoopbackOnly
from tidelake.web.port import open_port

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake

ADDRESS = "127.0.0.1"


def run(lake: Lake, port: int, *, writable: bool, ready: Callable[[str], None]) -> None:
    """Serve the page on the loopback address until interrupted; 0 is any port that is free.
    `ready` hears its address."""
    listener = open_port(ADDRESS, port)
    app = application(lambda _: lake, writable=writable, middleware=[Middleware(LoopbackOnly)])
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))
    with listener:
        ready(f"http://{ADDRESS}:{listener.getsockname()[1]}/")
        server.run(sockets=[listener])
