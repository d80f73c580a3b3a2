"""Which object stores there are, by how their URIs begin, and what to use in place of others."""

from __future__ import annotations

from dataclasses import dataclass

from tidelake.errors import Unsupported


@dataclass(frozen=True, slots=True)
class StoreKind:
    """A kind of object store. Its own options may begin with `prefix`; `extra` of Tidelake brings
    what DuckDB needs to read from it."""

    name: str
    schemes: tuple[str, ...]
    prefix: str
    extra: str


S3 = StoreKind("S3", ("s3", "s3a"), "aws_", "s3")
_KINDS = (
    S3,
    StoreKind("Google Cloud Storage", ("gs",), "google_", "gcs"),
    StoreKind("Azure Storage", ("az", "abfs", "abfss"), "azure_", "azure"),
)
PREFIXES = tuple(kind.prefix for kind in _KINDS)
_BY_SCHEME = {scheme: kind for kind in _KINDS for scheme in kind.schemes}
_SUPPORTED = (
    "a folder, file:///…, s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or"
    " abfss://container@account.dfs.core.windows.net/prefix"
)
_INSTEAD = {
    "gcs": "gs://bucket/…",
    "azure": "az://container/…",
    "r2": "s3://bucket/… with endpoint 'https://<account>.r2.cloudflarestorage.com'",
}
"""The endpoint is one of the storage_options."""


def kind_of(scheme: str) -> StoreKind | None:
    """The kind of object store behind a scheme, if there is one."""
    return _BY_SCHEME.get(scheme)


def check_scheme(uri: str) -> None:
    """Raise Unsupported if nobody here can write there."""
    scheme, separator, _ = uri.partition("://")
    if not separator or scheme == "file" or scheme in _BY_SCHEME:
        return
    raise Unsupported(
        f"{scheme}:// is not supported: {uri}",
        hint=f"use {_INSTEAD.get(scheme.lower(), _SUPPORTED)}",
    )
