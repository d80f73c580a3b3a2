"""A port to listen at, taken before anybody is told of it."""

from __future__ import annotations

import socket

from tidelake.errors import Unavailable


def open_port(host: str, port: int) -> socket.socket:
    """0 is any port that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host.strip("[]"), port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise Unavailable(
            f"cannot listen at {host}, port {port}: {error.strerror or error}",
            hint="if the port is taken, name another with --port, or 0 for any that is free",
        ) from None
    return listener
