"""What an address of a MySQL database may say behind its question mark."""

from __future__ import annotations

from pathlib import Path

from tidelake.errors import Invalid, NotFound

_FILES = ("ssl_ca", "ssl_cert", "ssl_key")
_OPTIONS = (
    "connect_timeout",
    "read_timeout",
    "write_timeout",
    "unix_socket",
    "host",
    "ssl_disabled",
    "ssl_verify_cert",
    "ssl_verify_identity",
    *_FILES,
)


def check_option(key: str, value: str) -> None:
    """The driver would stumble, or read what it is told to."""
    if key not in _OPTIONS:
        listed = ", ".join(_OPTIONS)
        raise Invalid(f"mysql://…?{key}= is not an option here", hint=f"there are: {listed}")
    if key.endswith("_timeout") and not (value.isascii() and value.isdecimal()):
        raise Invalid(f"{key}={value!r} is not a number of seconds", hint=f"{key}=10")
    if key in _FILES and not Path(value).is_file():
        raise NotFound(f"{key}: there is no file {value}", hint="check the path")
