"""Object stores for DuckDB: the httpfs extension and the credentials it needs."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tidelake.errors import Unsupported
from tidelake.model.names import text_literal
from tidelake.store.schemes import REMOTE

if TYPE_CHECKING:
    import duckdb

_S3 = set(REMOTE)


def allow_remote(
    connection: duckdb.DuckDBPyConnection, uri: str, options: Mapping[str, str]
) -> None:
    """Let `connection` read the store behind `uri` with the caller's `storage_options`."""
    scheme = urlsplit(uri).scheme
    if scheme not in _S3 | {"http", "https"}:
        raise Unsupported(
            f"the local engine cannot read {scheme}:// paths",
            hint="use a local path or s3://, or open the lake with engine='spark'",
        )
    connection.execute(f"LOAD {text_literal(str(_httpfs()))}")
    if scheme in _S3:
        connection.execute(f"CREATE OR REPLACE SECRET tidelake ({_secret(options)})")


def _httpfs() -> Path:
    import duckdb

    spec = find_spec("duckdb_extension_httpfs")
    version = f"v{duckdb.__version__}"
    if spec is None or spec.origin is None:
        raise Unsupported(
            "reading an object store needs DuckDB's httpfs extension",
            hint="pip install 'tidelake[s3]'",
        )
    path = Path(spec.origin).parent / "extensions" / version / "httpfs.duckdb_extension"
    if not path.exists():
        raise Unsupported(
            f"the installed httpfs extension was not built for DuckDB {version}",
            hint=f"pip install duckdb-extension-httpfs=={duckdb.__version__}",
        )
    return path


def _secret(options: Mapping[str, str]) -> str:
    """Our options (obstore's words, with or without `aws_`) as a DuckDB S3 secret."""
    plain = {key.lower().removeprefix("aws_"): str(value) for key, value in options.items()}
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
