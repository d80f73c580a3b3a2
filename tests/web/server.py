"""The page of a lake on a port of this machine, as `tidelake ui` serves it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.middleware import Middleware

import tidelake
from tidelake.web.app import application
from tidelake.web.guard import LoopbackOnly
from tidelake.web.port import open_port


@contextmanager
def serve(lake: tidelake.Lake, *, writable: bool = False) -> Iterator[str]:
    """Its address, without a slash at the end."""
    app = application(lambda _: lake, writable=writable, middleware=[Middleware(LoopbackOnly)])
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    with open_port("127.0.0.1", 0) as listener:
        running = threading.Thread(target=server.run, args=([listener],), daemon=True)
        running.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            running.join(30)
