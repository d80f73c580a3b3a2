"""Files of an object store as DuckDB opens them in Python, through obstore."""

from __future__ import annotations

from typing import Any

from obstore.fsspec import FsspecStore

from tidelake.store.access import StoreAccess


class _ObstoreFiles(FsspecStore):
    """All that is between the bucket and the end of a URI is the key: a `#` or a `?` in it too,
    where a web address would end."""

    def _split_path(self, path: str) -> tuple[str, str]:
        _, separator, rest = path.partition("://")
        bucket, _, key = (rest if separator else path).partition("/")
        return bucket, key.lstrip("/")


def obstore_files(scheme: str, options: dict[str, str]) -> Any:
    """The file system of all buckets behind a scheme, for `register_filesystem`."""
    kind: Any = _ObstoreFiles
    return kind(scheme, skip_instance_cache=True, **StoreAccess.of(scheme, options).arguments)
