"""What `storage_options` say to obstore: how one kind of store is reached, and how patiently."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from tidelake.errors import Invalid
from tidelake.model.address import mask_secrets
from tidelake.store.schemes import PREFIXES, StoreKind, kind_of

_CLIENT = (
    *("timeout", "connect_timeout", "read_timeout", "pool_idle_timeout", "pool_max_idle_per_host"),
    *("proxy_url", "proxy_ca_certificate", "proxy_excludes", "root_certificate", "user_agent"),
    *("allow_invalid_certificates", "http1_only", "http2_only", "randomize_addresses"),
)
_RETRY = ("max_retries", "retry_timeout")
_YES = ("true", "1", "yes")
_ENDPOINT = re.compile(r"(^|_)(?<!use_fabric_)endpoint(_url)?(_s3)?$")
_ADDRESS = re.compile(r"https?://[^\s/]+(/\S*)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StoreAccess:
    """How a store is reached. Options whose prefix is that of another kind of store are not for
    this one: one set of them serves a lake whose files are in several."""

    config: dict[str, Any] = field(repr=False)
    client: dict[str, Any]
    retry: dict[str, Any]

    @classmethod
    def of(cls, scheme: str, options: Mapping[str, Any]) -> StoreAccess:
        kind = kind_of(scheme)
        known = {_plain(key.lower(), kind): value for key, value in options.items()}
        client: dict[str, Any] = {"allow_http": _is_yes(known.pop("allow_http", ""))}
        client |= {key: str(known.pop(key)) for key in _CLIENT if key in known}
        retry = {key: _number(key, known.pop(key)) for key in _RETRY if key in known}
        others = tuple(prefix for prefix in PREFIXES if kind is None or prefix != kind.prefix)
        config = {key: value for key, value in known.items() if not key.startswith(others)}
        _check_endpoints(config, kind)
        return cls({} if kind is None else config, client, _retry_config(retry))

    @property
    def arguments(self) -> dict[str, Any]:
        """As obstore takes them."""
        given: dict[str, Any] = {"client_options": self.client, **self.config}
        return given | ({"retry_config": self.retry} if self.retry else {})


def _check_endpoints(config: Mapping[str, Any], kind: StoreKind | None) -> None:
    """Each with its scheme: obstore would end in a crash report of Rust. Azure's
    `use_fabric_endpoint` is a yes or no."""
    said = {f"storage_options: {key}": config[key] for key in config if _ENDPOINT.search(key)}
    if kind is not None and not said:
        own = kind.prefix.upper()
        said = {name: value for name, value in os.environ.items() if value and name.startswith(own)}
        said = {name: value for name, value in said.items() if _ENDPOINT.search(name.lower())}
    for name, value in said.items():
        if not _ADDRESS.match(str(value)):
            raise Invalid(
                f"{name} = {mask_secrets(str(value))!r} is not an address",
                hint="begin it with http:// or https://, as in http://localhost:9000",
            )


def _plain(key: str, kind: StoreKind | None) -> str:
    """What is asked of every store, such as `aws_allow_http`, without the store's name."""
    bare = key if kind is None else key.removeprefix(kind.prefix)
    return bare if bare in ("allow_http", *_CLIENT, *_RETRY) else key


def _is_yes(said: object) -> bool:
    return str(said).lower() in _YES


def _number(key: str, said: object) -> float:
    try:
        found = float(str(said))
    except ValueError:
        found = -1.0
    if found < 0:
        raise Invalid(
            f"storage_options: {key} = {said!r} is not a number",
            hint="retry_timeout is in seconds, max_retries a count",
        )
    return found


def _retry_config(given: Mapping[str, float]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "max_retries" in given:
        found["max_retries"] = int(given["max_retries"])
    if "retry_timeout" in given:
        found["retry_timeout"] = timedelta(seconds=given["retry_timeout"])
    return found
