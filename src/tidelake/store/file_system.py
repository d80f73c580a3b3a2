"""An object store as a file system, for readers that want one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidelake.store.access import StoreAccess


def file_system(scheme: str, options: Mapping[str, Any]) -> Any:
    """All buckets behind a scheme, as fsspec has it. ImportError without fsspec."""
    from obstore.fsspec import FsspecStore

    class Files(FsspecStore):
        """All that is between the bucket and the end of a URI is the key: a `#` or a `?` in it
        too, where a web address would end."""

        def _split_path(self, path: str) -> tuple[str, str]:
            _, separator, rest = path.partition("://")
            bucket, _, key = (rest if separator else path).partition("/")
            return bucket, key.lstrip("/")

        async def _glob(self, path: str, **how: Any) -> Any:
            """Files are listed without a scheme: with one, none would match."""
            return await super()._glob(path.partition("://")[2] or path, **how)

    made: Any = Files
    return made(scheme, skip_instance_cache=True, **StoreAccess.of(scheme, options).arguments)
