"""Object stores for DuckDB, in one of two ways.

Its httpfs extension is the quick one, for S3 with keys that are known, if it is there for the
DuckDB that is. All else goes through obstore, which has the credentials of every cloud and renews
them: DuckDB's readers and writers then work on files that obstore opens.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tidelake.duck import duckdb_version
from tidelake.errors import Unsupported
from tidelake.model.names import text_literal
from tidelake.store.file_system import file_system
from tidelake.store.files import is_local
from tidelake.store.schemes import S3, kind_of

if TYPE_CHECKING:
    import duckdb

_RETRIES = 5
_REQUESTS_AT_ONCE = 8
_KEYS = ("access_key_id", "secret_access_key")
_FROM_ENVIRONMENT = (*_KEYS, "session_token", "region", "default_region", "endpoint_url")


def schemes_of(paths: Iterable[str]) -> list[str]:
    """Of all stores that these paths are in."""
    return sorted({path.partition("://")[0] for path in paths if not is_local(path)})


def allow_remote(
    connection: duckdb.DuckDBPyConnection, schemes: Iterable[str], options: Mapping[str, str]
) -> None:
    """Let `connection` read and write the stores behind these schemes with the caller's
    `storage_options`, and keep in memory what has come from them."""
    connection.execute("SET GLOBAL enable_external_file_cache = true")
    for scheme in schemes:
        if scheme in ("http", "https"):
            _load_httpfs(connection, options)
        elif _is_for_httpfs(scheme) and (plain := _static_keys(options)) is not None:
            _load_httpfs(connection, options)
            connection.execute(f"CREATE OR REPLACE SECRET tidelake ({_secret(plain)})")
        else:
            _open_through_obstore(connection, scheme, options)


def ask_more_at_once(connection: duckdb.DuckDBPyConnection) -> None:
    """DuckDB's threads wait for a store most of the time, so more of them read than there are
    cores."""
    threads = max(_REQUESTS_AT_ONCE, os.cpu_count() or 1)
    connection.execute(f"SET GLOBAL threads = {threads}")


def _static_keys(options: Mapping[str, str]) -> dict[str, str] | None:
    """What is known of S3, in obstore's words without `aws_`: from the options, and where they are
    silent from the environment; None if keys must be fetched from somewhere first."""
    given = {key.lower().removeprefix("aws_"): str(value) for key, value in options.items()}
    known = {name: os.environ.get(f"AWS_{name.upper()}", "") for name in _FROM_ENVIRONMENT}
    if any(name in given for name in _KEYS):  # an environment's token is not of these keys
        known["session_token"] = ""
    plain = {**{name: value for name, value in known.items() if value}, **given}
    anonymous = plain.get("skip_signature", "").lower() == "true"
    return plain if anonymous or all(plain.get(name) for name in _KEYS) else None


def _load_httpfs(connection: duckdb.DuckDBPyConnection, options: Mapping[str, str]) -> None:
    """It waits for a store that is busy: a tenth of a second at first, then twice as long."""
    path = _httpfs()
    if path is None:
        raise Unsupported(
            f"reading http:// and https:// needs the httpfs extension of DuckDB {duckdb_version()}",
            hint="pip install 'tidelake[s3]' brings one for DuckDB 1.5",
        )
    retries = int(float(options.get("max_retries", _RETRIES)))
    connection.execute(
        f"LOAD {text_literal(str(path))}; SET http_retries = {retries}; SET http_retry_backoff = 2"
    )


def _is_for_httpfs(scheme: str) -> bool:
    return kind_of(scheme) is S3 and _httpfs() is not None


def _httpfs() -> Path | None:
    """The extension, if there is one for this DuckDB: not every version has one on PyPI."""
    spec = find_spec("duckdb_extension_httpfs")
    if spec is None or spec.origin is None:
        return None
    name = f"v{duckdb_version()}/httpfs.duckdb_extension"
    path = Path(spec.origin).parent / "extensions" / name
    return path if path.exists() else None


def _secret(plain: Mapping[str, str]) -> str:
    """Known keys as a DuckDB S3 secret."""
    endpoint = plain.get("endpoint") or plain.get("endpoint_url") or ""
    parts = ["TYPE s3"]
    names = {
        "KEY_ID": plain.get("access_key_id"),
        "SECRET": plain.get("secret_access_key"),
        "SESSION_TOKEN": plain.get("session_token") or plain.get("token"),
        "REGION": plain.get("region") or plain.get("default_region"),
        "ENDPOINT": endpoint.split("://")[-1].rstrip("/") or None,
    }
    parts += [f"{name} {text_literal(value)}" for name, value in names.items() if value]
    if endpoint:
        hosted = plain.get("virtual_hosted_style_request", "false").lower() == "true"
        parts.append(f"URL_STYLE '{'vhost' if hosted else 'path'}'")
        parts.append(f"USE_SSL {'false' if endpoint.startswith('http://') else 'true'}")
    return ", ".join(parts)


def _open_through_obstore(
    connection: duckdb.DuckDBPyConnection, scheme: str, options: Mapping[str, str]
) -> None:
    import duckdb

    kind = kind_of(scheme)
    if kind is None:
        raise Unsupported(
            f"the local engine cannot read {scheme}:// paths",
            hint="use a local path, s3://, gs:// or az://, or open the lake with engine='spark'",
        )
    if connection.filesystem_is_registered(scheme):
        return
    try:
        files = file_system(scheme, options)
    except ImportError as error:
        raise Unsupported(
            f"reading {kind.name} needs fsspec", hint=f"pip install 'tidelake[{kind.extra}]'"
        ) from error
    with suppress(duckdb.InvalidInputException):  # somebody else was quicker
        connection.register_filesystem(files)
