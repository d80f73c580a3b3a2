"""Which stores there are, by how their URIs begin, and what to use in place of others."""

from __future__ import annotations

from tidelake.errors import Unsupported

REMOTE = ("s3", "s3a")
_SUPPORTED = "a folder, file:///… or s3://bucket/prefix"
_GOOGLE = "s3://bucket/… with endpoint 'https://storage.googleapis.com' and HMAC keys"
_INSTEAD = {
    "gs": _GOOGLE,
    "gcs": _GOOGLE,
    "r2": "s3://bucket/… with endpoint 'https://<account>.r2.cloudflarestorage.com'",
}
"""The endpoint is one of the storage_options."""


def check_scheme(uri: str) -> None:
    """Raise Unsupported if nobody here can write there."""
    scheme, separator, _ = uri.partition("://")
    if not separator or scheme == "file" or scheme in REMOTE:
        return
    raise Unsupported(
        f"{scheme}:// is not supported: {uri}",
        hint=f"use {_INSTEAD.get(scheme.lower(), _SUPPORTED)}",
    )
