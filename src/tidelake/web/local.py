"""The page of one lake, for whoever sits at this machine."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import uvicorn
from starlette.middleware import Middleware

from tidelake.errors import Unavailable
from tidelake.web.app import application
from tidelake.web.guard import LoopbackOnly

if TYPE_CHECKING:
    from tidelake.lake.lake import Lake

ADDRESS = "127.0.0.1"


def run(lake: Lake, port: int, *, writable: bool, ready: Callable[[str], None]) -> None:
    """Serve the page on the loopback address until interrupted; 0 is any port that is free.
    `ready` hears its address."""
    listener = open_port(port)
    app = application(lambda _: lake, writable=writable, middleware=[Middleware(LoopbackOnly)])
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))
    with listener:
        ready(f"http://{ADDRESS}:{listener.getsockname()[1]}/")
        server.run(sockets=[listener])


def open_port(port: int) -> socket.socket:
    """The port is taken before anybody is told of it."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((ADDRESS, port))
    except OSError as error:
        listener.close()
        raise Unavailable(
            f"port {port} of this machine is taken: {error.strerror}",
            hint="name another with --port, or 0 for any that is free",
        ) from None
    listener.listen()
    return listener
