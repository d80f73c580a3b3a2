"""Where a catalog is: our URLs, SQLAlchemy's, and DuckDB's own `ducklake:` strings."""

from __future__ import annotations

import shlex
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from tidelake.catalog.database.backend import Backend
from tidelake.catalog.database.backends import BACKENDS
from tidelake.catalog.database.duckdb import DUCKDB
from tidelake.catalog.database.url import CatalogUrl
from tidelake.errors import Invalid, Unsupported
from tidelake.model.address import mask_secrets

_BY_SCHEME = {scheme: each for each in BACKENDS.values() for scheme in each.schemes}
_BY_WORD = {word: each for each in BACKENDS.values() for word in each.ducklake_words}
_IN_MEMORY = ":memory:"
_EXAMPLES = ", ".join(each.example for each in BACKENDS.values())
_FORMS = f"{_EXAMPLES}, or DuckDB's own ducklake:… string"


def parse_url(text: str, base: Path | None = None) -> CatalogUrl:
    """Read an address in any of the accepted forms. Relative paths begin at `base`, else at the
    working folder."""
    if not isinstance(text, str) or "\0" in text:
        raise Invalid("that is not a catalog address", hint=f"use {_FORMS}")
    text = text.strip()
    if text.startswith("ducklake:"):
        return _from_ducklake(text.removeprefix("ducklake:"), base)
    if text.startswith(_IN_MEMORY):
        _file(text, base)
    scheme, separator, rest = text.partition("://")
    backend = _BY_SCHEME.get(scheme.lower())
    if not separator or backend is None:
        raise Invalid(f"{mask_secrets(text)!r} is not a catalog address", hint=_meant(text))
    if backend.is_embedded:
        return CatalogUrl(backend.kind, path=_embedded_path(text, rest, base))
    return _server(backend, text)


def _meant(text: str) -> str:
    """What to write instead: a path alone most likely means a catalog's file, or a folder for one,
    and an address of another kind the place of the tables' files."""
    if "://" in text:
        return f"use {_FORMS}; data_path says where the files of tables are"
    if not text:
        return f"use {_FORMS}"
    scheme, colon, path = text.partition(":")
    if colon and scheme in ("sqlite", "duckdb") and path.strip("/") and not {"@", "="} & set(path):
        return f"write {scheme}:///{path}, or use {_FORMS}"
    name = text if Path(text).suffix else f"{text.rstrip('/')}/lake.db"
    return f"write sqlite:///{mask_secrets(name)}, or use {_FORMS}"


def _server(backend: Backend, text: str) -> CatalogUrl:
    parts = _split(text)
    if not parts.path.strip("/"):
        raise Invalid(f"{mask_secrets(text)} names no database", hint="add it: …://host/database")
    options = dict(parse_qsl(parts.query))
    schema = options.pop("schema", None)
    for key, value in options.items():
        backend.check_option(key, value)
    query = "&".join(f"{key}={quote(value)}" for key, value in options.items())
    url = f"{backend.kind}://{parts.netloc}{parts.path}" + (f"?{query}" if query else "")
    return CatalogUrl(backend.kind, url=url, schema=schema)


def _split(text: str) -> SplitResult:
    """Its parts; an error of Python's would quote from it."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise Invalid(
            f"{mask_secrets(text)} is not an address of a catalog",
            hint="a port is a number; write signs such as @ : / # in a password as %40 %3A %2F %23",
        ) from None
    return parts


def _embedded_path(text: str, rest: str, base: Path | None) -> Path:
    spelled, _, options = rest.partition("?")
    path = unquote(spelled)
    if not path.startswith("/") or len(path) < 2:
        raise Invalid(
            f"{mask_secrets(text)!r} names no file",
            hint="three slashes for a relative path: sqlite:///lake.db",
        )
    if options:
        raise Invalid(
            f"{mask_secrets(text)!r}: files take no options", hint="leave out what follows ?"
        )
    return _file(path[1:], base)


def _file(name: str, base: Path | None) -> Path:
    if name.startswith(_IN_MEMORY):
        raise Invalid(
            "a lake cannot be in memory alone: its catalog is a file, or on a server",
            hint="name a file, for example in a temporary folder",
        )
    path = Path(base or "", Path(name).expanduser()).absolute()
    try:
        is_folder = path.is_dir()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Invalid(f"{name[:80]!r} cannot be a file: {reason}", hint="shorten it") from error
    if is_folder:
        raise Invalid(f"{path} is a folder", hint=f"name a file in it: {path}/lake.db")
    return path


def _from_ducklake(rest: str, base: Path | None) -> CatalogUrl:
    """What does not begin with a kind is a DuckDB file."""
    word, separator, detail = rest.partition(":")
    backend = _BY_WORD.get(word.lower())
    if backend is not None and not backend.is_embedded:
        return _from_connection_string(backend.kind, detail)
    if word.lower() in ("md", "motherduck") and separator:
        raise Unsupported(
            f"{mask_secrets(f'ducklake:{rest}')} is on MotherDuck, which is not supported",
            hint=f"use {_FORMS}",
        )
    if backend is not None and separator:
        return CatalogUrl(backend.kind, path=_named_file(detail, base))
    return CatalogUrl(DUCKDB.kind, path=_named_file(rest, base))


def _named_file(name: str, base: Path | None) -> Path:
    if not name:
        raise Invalid("'ducklake:' names no catalog", hint="for example ducklake:sqlite:lake.db")
    return _file(name, base)


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
