"""Addresses of catalogs and stores as messages may show them: without what may be a password.

An address need not be well formed, and it is then that messages show it. So what is shown is what
is known to be harmless, and all else is left out.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

HIDDEN = "***"

_SCHEMES = "ducklake|sqlite|duckdb|postgres|postgresql|mysql|mariadb"
_SCHEME = re.compile(
    rf"\s*((?:ducklake:/*)?(?:(?:{_SCHEMES})(?:\+\w+)?:(?!/))?(?:[a-z][a-z0-9+.-]*:/+)?)",
    re.IGNORECASE,
)
"""A user may be called as a scheme is: `postgres:` after slashes is one."""
_USER = re.compile(r"[\w.-]+")
_PORT = re.compile(r"(?<![^/?#:\s])(?P<host>[^/?#:\s]*):(?!\d*(?:[/?#]|$)).*", re.DOTALL)
_VALUE = re.compile(r"(?<![\w%+.-])([\w%+.-]+)(\s*=\s*)('(?:[^'\\]|\\.)*'?|\"[^\"]*\"?|[^\s&;]*)")
_HARMLESS = {
    *("dbname", "database", "db", "host", "hostaddr", "port", "user", "schema", "sslmode"),
    *("connect_timeout", "charset", "application_name", "data_path", "metadata_schema"),
}


def mask_secrets(text: str) -> str:
    """The address with every part hidden that may be a secret."""
    login, at, place = text.rpartition("@")
    if not at:
        return _without_values(_without_port(text))
    scheme = _SCHEME.match(login)
    start = scheme.end() if scheme else 0
    user = _USER.match(login, start)
    name = user.group() if user else ""
    rest = login[start + len(name) :]
    if "=" in name + rest or _is_unclear(login[:start]):
        name, rest = "", rest or HIDDEN
    hidden = f":{HIDDEN}" if rest else ""
    return f"{login[:start].strip()}{name}{hidden}@{_without_values(place)}"


def secrets_in(text: str) -> frozenset[str]:
    """What is hidden of an address, as it stands there and as it is meant."""
    found = {value for key, _, value in _VALUE.findall(text) if not _is_harmless(key)}
    login, at, _ = text.rpartition("@")
    scheme = _SCHEME.match(login) if at else None
    if scheme:
        rest = login[scheme.end() :]
        found.add(rest.partition(":")[2] or (rest if _is_unclear(login[: scheme.end()]) else ""))
    plain = {value.strip("'\"") for value in found}
    return frozenset(each for value in plain for each in (value, unquote(value)) if len(each) > 2)


def without_secrets(message: str, address: str) -> str:
    """A message of somebody else's, who may have quoted from the address."""
    for secret in sorted(secrets_in(address), key=len, reverse=True):
        message = message.replace(secret, HIDDEN)
    return message


def _is_unclear(scheme: str) -> bool:
    """Whether it may as well be a user: of `postgres:x@host` the `x` may be a password."""
    return bool(scheme) and "/" not in scheme


def _without_port(text: str) -> str:
    """Of `u:p/db` the second is no port, so it may be a password whose host was forgotten."""
    scheme = _SCHEME.match(text)
    start = scheme.end() if scheme else 0
    if start and re.match(r"\s*(?:ducklake:)?(?:sqlite|duckdb):", text, re.IGNORECASE):
        return text
    if "=" in text[start:].partition("/")[0]:
        return text
    return text[:start] + _PORT.sub(rf"\g<host>:{HIDDEN}", text[start:], count=1)


def _without_values(text: str) -> str:
    return _VALUE.sub(lambda m: m.group() if _is_harmless(m[1]) else f"{m[1]}={HIDDEN}", text)


def _is_harmless(key: str) -> bool:
    return key.casefold() in _HARMLESS
