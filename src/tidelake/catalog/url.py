"""Where a catalog is: our URLs, SQLAlchemy's, and DuckDB's own `ducklake:` strings."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from tidelake.errors import Invalid

_KINDS = {
    "sqlite": "sqlite",
    "duckdb": "duckdb",
    "postgres": "postgresql",
    "postgresql": "postgresql",
    "postgresql+psycopg": "postgresql",
    "mysql": "mysql",
    "mysql+pymysql": "mysql",
    "mariadb": "mysql",
}

_FORMS = (
    "sqlite:///lake.db, duckdb:///lake.duckdb, postgresql://user@host/db, mysql://user@host/db,"
    " or DuckDB's own ducklake:… string"
)


@dataclass(frozen=True, slots=True)
class CatalogUrl:
    """A catalog's address. Embedded kinds have a `path`, servers a `url` without secrets hidden."""

    kind: str
    path: Path | None = None
    url: str | None = None
    schema: str | None = None

    @property
    def is_embedded(self) -> bool:
        return self.path is not None

    @property
    def place(self) -> str:
        """Where it is, without a word of who may come in."""
        if self.path is not None:
            return f"{self.kind}:///{self.path}"
        parts = urlsplit(self.url or "")
        host = (parts.netloc or "").rpartition("@")[2]
        schema = f"?schema={self.schema}" if self.schema else ""
        return f"{self.kind}://{host}{parts.path}{schema}"

    def __str__(self) -> str:
        """For messages: the password is left out."""
        if self.path is not None:
            return f"{self.kind}:///{self.path}"
        parts = urlsplit(self.url or "")
        secret = f":{parts.password}@" if parts.password else ""
        return (self.url or "").replace(secret, ":***@") if secret else (self.url or "")


def parse_url(text: str) -> CatalogUrl:
    """Read an address in any of the accepted forms. Relative paths start at the working folder."""
    if text.startswith("ducklake:"):
        return _from_ducklake(text.removeprefix("ducklake:"))
    scheme, separator, rest = text.partition("://")
    kind = _KINDS.get(scheme.lower())
    if not separator or kind is None:
        raise Invalid(f"{text!r} is not a catalog address", hint=f"use {_FORMS}")
    if kind in ("sqlite", "duckdb"):
        return CatalogUrl(kind, path=_embedded_path(text, rest))
    parts = urlsplit(text)
    if not parts.path.strip("/"):
        raise Invalid(f"{_masked(text)} names no database", hint="add it: …://host/database")
    options = dict(parse_qsl(parts.query))
    schema = options.pop("schema", None)
    query = "&".join(f"{key}={quote(value)}" for key, value in options.items())
    url = f"{kind}://{parts.netloc}{parts.path}" + (f"?{query}" if query else "")
    return CatalogUrl(kind, url=url, schema=schema)


def _masked(text: str) -> str:
    return str(CatalogUrl("", url=text))


def _embedded_path(text: str, rest: str) -> Path:
    path = unquote(rest.split("?", 1)[0])
    if not path.startswith("/") or len(path) < 2:
        raise Invalid(
            f"{text!r} names no file", hint="three slashes for a relative path: sqlite:///lake.db"
        )
    return Path(path[1:]).expanduser().absolute()


def _from_ducklake(rest: str) -> CatalogUrl:
    kind, _, detail = rest.partition(":")
    if kind.lower() in ("postgres", "postgresql", "mysql"):
        return _from_connection_string(_KINDS[kind.lower()], detail)
    if kind.lower() in ("sqlite", "duckdb") and detail:
        return CatalogUrl(kind.lower(), path=Path(detail).expanduser().absolute())
    if rest:
        return CatalogUrl("duckdb", path=Path(rest).expanduser().absolute())
    raise Invalid("'ducklake:' names no catalog", hint="for example ducklake:sqlite:lake.db")


def _from_connection_string(kind: str, text: str) -> CatalogUrl:
    """`dbname=x host=y port=z user=u password=p`, as libpq and DuckDB's extensions write it."""
    if "://" in text:
        return parse_url(text)
    try:
        words = dict(word.split("=", 1) for word in shlex.split(text))
    except ValueError:
        raise Invalid(
            f"cannot read the connection string of ducklake:{kind}:…",
            hint="write it as: dbname=lake host=127.0.0.1 user=me",
        ) from None
    database = words.get("dbname") or words.get("database") or words.get("db") or ""
    user = quote(words.get("user", ""), safe="")
    if password := words.get("password") or words.get("passwd"):
        user += f":{quote(password, safe='')}"
    host = words.get("host") or words.get("hostaddr") or "localhost"
    socket = ""
    if host.startswith("/"):
        host, socket = "", f"?host={quote(host)}"
    port = f":{words['port']}" if "port" in words else ""
    at = f"{user}@" if user else ""
    return parse_url(f"{kind}://{at}{host}{port}/{quote(database, safe='')}{socket}")
