"""Whole objects by URI: local paths and object stores alike, through obstore."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tidelake.errors import Corrupt, Denied, Unavailable


def is_local(uri: str) -> bool:
    return "://" not in uri or uri.startswith("file://")


def local_path(uri: str) -> Path:
    """The path behind a local URI or plain path."""
    return Path(unquote(urlsplit(uri).path) if uri.startswith("file://") else uri)


class Store:
    """Reads objects; credentials come from `storage_options` in obstore's own words."""

    def __init__(self, storage_options: Mapping[str, str] | None = None) -> None:
        self._options = dict(storage_options or {})

    def read(self, uri: str) -> bytes:
        """All bytes of one object. Raises Corrupt when it is not there."""
        import obstore
        from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

        try:
            if is_local(uri):
                return local_path(uri).read_bytes()
            store, key = self._open(uri)
            return bytes(obstore.get(store, key).bytes())
        except FileNotFoundError as error:
            raise Corrupt(
                f"{uri} is missing",
                hint="was the data moved or cleaned up by another tool? Restore the file",
            ) from error
        except (PermissionError, PermissionDeniedError, UnauthenticatedError) as error:
            raise Denied(f"may not read {uri}", hint="check the storage_options") from error
        except (OSError, BaseError) as error:
            raise Unavailable(f"cannot read {uri}: {error}", hint="try again later") from error

    def _open(self, uri: str) -> tuple[Any, str]:
        from obstore.store import from_url

        parts = urlsplit(uri)
        root = f"{parts.scheme}://{parts.netloc}"
        options: dict[str, Any] = dict(self._options)
        plain_http = str(options.pop("allow_http", "")).lower() == "true"
        store = from_url(root, client_options={"allow_http": plain_http}, **options)
        return store, parts.path.lstrip("/")
